//! `tokenline prompt`.

use tokenline::llm::replay::{Recording, ReplayServer};

use crate::common::{Run, file, fixture, folder, tokenline};

const CONFIG: &str = r#"
system = "You are a {{ expert }}."
terms = { expert = "linguist" }

[prompts.chat]
prompt = "Say {{ text }}"

[prompts.value]
prompt = "As JSON: {{ text }}"
response-type = "json"
schema = { type = "object", required = ["a"] }

[prompts.lines]
prompt = "Lines: {{ text }}"
response-type = "jsonl"
object-schema = { type = "object", required = ["a"] }
"#;

fn with_config(command: &str, args: &[&str], input: &str) -> Run {
    let folder = folder();
    let config = file(&folder, "prompts.toml", CONFIG);
    tokenline(&[&["prompt", command, "--config", &config], args].concat(), input)
}

#[test]
fn prompts_are_listed_with_their_types() {
    let built_in = tokenline(&["prompt", "list"], "");
    assert_eq!(built_in.lines().len(), 7);
    assert!(built_in.lines().iter().all(|line| line.contains(" jsonl")), "{}", built_in.out);
    assert_eq!(built_in.lines()[6], "ontology-extract            jsonl, as extract-with-ontologies");
    let own = with_config("list", &[], "");
    let ids: Vec<_> =
        own.lines().iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(ids, ["chat text", "value json", "lines jsonl"]);
}

#[test]
fn a_prompt_is_rendered_with_its_terms() {
    let run = with_config("render", &["--id", "chat", "--var", "text=hello=world"], "");
    assert_eq!((run.code, &*run.out), (0, "You are a linguist.\n\nSay hello=world\n"));
    let folder = folder();
    let terms = file(&folder, "terms.json", r#"{"text":["a","b"],"expert":"cook"}"#);
    let run = with_config("render", &["--id", "chat", "--input", &terms, "--json"], "");
    assert_eq!(run.out, "{\"system\":\"You are a cook.\",\"prompt\":\"Say ['a', 'b']\"}\n");
    // Text from a file and from standard input; --var takes precedence over --input.
    let text = file(&folder, "text.txt", "from a file");
    let run =
        with_config("render", &["--id", "chat", "--input", &terms, "--var", &format!("text=@{text}")], "");
    assert_eq!(run.out, "You are a cook.\n\nSay from a file\n");
    // The members of a term stay in order.
    let row = file(&folder, "row.json", r#"{"text":{"z":1,"a":{"y":1,"b":2}}}"#);
    let run = with_config("render", &["--id", "chat", "--input", &row], "");
    assert_eq!(run.out, "You are a linguist.\n\nSay {'z': 1, 'a': {'y': 1, 'b': 2}}\n");
    let run = with_config("render", &["--id", "chat", "--var", "text=@-", "--input", "-"], "{}");
    assert_eq!((run.code, run.err.contains("only one of --var and --input")), (2, true), "{}", run.err);
    let run = with_config("render", &["--id", "chat", "--var", "text=@-"], "typed");
    assert_eq!(run.out, "You are a linguist.\n\nSay typed\n");
    let built_in = tokenline(&["prompt", "render", "--id", "extract-topics", "--var", "text=DNA"], "");
    assert!(built_in.code == 0 && built_in.out.contains("\nDNA\n"), "{}", built_in.out);
}

#[test]
fn a_response_is_parsed_by_its_response_type() {
    let run = with_config("apply", &["--id", "chat"], "as it\nis");
    assert_eq!((run.code, &*run.out, &*run.err), (0, "as it\nis", ""));

    let json =
        "Sure:\n```json\n{\n  \"a\": 1.50,\n  \"b\": [1, \"x y\"]\n}\n```\nAnd:\n```json\n{\"a\":2}\n```\n";
    let run = with_config("apply", &["--id", "value"], json);
    assert_eq!((run.code, &*run.out, &*run.err), (0, "{\"a\":1.50,\"b\":[1,\"x y\"]}\n", ""));
    for (response, reason) in [
        ("{\"b\": 1}", "stdin: Schema validation fail: missing required member `a`"),
        ("no JSON", "stdin: JSON parse fail: "),
        ("{\"a\":", "stdin: JSON parse fail: "),
    ] {
        let run = with_config("apply", &["--id", "value"], response);
        assert_eq!((run.code, &*run.out), (1, ""), "{response}");
        assert!(run.err.starts_with(reason) && run.err.lines().count() == 1, "{}", run.err);
    }

    let lines = "```\n{\"a\": 1}\n7\n{\"b\":1}\n{\"a\":NaN}\n{\"a\":\n2}\n{\"a\":";
    let run = with_config("apply", &["--id", "lines"], lines);
    assert_eq!((run.code, run.lines()), (0, vec!["{\"a\": 1}", "{\"a\":2}"]));
    assert_eq!(
        run.err.lines().collect::<Vec<_>>(),
        [
            "stdin:3:1: prose: text without a record",
            "stdin:4:1: schema_violation: missing required member `a`",
            "stdin:5:6: malformed_json: expected a value, found a letter",
            "stdin:8:6: truncated: expected a value, found the end of the input",
        ]
    );
    // An incomplete character at the end does not affect the text before it.
    let folder = folder();
    let path = folder.path().join("cut.txt");
    std::fs::write(&path, b"{\"a\":1}\n{\"a\":\"\xe4\xb8").expect("written");
    let run = with_config("apply", &["--id", "lines", path.to_str().expect("UTF-8")], "");
    assert_eq!(
        (run.code, run.lines(), run.err.contains("truncated")),
        (0, vec!["{\"a\":1}"], true),
        "{}",
        run.err
    );
    let run = with_config("apply", &["--id", "lines"], "");
    assert_eq!((run.code, &*run.out, &*run.err), (0, "", "stdin: the response contains no valid object\n"));
    // A bad byte loses a line.
    let path = file(&folder, "bad.txt", b"{\"a\":1}\n{\"a\":\"\xff\"}\n{\"a\":2}\n");
    let run = with_config("apply", &["--id", "lines", &path], "");
    assert_eq!((run.code, run.lines()), (0, vec!["{\"a\":1}", "{\"a\":2}"]), "{}", run.err);
    assert_eq!(run.err, format!("{path}:2:7: invalid_utf8: the line is not UTF-8\n"));
    let path = file(&folder, "bad.json", b"Voil\xe0:\n```json\n{\"a\": 1}\n```\n");
    let run = with_config("apply", &["--id", "value", &path], "");
    assert_eq!((run.code, &*run.out), (0, "{\"a\":1}\n"), "{}", run.err);
}

#[test]
fn errors_are_reported_in_one_line() {
    for (args, code, message) in [
        (&["render", "--id", "chta", "--var", "text=x"][..], 2, "unknown prompt \"chta\""),
        (&["render", "--id", "chat"], 2, "prompts.chat: `text` is undefined"),
        (&["render", "--id", "chat", "--var", "text"], 2, "--var text: expected NAME=TEXT"),
        (&["render", "--id", "chat", "--input", "/nowhere"], 3, "cannot read /nowhere"),
        (&["apply", "--id", "none"], 2, "unknown prompt \"none\""),
        (&["apply", "--id", "chat", "/nowhere"], 3, "cannot read /nowhere"),
    ] {
        let run = with_config(args[0], &args[1..], "");
        assert_eq!((run.code, run.err.lines().count()), (code, 1), "{args:?}: {}", run.err);
        assert!(run.err.starts_with("tokenline: ") && run.err.contains(message), "{args:?}: {}", run.err);
    }
    let folder = folder();
    let config =
        file(&folder, "bad.json", r#"{"template-index": "[\"a\"]", "template.a": "{\"prompt\": \"{{ x\"}"}"#);
    let run = tokenline(&["prompt", "list", "--config", &config], "");
    assert_eq!(run.code, 2);
    assert!(run.err.contains("template.a"), "{}", run.err);
    assert_eq!(tokenline(&["prompt", "list", "--config", "/nowhere.toml"], "").code, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_is_sent_to_a_model() {
    let recording = |name: &str| Recording::new("recorded", std::fs::read(fixture(name)).expect("a fixture"));
    for (id, stream, records, code) in [
        ("lines", "definitions.sse", 0, 0),
        ("chat", "definitions.sse", 8, 0),
        ("value", "definitions.sse", 0, 1),
        ("extract-definitions", "definitions.sse", 8, 0),
    ] {
        let server =
            ReplayServer::bind(([127, 0, 0, 1], 0).into(), [recording(stream)]).await.expect("a free port");
        let url = server.url();
        let run = tokio::task::spawn_blocking(move || {
            let model =
                ["--provider", "openai-chat", "--model", "recorded", "--base-url", &url, "--retries", "0"];
            let args = ["--id", id, "--var", "text=A cell has mitochondria."];
            match id {
                "extract-definitions" => tokenline(&[&["prompt", "run"], &args[..], &model].concat(), ""),
                _ => with_config("run", &[&args[..], &model].concat(), ""),
            }
        });
        let run = run.await.expect("it runs");
        assert_eq!((run.code, run.lines().len()), (code, records), "{id}: {}", run.err);
        assert_eq!(server.traffic().requests, 1, "{id}");
    }
}
