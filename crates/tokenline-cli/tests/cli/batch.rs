//! Result files of batches.

use crate::common::tokenline;

const OPENAI: &str = r#"{"id":"b1","custom_id":"r-2","response":{"status_code":200,"request_id":"x","body":{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"{\"a\":1}\n{\"a\":"},"finish_reason":"length"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}},"error":null}
{"id":"b2","custom_id":"r-1","response":{"status_code":429,"request_id":"x","body":{"error":{"message":"Rate limit reached","type":"tokens"}}},"error":null}
{"id":"b3","custom_id":"r-3","response":null,"error":{"code":"batch_expired","message":"It could not be run in time."}}
not json
{"id":"b4","custom_id":"r-4","response":{"status_code":200,"body":{"object":"response","status":"completed","output":[{"type":"message","status":"completed","content":[{"type":"output_text","text":"{\"a\":4}"}]}]}},"error":null}
"#;
const ANTHROPIC: &str = r#"{"custom_id":"one","result":{"type":"succeeded","message":{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"{\"a\":1}"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2}}}}
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
                "r-2: 2:6: truncated",
                "r-1: 2:1 of the wire: provider_error: Rate limit reached",
                "r-3: 3:1 of the wire: provider_error: It could not be run in time.",
                "4:2: malformed_json",
            ][..],
        ),
        (
            "anthropic-batch",
            ANTHROPIC,
            &["{\"a\":1}"],
            &[
                "two: 2:1 of the wire: provider_error: max_tokens: required",
                "three: 3:1 of the wire: provider_error: expired",
            ],
        ),
        ("bedrock-batch", BEDROCK, &["{\"a\":1}"], &["two: 2:1 of the wire: provider_error: bad request"]),
        (
            "gemini-batch",
            GEMINI,
            &["{\"a\":1}"],
            &[
                "two: 2:1 of the wire: provider_error: internal",
                "three: 3:1 of the wire: provider_error: the line has neither a response nor an error",
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
