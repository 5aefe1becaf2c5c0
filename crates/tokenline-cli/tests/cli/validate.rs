//! `tokenline validate-input`, `validate` and `snapshot`.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::common::{Run, file, folder, tokenline};

pub(crate) fn conversation(id: &str) -> String {
    json!({
        "conversation_id": id, "user_id": "u1", "timestamp": "2026-02-10T12:34:56Z",
        "messages": [{"role": "user", "content": "Hi."}], "metadata": {}
    })
    .to_string()
}

/// Two valid conversations, and one line per kind of error.
fn dataset() -> Vec<u8> {
    let mut lines = vec![conversation("c1").into_bytes(), b"{\"conversation_id\":".to_vec(), b"[]".to_vec()];
    lines.push(conversation("c2").replace("\"u1\"", "7").into_bytes());
    lines.push(conversation("c1").into_bytes());
    lines.push(b"\"\xff\"".to_vec());
    lines.push(conversation("c2").into_bytes());
    lines.join(&b'\n')
}

const ERRORS: [(u64, &str); 5] = [
    (2, "malformed_json"),
    (3, "not_an_object"),
    (4, "schema_violation"),
    (5, "duplicate_conversation_id"),
    (6, "invalid_utf8"),
];

pub(crate) fn errors(report: &Value) -> Vec<(u64, &str)> {
    let errors = report["errors"].as_array().expect("errors");
    let error = |error: &'_ Value| error["line_number"].as_u64().expect("a number");
    errors.iter().map(|each| (error(each), each["code"].as_str().expect("a code"))).collect()
}

pub(crate) fn json_of(text: impl AsRef<[u8]>) -> Value {
    serde_json::from_slice(text.as_ref()).expect("JSON")
}

#[test]
fn every_invalid_conversation_is_reported() {
    let folder = folder();
    let input = file(&folder, "conversations.jsonl", dataset());
    let report = folder.path().join("report.json");
    let report_path = report.to_str().expect("UTF-8");
    let run = tokenline(&["validate-input", "--input", &input, "--report-json", report_path], "");
    assert_eq!(run.code, 1);
    let lines = run.lines();
    assert_eq!(lines.len(), 5, "{}", run.out);
    assert_eq!(
        lines[2],
        format!(
            "{input}:4:{}: schema_violation: expected type string, found a number (at /user_id)",
            conversation("c2").find("\"u1\"").expect("there") + 1
        )
    );
    assert_eq!(run.err, format!("{input}: 2 valid conversations, 5 errors\n"));
    let written = json_of(std::fs::read(&report).expect("a report"));
    assert_eq!(errors(&written), ERRORS);
    let members: Vec<_> = written.as_object().expect("an object").keys().cloned().collect();
    let mut expected = vec![
        "schema_version",
        "input_path",
        "total_lines",
        "non_empty_lines",
        "valid_conversation_count",
        "invalid_line_count",
        "unique_conversation_id_count",
        "duplicate_conversation_id_count",
        "error_count",
        "dropped_error_count",
        "is_valid",
        "summary",
        "errors",
    ];
    expected.sort_unstable();
    let mut members: Vec<_> = members.iter().map(String::as_str).collect();
    members.sort_unstable();
    assert_eq!(members, expected);
    assert_eq!((&written["input_path"], &written["is_valid"]), (&json!(input), &json!(false)));
    // The same on standard output, for any number of threads.
    for jobs in ["1", "2", "4"] {
        let run = tokenline(&["validate-input", "--input", &input, "--format", "json", "-j", jobs], "");
        assert_eq!((run.code, json_of(&run.out)), (1, written.clone()));
    }
    let good = tokenline(&["validate-input", "--input", "-"], conversation("c1"));
    assert_eq!((good.code, &*good.out, &*good.err), (0, "", "stdin: 1 valid conversation, 0 errors\n"));
}

/// The published schema without its patterns with lookaround, which constrain members that we do not write.
fn sarif_schema(folder: &tempfile::TempDir) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sarif-2.1.0.schema.json");
    let mut schema = json_of(std::fs::read(path).expect("a fixture"));
    for part in ["run", "toolComponent"] {
        let language = schema.pointer_mut(&format!("/definitions/{part}/properties/language"));
        let language = language.and_then(Value::as_object_mut).expect("a member of the published schema");
        language.remove("pattern").expect("a member of the published schema");
    }
    file(folder, "sarif.schema.json", schema.to_string())
}

#[test]
fn errors_in_machine_readable_formats() {
    let folder = folder();
    let input = file(&folder, "a b.jsonl", dataset());
    let run = |format: &str| tokenline(&["validate-input", "--input", &input, "--format", format], "");
    let lines: Vec<_> = run("jsonl").lines().iter().map(json_of).collect();
    assert_eq!(errors(&json!({"errors": lines})), ERRORS);
    let github = run("github");
    let first = github.lines()[0];
    assert!(
        first.starts_with(&format!("::error file={input},line=2,col=20,title=malformed_json::")),
        "{first}"
    );
    let sarif = json_of(run("sarif").out);
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    assert_eq!(results.len(), 5);
    let place = &results[0]["locations"][0]["physicalLocation"];
    assert!(place["artifactLocation"]["uri"].as_str().is_some_and(|uri| uri.ends_with("/a%20b.jsonl")));
    assert_eq!(place["region"]["startLine"], 2);
    let schema = sarif_schema(&folder);
    for input in [dataset(), Vec::new()] {
        let run = tokenline(&["validate-input", "--input", "-", "--format", "sarif"], &input);
        let log = file(&folder, "log.json", json_of(run.out).to_string());
        let run = tokenline(&["validate", "--schema", &schema, &log], "");
        assert_eq!((run.code, &*run.out), (0, ""), "{}", run.err);
    }
    let spoiled = sarif.to_string().replace("\"startLine\":2", "\"startLine\":\"2\"");
    assert_eq!(tokenline(&["validate", "--schema", &schema], spoiled).code, 1);
}

#[test]
fn reports_never_quote_a_line() {
    let secret = "s3cr3t";
    let mut input = Vec::new();
    let line = conversation(secret)
        .replace("Hi.", secret)
        .replace("u1", secret)
        .replace("{}", "{\"s3cr3t\":\"s3cr3t\"}");
    for member in ["conversation_id", "user_id", "timestamp", "messages", "role", "content", "metadata"] {
        for other in ["s3cr3t", &format!("{member}\":[\"s3cr3t\"],\"s3cr3t{member}")] {
            input.push(line.replace(&format!("\"{member}\""), &format!("\"{other}\"")));
        }
    }
    input.push(line.clone());
    input.push(line.clone());
    input.push(format!("{line}{secret}"));
    input.push(secret.to_owned());
    input.push(format!("\"{secret}\""));
    input.push(line[..line.len() / 2].to_owned());
    let folder = folder();
    let input = file(&folder, "in.jsonl", input.join("\n"));
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    for format in ["text", "json", "jsonl", "sarif", "github"] {
        for profile in ["open", "strict"] {
            let run = tokenline(
                &[
                    "validate-input",
                    "--input",
                    &input,
                    "--format",
                    format,
                    "--profile",
                    profile,
                    "--report-json",
                    &path("r"),
                    "--reject-file",
                    &path("j"),
                ],
                "",
            );
            assert_eq!(run.code, 1);
            let files = ["r", "j"].map(|name| std::fs::read_to_string(path(name)).expect("written"));
            for text in [&run.out, &run.err, &files[0], &files[1]] {
                assert!(!text.contains(secret), "{format}: {text}");
            }
            assert!(files[1].lines().count() > 15);
        }
    }
    let snapshot = tokenline(&["snapshot", "--input", &input], "");
    assert!(snapshot.code == 1 && snapshot.out.is_empty() && !snapshot.err.contains(secret));
}

#[test]
fn rejected_lines_are_written_on_request() {
    let folder = folder();
    let input = file(&folder, "in.jsonl", dataset());
    let rejects = folder.path().join("rejects");
    let rejects = rejects.to_str().expect("UTF-8");
    let run =
        tokenline(&["validate-input", "--input", &input, "--reject-file", rejects, "--max-errors", "1"], "");
    assert_eq!(run.lines().len(), 1);
    assert!(run.err.ends_with("2 valid conversations, 5 errors, 4 of them not shown\n"), "{}", run.err);
    let places: Vec<_> = std::fs::read_to_string(rejects).expect("written").lines().map(json_of).collect();
    assert_eq!(errors(&json!({"errors": places})), ERRORS);
    tokenline(&["validate-input", "--input", &input, "--reject-file", rejects, "--reject-content"], "");
    let dataset = dataset();
    let lines: Vec<_> = dataset.split(|byte| *byte == b'\n').collect();
    let expected: Vec<u8> = lines[1..6].iter().flat_map(|line| [*line, b"\n"].concat()).collect();
    assert_eq!(std::fs::read(rejects).expect("written"), expected);
    assert_eq!(tokenline(&["validate-input", "--input", &input, "--reject-content"], "").code, 2);
}

#[test]
fn missing_or_duplicate_inputs_are_errors() {
    let folder = folder();
    let none = folder.path().join("*.none");
    assert_eq!(tokenline(&["validate-input", "--input", none.to_str().expect("UTF-8")], "").code, 3);
    assert_eq!(tokenline(&["validate-input", "--input", "-", "-"], "").code, 2);
    assert_eq!(tokenline(&["validate-input", "--input", folder.path().to_str().expect("UTF-8")], "").code, 3);
}

#[test]
fn the_report_is_written_completely_or_not_at_all() {
    let folder = folder();
    let report = folder.path().join("report.json");
    let mut child = Command::new(env!("CARGO_BIN_EXE_tokenline"))
        .args(["validate-input", "--input", "-", "--report-json"])
        .arg(&report)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let mut input = child.stdin.take().expect("piped");
    input.write_all(&dataset()).expect("it reads");
    input.flush().expect("it reads");
    let mut first = [0; 1];
    std::io::Read::read_exact(child.stdout.as_mut().expect("piped"), &mut first)
        .expect("an error, while it reads");
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    assert!(!report.exists());
    // An existing report stays until it is replaced.
    let input = file(&folder, "in.jsonl", dataset());
    std::fs::write(&report, "old").expect("written");
    let path = report.to_str().expect("UTF-8");
    assert_eq!(tokenline(&["validate-input", "--input", "/no/such/file", "--report-json", path], "").code, 3);
    assert_eq!(std::fs::read_to_string(&report).expect("there"), "old");
    assert_eq!(tokenline(&["validate-input", "--input", &input, "--report-json", &input], "").code, 2);
    assert_eq!(std::fs::read(&input).expect("there"), dataset());
    assert_eq!(tokenline(&["validate-input", "--input", &input, "--report-json", path], "").code, 1);
    assert_eq!(errors(&json_of(std::fs::read(&report).expect("there"))), ERRORS);
}

#[test]
fn conversations_are_files_like_those_of_other_commands() {
    let folder = folder();
    let input = file(&folder, "in.jsonl", conversation("c1"));
    for args in [&["validate", &*input][..], &["validate", "--input", &input], &["snapshot", &input]] {
        let run = tokenline(&[&["conversations"], args].concat(), "");
        assert_eq!(run.code, 0, "{args:?}: {}", run.err);
    }
    for command in ["validate", "snapshot"] {
        assert_eq!(tokenline(&["conversations", command], conversation("c1")).code, 0);
        let both = tokenline(&["conversations", command, &input, "--input", &input], "");
        assert_eq!(both.code, 2, "{}", both.err);
    }
}

#[test]
fn values_are_shown_on_a_terminal_only() {
    let folder = folder();
    let schema = file(&folder, "schema.json", "{}");
    let run = tokenline(&["validate", "--schema", &schema, "--show-values"], "x\n");
    assert_eq!((run.code, &*run.out), (2, ""));
    assert!(run.err.contains("--show-values needs --format text on a terminal"), "{}", run.err);
}

#[test]
fn lines_are_validated_against_any_schema() {
    let folder = folder();
    let schema = file(&folder, "schema.json", r#"{"required":["n"],"properties":{"n":{"type":"integer"}}}"#);
    let run = tokenline(&["validate", "--schema", &schema], "{\"n\":1}\nx\n{\"n\":\"a\"}\n\n{\"n\":2}");
    assert_eq!(run.code, 1);
    assert_eq!(run.lines()[1], "stdin:3:6: schema_violation: expected type integer, found a string (at /n)");
    assert_eq!((run.lines().len(), &*run.err), (2, "stdin: 2 valid lines, 2 errors\n"));
    assert_eq!(tokenline(&["validate", "--schema", &schema], "").code, 0);
    let broken = file(&folder, "broken.json", "{\"type\":5}");
    assert_eq!(tokenline(&["validate", "--schema", &broken], "").code, 2);
}

#[test]
fn a_snapshot_has_only_the_messages() {
    let folder = folder();
    let line = |id: &str| {
        format!(
            "{{ \"messages\" : [ {{\"content\":\"\\u0041 \\\"b\\\"\", \"role\":\"user\"}} ,{{\"role\":\"x\",\"content\":\"1.0\"}}], \"conversation_id\":\"{id}\",\"user_id\":\"u\",\"timestamp\":\"2026-02-10T12:34:56Z\"}}"
        )
    };
    let kept = "{\"messages\":[{\"role\":\"user\",\"content\":\"\\u0041 \\\"b\\\"\"},{\"role\":\"x\",\"content\":\"1.0\"}]}\n";
    let good = [line("c1"), line("c2")].join("\n");
    let input = file(&folder, "in.jsonl", &good);
    let output = folder.path().join("out.jsonl");
    let output_path = output.to_str().expect("UTF-8");
    let run = tokenline(&["snapshot", "--input", &input, "--output", output_path], "");
    assert_eq!((run.code, &*run.out, &*run.err), (0, "", ""));
    assert_eq!(std::fs::read_to_string(&output).expect("written"), kept.repeat(2));
    assert_eq!(std::fs::read_to_string(&input).expect("there"), good);
    let run = tokenline(&["snapshot", "--input", "-"], &good);
    assert_eq!((run.code, run.out), (0, kept.repeat(2)));
    // An invalid line is an error, or skipped with --allow-invalid.
    let bad = [line("c1"), line("c1"), "x".to_owned(), line("c3")].join("\n");
    std::fs::remove_file(&output).expect("there");
    let run = tokenline(&["snapshot", "--input", "-", "--output", output_path], &bad);
    assert_eq!((run.code, output.exists()), (1, false));
    assert!(
        run.err.starts_with("stdin:2:")
            && run.err.ends_with("stdin: nothing was written; --allow-invalid skips invalid lines\n"),
        "{}",
        run.err
    );
    let run = tokenline(&["snapshot", "--input", "-", "--allow-invalid"], &bad);
    assert_eq!((run.code, run.out), (0, kept.repeat(2)));
    assert!(run.err.ends_with("stdin: 2 invalid lines skipped\n"), "{}", run.err);
    let Run { code, .. } = tokenline(&["snapshot", "--input", &input, "--output", &input], "");
    assert_eq!(code, 2);
    let empty = tokenline(&["snapshot", "--input", "-"], "");
    assert_eq!((empty.code, &*empty.out), (1, ""));
}

#[test]
fn a_response_format_is_not_a_schema() {
    let folder = folder();
    let format = json!({"name": "invoice", "strict": true, "schema": {"required": ["total"]}});
    let chat = json!({"type": "json_schema", "json_schema": format});
    for (format, place) in [(&format, "`schema`"), (&chat, "`json_schema.schema`")] {
        let path = file(&folder, "schema.json", format.to_string());
        for command in ["parse", "validate"] {
            let run = tokenline(&[command, "--schema", &path], "{}\n");
            assert!(run.code == 2 && run.err.contains(place), "{command}: {}", run.err);
        }
    }
    let schema = json!({"name": "invoice", "schema": {}, "required": ["total"]});
    let path = file(&folder, "schema.json", schema.to_string());
    assert_eq!(tokenline(&["validate", "--schema", &path], "{}\n").code, 1);
}

#[test]
fn member_names_are_shown_only_if_the_schema_names_them() {
    let folder = folder();
    let schema = file(
        &folder,
        "schema.json",
        r#"{"properties":{"scores":{"additionalProperties":{"type":"integer"}}}}"#,
    );
    let line = "{\"scores\":{\"ada@example.com\":\"high\"}}\n";
    for command in [&["parse"][..], &["validate"]] {
        let args = [command, &["--schema", &schema]].concat();
        let run = tokenline(&args, line);
        let err = run.out + &run.err;
        assert!(err.contains("(at /scores/*)") && !err.contains("ada@"), "{err}");
        let run = tokenline(&[&args[..], &["--show-names"]].concat(), line);
        assert!((run.out + &run.err).contains("(at /scores/ada@example.com)"));
    }
}

/// The names that no schema knows are private, also if an object has two members of one.
#[test]
fn unknown_names_are_masked() {
    let folder = folder();
    let schema = file(
        &folder,
        "schema.json",
        r#"{"properties":{"known":{"additionalProperties":{"type":"integer"}}}}"#,
    );
    let lines = "{\"SECRET\":1,\"SECRET\":2}\n{\"known\":{\"SECRET\":\"\"}}\n{\"known\":{\"SECRET\":{\"SECRET\":1,\"SECRET\":2}}}\n{\"known\":1,\"known\":2}\n{\"SECRET\":x}\n";
    let report = folder.path().join("report").display().to_string();
    let rejects = folder.path().join("rejects").display().to_string();
    for format in ["text", "json", "jsonl", "sarif", "github"] {
        let args = [
            "validate",
            "--schema",
            &schema,
            "--format",
            format,
            "--report-json",
            &report,
            "--reject-file",
            &rejects,
        ];
        let run = tokenline(&args, lines);
        let written =
            [&*report, &rejects].map(|path| std::fs::read_to_string(path).expect("written")).concat();
        assert!(!(run.out + &run.err + &written).contains("SECRET"), "{format}");
        let run = tokenline(&[&args[..], &["--show-names"]].concat(), lines);
        assert!(run.out.contains("SECRET"), "{format}");
    }
    let run = tokenline(&["validate", "--schema", &schema], lines);
    assert!(
        run.out.contains("two members of this name (at /*)") && run.out.contains("(at /known/*/*)"),
        "{}",
        run.out
    );
    assert!(run.out.contains("two members of this name (at /known)"), "{}", run.out);
}

#[test]
fn lines_that_can_be_repaired_are_valid_on_request() {
    let folder = folder();
    let schema = file(&folder, "schema.json", r#"{"required":["n"],"properties":{"n":{"type":"integer"}}}"#);
    let report = folder.path().join("report.json").display().to_string();
    let lines = "{\"n\":1}\n{\"n\":2,}\n{'n':3}\n{\"n\":\"x\",}\n{\"n\":}\n";
    let args = ["validate", "--schema", &schema, "--report-json", &report];
    let run = tokenline(&args, lines);
    assert_eq!(run.err, "stdin: 1 valid line, 4 errors\n");
    let report = || serde_json::from_slice::<Value>(&std::fs::read(&report).expect("written")).expect("JSON");
    assert_eq!(report().get("repaired_line_count"), None);
    for jobs in ["1", "4"] {
        let run = tokenline(&[&args[..], &["--repair", "-j", jobs]].concat(), lines);
        assert_eq!((run.code, &*run.err), (1, "stdin: 3 valid lines, 2 of them repaired, 2 errors\n"));
        assert_eq!((&report()["valid_line_count"], &report()["repaired_line_count"]), (&3.into(), &2.into()));
    }
    assert_eq!(tokenline(&[&args[..], &["--repair", "--items", ""]].concat(), "[]").code, 2);
}
