//! The stored and the expected output.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tokenline::json::Raw;
use tokenline::llm::TextMode;
use tokenline::{
    Event, JsonlParser, Options, Provider, ResponseEvent, ResponseParser, SchemaValidator, ToolCall, ToolSet,
};
use tokenline_nats::async_nats::jetstream::Context;
use tokenline_nats::async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use tokenline_nats::headers;

use futures_util::StreamExt as _;

use crate::fixtures::{SCHEMA, Source};

/// The messages of each subject in order: headers of the worker, and payload.
pub(crate) type Output = BTreeMap<String, Vec<(Vec<String>, String)>>;

/// Reads everything that is stored.
pub(crate) async fn stored(context: &Context) -> Output {
    let mut output = Output::new();
    for name in ["records", "rejects"] {
        let stream = context.get_stream(name).await.unwrap();
        let expected = stream.cached_info().state.messages;
        if expected == 0 {
            continue;
        }
        let config = pull::Config {
            deliver_policy: DeliverPolicy::All,
            ack_policy: AckPolicy::None,
            memory_storage: true,
            ..pull::Config::default()
        };
        let consumer = stream.create_consumer(config).await.unwrap();
        let mut messages = consumer.stream().messages().await.unwrap().take(expected as usize);
        while let Some(message) = messages.next().await {
            let message = message.unwrap();
            let headers = message.headers.as_ref().unwrap();
            let mut shown: Vec<_> = headers
                .iter()
                // What must be stored before depends on what was sent together.
                .filter(|(name, _)| !name.to_string().starts_with("Nats-Expected"))
                .map(|(name, values)| format!("{name}: {}", values[0]))
                .collect();
            shown.sort();
            let payload = String::from_utf8(message.payload.to_vec()).unwrap();
            output.entry(message.subject.to_string()).or_default().push((shown, payload));
        }
    }
    output
}

/// Only the payloads, without the ends of the sources.
pub(crate) fn payloads(output: &Output) -> BTreeMap<String, Vec<String>> {
    let payloads = |messages: &Vec<(Vec<String>, String)>| {
        messages.iter().map(|(_, payload)| payload.clone()).filter(|payload| !payload.is_empty()).collect()
    };
    output.iter().map(|(subject, messages)| (subject.clone(), payloads(messages))).collect()
}

/// Waits until the ends of all sources are stored, and the output is what it has to be; fails after `patience`.
pub(crate) async fn all_stored(context: &Context, sources: usize, patience: Duration) -> Output {
    let start = Instant::now();
    loop {
        let output = stored(context).await;
        let ends = output
            .iter()
            .filter(|(subject, _)| subject.starts_with("records."))
            .filter_map(|(_, messages)| messages.last())
            .filter(|(shown, _)| shown.iter().any(|header| header.starts_with(headers::END)));
        let ends = ends.count();
        if ends == sources {
            return output;
        }
        assert!(start.elapsed() < patience, "{ends} of {sources} sources ended within {patience:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Decodes without a worker, by the library's parsers.
pub(crate) fn decoded(
    sources: &[Source],
    format: Option<Provider>,
    tools: Option<&ToolSet>,
) -> BTreeMap<String, Vec<String>> {
    let mut output = BTreeMap::<_, Vec<String>>::new();
    for source in sources {
        let mut store = |is_record: bool, payload: String| {
            let prefix = if is_record { "records" } else { "rejects" };
            output.entry(format!("{prefix}.{}", source.name)).or_default().push(payload);
        };
        match format {
            None => decode_text(source, &mut store),
            Some(provider) => decode_response(source, provider, tools, &mut store),
        }
        // The end of each source.
        output.entry(format!("records.{}", source.name)).or_default();
    }
    output
}

fn decode_text(source: &Source, store: &mut impl FnMut(bool, String)) {
    let schema: SchemaValidator = SCHEMA.parse().unwrap();
    let mut parser = JsonlParser::new(Options::lenient());
    parser.push(source.body());
    for is_finished in [false, true] {
        if is_finished {
            parser.finish();
        }
        while let Some(event) = parser.next_event() {
            match event {
                Event::Record(record) => match record.validate(&schema) {
                    Ok(()) => store(true, record.value.to_single_line().into_owned()),
                    Err(diagnostic) => store(false, serde_json::to_string(&diagnostic).unwrap()),
                },
                Event::Rejected(diagnostic) => store(false, serde_json::to_string(&diagnostic).unwrap()),
                _ => {}
            }
        }
    }
}

fn decode_response(
    source: &Source,
    provider: Provider,
    tools: Option<&ToolSet>,
    store: &mut impl FnMut(bool, String),
) {
    let mut parser = ResponseParser::<Raw>::new(provider, Options::lenient());
    if let Some(tools) = tools {
        parser = parser.with_options(|options| options.text_as(TextMode::ToolCalls).tools(tools.clone()));
    }
    parser.push(source.body());
    for is_finished in [false, true] {
        if is_finished {
            parser.finish();
        }
        while let Some(event) = parser.next_event() {
            match event {
                ResponseEvent::Record { record, .. } => {
                    store(true, record.value.to_single_line().into_owned());
                }
                ResponseEvent::ToolCall { call, .. } => {
                    let ToolCall { name, parameters, call_id, .. } = call;
                    let id = call_id.filter(|_| !call.is_synthetic_id);
                    let id = id.map(|id| format!(r#","call_id":"{id}""#)).unwrap_or_default();
                    store(true, format!(r#"{{"name":"{name}","parameters":{parameters}{id}}}"#));
                }
                event => {
                    let is_note = matches!(event, ResponseEvent::Note { .. });
                    if let Some(diagnostic) = event.diagnostic().filter(|_| !is_note) {
                        store(false, serde_json::to_string(diagnostic).unwrap());
                    }
                }
            }
        }
    }
}
