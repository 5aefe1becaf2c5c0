//! Output that only a terminal shows.

use std::process::{Command, Stdio};

use console::{measure_text_width, strip_ansi_codes};

use crate::common::{file, folder};

/// Runs the program on a terminal of this width, and returns what is shown.
fn on_terminal(columns: usize, args: &[&str]) -> String {
    shown(columns, args, "")
}

/// The same, without standard output.
fn on_terminal_without_output(columns: usize, args: &[&str]) -> String {
    shown(columns, args, "> /dev/null")
}

fn shown(columns: usize, args: &[&str], redirection: &str) -> String {
    let quoted = |arg: &&str| format!("'{arg}'");
    let args = args.iter().map(quoted).collect::<Vec<_>>().join(" ");
    let command =
        format!("stty rows 24 cols {columns}; '{}' {args} {redirection}", env!("CARGO_BIN_EXE_tokenline"));
    let run = Command::new("script")
        .args(["--quiet", "--command", &command, "/dev/null"])
        .env("TERM", "xterm")
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .output()
        .expect("script runs");
    String::from_utf8(run.stdout).expect("UTF-8").replace("\r\n", "\n")
}

#[test]
fn the_place_of_a_fault_is_underlined_on_request() {
    let folder = folder();
    let schema = file(&folder, "schema.json", r#"{"properties":{"n":{"type":"integer"}}}"#);
    let input = file(&folder, "in.txt", "{\"a\":NaN}\n{\"b\":\"\u{9b}\",\"n\":\"x\"}\n");
    let args = ["parse", &input, "--schema", &schema];
    let shown = on_terminal(200, &[&args[..], &["--show-values"]].concat());
    let first = "in.txt:1:6: malformed_json: expected a value, found a letter\n    {\"a\":NaN}\n         ^\n";
    let second = "    {\"b\":\"\\u009b\",\"n\":\"x\"}\n                      ^\n";
    assert!(shown.contains(first) && shown.contains(second), "{shown}");
    assert!(!on_terminal(200, &args).contains('^'));

    let args = ["validate", &input, "--schema", &schema];
    let shown = on_terminal(200, &[&args[..], &["--show-values"]].concat());
    assert!(shown.contains(first) && shown.contains(second), "{shown}");
    assert!(!on_terminal(200, &args).contains('^'));
}

#[test]
fn results_of_a_batch_are_shown_as_well() {
    let folder = folder();
    let body =
        r#"{"choices":[{"message":{"content":"{\\"a\\":1}\\n{\\"a\\":NaN}"},"finish_reason":"stop"}]}"#;
    let result = format!(r#"{{"custom_id":"r","response":{{"status_code":200,"body":{body}}}}}"#);
    let input = file(&folder, "in.jsonl", result.replace("\\\\", "\\"));
    let shown = on_terminal(200, &["batch", &input, "--show-values"]);
    assert!(shown.contains("\n    {\"a\":NaN}\n         ^\n"), "{shown}");
}

#[test]
fn the_fault_of_a_call_is_underlined_as_well() {
    let folder = folder();
    let tools = r#"[{"name":"ls","parameters":{"properties":{"path":{"type":"string"}}}}]"#;
    let tools = file(&folder, "tools.json", tools);
    let input = file(&folder, "in.txt", "It is:\n{\"name\":\"ls\",\"parameters\":{\"path\":7}}\n");
    let args = ["parse", &input, "--tools", &tools, "--emit", "tool-calls", "--show-values"];
    let shown = on_terminal(200, &args);
    let excerpt =
        "    {\"name\":\"ls\",\"parameters\":{\"path\":7}}\n                                      ^\n";
    assert!(shown.contains(excerpt), "{shown}");
}

/// The text before the cursor goes back to the start of the line.
fn widest(shown: &str) -> usize {
    let shown = strip_ansi_codes(shown);
    shown.split(['\r', '\n']).map(measure_text_width).max().unwrap_or_default()
}

#[test]
fn progress_is_never_wider_than_the_terminal() {
    let folder = folder();
    let schema = file(&folder, "s", "{}");
    let records = file(&folder, "r", "{\"n\":1}\n".repeat(600_000));
    let commands: [&[&str]; 3] = [
        &["parse", &records, "--deny"],
        &["validate", &records, "--schema", &schema],
        &["conversations", "import", &records, "--max-errors", "0"],
    ];
    for command in commands {
        for columns in [100, 60, 30] {
            // Data goes elsewhere.
            let shown = on_terminal_without_output(columns, command);
            let bars = shown.lines().filter(|line| line.contains('%') || line.contains("left")).count();
            assert!(bars > 0, "{command:?} shows no progress: {shown:?}");
            let bars: String =
                shown.split_inclusive(['\r', '\n']).filter(|part| !part.contains(": ")).collect();
            assert!(widest(&bars) <= columns, "{command:?} at {columns}: {bars:?}");
        }
    }
}
