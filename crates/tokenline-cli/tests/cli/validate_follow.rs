//! Files that are followed.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{file, folder};
use crate::validate::{conversation, errors, json_of};

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
