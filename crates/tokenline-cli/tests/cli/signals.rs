//! Ctrl-C, SIGTERM and a closed output: one rule for all commands.

use std::fs;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{file, folder, tokenline};

fn start(args: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_tokenline"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts")
}

/// Runs a command on an input that does not end, and sends it a signal once its output is as expected. Returns its exit
/// code.
fn signalled(args: &[&str], input: impl AsRef<[u8]>, output: &str, signal: &str) -> Option<i32> {
    let mut child = start(args);
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(input.as_ref()).expect("it reads");
    let mut seen = vec![0; output.len()];
    child.stdout.as_mut().expect("piped").read_exact(&mut seen).expect("output");
    assert_eq!(String::from_utf8(seen).expect("UTF-8"), output);
    thread::sleep(Duration::from_millis(300));
    let killed = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill");
    assert!(killed.success());
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(20) {
        if let Some(status) = child.try_wait().expect("a child") {
            let _ = child.wait();
            return status.code();
        }
        thread::sleep(Duration::from_millis(20));
    }
    let _ = child.kill();
    let _ = child.wait();
    panic!("{args:?} goes on after {signal}");
}

#[test]
fn what_was_read_is_written_with_the_reports() {
    let results = r#"{"custom_id":"one","result":{"type":"succeeded","message":{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"{\"a\":1}\n{\"a\":NaN}\n"}],"stop_reason":"end_turn"}}}"#;
    let results = format!("{results}\n");
    let lines = "{\"a\":1}\n{\"a\":NaN}\n".to_owned();
    let row = format!("{}\n", serde_json::json!({ "o": lines }));
    let schemas = folder();
    let schema = file(&schemas, "schema.json", "{}");
    let error = "stdin:2:6: malformed_json: expected a value, found a letter\n";
    let cases: [(&[&str], &str, &str); 5] = [
        (&["parse"], &lines, "{\"a\":1}\n"),
        (&["parse", "--from", "lines", "--text-pointer", "/o"], &row, "{\"a\":1}\n"),
        (&["parse", "--from", "anthropic-batch"], &results, "{\"a\":1}\n"),
        (&["batch"], &results, "{\"a\":1}\n"),
        (&["validate", "--schema", &schema], &lines, error),
    ];
    let check = |(command, input, output): (&[&str], &str, &str)| {
        let folder = folder();
        let [report, rejects] =
            ["report", "rejects"].map(|name| folder.path().join(name).display().to_string());
        for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
            let outputs = ["--report-json", &report, "--reject-file", &rejects];
            assert_eq!(
                signalled(&[command, &outputs].concat(), input, output, signal),
                Some(code),
                "{command:?}"
            );
            let written: Value = serde_json::from_slice(&fs::read(&report).expect("a report")).expect("JSON");
            assert!(written["rejected"] == 1 || written["error_count"] == 1, "{written}");
            assert_eq!(fs::read_to_string(&rejects).expect("rejects").lines().count(), 1, "{command:?}");
            fs::remove_file(&report).and_then(|()| fs::remove_file(&rejects)).expect("there");
            // No temporary file.
            assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0, "{command:?}");
        }
    };
    // They wait most of the time.
    thread::scope(|scope| {
        for case in cases {
            scope.spawn(move || check(case));
        }
    });
}

/// Also while the thread that decompresses it waits.
#[test]
fn a_compressed_input_that_does_not_end_is_interrupted() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(b"{\"a\":1}\n{\"a\":").and_then(|()| gzip.flush()).expect("compressed");
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        assert_eq!(signalled(&["parse"], gzip.get_ref(), "{\"a\":1}\n", signal), Some(code));
    }
}

#[test]
fn commands_without_files_end_at_once() {
    let mut child = start(&["tools", "parse"]);
    let _stdin = child.stdin.take();
    thread::sleep(Duration::from_millis(500));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill").success());
    let output = child.wait_with_output().expect("it ends");
    let message = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(message, "tokenline: interrupted: the output is incomplete\n");
    let commands: [&[&str]; 4] = [
        &["tools", "parse"],
        &["prompt", "apply", "--id", "extract-definitions"],
        &["continuation", "contexts"],
        &["snapshot", "--input", "-"],
    ];
    // They wait most of the time.
    thread::scope(|scope| {
        for args in commands {
            scope.spawn(move || {
                assert_eq!(signalled(args, "{\"a\":", "", "-INT"), Some(130), "{args:?}");
                assert_eq!(signalled(args, "{\"a\":", "", "-TERM"), Some(143), "{args:?}");
            });
        }
    });
}

#[test]
fn a_server_ends_with_a_signal() {
    for signal in ["-INT", "-TERM"] {
        let args = ["replay", "--listen", "127.0.0.1:0"];
        assert_eq!(signalled(&args, "", "http://127.0.0.1:", signal), Some(0), "{signal}");
        let args = ["serve", "--listen", "127.0.0.1:0"];
        assert_eq!(signalled(&args, "", "http://127.0.0.1:", signal), Some(0), "{signal}");
    }
}

/// A reader that leaves is not a failure; an output that never existed is.
#[test]
fn a_closed_output_is_a_failure() {
    let folder = folder();
    let input = file(&folder, "in.txt", "{\"a\":1}\n".repeat(200_000));
    let report = folder.path().join("report").display().to_string();
    for command in ["parse", "validate", "tools formats", "explain"] {
        let of_file = matches!(command, "parse" | "validate");
        let schema = file(&folder, "schema.json", "false");
        let mut args: Vec<&str> = command.split(' ').collect();
        if of_file {
            args.extend([&*input, "--report-json", &report]);
        }
        if command == "validate" {
            args.extend(["--schema", &schema]);
        }
        let shell = |redirect: &str| {
            let script = format!("\"$0\" \"$@\" {redirect}");
            let program = env!("CARGO_BIN_EXE_tokenline");
            let run =
                Command::new("bash").args(["-o", "pipefail", "-c", &script, program]).args(&args).output();
            let run = run.expect("bash");
            (run.status.code(), String::from_utf8(run.stderr).expect("UTF-8"))
        };
        let (code, message) = shell(">&-");
        assert_eq!(code, Some(3), "{command}: {message}");
        assert!(message.contains("cannot write to standard output: it is closed"), "{command}: {message}");
        assert!(!of_file || fs::remove_file(&report).is_ok(), "{command}");
        assert_ne!(shell("> /dev/null").0, Some(3), "{command}");
        let (code, message) = shell("| head -n 1 > /dev/null");
        assert_eq!(code, Some(i32::from(command == "validate")), "{command}: {message}");
    }
    assert_eq!(tokenline(&["parse", &input, "--max-records", "1"], "").code, 0);
    // Also if there is nothing to write.
    let anything = file(&folder, "anything.json", "true");
    for args in [
        &["validate", "--schema", &anything, &input][..],
        &["parse", "/dev/null"],
        &["--help"],
        &["parse", "--help"],
        &["--version"],
    ] {
        let program = env!("CARGO_BIN_EXE_tokenline");
        let run = Command::new("bash").args(["-c", "\"$0\" \"$@\" >&-", program]).args(args).output();
        let run = run.expect("bash");
        let message = String::from_utf8(run.stderr).expect("UTF-8");
        assert_eq!(run.status.code(), Some(3), "{args:?}: {message}");
        assert!(message.contains("cannot write to standard output: it is closed"), "{args:?}: {message}");
    }
}
