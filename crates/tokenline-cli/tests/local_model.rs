//! The client and the program against a real model on a real, local server.
//!
//! `cargo test -p tokenline-cli --test local_model -- --ignored` installs both once; see `scripts/local-model`. The content
//! of the responses does not matter; that they arrive token by token from a third-party server does.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use futures_util::TryStreamExt as _;
use tokenline::SchemaValidator;
use tokenline::llm::client::{LlmClient, extract};
use tokenline::llm::request::{ChatRequest, ResponseFormat};
use tokenline::llm::{FinishReason, Provider};

/// The output that the model may write: JSON Lines of one shape.
const GRAMMAR: &str = r#"root ::= record{4}
record ::= "{\"entity\":\"" char{2,24} "\",\"definition\":\"" char{10,40} "\"}\n"
char ::= [^"\\\x00-\x1F]
"#;
/// A few-shot prompt, because the model is not trained to follow instructions.
const PROMPT: &str = r#"Define: Gene, Virus
{"entity":"Gene","definition":"A stretch of DNA."}
{"entity":"Virus","definition":"A small agent that lives in cells."}
Define: Planet, River, Desert, Glacier
"#;

/// A running server, stopped on drop.
struct Model {
    server: Child,
    url: String,
}

impl Model {
    fn start(args: &[&str]) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/local-model");
        let mut server = Command::new(script)
            .arg("serve")
            .args(args)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the script can be run");
        let mut url = String::new();
        let mut out = BufReader::new(server.stdout.take().expect("piped"));
        out.read_line(&mut url).expect("it prints its address");
        assert!(url.starts_with("http://127.0.0.1:"), "the server did not start: {url:?}");
        Self { server, url: url.trim().to_owned() }
    }

    fn extract(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tokenline"));
        command.args(["extract", "--base-url", &self.url, "--model", "local", "--prompt", PROMPT]).args(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.server.id().to_string()).status();
        let _ = self.server.wait();
    }
}

#[derive(serde::Deserialize)]
struct Definition {
    entity: String,
    definition: String,
}

#[tokio::test]
#[ignore = "installs and runs a model of 253 MB"]
async fn parses_a_real_model_as_it_writes() {
    let model = Model::start(&[]);
    records_come_one_by_one(&model).await;
    one_object_fits_its_schema(&model).await;
    the_other_formats_are_served_too(&model).await;
    the_program_prints_before_the_response_ends(&model);
    a_cut_off_response_prints_its_complete_records(&model);
}

/// Words to classify, one in each request.
const WORDS: [&str; 20] = [
    "Planet", "River", "Desert", "Glacier", "Comet", "Island", "Forest", "Volcano", "Ocean", "Cloud",
    "Bridge", "Castle", "Engine", "Piano", "Novel", "Market", "School", "Garden", "Mirror", "Candle",
];

#[derive(serde::Deserialize)]
struct Classified {
    kind: String,
}

/// Prints the share of valid records after 0, 1 and 2 further requests. With `TOKENLINE_ROUNDS`, a model that follows
/// instructions classifies all words as often.
#[tokio::test]
#[ignore = "installs and runs a model of 253 MB, and perhaps another of 93 MB"]
async fn what_breaks_the_schema_is_asked_for_again() {
    const ONE: &str = r#"root ::= "{\"word\":\"" char{2,24} "\",\"kind\":\"" [a-z]{3,12} "\"}\n"
char ::= [^"\\\x00-\x1F]
"#;
    let schema = r#"{"properties":{"kind":{"enum":["person","place","animal","object"]}}}"#;
    let schema: SchemaValidator = schema.parse().expect("a schema");
    let rounds: Option<usize> = std::env::var("TOKENLINE_ROUNDS").ok().and_then(|rounds| rounds.parse().ok());
    let model = Model::start(if rounds.is_some() { &["--instruct"] } else { &[] });
    let words = WORDS.iter().cycle().take(rounds.map_or(3, |rounds| rounds * WORDS.len()));
    let (mut valid, mut all, mut requests) = ([0_usize; 3], 0, 0);
    for (number, word) in words.enumerate() {
        let prompt = format!("Write JSON with the members `word` and `kind` for the word {word}.");
        let request = ChatRequest::new("local").user(prompt);
        let request = request.extra("grammar", ONE).max_tokens(60).temperature(0.7).seed(number as u64);
        let validator = schema.clone().all_violations(20);
        // The server closes a connection after some requests, also while another is on its way.
        let client = LlmClient::new(Provider::OpenAiChat, &model.url).expect("a client");
        let extraction = extract::<Classified>(&client, request).with_options(|its| its.validator(validator));
        let extracted = extraction.reask(2).list().await.expect("a response");
        let reasks = extracted.report.reasks();
        all += 1;
        requests += reasks.requests;
        for record in &extracted.records {
            assert!(["person", "place", "animal", "object"].contains(&&*record.value.kind));
            (record.recovered.attempts() as usize..3).for_each(|at| valid[at] += 1);
        }
        assert!(extracted.records.len() as u64 + extracted.report.rejected() <= 1 && reasks.requests <= 2);
    }
    let share = valid.map(|valid| format!("{:.0} %", 100.0 * valid as f64 / f64::from(all)));
    println!("{all} records, valid after 0, 1, 2 further requests: {}; {requests} in all", share.join(", "));
    // A base model only copies.
    assert!(rounds.is_none() || valid[2] > valid[0]);
}

fn lines(model: &str) -> ChatRequest {
    ChatRequest::new(model).user(PROMPT).extra("grammar", GRAMMAR).max_tokens(400).temperature(0.5)
}

async fn records_come_one_by_one(model: &Model) {
    let client = LlmClient::new(Provider::OpenAiChat, &model.url).expect("a client");
    let request = client.stream(&lines("local")).expect("a request").typed::<Definition>();
    let mut records = request.send().await.expect("a response").records();
    let mut arrived = Vec::new();
    while let Some(record) = records.next().await {
        let Definition { entity, definition } = record.expect("a record").value;
        assert!((2..=24).contains(&entity.chars().count()) && definition.chars().count() >= 10);
        arrived.push(Instant::now());
    }
    assert_eq!((records.report().records(), records.report().rejected()), (4, 0));
    assert!(records.report().is_complete());
    assert_eq!(records.parser().finish_reason(0), Some(&FinishReason::Stop));
    // The model takes some hundred milliseconds per line; records of one chunk arrive within one millisecond.
    assert!(arrived.windows(2).all(|two| (two[1] - two[0]).as_millis() > 10), "{arrived:?}");
}

async fn one_object_fits_its_schema(model: &Model) {
    let schema = serde_json::json!({
        "type": "object",
        "properties": {"entity": {"type": "string", "maxLength": 20}, "count": {"type": "integer", "maximum": 99}},
        "required": ["entity", "count"],
        "additionalProperties": false,
    });
    let client = LlmClient::new(Provider::OpenAiChat, &model.url).expect("a client");
    let request = ChatRequest::new("local").user(PROMPT).max_tokens(200);
    let request = request.response_format(ResponseFormat::json_schema("thing", schema.clone()));
    let request = client.stream(&request).expect("a request");
    // The value spans several lines.
    let text: String =
        request.send().await.expect("a response").text().try_collect().await.expect("all of it");
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert!(value["entity"].is_string() && value["count"].is_u64(), "{text}");
}

async fn the_other_formats_are_served_too(model: &Model) {
    // This server marks truncated Responses as completed.
    for (provider, reason) in
        [(Provider::OpenAiResponses, FinishReason::Stop), (Provider::Anthropic, FinishReason::Length)]
    {
        let client = LlmClient::builder(provider).base_url(&model.url).build().expect("a client");
        let request = ChatRequest::new("local").user(PROMPT).max_tokens(20);
        let mut events = client.stream(&request).expect("a request").send().await.expect("a response");
        while let Some(event) = events.next().await {
            event.expect("no break");
        }
        assert!(events.parser().is_complete(), "{}: {:?}", provider.as_str(), events.report());
        assert_eq!(events.parser().finish_reason(0), Some(&reason), "{}", provider.as_str());
        assert!(events.parser().unknown().is_empty(), "{}: {}", provider.as_str(), events.parser().unknown());
    }
}

fn grammar_file(folder: &tempfile::TempDir) -> String {
    let path = folder.path().join("lines.gbnf");
    std::fs::write(&path, GRAMMAR).expect("writable");
    format!("grammar=@{}", path.display())
}

fn the_program_prints_before_the_response_ends(model: &Model) {
    let folder = tempfile::tempdir().expect("a folder");
    let args = ["--provider", "openai-chat", "--max-tokens", "400", "--set", &grammar_file(&folder)];
    let mut child = model.extract(&args).spawn().expect("it starts");
    let out = BufReader::new(child.stdout.take().expect("piped"));
    let arrived: Vec<(String, Instant)> =
        out.lines().map(|line| (line.expect("UTF-8"), Instant::now())).collect();
    assert!(child.wait().expect("it ends").success());
    assert!(arrived.len() == 4 && arrived.iter().all(|(line, _)| line.starts_with("{\"entity\":")));
    // The first record arrived while the model was still writing the others.
    assert!((arrived[3].1 - arrived[0].1).as_millis() > 100, "{arrived:?}");
}

fn a_cut_off_response_prints_its_complete_records(model: &Model) {
    let folder = tempfile::tempdir().expect("a folder");
    let args = ["--provider", "openai-chat", "--max-tokens", "50", "--set", &grammar_file(&folder)];
    let output = model.extract(&args).output().expect("it runs");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!((1..4).contains(&out.lines().count()) && err.contains(": truncated: "), "{out}{err}");
    let denied = model.extract(&[&args[..], &["--deny"]].concat()).output().expect("it runs");
    assert_eq!(denied.status.code(), Some(1));
}
