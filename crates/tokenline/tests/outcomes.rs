//! The same texts through a stream, a response, a continued request and prompts: the same outcomes, in the same words.
#![cfg(all(feature = "client", feature = "codec", feature = "continuation", feature = "prompt"))]

mod common;
#[path = "../../tokenline-core/tests/common/outcomes.rs"]
mod outcome_cases;

use std::io;

use common::{as_ollama, pieces, serve};
use futures_util::stream;
use outcome_cases::{Case, Outcome};
use tokenline::json::Raw;
use tokenline::llm::client::LlmClient;

use tokenline::llm::request::ChatRequest;
use tokenline::llm::{
    ContinuationOptions, Provider, ResponseEvent, ResponseOptions, ResponseParser, TextMode,
};
use tokenline::prompt::tools::ToolCallParser;
use tokenline::prompt::{Prompt, PromptManager};
use tokenline::schema::{SchemaValidator, ToolSet};
use tokenline::{
    CallFormat, Event, JsonlStreamParser, Options, Reads, Rejected, Severity, TextEvent, ToolCall,
};

fn schemas(case: &Case) -> impl Iterator<Item = SchemaValidator> {
    case.schemas().into_iter().map(|schema| schema.parse().expect("a schema"))
}

fn tools(case: &Case) -> Option<ToolSet> {
    case.tools().map(|tools| ToolSet::from_json_str(&tools).expect("tools"))
}

fn repair(case: &Case) -> Option<impl FnMut(Rejected) -> Option<String> + Send + Sync + 'static> {
    case.repair().map(|(from, to)| move |rejected: Rejected| Some(rejected.text.replace(&from, &to)))
}

fn call_line(call: &ToolCall) -> String {
    format!("{} {}", call.name, call.parameters)
}

/// The text in chunks; a source that fails does so after the text.
fn source(case: &Case, len: usize) -> impl futures_util::Stream<Item = io::Result<String>> + use<> {
    let failure = case.has_failed().then(|| Err(io::Error::other("broken")));
    let chunks: Vec<_> = pieces(case.text(), len).into_iter().map(Ok).chain(failure).collect();
    stream::iter(chunks)
}

fn parser(
    case: &Case,
    len: usize,
) -> JsonlStreamParser<impl futures_util::Stream<Item = io::Result<String>> + use<>> {
    let mut records = JsonlStreamParser::<_, Raw>::new(source(case, len));
    for schema in schemas(case) {
        records = records.with_validator(schema);
    }
    if let Some(tools) = tools(case) {
        records = records.with_tools(tools);
    }
    if let Some(repair) = repair(case) {
        records = records.with_repair(repair);
    }
    if let Some(max_records) = case.max_records() {
        records = records.with_max_records(max_records);
    }
    records
}

/// The outcome among the text beside it.
async fn in_text_events(case: &Case, len: usize) -> Outcome {
    let reads = if case.reads_calls() { Reads::ToolCalls } else { Reads::Records };
    let mut events = parser(case, len).text_events(reads);
    let (mut delivered, mut rejected) = (Vec::new(), Vec::new());
    while let Some(event) = events.next().await {
        match event {
            Ok(TextEvent::Record(record)) => delivered.push(record.value.to_string()),
            Ok(TextEvent::ToolCall { call, .. }) => delivered.push(call_line(&call)),
            Ok(TextEvent::Rejected(diagnostic)) => rejected.push(diagnostic.to_string()),
            Ok(TextEvent::RejectedCall(call)) => rejected.push(call.diagnostic.to_string()),
            Ok(_) | Err(_) => {}
        }
    }
    let report = events.report();
    let counted = report.records() + report.tool_calls();
    assert_eq!(
        (counted, report.rejected()),
        (delivered.len() as u64, rejected.len() as u64),
        "{}",
        case.name()
    );
    (delivered, rejected)
}

async fn in_a_stream(case: &Case, len: usize) -> Outcome {
    let mut records = parser(case, len);
    let (mut delivered, mut rejected) = (Vec::new(), Vec::new());
    if case.reads_calls() {
        let mut calls = records.tool_calls();
        while let Some(call) = calls.next().await {
            delivered.extend(call.map(|call| call_line(&call)));
        }
        let errors =
            calls.report().diagnostics().iter().filter(|diagnostic| diagnostic.severity() == Severity::Error);
        rejected.extend(errors.map(ToString::to_string));
    } else {
        while let Some(event) = records.next().await {
            match event {
                Ok(Event::Record(record)) => delivered.push(record.value.to_string()),
                Ok(Event::Rejected(diagnostic)) => rejected.push(diagnostic.to_string()),
                Ok(_) | Err(_) => {}
            }
        }
    }
    (delivered, rejected)
}

/// The outcome in a response, and whether a record was known to be invalid while it was open.
fn in_a_response(case: &Case, len: usize) -> (Outcome, bool) {
    let mode = if case.reads_calls() { TextMode::ToolCalls } else { TextMode::Records };
    let options = Options::lenient().partials(case.is_invalid_while_open());
    let mut options = ResponseOptions::from(options).text_as(mode);
    for schema in schemas(case) {
        options = options.validator(schema);
    }
    if let Some(tools) = tools(case) {
        options = options.tools(tools);
    }
    if let Some(repair) = repair(case) {
        options = options.repair(repair);
    }
    if let Some(max_records) = case.max_records() {
        options = options.max_records(max_records);
    }
    let mut parser = ResponseParser::<Raw>::new(Provider::Ollama, options);
    let reason = (!case.has_failed()).then_some("stop");
    parser.push(as_ollama(pieces(case.text(), len), reason));
    if case.has_failed() {
        parser.source_failed();
    } else {
        parser.finish();
    }
    let (mut delivered, mut rejected, mut is_invalid) = (Vec::new(), Vec::new(), false);
    while let Some(event) = parser.next_event() {
        match event {
            ResponseEvent::Record { record, .. } => delivered.push(record.value.to_string()),
            ResponseEvent::ToolCall { call, .. } => delivered.push(call_line(&call)),
            ResponseEvent::Rejected { diagnostic, .. } => rejected.push(diagnostic.to_string()),
            ResponseEvent::RejectedCall { call, .. } => rejected.push(call.diagnostic.to_string()),
            ResponseEvent::Invalid { diagnostic, .. } => {
                is_invalid = true;
                assert_eq!(case.expected().1, [diagnostic.to_string()], "{}", case.name());
            }
            _ => {}
        }
    }
    ((delivered, rejected), is_invalid)
}

async fn continued(case: &Case) -> Outcome {
    let text = case.text().to_owned();
    let (url, _) = serve(move |_| (text.clone(), Some("stop"))).await;
    let client =
        LlmClient::builder(Provider::Ollama).base_url(&url).without_api_key().build().expect("a client");
    let request = ChatRequest::new("m").user("List them.");
    let mut request =
        client.continued(&request, ContinuationOptions::default()).expect("a request").typed::<Raw>();
    for schema in schemas(case) {
        request = request.with_validator(schema);
    }
    if let Some(repair) = repair(case) {
        request = request.with_repair(repair);
    }
    if let Some(max_records) = case.max_records() {
        request = request.with_max_records(max_records);
    }
    let (mut delivered, mut rejected) = (Vec::new(), Vec::new());
    let mut events = request.events();
    while let Some(event) = events.next().await {
        match event.expect("a response") {
            Event::Record(record) => delivered.push(record.value.to_string()),
            Event::Rejected(diagnostic) => rejected.push(diagnostic.to_string()),
            _ => {}
        }
    }
    (delivered, rejected)
}

/// Complete responses to prompts have neither hooks nor quotas, and one schema.
fn prompted(case: &Case) -> Option<Outcome> {
    if case.repair().is_some() || case.max_records().is_some() || case.schemas().len() > 1 {
        return None;
    }
    if case.reads_calls() {
        let parser = ToolCallParser::new(CallFormat::Auto).with_tools(tools(case).expect("tools"));
        let parsed =
            if case.has_failed() { parser.parse_truncated(case.text()) } else { parser.parse(case.text()) };
        let rejected = parsed.rejected.iter().map(|call| call.diagnostic.to_string()).collect();
        return Some((parsed.calls.iter().map(call_line).collect(), rejected));
    }
    let mut prompt = Prompt::jsonl("List them.");
    if let Some(schema) = case.schemas().first() {
        prompt = prompt.with_schema(serde_json::from_str(schema).expect("JSON"));
    }
    let manager = PromptManager::new().with_prompt("list", prompt).expect("a prompt");
    let objects =
        manager.apply("list", case.text()).expect("a response").into_objects::<Raw>().expect("objects");
    let rejected = objects.warnings().filter(|warning| !warning.is_note());
    Some((
        objects.iter().map(ToString::to_string).collect(),
        rejected.map(|warning| warning.to_string()).collect(),
    ))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_reader_gives_the_same_outcomes() {
    for case in Case::all() {
        let (name, expected) = (case.name(), case.expected());
        for len in [1, 7, 100_000] {
            assert_eq!(in_a_stream(&case, len).await, expected, "{name}, in a stream");
            assert_eq!(in_text_events(&case, len).await, expected, "{name}, among text");
            let (outcome, is_invalid) = in_a_response(&case, len);
            assert_eq!(outcome, expected, "{name}, in a response");
            assert_eq!(is_invalid, case.is_invalid_while_open() && len < 1000, "{name}, while open");
        }
        if !case.reads_calls() {
            assert_eq!(continued(&case).await, expected, "{name}, continued");
        }
        if let Some(outcome) = prompted(&case) {
            assert_eq!(outcome, expected, "{name}, prompted");
        }
    }
}
