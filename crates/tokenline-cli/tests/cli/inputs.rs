//! `parse` with several inputs, compressed or not.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{file, folder, tokenline};

#[test]
fn several_files_are_read_in_order() {
    let folder = folder();
    let one = file(&folder, "one.txt", "{\"n\":1}\n{\"n\":\n");
    let two = file(&folder, "two.txt", "{\"n\":2}\n{\"n\":NaN}\n");
    let report = folder.path().join("report.json").display().to_string();
    let rejects = folder.path().join("rejects.jsonl").display().to_string();
    let args = ["parse", &one, &two, "--report-json", &report, "--reject-file", &rejects, "--emit", "events"];
    let run = tokenline(&args, "");
    assert_eq!(run.code, 0, "{}", run.err);
    let events: Vec<Value> =
        run.lines().iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let files: Vec<&str> = events.iter().map(|event| event["file"].as_str().expect("a name")).collect();
    assert_eq!(files, [&one, &one, &two, &two]);
    assert!(
        run.err.contains(&format!("{one}:3:1: ")) && run.err.contains(&format!("{two}:2:6: ")),
        "{}",
        run.err
    );

    assert!(run.err.ends_with("\n2 files: 2 records, 2 rejected\n"), "{}", run.err);

    let report: Value = serde_json::from_str(&fs::read_to_string(&report).expect("a report")).expect("JSON");
    assert_eq!((&report["records"], &report["complete"]), (&2.into(), &true.into()));
    let files: Vec<_> =
        report["diagnostics"].as_array().expect("them").iter().map(|one| &one["file"]).collect();
    assert_eq!(files, [&one, &two]);

    let rejects = fs::read_to_string(&rejects).expect("rejects");
    let rejects: Vec<Value> = rejects.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((&rejects[0]["file"], &rejects[1]["file"]), (&one.clone().into(), &two.clone().into()));
    assert_eq!((&rejects[1]["code"], &rejects[1]["column"]), (&"malformed_json".into(), &6.into()));
    assert_eq!(rejects.len(), 2);
}

#[test]
fn records_of_several_files_keep_their_file_and_line() {
    let folder = folder();
    let one = file(&folder, "one.txt", "{\"n\":1}\nprose\n{\"n\":2}\n");
    let stream = "data: {\"choices\":[{\"delta\":{\"content\":\"{}\\n\"},\"finish_reason\":\"stop\"}]}\n\n";
    let stream = file(&folder, "two.sse", stream);
    let run = tokenline(&["parse", &one, "-", "--with-source"], "{\"n\":3}\n");
    let name = Value::from(one);
    assert_eq!(
        run.lines(),
        [
            format!("{{\"file\":{name},\"line\":1,\"value\":{{\"n\":1}}}}"),
            format!("{{\"file\":{name},\"line\":3,\"value\":{{\"n\":2}}}}"),
            "{\"line\":1,\"value\":{\"n\":3}}".to_owned(),
        ]
    );
    // The lines of a response are not those of the file.
    let run = tokenline(&["parse", "--from", "openai-chat", &stream, "--with-source"], "");
    assert_eq!(run.lines(), [format!("{{\"file\":{},\"value\":{{}}}}", Value::from(stream))]);
}

#[test]
fn an_unreadable_file_does_not_stop_the_others() {
    let folder = folder();
    let good = file(&folder, "good.txt", "{\"n\":1}\n");
    let broken = file(&folder, "broken.gz", b"\x1f\x8b\x08\x00broken");
    let cut = file(&folder, "cut.sse", "data: {\"choices\":[]}\n\n");
    let run = tokenline(&["parse", &broken, &good], "");
    assert_eq!((run.code, run.lines()), (3, vec!["{\"n\":1}"]));
    assert!(run.err.contains(&format!("cannot read {broken}")), "{}", run.err);
    let run = tokenline(&["parse", "--from", "openai-chat", &cut, &cut], "");
    assert_eq!((run.code, run.err.matches("the source is incomplete").count()), (3, 2), "{}", run.err);
}

#[test]
fn compressed_responses_and_patterns_are_read() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/compressed");
    let pattern = fixtures.join("three.*").display().to_string();
    let plain = tokenline(&["parse", &fixtures.join("three.gz").display().to_string()], "");
    assert!(plain.lines().len() >= 2, "{}", plain.err);
    let all = tokenline(&["parse", &pattern], "");
    let files = fs::read_dir(&fixtures).expect("fixtures").flatten();
    let files = files.filter(|file| file.file_name().to_string_lossy().starts_with("three.")).count();
    assert_eq!(all.lines().len(), files * plain.lines().len(), "{}", all.err);
    let piped = tokenline(&["parse"], fs::read(fixtures.join("three.zst")).expect("a fixture"));
    assert_eq!(piped.out, plain.out);
}

#[test]
fn a_quota_applies_to_all_files_together() {
    let folder = folder();
    let one = file(&folder, "one.txt", "{\"n\":1}\n{\"n\":2}\n");
    let run = tokenline(&["parse", &one, &one, "--max-records", "3"], "");
    assert_eq!((run.code, run.lines()), (0, vec!["{\"n\":1}", "{\"n\":2}", "{\"n\":1}"]));
    let bad = file(&folder, "bad.txt", "{\"n\":}\n");
    let run = tokenline(&["parse", &bad, &bad, &one, "--max-errors", "1"], "");
    assert_eq!((run.code, run.lines().len()), (1, 0), "{}", run.err);
}

/// The reject file has what the model wrote only with `--show-values`.
#[test]
fn the_text_of_rejects_is_written_on_request() {
    const SECRET: &str = "SECRET";
    let folder = folder();
    let tools = r#"[{"name":"w","parameters":{"type":"object","properties":{"n":{"type":"integer"}}}}]"#;
    let tools = file(&folder, "tools.json", tools);
    let schema = file(&folder, "schema.json", r#"{"required":["n"]}"#);
    let rejects = folder.path().join("rejects.jsonl").display().to_string();
    let call = r#"{"name":"w","parameters":{"n":"SECRET"}}"#;
    let unknown = r#"{"name":"SECRET","parameters":{}}"#;
    let text = "{\"a\":\"SECRET\", NaN}\n{\"b\":\"SECRET\"}\n{\"n\":\"SECRET";
    let native = |text: &str| {
        let content = Value::from(text);
        format!(
            r#"data: {{"choices":[{{"delta":{{"content":{content},"tool_calls":[{{"index":0,"id":"SECRET","function":{{"name":"w","arguments":"{{\"n\":\"SECRET\"}}"}}}}]}},"finish_reason":"stop"}}]}}"#
        ) + "\n\ndata: [DONE]\n\n"
    };
    let batch = |text: &str| {
        let body = serde_json::json!({"object": "chat.completion",
            "choices": [{"index": 0, "message": {"content": text}, "finish_reason": "stop"}]});
        serde_json::json!({"custom_id": "x", "response": {"status_code": 200, "body": body}}).to_string()
    };
    let row = serde_json::json!({"o": text}).to_string() + "\n{\"o\":[\"SECRET\"]}";
    let records = ["--schema", &schema];
    let calls = ["--emit", "tool-calls", "--tools", &tools];
    let received = ["{\"a\":\"SECRET\", NaN}", "{\"b\":\"SECRET\"}", "{\"n\":\"SECRET"];
    type Case<'a> = (&'a [&'a str], &'a [&'a str], String, &'a [&'a str]);
    let cases: [Case<'_>; 7] = [
        (&["parse"], &records, text.to_owned(), &received),
        (&["parse", "--chunk-size", "1"], &records, text.to_owned(), &received),
        (
            &["parse", "--from", "lines", "--text-pointer", "/o"],
            &records,
            row,
            &[&received[..], &["{\"o\":[\"SECRET\"]}"]].concat(),
        ),
        (&["parse", "--from", "openai-batch"], &records, batch(text), &received),
        (
            &["batch", "-j", "2"],
            &records,
            [batch(text), batch(text)].join("\n"),
            &[received, received].concat(),
        ),
        (&["parse"], &calls, format!("{call}\n{unknown}\n"), &[call, unknown]),
        // Beside a native call, an object in the text is not a call.
        (&["parse", "--from", "openai-chat"], &calls, native(unknown), &["{\"n\":\"SECRET\"}"]),
    ];
    for (command, rules, input, received) in cases {
        let args = [command, rules, &["--reject-file", &rejects]].concat();
        let run = tokenline(&args, &input);
        let without = fs::read_to_string(&rejects).expect("rejects");
        assert_eq!((run.code, without.lines().count()), (0, received.len()), "{args:?}: {}", run.err);
        assert!(!without.contains(SECRET), "{args:?}: {without}");
        tokenline(&[&*args, &["--show-values"]].concat(), &input);
        let with = fs::read_to_string(&rejects).expect("rejects");
        let with: Vec<Value> = with.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let texts: Vec<_> = with.iter().map(|reject| reject["received"].as_str().unwrap_or("none")).collect();
        assert_eq!(texts, received, "{args:?}");
        for (with, without) in with.iter().zip(without.lines()) {
            let without: Value = serde_json::from_str(without).expect("JSON");
            assert_eq!((&with["code"], &with["start"]), (&without["code"], &without["start"]));
        }
        if rules == records {
            let run = tokenline(&[command, rules, &["--emit", "events", "--show-values"]].concat(), &input);
            let events =
                run.lines().into_iter().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
            let rejects: Vec<_> = events.filter(|event| event["event"] == "rejected").collect();
            let texts: Vec<_> =
                rejects.iter().map(|reject| reject["received"].as_str().unwrap_or("none")).collect();
            assert_eq!(texts, received, "{args:?}");
        }
    }
    assert_eq!(tokenline(&["parse", "--show-values"], "").code, 2);
}

#[test]
fn utf_16_is_called_so() {
    let folder = folder();
    let schema = file(&folder, "schema.json", "{}");
    let text = "{\"a\":1}\n";
    let units = || text.encode_utf16();
    let little: Vec<u8> = units().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = units().flat_map(u16::to_be_bytes).collect();
    let marked = [&b"\xff\xfe"[..], &little].concat();
    let what = "this is UTF-16, not UTF-8: convert it, such as with iconv -f UTF-16 -t UTF-8";
    for input in [&little, &big, &marked] {
        for args in [&["parse"][..], &["parse", "--chunk-size", "1"], &["validate", "--schema", &schema]] {
            let run = tokenline(args, input);
            assert!(run.err.contains(&format!("stdin: {what}\n")), "{args:?}: {}", run.err);
        }
    }
    let schema = file(&folder, "schema-16.json", &marked);
    let run = tokenline(&["parse", "--schema", &schema], text);
    assert_eq!((run.code, run.err), (2, format!("tokenline: {schema}: {what}\n")));
    for input in [&b""[..], b"{", b"{}", b"\xff", b"a\0", b"\xef\xbb\xbf{}"] {
        assert!(!tokenline(&["parse"], input).err.contains("UTF-16"), "{input:?}");
    }
}
