//! Outputs that would overwrite an input, help that cannot be written, colors, completions.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use crate::common::{file, folder, tokenline};

const PROGRAM: &str = env!("CARGO_BIN_EXE_tokenline");

#[test]
fn no_output_overwrites_an_input() {
    let folder = folder();
    let input = file(&folder, "in.jsonl", "{\"a\":1}\n");
    let schema = file(&folder, "schema.json", "{}");
    let tools = file(&folder, "tools.json", r#"[{"name":"f"}]"#);
    let link = folder.path().join("link").display().to_string();
    fs::hard_link(&input, &link).expect("a link");
    for args in [
        &["parse", &input, "--report-json", &input][..],
        &["parse", &input, "--report-json", &link],
        &["parse", &input, "--reject-file", &input],
        &["parse", &input, "--schema", &schema, "--reject-file", &schema],
        &["parse", &input, "--emit", "tool-calls", "--tools", &tools, "--report-json", &tools],
        &["validate", "--schema", &schema, &input, "--reject-file", &schema],
        &["conversations", "snapshot", "--input", &input, "--output", &link],
    ] {
        let run = tokenline(args, "");
        assert_eq!(
            (run.code, run.err.contains("would overwrite the input")),
            (2, true),
            "{args:?}: {}",
            run.err
        );
    }
    let piped = Command::new(PROGRAM)
        .args(["parse", "--report-json", &input])
        .stdin(File::open(&input).expect("opens"))
        .output()
        .expect("runs");
    let err = String::from_utf8_lossy(&piped.stderr).into_owned();
    assert_eq!(
        (piped.status.code(), err.contains("would overwrite the input stdin")),
        (Some(2), true),
        "{err}"
    );
    assert_eq!(fs::read_to_string(&input).expect("there"), "{\"a\":1}\n");
    assert_eq!(fs::read_to_string(&schema).expect("there"), "{}");
}

#[test]
fn standard_output_is_not_an_input() {
    let folder = folder();
    let input = file(&folder, "in.jsonl", "{\"a\":1}\n");
    let schema = file(&folder, "schema.json", "{}");
    for args in [
        &["parse", &input][..],
        &["validate", "--schema", &schema, &input],
        &["conversations", "snapshot", "--input", &input],
    ] {
        let appended = File::options().append(true).open(&input).expect("opens");
        let run = Command::new(PROGRAM).args(args).stdout(appended).output().expect("runs");
        let err = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(
            (run.status.code(), err.contains("standard output is the input")),
            (Some(2), true),
            "{err}"
        );
    }
    assert_eq!(fs::read_to_string(&input).expect("there"), "{\"a\":1}\n");
}

#[cfg(target_os = "linux")]
#[test]
fn failing_to_write_help_is_a_failure() {
    for args in [&["--help"][..], &["--version"], &["parse", "--help"], &["man"], &["completions", "bash"]] {
        let full = File::options().write(true).open("/dev/full").expect("opens");
        let run = Command::new(PROGRAM).args(args).stdout(full).output().expect("runs");
        let err = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(
            (run.status.code(), err.contains("cannot write to standard output")),
            (Some(3), true),
            "{err}"
        );
    }
}

#[test]
fn color_and_quiet() {
    let run = |args: &[&str]| tokenline(&[&["parse"], args].concat(), "{\"a\":}\n");
    let plain = run(&[]);
    assert!(!plain.err.contains('\u{1b}') && plain.err.contains("malformed_json"), "{}", plain.err);
    let colored = run(&["--color", "always"]);
    assert!(colored.err.contains("\u{1b}[31mmalformed_json\u{1b}[0m: expected"), "{:?}", colored.err);
    let stripped = colored.err.replace("\u{1b}[31m", "").replace("\u{1b}[1m", "").replace("\u{1b}[0m", "");
    assert_eq!(stripped, plain.err);
    assert_eq!(run(&["--color", "never"]).err, plain.err);
    assert_eq!(run(&["-q"]).err, "");
    let failure = tokenline(&["parse", "-q", "no/such/file"], "");
    assert_eq!((failure.code, failure.err.lines().count()), (3, 1), "{}", failure.err);
    // And why the exit code is 1.
    let cases: [(&[&str], &str, &str); 5] = [
        (&["parse", "-q", "--min-records", "1"], "x", "stdin: 0 written, fewer than --min-records 1"),
        (&["parse", "-q", "--deny"], "{\"a\":}\n", "stdin: 1 rejected, and --deny allows none"),
        (
            &["parse", "-q", "--max-errors", "0"],
            "{\"a\":}\n",
            "stdin: 1 rejected, more than --max-errors allows",
        ),
        (&["tools", "parse", "-q", "--deny"], "{\"name\":1}\n", "stdin: 1 rejected, and --deny allows none"),
        (&["continuation", "contexts", "-q"], "x", "stdin: no JSON found"),
    ];
    for (args, input, reason) in cases {
        let run = tokenline(args, input);
        assert_eq!((run.code, run.err), (1, format!("tokenline: {reason}\n")), "{args:?}");
    }
}

#[test]
fn completions_and_the_manual_cover_every_command() {
    for (shell, mark) in
        [("bash", "complete -F"), ("zsh", "#compdef tokenline"), ("fish", "complete -c tokenline")]
    {
        let script = tokenline(&["completions", shell], "");
        assert_eq!(script.code, 0);
        for word in [mark, "chat-analysis", "text-pointer"] {
            assert!(script.out.contains(word), "{shell}: {word}");
        }
        // What the help hides.
        assert!(!script.out.contains("validate-input"), "{shell}");
    }
    let page = tokenline(&["man"], "").out;
    for word in
        [".TH tokenline 1", "TOKENLINE CONVERSATIONS VALIDATE", "\\-\\-text\\-pointer", "\\-\\-temperature"]
    {
        assert!(page.contains(word), "{word}");
    }
    let checked = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn();
    if let Ok(mut bash) = checked {
        use std::io::Write as _;
        let script = tokenline(&["completions", "bash"], "").out;
        bash.stdin.take().expect("piped").write_all(script.as_bytes()).expect("written");
        assert!(bash.wait().expect("ends").success());
    }
}

#[test]
fn old_names_of_commands_and_options_still_work() {
    assert_eq!(tokenline(&["structured", "schema"], "").out, tokenline(&["chat-analysis", "schema"], "").out);
    for name in [&["validate-input"][..], &["conversations", "validate"]] {
        assert_eq!(tokenline(&[name, &["--input", "-"]].concat(), "x\n").code, 1, "{name:?}");
    }
    for name in [&["snapshot"][..], &["conversations", "snapshot"]] {
        assert_eq!(tokenline(&[name, &["--input", "-"]].concat(), "x\n").code, 1, "{name:?}");
    }
    let call = "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>";
    for option in ["--format", "--call-format"] {
        let run = tokenline(&["parse", "--emit", "tool-calls", option, "hermes"], call);
        assert_eq!(run.out, "{\"name\":\"f\",\"parameters\":{}}\n");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_message_has_no_name_of_a_temporary_file() {
    let run = tokenline(&["parse", "--report-json", "/proc/report.json"], "{}\n");
    let message = "tokenline: cannot write /proc/report.json: No such file or directory (os error 2)\n";
    assert_eq!((run.code, &*run.err), (3, message));
}
