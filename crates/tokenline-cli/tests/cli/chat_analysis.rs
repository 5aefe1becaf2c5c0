//! `tokenline chat-analysis`: a chat answer and its analysis in one JSON value.

use serde_json::Value;
use tokenline::llm::replay::{Recording, ReplayServer};

use crate::common::{file, folder, ollama_body, tokenline};

const JSON: &str = include_str!("../../../tokenline-chat-analysis/tests/examples/college-savings.json");
const XML: &str = include_str!("../../../tokenline-chat-analysis/tests/examples/college-savings.xml");

#[test]
fn the_schema_in_both_languages() {
    let schema = tokenline(&["chat-analysis", "schema"], "");
    assert_eq!((schema.code, &*schema.out), (0, tokenline::chat_analysis::RESPONSE_SCHEMA));
    let module = tokenline(&["chat-analysis", "schema", "--typescript"], "");
    assert_eq!(module.code, 0);
    assert!(module.out.starts_with("export const LLM_RESPONSE_SCHEMA = {"), "{}", module.out);
    assert!(module.out.contains("export interface LLMResponse {"), "{}", module.out);
}

#[test]
fn a_request_is_one_line() {
    let run = tokenline(&["chat-analysis", "request", "--model", "llama3.1"], "How much should I save?\n");
    assert_eq!((run.code, run.lines().len()), (0, 1));
    let body: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!((&body["model"], &body["stream"]), (&"llama3.1".into(), &true.into()));
    assert_eq!(body["messages"][1]["content"], "How much should I save?");
    let folder = folder();
    let question = file(&folder, "question.txt", "Why?");
    let run = tokenline(
        &["chat-analysis", "request", "--model", "m", "--no-stream", "--system", "Be brief.", &question],
        "",
    );
    let body: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!((&body["messages"][0]["content"], &body["stream"]), (&"Be brief.".into(), &false.into()));
    assert_eq!(tokenline(&["chat-analysis", "request", "--model", "m"], " \n").code, 2);
    assert_eq!(tokenline(&["chat-analysis", "request"], "Why?").code, 2);
}

#[test]
fn a_check_tells_every_place_and_rule() {
    let good = tokenline(&["chat-analysis", "check"], JSON);
    assert_eq!((good.code, &*good.out, &*good.err), (0, "", ""));
    let text = r#"{"response": " ", "analysis": {"subjects": [{"name": "A b", "description": "How to save for college",
"isNew": 1, "keywords": []}], "summaryUpdate": "Short.", "mood": "good"}}"#;
    let folder = folder();
    let path = file(&folder, "answer.json", text);
    let bad = tokenline(&["chat-analysis", "check", &path], "");
    assert_eq!((bad.code, &*bad.out), (1, ""));
    let told: Vec<_> = bad.err.lines().map(|line| line.strip_prefix(&*path).expect("the file")).collect();
    assert_eq!(
        told,
        [
            ":1:14: the response is blank (at /response)",
            ":1:54: schema_violation: does not match the pattern \"^[a-z0-9]+(-[a-z0-9]+)*$\" (at /analysis/subjects/0/name) (rule /properties/analysis/properties/subjects/items/properties/name/pattern)",
            ":2:10: schema_violation: expected type boolean, found a number (at /analysis/subjects/0/isNew) (rule /properties/analysis/properties/subjects/items/properties/isNew/type)",
            ":2:48: schema_violation: fewer characters than minLength 10: has 6 (at /analysis/summaryUpdate) (rule /properties/analysis/properties/summaryUpdate/minLength)",
            ": warning: not part of the schema; ignored (at /analysis/mood)",
        ]
    );
    let warned = tokenline(
        &["chat-analysis", "check"],
        r#"{"response": "Yes.", "analysis": {"subjects": [], "summaryUpdate": "User agreed with all of it."}}"#,
    );
    assert_eq!(
        (warned.code, &*warned.err),
        (0, "stdin: warning: there is a summary, but no subject (at /analysis/subjects)\n")
    );
    let cut = tokenline(&["chat-analysis", "check"], &JSON[..60]);
    assert_eq!((cut.code, cut.err.contains("truncated")), (1, true), "{}", cut.err);
    let none = tokenline(&["chat-analysis", "check"], "");
    assert_eq!((none.code, &*none.err), (1, "stdin: the response contains no JSON object\n"));
    assert_eq!(tokenline(&["chat-analysis", "check", "no/such/file"], "").code, 3);
}

#[test]
fn an_answer_is_taken_out_of_a_providers_body() {
    let content = Value::from(JSON);
    let at_once = format!(
        "{{\"model\":\"m\",\"message\":{{\"role\":\"assistant\",\"content\":{content}}},\"done\":true,\"done_reason\":\"stop\"}}"
    );
    let run = tokenline(&["chat-analysis", "to-xml", "--from", "ollama"], &at_once);
    assert_eq!((run.code, &*run.out, &*run.err), (0, XML, ""));
    let cut =
        tokenline(&["chat-analysis", "check", "--from", "ollama"], at_once.replace("\"stop\"", "\"length\""));
    assert_eq!(
        (cut.code, &*cut.err),
        (1, "stdin: the answer may not be whole: the provider ended it with `length`\n")
    );
    let open = tokenline(
        &["chat-analysis", "check", "--from", "ollama"],
        at_once.replace("\"done\":true", "\"done\":false"),
    );
    assert_eq!((open.code, open.err.contains("stream_incomplete")), (3, true), "{}", open.err);
    let events = format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":{content}}},\"finish_reason\":\"stop\"}}]}}\n\ndata: [DONE]\n\n"
    );
    assert_eq!(tokenline(&["chat-analysis", "to-xml", "--from", "openai-chat"], &events).out, XML);
}

#[test]
fn what_is_endless_is_not_read_to_its_end() {
    let run = tokenline(&["chat-analysis", "check"], " ".repeat(9 << 20));
    assert_eq!((run.code, &*run.err), (1, "stdin: the response exceeds the limit of 8 MiB\n"));
    let run = tokenline(&["chat-analysis", "from-xml"], " ".repeat(9 << 20));
    assert_eq!((run.code, &*run.err), (1, "stdin: the response exceeds the limit of 8 MiB\n"));
}

#[test]
fn the_example_is_exact_in_both_directions() {
    let xml = tokenline(&["chat-analysis", "to-xml"], JSON);
    assert_eq!((xml.code, &*xml.out, &*xml.err), (0, XML, ""));
    let json = tokenline(&["chat-analysis", "from-xml"], XML);
    assert_eq!((json.code, &*json.out, &*json.err), (0, JSON, ""));
    let compact = tokenline(&["chat-analysis", "from-xml", "--compact"], XML);
    assert_eq!(compact.lines().len(), 1);
    assert!(compact.out.contains("\"confidence\":0.90"));
    assert_eq!(tokenline(&["chat-analysis", "to-xml"], &compact.out).out, XML);
}

#[test]
fn what_does_not_pass_is_not_converted() {
    let bad = tokenline(&["chat-analysis", "to-xml"], JSON.replace("0.95", "95"));
    assert_eq!((bad.code, &*bad.out), (1, ""));
    assert!(bad.err.starts_with("stdin:10:46: schema_violation: more than the maximum 1.0"), "{}", bad.err);
    let control = tokenline(&["chat-analysis", "to-xml"], JSON.replace("For college", "\\u0007For college"));
    assert_eq!((control.code, &*control.out), (1, ""));
    assert_eq!(
        control.err,
        "stdin: XML cannot represent the character U+0007, character 1 of the text (at /response)\n"
    );
    let xml = tokenline(
        &["chat-analysis", "from-xml"],
        XML.replace("<response>", "<reply>").replace("</response>", "</reply>"),
    );
    assert_eq!((xml.code, &*xml.out, &*xml.err), (1, "", "stdin:2:3: expected `<response>`\n"));
    let invalid = tokenline(&["chat-analysis", "from-xml"], XML.replace("529-plan", "529 Plan"));
    assert_eq!((invalid.code, &*invalid.out), (1, ""));
    assert!(
        invalid.err.starts_with("stdin:5:7: schema_violation: does not match the pattern"),
        "{}",
        invalid.err
    );
}

#[test]
fn a_model_is_asked_and_its_answer_kept() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let recordings = [
        Recording::new("whole", ollama_body(JSON, "stop")),
        Recording::new("cut", ollama_body(&JSON[..300], "length")),
        Recording::new("bad", ollama_body(&JSON.replace("0.95", "95"), "stop")),
        Recording::new(
            "silent",
            ollama_body(&JSON[..300], "stop").lines().next().unwrap_or_default().to_owned(),
        ),
    ];
    let server =
        runtime.block_on(ReplayServer::bind(([127, 0, 0, 1], 0).into(), recordings)).expect("a port");
    let (url, folder) = (server.url(), folder());
    let store = folder.path().join("attachments");
    let store = store.to_str().expect("a name");
    let run = |model: &str| {
        let args = ["chat-analysis", "run", "--provider", "ollama", "--base-url", &url, "--model", model];
        let args = [&args[..], &["--store", store, "--topic", "college", "--message", model]].concat();
        tokenline(&args, "How much should I save?")
    };
    let response = JSON.lines().nth(1).and_then(|line| line.split('"').nth(3)).expect("the response");
    let whole = run("whole");
    assert_eq!((whole.code, &*whole.out, &*whole.err), (0, &*format!("{response}\n"), ""));
    let kept = std::fs::read_to_string(format!("{store}/college/whole.xml")).expect("it is kept");
    assert_eq!(kept + "\n", XML);
    // What was there is shown, and nothing is kept.
    let shown = |run: &str| response.starts_with(run.trim_end()) && run.len() > 200;
    let cut = run("cut");
    assert_eq!((cut.code, shown(&cut.out)), (1, true), "{}", cut.out);
    assert_eq!(cut.err, "cut: the response may be incomplete: the provider ended it with `length`\n");
    let bad = run("bad");
    assert_eq!((bad.code, shown(&bad.out)), (1, true), "{}", bad.out);
    assert!(
        bad.err.starts_with("bad:10:46: schema_violation: more than the maximum 1.0 (at "),
        "{}",
        bad.err
    );
    let silent = run("silent");
    assert_eq!((silent.code, shown(&silent.out)), (3, true), "{}", silent.err);
    assert_eq!(std::fs::read_dir(format!("{store}/college")).expect("a folder").count(), 1);
    let nameless = ["--store", store, "--topic", "", "--message", "m"];
    let args = ["chat-analysis", "run", "--provider", "ollama", "--base-url", &url, "--model", "whole"];
    let unnamed = tokenline(&[&args[..], &nameless].concat(), "?");
    assert_eq!((unnamed.code, &*unnamed.err), (2, "tokenline: the name of a topic is empty\n"));
    assert_eq!(server.traffic().requests, 4);
    assert_eq!(
        tokenline(&["chat-analysis", "run", "--provider", "ollama", "--model", "m", "--store", "x"], "?")
            .code,
        2
    );
}
