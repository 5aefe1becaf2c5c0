//! Unusual input and output files of `validate-input`, `validate` and `snapshot`.

use std::path::Path;
use std::process::{Command, Stdio};
use std::{fs, iter};

use crate::common::{file, folder, tokenline};

const GOOD: &str = r#"{"conversation_id":"c1","user_id":"u1","timestamp":"2026-02-10T12:34:56Z","messages":[],"metadata":{}}"#;

fn path(folder: &tempfile::TempDir, name: &str) -> String {
    folder.path().join(name).to_str().expect("UTF-8").to_owned()
}

/// Everything in a folder, hidden or not.
fn names(folder: &tempfile::TempDir) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).expect("a folder");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
    names.sort_unstable();
    names
}

#[test]
fn two_options_cannot_write_the_same_file() {
    let folder = folder();
    let input = file(&folder, "in.jsonl", "x\n");
    fs::create_dir(folder.path().join("sub")).expect("made");
    let (one, same) = (path(&folder, "out"), path(&folder, "sub/../out"));
    // Before and after the file exists.
    for _ in 0..2 {
        for other in [&one, &same] {
            let run = tokenline(
                &["validate-input", "--input", &input, "--report-json", &one, "--reject-file", other],
                "",
            );
            assert_eq!(
                (run.code, &*run.err),
                (2, "tokenline: --report-json and --reject-file name the same file\n")
            );
        }
        fs::write(&one, "old").expect("written");
    }
    assert_eq!(fs::read_to_string(&one).expect("there"), "old");
    let schema = file(&folder, "schema.json", "{}");
    let run = tokenline(&["validate", "--schema", &schema, &input, "--report-json", &schema], "");
    assert_eq!((run.code, fs::read_to_string(&schema).expect("there")), (2, "{}".to_owned()));
    #[cfg(unix)]
    {
        let null = "/dev/null";
        let run = tokenline(
            &["validate-input", "--input", &input, "--report-json", null, "--reject-file", null],
            "",
        );
        assert_eq!(run.code, 1);
    }
}

#[test]
fn bad_paths_fail_before_anything_is_read() {
    let folder = folder();
    let input = file(&folder, "in.jsonl", "x\n");
    for report in ["new/", "no/report", ".."] {
        let run =
            tokenline(&["validate-input", "--input", &input, "--report-json", &path(&folder, report)], "");
        assert_eq!((run.code, &*run.out), (3, ""), "{report}: {}", run.err);
    }
    for missing in [path(&folder, "missing"), folder.path().to_str().expect("UTF-8").to_owned()] {
        let run = tokenline(&["validate-input", "--input", &input, &missing], "");
        assert_eq!((run.code, &*run.out), (3, ""));
        assert!(run.err.starts_with(&format!("tokenline: cannot read {missing}: ")), "{}", run.err);
    }
    assert_eq!(names(&folder), ["in.jsonl"]);
}

#[test]
fn a_pattern_does_not_match_hidden_files() {
    let folder = folder();
    file(&folder, "in.jsonl", GOOD);
    file(&folder, ".tokenline-abcdef", "an incomplete report");
    let run = tokenline(&["validate-input", "--input", &path(&folder, "*")], "");
    assert_eq!((run.code, &*run.out), (0, ""));
    let hidden = path(&folder, ".t*");
    assert_eq!(tokenline(&["validate-input", "--input", &hidden], "").code, 1);
    let run = tokenline(&["validate-input", "--input", &path(&folder, "*"), &hidden], "");
    assert_eq!((run.code, &*run.err), (1, "2 files: 1 valid conversation, 1 error\n"));
}

#[cfg(target_os = "linux")]
#[test]
fn the_report_is_written_even_if_other_outputs_fail() {
    let folder = folder();
    let input = file(&folder, "in.jsonl", "x\n".repeat(50_000));
    for format in ["text", "json", "jsonl", "sarif", "github"] {
        let report = path(&folder, format);
        let output = Command::new(env!("CARGO_BIN_EXE_tokenline"))
            .args(["validate-input", "--input", &input, "--format", format, "--report-json", &report])
            .stdout(fs::File::options().write(true).open("/dev/full").expect("Linux has it"))
            .stderr(Stdio::piped())
            .output()
            .expect("it runs");
        assert_eq!(output.status.code(), Some(3));
        assert_eq!(
            String::from_utf8_lossy(&output.stderr),
            "tokenline: cannot write to standard output: No space left on device (os error 28)\n"
        );
        assert!(fs::read_to_string(&report).expect("a report").contains("\"error_count\": 50000"));
    }
    let report = path(&folder, "rejected");
    let run = tokenline(
        &["validate-input", "--input", &input, "--report-json", &report, "--reject-file", "/dev/full"],
        "",
    );
    assert_eq!(
        (run.code, &*run.err),
        (3, "tokenline: cannot write /dev/full: No space left on device (os error 28)\n")
    );
    assert!(Path::new(&report).exists());
    let input = file(&folder, "good.jsonl", GOOD);
    let run = tokenline(&["snapshot", "--input", &input, "--output", "/dev/full"], "");
    assert_eq!(
        (run.code, &*run.err),
        (3, "tokenline: cannot write /dev/full: No space left on device (os error 28)\n")
    );
}

#[test]
fn the_report_is_written_even_if_the_output_is_closed() {
    let folder = folder();
    let input = file(&folder, "in.jsonl", "x\n".repeat(5000));
    for format in ["text", "json", "sarif"] {
        let report = path(&folder, format);
        let mut child = Command::new(env!("CARGO_BIN_EXE_tokenline"))
            .args(["validate-input", "--input", &input, "--max-errors", "5000", "--format", format])
            .args(["--report-json", &report])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        drop(child.stdout.take());
        assert_eq!(child.wait().expect("it ends").code(), Some(1), "{format}");
        assert!(Path::new(&report).exists());
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_nothing_behind() {
    let folder = folder();
    let input = path(&folder, "pipe");
    assert!(Command::new("mkfifo").arg(&input).status().expect("mkfifo").success());
    let (report, rejects) = (path(&folder, "report"), path(&folder, "rejects"));
    let validate = ["validate-input", "--input", &input, "--report-json", &report, "--reject-file", &rejects];
    let snapshot = ["snapshot", "--input", &input, "--output", &report];
    for (args, left) in [(&snapshot[..], &["pipe"][..]), (&validate, &["pipe", "rejects", "report"])] {
        let child = Command::new(env!("CARGO_BIN_EXE_tokenline"))
            .args(args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        // The open succeeds once the program has opened the pipe.
        let pipe = fs::File::options().write(true).open(&input).expect("a pipe");
        assert!(names(&folder).len() > 1);
        // Wait until it handles the signal.
        std::thread::sleep(std::time::Duration::from_millis(300));
        let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
        assert!(killed.success());
        assert_eq!(child.wait_with_output().expect("it ends").status.code(), Some(130));
        // What was read is reported.
        assert_eq!(names(&folder), left);
        drop(pipe);
    }
}

#[cfg(unix)]
#[test]
fn only_uncompressed_regular_files_are_followed() {
    let folder = folder();
    let pipe = path(&folder, "pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let zipped = file(&folder, "in.zst", b"\x28\xb5\x2f\xfd\x00\x38");
    for (input, reason) in [(&pipe, "needs a regular file"), (&zipped, "is compressed")] {
        let run = tokenline(&["validate-input", "--follow", "--input", input], "");
        assert_eq!((run.code, run.err.contains(reason)), (2, true), "{}", run.err);
    }
}

/// A block with so many errors that they are reported in several parts.
#[test]
fn many_errors_are_reported_in_order() {
    let folder = folder();
    let lines: Vec<_> = (0..60_000).map(|number| if number % 7 == 0 { GOOD } else { "x" }).collect();
    let input = file(&folder, "in.jsonl", lines.join("\n"));
    let mut reports = Vec::new();
    for jobs in ["1", "2", "5"] {
        let rejects = path(&folder, "rejects");
        let run = tokenline(
            &["validate-input", "--input", &input, "-j", jobs, "--reject-file", &rejects, "--format", "json"],
            "",
        );
        assert_eq!(run.code, 1);
        let rejects = fs::read_to_string(rejects).expect("written");
        let numbers = rejects.lines().map(|line| {
            let error: serde_json::Value = serde_json::from_str(line).expect("JSON");
            error["line_number"].as_u64().expect("a number")
        });
        let next = 1..=60_000;
        assert!(numbers.eq(next.filter(|number| *number != 1)));
        reports.push((run.out, rejects));
    }
    assert!(iter::zip(&reports, &reports[1..]).all(|(one, next)| one == next));
}

#[test]
fn a_schema_refers_to_others_in_its_directory() {
    let folder = folder();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(&path, text).expect("written");
        path.to_str().expect("UTF-8").to_owned()
    };
    let main = write(
        "schemas/orders/order.json",
        r#"{"properties":{"to":{"$ref":"../people/person.json"},"from":{"$ref":"https://example.com/city"}}}"#,
    );
    write("schemas/people/person.json", r#"{"properties":{"name":{"$ref":"name.json#/$defs/name"}}}"#);
    write("schemas/people/name.json", r#"{"$defs":{"name":{"type":"string","minLength":2}}}"#);
    write("schemas/city.json", r#"{"$id":"https://example.com/city","enum":["Oslo","Rome"]}"#);
    let schemas = folder.path().join("schemas");
    let schemas = schemas.to_str().expect("UTF-8");

    let records =
        "{\"to\":{\"name\":\"Ada\"},\"from\":\"Oslo\"}\n{\"to\":{\"name\":\"A\"}}\n{\"from\":\"Bern\"}\n";
    let run = tokenline(&["validate", "--schema", &main, "--schema-dir", schemas, "-"], records);
    assert_eq!(run.code, 1, "{}", run.err);
    let lines: Vec<&str> = run.out.lines().filter(|line| line.contains("schema_violation")).collect();
    assert_eq!(lines.len(), 2, "{}", run.out);
    assert!(lines[0].contains(":2:") && lines[0].contains("/to"), "{}", run.err);
    assert!(lines[1].contains(":3:") && lines[1].contains("/from"), "{}", run.err);

    let alone = tokenline(&["validate", "--schema", &main, "-"], records);
    assert_eq!(alone.code, 2);
    assert!(
        alone.err.contains("nothing outside the schema is read") && alone.err.contains("--schema-dir"),
        "{}",
        alone.err
    );

    // Not even a schema that is not used is overwritten.
    let unused = write("schemas/unused.json", "{}");
    let run =
        tokenline(&["parse", "--schema", &main, "--schema-dir", schemas, "--report-json", &unused], records);
    assert_eq!(
        (run.code, std::fs::read_to_string(&unused).expect("it is there").as_str()),
        (2, "{}"),
        "{}",
        run.err
    );
}
