//! Result files of batches.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::{file, folder, tokenline};

pub(crate) const OPENAI: &str = r#"{"id":"b1","custom_id":"r-2","response":{"status_code":200,"request_id":"x","body":{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"{\"a\":1}\n{\"a\":"},"finish_reason":"length"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}},"error":null}
{"id":"b2","custom_id":"r-1","response":{"status_code":429,"request_id":"x","body":{"error":{"message":"Rate limit reached","type":"tokens"}}},"error":null}
{"id":"b3","custom_id":"r-3","response":null,"error":{"code":"batch_expired","message":"It could not be run in time."}}
not json
{"id":"b4","custom_id":"r-4","response":{"status_code":200,"body":{"object":"response","status":"completed","output":[{"type":"message","status":"completed","content":[{"type":"output_text","text":"{\"a\":4}"}]}]}},"error":null}
"#;
pub(crate) const ANTHROPIC: &str = r#"{"custom_id":"one","result":{"type":"succeeded","message":{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"{\"a\":1}"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2}}}}
{"custom_id":"two","result":{"type":"errored","error":{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: required"}}}}
{"custom_id":"three","result":{"type":"expired"}}
"#;
const BEDROCK: &str = r#"{"recordId":"one","modelInput":{"x":1},"modelOutput":{"type":"message","role":"assistant","content":[{"type":"text","text":"{\"a\":1}"}],"stop_reason":"end_turn"}}
{"recordId":"two","modelInput":{"x":1},"error":{"errorCode":400,"errorMessage":"bad request"}}
"#;
const GEMINI: &str = r#"{"key":"one","response":{"candidates":[{"content":{"role":"model","parts":[{"text":"{\"a\":1}"}]},"finishReason":"STOP"}]}}
{"metadata":{"key":"two"},"error":{"code":13,"message":"internal"}}
{"metadata":"three"}
"#;

#[test]
fn each_event_has_the_id_of_its_request() {
    let args = ["parse", "--from", "openai-batch", "--emit", "events"];
    let run = tokenline(&args, OPENAI);
    assert_eq!(run.code, 0);
    assert_eq!(
        run.lines(),
        [
            r#"{"event":"batch_result","custom_id":"r-2","line":1,"status":200}"#,
            r#"{"event":"record","custom_id":"r-2","choice":0,"line":1,"start":0,"end":7,"completion":"newline","value":{"a":1}}"#,
            r#"{"event":"rejected","custom_id":"r-2","choice":0,"code":"truncated","line":2,"start":8,"end":13,"column":6,"message":"expected a value, found the end of the input"}"#,
            r#"{"event":"text","custom_id":"r-2","choice":0,"text":"{\"a\":"}"#,
            r#"{"event":"finish","custom_id":"r-2","choice":0,"reason":"length"}"#,
            r#"{"event":"usage","custom_id":"r-2","input_tokens":1,"output_tokens":2,"total_tokens":3}"#,
            r#"{"event":"batch_result","custom_id":"r-1","line":2,"status":429}"#,
            r#"{"event":"rejected","custom_id":"r-1","code":"provider_error","origin":"wire","line":2,"start":305,"end":461,"column":1,"message":"Rate limit reached"}"#,
            r#"{"event":"batch_result","custom_id":"r-3","line":3}"#,
            r#"{"event":"rejected","custom_id":"r-3","code":"provider_error","origin":"wire","line":3,"start":462,"end":581,"column":1,"message":"It could not be run in time."}"#,
            r#"{"event":"rejected","code":"malformed_json","line":4,"start":582,"end":590,"column":2,"message":"expected an object at the start of the line; expected the rest of `true`, `false` or `null`, found a letter"}"#,
            r#"{"event":"batch_result","custom_id":"r-4","line":5,"status":200}"#,
            r#"{"event":"record","custom_id":"r-4","choice":0,"line":1,"start":0,"end":7,"completion":"item_stop","value":{"a":4}}"#,
            r#"{"event":"finish","custom_id":"r-4","choice":0,"reason":"stop"}"#,
        ]
    );
    for size in ["1", "7", "100"] {
        let cut = tokenline(&[&args[..], &["--chunk-size", size]].concat(), OPENAI);
        assert_eq!((cut.code, cut.out, cut.err), (run.code, run.out.clone(), run.err.clone()));
    }
}

#[test]
fn every_format_yields_records_and_failures() {
    for (format, file, records, failures) in [
        (
            "openai-batch",
            OPENAI,
            &["{\"a\":1}", "{\"a\":4}"][..],
            &[
                "1 (custom_id r-2): 2:6 of the response: truncated",
                "2 (custom_id r-1): provider_error: Rate limit reached",
                "3 (custom_id r-3): provider_error: It could not be run in time.",
                "4:2: malformed_json",
            ][..],
        ),
        (
            "anthropic-batch",
            ANTHROPIC,
            &["{\"a\":1}"],
            &[
                "2 (custom_id two): provider_error: max_tokens: required",
                "3 (custom_id three): provider_error: expired",
            ],
        ),
        ("bedrock-batch", BEDROCK, &["{\"a\":1}"], &["2 (custom_id two): provider_error: bad request"]),
        (
            "gemini-batch",
            GEMINI,
            &["{\"a\":1}"],
            &[
                "2 (custom_id two): provider_error: internal",
                "3 (custom_id three): provider_error: the line has neither a response nor an error",
            ],
        ),
    ] {
        let run = tokenline(&["parse", "--deny", "--from", format], file);
        assert_eq!((run.code, run.lines()), (1, records.to_vec()), "{format}: {}", run.err);
        let errors: Vec<_> = run.err.lines().collect();
        assert_eq!(errors.len(), failures.len() + 1, "{errors:?}");
        for (error, failure) in errors.iter().zip(failures) {
            assert!(error.starts_with(&format!("stdin:{failure}")), "{error}");
        }
    }
}

#[test]
fn a_batch_stops_at_the_quotas() {
    let run = tokenline(&["parse", "--from", "openai-batch", "--max-records", "1"], OPENAI);
    assert_eq!((run.code, run.lines()), (0, vec!["{\"a\":1}"]));
    let run = tokenline(&["parse", "--from", "openai-batch", "--max-errors", "1"], OPENAI);
    assert_eq!(run.code, 1);
}

const SCHEMA: &str = r#"{"properties":{"n":{"type":"integer"}},"required":["n"]}"#;
pub(crate) const TOOLS: &str = r#"[{"name":"weather","parameters":{"required":["city"]}}]"#;

/// A result file in which every kind of line occurs, some of them longer than a block.
pub(crate) fn results(count: usize) -> String {
    let mut lines = String::new();
    for number in 0..count {
        let call = json!({"id": "c", "type": "function", "function": {"name": "weather", "arguments": "{\"city\":\"Oslo\"}"}});
        let (content, calls, reason) = match number % 7 {
            0 => (json!(format!("{{\"n\":{number}}}\n{{\"n\":\"x\"}}\n")), json!(null), "stop"),
            1 => (json!(format!("Sure:\n```json\n{{\"n\":{number}}}\n```\nDone.")), json!(null), "stop"),
            2 => (json!("{\"n\":1}\n{\"n\":"), json!(null), "length"),
            3 => (json!(null), json!([call]), "tool_calls"),
            4 => {
                lines += &format!(
                    "{{\"custom_id\":\"é{number}\",\"response\":null,\"error\":{{\"code\":\"batch_expired\",\"message\":\"late\"}}}}\n"
                );
                continue;
            }
            5 => {
                lines += "\n{\"custom_id\"\r\n";
                continue;
            }
            _ => (json!("é".repeat(number * 97 % 9000)), json!(null), "stop"),
        };
        let choice = json!({"index": 0, "message": {"role": "assistant", "content": content, "tool_calls": calls}, "finish_reason": reason});
        let body = json!({"object": "chat.completion", "choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 2}});
        lines += &json!({"custom_id": format!("r{number}"), "response": {"status_code": 200, "body": body}, "error": null}).to_string();
        lines += "\n";
    }
    lines += "{\"custom_id\":\"cut\",\"respon";
    lines
}

/// The messages without the one that names the detected format.
pub(crate) fn messages(err: &str) -> String {
    err.split_inclusive('\n').filter(|line| !line.contains(": read as ")).collect()
}

#[test]
fn the_output_is_that_of_parse_for_any_number_of_threads() {
    let folder = folder();
    let (input, schema) = (file(&folder, "in.jsonl", results(900)), file(&folder, "schema.json", SCHEMA));
    let tools = file(&folder, "tools.json", TOOLS);
    let (rejects, report) = (file(&folder, "rejects", ""), file(&folder, "report", ""));
    let cases: [&[&str]; 5] = [
        &["--schema", &schema],
        &["--emit", "tool-calls", "--tools", &tools, "--deny"],
        &["--emit", "events"],
        &["--mode", "strict", "--max-errors", "300"],
        &["--max-records", "200"],
    ];
    for options in cases {
        let outputs = ["--reject-file", &rejects, "--report-json", &report];
        let run = |command: &[&str]| {
            let run = tokenline(&[command, &[&input], options, &outputs].concat(), "");
            let read = |path: &str| fs::read_to_string(path).expect("written");
            (run.code, run.out, messages(&run.err), read(&rejects), read(&report))
        };
        let parsed = run(&["parse", "--from", "openai-batch"]);
        assert!(parsed.1.lines().count() > 100 && parsed.3.lines().count() > 50, "{options:?}: {}", parsed.2);
        for jobs in ["1", "2", "5"] {
            assert!(run(&["batch", "-j", jobs]) == parsed, "{options:?} -j {jobs}");
        }
    }
}

#[test]
fn texts_have_the_ids_of_their_requests() {
    for jobs in ["1", "3"] {
        let run = tokenline(&["batch", "--emit", "text", "-j", jobs], OPENAI);
        assert_eq!(
            run.lines(),
            [
                r#"{"custom_id":"r-2","finish_reason":"length","text":"{\"a\":1}\n{\"a\":"}"#,
                r#"{"custom_id":"r-4","finish_reason":"stop","text":"{\"a\":4}"}"#
            ]
        );
        let summary =
            "stdin: 4 results (1 complete, 1 incomplete, 1 errored, 1 expired), 3 rejected, 1 warning";
        assert_eq!(run.err.lines().last(), Some(summary));
    }
    let run = tokenline(&["batch", "--emit", "text", "--eager"], OPENAI);
    let message = "tokenline: --eager has no effect on --emit text: texts are not parsed\n";
    assert_eq!((run.code, &*run.err), (2, message));
    // Texts count, too.
    for jobs in ["1", "4"] {
        let run = tokenline(&["batch", "--emit", "text", "--max-records", "1", "-j", jobs], OPENAI);
        assert_eq!((run.code, run.lines().len()), (0, 1), "{}", run.err);
        let run = tokenline(&["batch", "--emit", "text", "--min-records", "3", "-j", jobs], OPENAI);
        assert_eq!((run.code, run.lines().len()), (1, 2), "{}", run.err);
        assert!(run.err.ends_with("\nstdin: 2 written, fewer than --min-records 3\n"), "{}", run.err);
    }
}

#[test]
fn the_format_is_detected_and_said() {
    for (format, file) in [
        ("openai-batch", OPENAI),
        ("anthropic-batch", ANTHROPIC),
        ("bedrock-batch", BEDROCK),
        ("gemini-batch", GEMINI),
    ] {
        let detected = tokenline(&["batch"], format!("\u{feff}\nnot json\n{file}"));
        let said = format!("stdin: read as {format} (");
        assert!(detected.err.starts_with(&said), "{}", detected.err);
        let given = tokenline(&["batch", "--from", format], file);
        assert_eq!((detected.out, detected.code), (given.out, given.code));
        assert!(!given.err.contains("read as"), "{}", given.err);
    }
    let run = tokenline(&["batch"], "{\"a\":1}\n{}\n");
    let message = "stdin: none of its first 100 lines is a batch result; if it has results, name their format with --from";
    assert_eq!((run.code, &*run.out, run.err.contains(message)), (2, "", true), "{}", run.err);
    // The first hundred lines decide, before there is an output.
    let folder = folder();
    let (late, old) = (file(&folder, "late.jsonl", "{}\n".repeat(100) + OPENAI), file(&folder, "out", "old"));
    for input in [&*late, "-"] {
        let run = tokenline(&["batch", input, "--output", &old], "{}\n".repeat(100) + OPENAI);
        assert_eq!((run.code, &*fs::read_to_string(&old).expect("kept")), (2, "old"), "{}", run.err);
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2);
    }
    let run = tokenline(&["batch"], "{}\n".repeat(99) + OPENAI);
    assert_eq!((run.code, run.lines().len()), (0, 2), "{}", run.err);
    // Blank lines and a long open line do not count.
    let blank = "\n".repeat(1_200_000);
    let late = format!(
        "{blank}{{\"bro\n{}",
        ANTHROPIC.replacen(
            "{\"custom_id\"",
            &format!("{{\"pad\":\"{}\",\"custom_id\"", "x".repeat(2_000_000)),
            1
        )
    );
    let run = tokenline(&["batch"], late);
    assert_eq!((run.code, run.lines()), (0, vec![r#"{"a":1}"#]), "{}", run.err);
    let run = tokenline(&["batch"], "\u{feff} \n\n");
    assert_eq!((run.code, &*run.out, &*run.err), (0, "", "stdin: 0 results, 0 records, 0 rejected\n"));
}

#[test]
fn several_files_are_read_in_order() {
    let folder = folder();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(ANTHROPIC.as_bytes()).expect("compressed");
    let one = file(&folder, "one.jsonl", OPENAI);
    let two = file(&folder, "two.jsonl.gz", gzip.finish().expect("compressed"));
    let [output, report] = ["out", "report"].map(|name| file(&folder, name, "old"));
    let args = ["batch", &one, &two, "--emit", "events", "--output", &output, "--report-json", &report];
    let run = tokenline(&args, "");
    assert_eq!((run.code, &*run.out), (0, ""));
    let summary =
        "2 files: 7 results (2 complete, 1 incomplete, 2 errored, 2 expired), 3 records, 6 rejected";
    assert_eq!(run.err.lines().last(), Some(summary));
    let events: Vec<Value> = fs::read_to_string(&output)
        .expect("written")
        .lines()
        .map(|line| serde_json::from_str(line).expect("an event"))
        .collect();
    let results: Vec<_> = events.iter().filter(|event| event["event"] == "batch_result").collect();
    let ids: Vec<_> = results.iter().map(|event| event["custom_id"].as_str().expect("an id")).collect();
    assert_eq!(ids, ["r-2", "r-1", "r-3", "r-4", "one", "two", "three"]);
    assert_eq!(events.last().expect("an event")["file"], json!(two));
    let report: Value = serde_json::from_slice(&fs::read(&report).expect("written")).expect("a report");
    assert_eq!(report["results"], json!({"complete": 2, "incomplete": 1, "errored": 2, "expired": 2}));
    assert_eq!(report["complete"], true);
    let other = file(&folder, "other.jsonl", "{}\n");
    let run = tokenline(&["batch", &other, &two], "");
    assert_eq!((run.code, &*run.out), (2, ""), "{}", run.err);
    let missing = [folder.path().to_str().expect("UTF-8"), "/missing"].concat();
    let run = tokenline(&["batch", &missing, &two, "--output", &output], "");
    assert_eq!((run.code, &*run.out), (3, ""));
}

#[test]
fn outputs_are_different_files() {
    let folder = folder();
    let input = file(&folder, "in.jsonl", OPENAI);
    let other = folder.path().join("out");
    let other = other.to_str().expect("UTF-8");
    for option in ["--reject-file", "--report-json"] {
        let run = tokenline(&["batch", &input, "--output", other, option, other], "");
        let message = format!("tokenline: --output and {option} name the same file\n");
        assert_eq!((run.code, run.err), (2, message));
    }
    let run = tokenline(&["batch", &input, "--output", &input], "");
    assert_eq!((run.code, fs::read_to_string(&input).expect("there")), (2, OPENAI.to_owned()));
}

#[test]
fn each_choice_has_its_text() {
    let choice =
        |index, text: &str| json!({"index": index, "message": {"content": text}, "finish_reason": "stop"});
    let body = json!({"object": "chat.completion", "choices": [choice(0, "a"), choice(1, "")]});
    let line = |id| json!({"custom_id": id, "response": {"status_code": 200, "body": body}}).to_string();
    let run = tokenline(&["batch", "--emit", "text"], line(json!("x")) + "\n" + &line(json!(null)));
    assert_eq!(
        run.lines(),
        [
            r#"{"custom_id":"x","finish_reason":"stop","text":"a"}"#,
            r#"{"custom_id":"x","choice":1,"finish_reason":"stop","text":""}"#,
            r#"{"finish_reason":"stop","text":"a"}"#,
            r#"{"choice":1,"finish_reason":"stop","text":""}"#,
        ]
    );
}

#[test]
fn a_failed_run_does_not_replace_the_output() {
    let folder = folder();
    let output = file(&folder, "out", "old");
    let junk = file(&folder, "junk.jsonl", "{}\n");
    let broken = file(&folder, "broken.gz", b"\x1f\x8b\x08");
    for (input, code) in [(&junk, 2), (&broken, 3)] {
        let run = tokenline(&["batch", input, "--output", &output], "");
        assert_eq!(
            (run.code, fs::read_to_string(&output).expect("there")),
            (code, "old".to_owned()),
            "{}",
            run.err
        );
    }
    // What could be read is not lost.
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(ANTHROPIC.as_bytes()).expect("compressed");
    let cut = [&gzip.finish().expect("compressed")[..], b"garbage"].concat();
    let cut = file(&folder, "cut.gz", cut);
    let run = tokenline(&["batch", &cut, "--output", &output], "");
    assert_eq!((run.code, &*fs::read_to_string(&output).expect("there")), (3, "{\"a\":1}\n"), "{}", run.err);
}

/// Runs `tokenline batch` on an input that does not end, and presses Ctrl-C. Returns its messages.
#[cfg(unix)]
fn interrupted(args: &[&str], input: &str) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tokenline"))
        .arg("batch")
        .args(args)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(input.as_bytes()).expect("it reads");
    thread::sleep(Duration::from_millis(300));
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert!(killed.success());
    let run = child.wait_with_output().expect("it ends");
    drop(stdin);
    let err = String::from_utf8_lossy(&run.stderr).into_owned();
    assert_eq!(run.status.code(), Some(130), "{err}");
    err
}

/// Also while there is nothing to read, and before the format is known.
#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_wait() {
    for (input, expected) in [(OPENAI, Some("{\"a\":1}\n{\"a\":4}\n")), ("", None)] {
        let folder = folder();
        let output = folder.path().join("out");
        interrupted(&["--output", output.to_str().expect("UTF-8")], input);
        assert_eq!(fs::read_to_string(&output).ok().as_deref(), expected);
        let left = fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(left, usize::from(expected.is_some()), "temporary files");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_whole_lines() {
    let folder = folder();
    let [output, report] = ["out", "report"].map(|name| file(&folder, name, "old"));
    // More than one block, and then an unfinished line.
    let results = results(2000);
    let args = ["--quiet", "-j", "2", "--output", &output, "--report-json", &report];
    assert_eq!(interrupted(&args, &results), "tokenline: interrupted: the output is incomplete\n");
    let written = fs::read_to_string(&output).expect("written");
    let all = tokenline(&["batch", &file(&folder, "in.jsonl", results)], "").out;
    assert!(all.starts_with(&written) && written.ends_with('\n'), "{} of {}", written.len(), all.len());
    let report: Value = serde_json::from_slice(&fs::read(&report).expect("written")).expect("a report");
    assert_eq!(report["complete"], false);
}
