//! `tokenline validate-input`, `validate` and `snapshot`.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::{Run, file, folder, tokenline};

fn conversation(id: &str) -> String {
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

#[cfg(unix)]
#[test]
fn a_file_that_grows_is_followed() {
    let folder = folder();
    let path = file(&folder, "in.jsonl", conversation("c1") + "\n{\"conv");
    let mut child = Command::new(env!("CARGO_BIN_EXE_tokenline"))
        .args(["validate-input", "--follow", "--format", "jsonl", "--input", &path])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut out = std::io::BufReader::new(child.stdout.take().expect("piped"));
    let mut grow = std::fs::OpenOptions::new().append(true).open(&path).expect("writable");
    let mut line = String::new();
    std::thread::sleep(Duration::from_millis(150));
    grow.write_all(b"ersation_id\":1}\n").expect("written");
    std::io::BufRead::read_line(&mut out, &mut line).expect("an error");
    assert_eq!(json_of(&line)["line_number"], 2);
    grow.write_all((conversation("c2") + "\nx\n").as_bytes()).expect("written");
    line.clear();
    std::io::BufRead::read_line(&mut out, &mut line).expect("an error");
    assert_eq!(json_of(&line)["line_number"], 4);
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert!(killed.success());
    let start = Instant::now();
    let output = child.wait_with_output().expect("it ends");
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).ends_with(": 2 valid conversations, 2 errors\n"));
}

#[cfg(unix)]
#[test]
fn a_followed_file_that_is_truncated_is_reported() {
    let folder = folder();
    let path = file(&folder, "in.jsonl", conversation("c1") + "\nx\n");
    let report = path.clone() + ".report";
    let mut child = Command::new(env!("CARGO_BIN_EXE_tokenline"))
        .args(["conversations", "validate", "--follow", "--format", "jsonl", "--report-json", &report])
        .args(["--input", &path])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    let mut out = std::io::BufReader::new(child.stdout.take().expect("piped"));
    std::io::BufRead::read_line(&mut out, &mut line).expect("an error");
    std::fs::write(&path, "").expect("truncated");
    let output = child.wait_with_output().expect("it ends");
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(
        (output.status.code(), err.contains("1 valid conversation, 1 error\n")),
        (Some(3), true),
        "{err}"
    );
    assert!(err.ends_with("the file was truncated while it was followed\n"), "{err}");
    assert_eq!(errors(&json_of(std::fs::read(&report).expect("a report"))), [(2, "malformed_json")]);
}

#[test]
fn the_items_of_a_document_are_validated() {
    let folder = folder();
    let schema = file(&folder, "schema.json", r#"{"required":["n"],"properties":{"a":{"minimum":1}}}"#);
    let rejects = file(&folder, "rejects", "");
    let document = "{\"x\": [],\n \"items\": [\n  {\"n\": 1},\n  {\"é\": 1, \"a\": 0},\n  5,\n  {\"n\": 1,\n   \"a\": 0}\n]}\n";
    let args = ["validate", "--schema", &schema, "--items", "/items", "--reject-file", &rejects];
    let run = tokenline(&args, document);
    assert_eq!(
        run.lines(),
        [
            "stdin:4:3: schema_violation: missing required member `n`",
            "stdin:5:3: not_an_object: expected an object, found a number",
            "stdin:7:9: schema_violation: less than the minimum 1 (at /a)",
        ]
    );
    assert_eq!((run.code, &*run.err), (1, "stdin: 1 valid item, 3 errors\n"));
    let run = tokenline(&[&args[..], &["--all-errors", "--reject-content"]].concat(), document);
    assert_eq!(run.lines()[1], "stdin:4:18: schema_violation: less than the minimum 1 (at /a)");
    assert_eq!(run.lines().len(), 4);
    let written = std::fs::read_to_string(&rejects).expect("written");
    assert_eq!(written, "{\"é\": 1, \"a\": 0}\n5\n{\"n\":1,\"a\":0}\n");

    // The document is strict JSON; the root is an empty pointer.
    let root = ["validate", "--schema", &schema, "--items", ""];
    assert_eq!(tokenline(&root, "[{\"n\":1},\n{\"n\":2}]").code, 0);
    for (input, error) in [
        ("[{\"n\":1} {\"n\":2}]", "stdin:1:10: malformed_json: "),
        ("[{\"n\":1},\n", "stdin:2:1: truncated: "),
        ("{}", "stdin:1:1: missing_field: no array of items at ``"),
    ] {
        let run = tokenline(&root, input);
        assert!(run.code == 1 && run.out.starts_with(error), "{}{}", run.out, run.err);
    }
    let run = tokenline(&["validate", "--schema", &schema, "--items", "items"], document);
    assert_eq!((run.code, run.err.contains("--items: not a JSON Pointer")), (2, true), "{}", run.err);
}

#[test]
fn a_document_instead_of_lines_says_what_to_do() {
    let folder = folder();
    let schema = file(&folder, "schema.json", "{}");
    let records = ["validate", "--schema", &schema];
    let conversations = ["conversations", "validate"];
    for (input, items, other) in [
        ("[\n{\"a\":1},\n{\"a\":2}\n]\n", "use --items ''", "jq -c '.[]' FILE"),
        ("[{\"a\":1},{\"a\":2}]\n", "use --items ''", "jq -c '.[]' FILE"),
        ("\n{\n  \"a\": 1\n}\n", "with jq -c . FILE, or name", "write each conversation on one line"),
    ] {
        let run = tokenline(&records, input);
        assert_eq!((run.code, run.err.contains(items)), (1, true), "{}", run.err);
        let run = tokenline(&conversations, input);
        assert_eq!((run.code, run.err.contains(other)), (1, true), "{}", run.err);
    }
    for input in ["{\"a\":1}\n{\"a\":\n", "x\n[1]\n", "{\"a\":1"] {
        let run = tokenline(&conversations, input);
        assert!(!run.err.contains("jq"), "{}", run.err);
    }
}

#[test]
fn sarif_has_columns_in_characters_and_paths() {
    let folder = folder();
    let schema = file(&folder, "schema.json", r#"{"properties":{"n":{"type":"integer"}}}"#);
    let args = ["validate", "--schema", &schema, "--format", "sarif"];
    let run = tokenline(&args, "{\"é😀\":1,\"n\":\"x\"}\n");
    let log = json_of(&run.out);
    let result = &log["runs"][0]["results"][0];
    let region = json!({"startLine": 1, "startColumn": 13, "byteOffset": 16});
    assert_eq!(result["locations"][0]["physicalLocation"]["region"], region);
    assert_eq!(result["message"]["text"], "expected type integer, found a string (at /n)");
    assert_eq!(log["runs"][0]["columnKind"], "unicodeCodePoints");
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
fn all_errors_of_a_record_are_reported_on_request() {
    let folder = folder();
    let schema = file(
        &folder,
        "schema.json",
        r#"{"required":["n"],"properties":{"a":{"minimum":1},"b":{"type":"string"}}}"#,
    );
    let rejects = file(&folder, "rejects", "");
    let input = "{\"a\":0,\"b\":1}\n{\"n\":1}\nx\n";
    let args = ["validate", "--schema", &schema, "--reject-file", &rejects];
    let run = tokenline(&[&args[..], &["--all-errors"]].concat(), input);
    assert_eq!(
        run.lines()[..3],
        [
            "stdin:1:1: schema_violation: missing required member `n`",
            "stdin:1:6: schema_violation: less than the minimum 1 (at /a)",
            "stdin:1:12: schema_violation: expected type string, found a number (at /b)",
        ]
    );
    assert_eq!((run.lines().len(), &*run.err), (4, "stdin: 1 valid line, 4 errors\n"));
    let written = std::fs::read_to_string(&rejects).expect("written");
    assert_eq!(written.lines().count(), 4);
    assert_eq!(tokenline(&args, input).lines().len(), 2);
    // A line is invalid once, however many errors it has.
    let run =
        tokenline(&[&args[..], &["--all-errors", "--reject-content", "--max-errors", "2"]].concat(), input);
    assert_eq!((run.lines().len(), &*run.err), (2, "stdin: 1 valid line, 4 errors, 2 of them not shown\n"));
    let written = std::fs::read_to_string(&rejects).expect("written");
    assert_eq!(written, "{\"a\":0,\"b\":1}\nx\n");
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
