//! Counters and logs of responses, and data that they never log.

mod common;
#[path = "../../tokenline-codec/tests/common/observed.rs"]
mod observed;

use std::pin::Pin;

use common::{call, chunk, fixtures, parser, parser_of, text};
use futures_util::{Stream, StreamExt, stream};
use observed::{Observed, observed, observed_from};
use tokenline_core::json::Value;
use tokenline_core::{Code, ValidateCall, Violation};
use tokenline_llm::{Provider, ResponseEvent, ResponseStream, TextMode};
use tracing::level_filters::LevelFilter;

type Piece = Result<Vec<u8>, &'static str>;
type Response = ResponseStream<stream::Iter<std::vec::IntoIter<Piece>>>;

const DONE: &str = "data: [DONE]\n\n";
const ERROR: &str = "data: {\"error\":{\"message\":\"SECRET-VALUE\"}}\n\n";

fn pieces(wire: &[u8]) -> Vec<Piece> {
    wire.chunks(61).map(|piece| Ok(piece.to_vec())).collect()
}

/// An OpenAI chat response with this wire, followed by the source's error, if any.
fn response(wire: &[&str], error: Option<&'static str>) -> Response {
    let pieces = pieces(wire.concat().as_bytes()).into_iter().chain(error.map(Err));
    ResponseStream::new(stream::iter(pieces.collect::<Vec<_>>()), parser(TextMode::Records))
}

fn block_on<R>(future: impl Future<Output = R>) -> R {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
}

/// Consumes a stream, and returns the number of items.
fn drain<S: Stream + Unpin>(mut stream: S) -> u64 {
    block_on(async {
        let mut count = 0;
        while stream.next().await.is_some() {
            count += 1;
        }
        assert!(stream.next().await.is_none());
        count
    })
}

#[test]
fn the_metrics_of_every_fixture_match_its_report() {
    for provider in Provider::ALL {
        for fixture in fixtures(*provider) {
            let wire = std::fs::read(&fixture).expect("it can be read");
            for text_as in [TextMode::Records, TextMode::ToolCalls] {
                let parser = parser_of(*provider, text_as);
                let mut events = 0;
                let (report, seen) = observed(|| {
                    let mut response = ResponseStream::new(stream::iter(pieces(&wire)), parser);
                    events = drain(&mut response);
                    response.report().clone()
                });
                let outcome = if report.is_complete() { "complete" } else { "incomplete" };
                seen.assert_is(provider.as_str(), outcome, wire.len(), events, &report);
            }
        }
    }
}

fn outcomes(seen: &Observed) -> Vec<(&str, u64)> {
    let outcome = |(key, count): (_, &u64)| {
        let outcome = str::strip_prefix(key, "tokenline_streams_total{source=openai-chat,outcome=")?;
        Some((outcome.trim_end_matches('}'), *count))
    };
    seen.metrics.iter().map(|(key, count)| (key.as_str(), count)).filter_map(outcome).collect()
}

#[test]
fn adaptors_count_nothing_twice() {
    let wire =
        [&text("Hm.\n{\"a\":1}\n{\"a\":x}\n"), &call("c1", "f", "{}"), &chunk("{}", "tool_calls"), DONE];
    let bytes = wire.concat().len();
    let ((), seen) = observed(|| {
        drain(response(&wire, None).records());
        drain(response(&wire, None).tool_calls().infallible());
    });
    assert_eq!(outcomes(&seen), [("complete", 2)]);
    let of_both = |name: &str| seen.metrics[&format!("tokenline_{name}{{source=openai-chat}}")];
    assert_eq!(of_both("bytes_total"), 2 * bytes as u64);
    assert_eq!((of_both("records_total"), of_both("tool_calls_total")), (1, 2));
    assert_eq!(of_both("time_to_first_record_seconds"), 2);
    assert_eq!(of_both("time_to_first_chunk_seconds"), 2);
    assert_eq!(of_both("time_per_chunk_seconds"), 2 * (bytes.div_ceil(61) as u64 - 1));
}

#[test]
fn a_source_that_fails_is_counted_as_the_report_counts_it() {
    let open = text("{\"a\":1}\n{\"b\"");
    let (report, seen) = observed(|| {
        let mut records = response(&[&open], Some("reset")).records().infallible();
        drain(&mut records);
        records.report().clone()
    });
    assert_eq!((report.records(), report.rejected()), (1, 2), "truncated and incomplete");
    // The piece of text is an event too.
    let events = seen.metrics["tokenline_events_total{source=openai-chat}"];
    seen.assert_is("openai-chat", "failed", open.len(), events, &report);
    assert_eq!(seen.lines("WARN"), 1);
    assert_eq!(seen.lines("tokenline: source failed source=\"openai-chat\""), 1, "{}", seen.log);

    // The response had ended: later errors of the connection do not matter.
    let seen = observed(|| drain(response(&[DONE], Some("reset")))).1;
    assert_eq!((outcomes(&seen), seen.find("rejected_total")), (vec![("complete", 1)], None));
}

#[test]
fn a_stream_that_is_closed_counts_what_its_report_counts() {
    let open = text("{\"a\":1}\n{\"b\"");
    let (report, seen) = observed(|| {
        let mut response = response(&[&open, &text(":2}\n"), DONE], None);
        let first = block_on(response.next()).expect("the record");
        assert!(matches!(first, Ok(ResponseEvent::Record { .. })));
        Pin::new(&mut response).close();
        drain(&mut response);
        response.report().clone()
    });
    assert_eq!((report.records(), report.rejected()), (1, 2), "truncated and incomplete");
    let of = |name: &str| seen.metrics[&format!("tokenline_{name}{{source=openai-chat}}")];
    let bytes = usize::try_from(of("bytes_total")).expect("few");
    seen.assert_is("openai-chat", "dropped", bytes, of("events_total"), &report);
}

#[test]
fn a_stream_ends_once() {
    let one = text("{\"a\":1}\n{\"a\":2}\n");
    let cases: &[(&str, &[&str], Option<&'static str>)] = &[
        ("complete", &[&one, DONE], None),
        ("incomplete", &[&one], None),
        ("incomplete", &[&one, ERROR, DONE], None),
        ("incomplete", &[], None),
        ("failed", &[&one], Some("reset")),
        ("failed", &[&one, ERROR], Some("reset")),
        ("failed", &[], Some("reset")),
    ];
    for (at, (outcome, wire, error)) in cases.iter().enumerate() {
        let taken = observed(|| drain(response(wire, *error))).1;
        assert_eq!(outcomes(&taken), [(*outcome, 1)], "case {at}");
        let untaken = observed(|| drop(response(wire, *error))).1;
        assert_eq!(outcomes(&untaken), [("dropped", 1)], "case {at}");
        // As with `?`: dropped at the first error, if there is one.
        let until_error = || response(wire, *error).records().any(async |record| record.is_err());
        let (is_error, tried) = observed(|| block_on(until_error()));
        assert_eq!(is_error, *outcome != "complete", "case {at}");
        // The provider's error comes before errors of the source.
        let outcome = if wire.contains(&ERROR) { "incomplete" } else { outcome };
        assert_eq!(outcomes(&tried), [(outcome, 1)], "case {at}");
    }
    let first = observed(|| drop(block_on(response(&[&one, DONE], None).records().next()))).1;
    assert_eq!(outcomes(&first), [("dropped", 1)]);
}

#[test]
fn at_info_only_failed_responses_are_logged() {
    let one = text("{\"a\":1}\n{\"a\":x}\n");
    let told = |wire: &[&str]| observed_from(LevelFilter::INFO, || drain(response(wire, None))).1.log;
    assert_eq!(told(&[&one, DONE]), "");
    let warned =
        |what: &str, code: &str| format!(" WARN tokenline: {what} source=\"openai-chat\" code=\"{code}\"\n");
    assert_eq!(told(&[&one, ERROR, DONE]), warned("provider error", "provider_error"));
    assert_eq!(told(&[&one]), warned("stream incomplete", "stream_incomplete"));
}

/// Puts private text into its messages.
struct Blabs;

impl ValidateCall for Blabs {
    fn validate_call(&self, name: &str, parameters: Value<'_>) -> Result<(), Box<Violation>> {
        let violation = Violation::new(Code::InvalidParameters, 0, format!("{name} {}", parameters.raw()));
        let violation = violation.with_instance_path(parameters.raw()).with_schema_path("/required");
        if name.ends_with('1') { Err(Box::new(violation)) } else { Ok(()) }
    }
}

/// Every text on the wire is a secret, and every name that is not the provider's.
fn secrets() -> Vec<String> {
    let arguments = "{\"SECRET-VALUE\":\"SECRET-VALUE\"}";
    let lines = "SECRET-VALUE\n{\"SECRET-VALUE\":\"SECRET-VALUE\"}\n{\"a\":SECRET-VALUE}\n[\"SECRET-VALUE\"]\n\
        {\"SECRET-VALUE\":1,\"SECRET-VALUE\":2}\n{\"a\":\"SECRET-VALUE\"},\"SECRET-VALUE\":10}\n\
        {\"name\":\"SECRET-VALUE\",\"parameters\":{\"a\":\"SECRET-VALUE\"}}\n\
        {\"name\":\"SECRET-VALUE-1\",\"parameters\":{\"a\":\"SECRET-VALUE\"}}\n{\"a\":\"SECRET-VALUE";
    vec![
        ": SECRET-VALUE\n\nevent: SECRET-VALUE\nid: SECRET-VALUE\ndata: {\"SECRET-VALUE\":\"SECRET-VALUE\"}\n\n"
            .to_owned(),
        "data: SECRET-VALUE\n\n".to_owned(),
        chunk("{\"reasoning_content\":\"SECRET-VALUE\",\"refusal\":\"SECRET-VALUE\"}", ""),
        text(lines),
        call("SECRET-VALUE", "SECRET-VALUE", arguments),
        call("SECRET-VALUE-1", "SECRET-VALUE-1", arguments),
        call("SECRET-VALUE-2", "SECRET-VALUE", "{\"SECRET-VALUE\":SECRET-VALUE"),
        call("SECRET-VALUE-3", "SECRET-VALUE", "\"SECRET-VALUE\""),
        call("SECRET-VALUE-4", "SECRET-VALUE", "{\"SECRET-VALUE\":\"SECRET-VALUE"),
    ]
}

#[test]
fn the_input_is_never_logged() {
    let end = [chunk("{}", "SECRET-VALUE"), ERROR.to_owned(), DONE.to_owned()];
    for (wire, error) in [
        (secrets(), None),
        (secrets(), Some("SECRET-VALUE")),
        ([&secrets()[..], &end].concat(), None),
        (vec!["{\"error\":\"SECRET-VALUE\"}".to_owned()], None),
        (vec!["SECRET-VALUE\nSECRET-VALUE\n".to_owned()], None),
    ] {
        for text_as in [TextMode::Records, TextMode::ToolCalls, TextMode::Text] {
            let parser = || parser(text_as).with_options(|options| options.tools(Blabs));
            let source = || {
                let pieces = pieces(wire.concat().as_bytes()).into_iter().chain(error.map(Err));
                stream::iter(pieces.collect::<Vec<_>>())
            };
            let (report, seen) = observed(|| {
                drain(ResponseStream::new(source(), parser()).records());
                let mut events = ResponseStream::new(source(), parser());
                drain(&mut events);
                drain(ResponseStream::new(source(), parser()).tool_calls().infallible());
                events.report().clone()
            });
            assert!(report.rejected() > 0);
            assert!(seen.lines("WARN") >= 3, "{}", seen.log);
            assert_eq!(seen.find("secret"), None);
        }
    }
    // The input was delivered, so it could have been logged.
    let wire = secrets().concat();
    let (events, seen) = observed(|| block_on(response(&[&wire], None).collect::<Vec<_>>()));
    let events: Vec<_> = events.into_iter().map(Result::unwrap).collect();
    let secret = events.iter().filter(|event| format!("{event:?}").contains("SECRET-VALUE")).count();
    assert!(secret > 10, "{events:?}");
    assert!(seen.lines("tokenline: rejected code=") > 5, "{}", seen.log);
}

#[cfg(all(feature = "client", feature = "replay"))]
#[test]
fn a_request_is_logged_by_opentelemetry_conventions_without_its_texts() {
    use tokenline_llm::client::LlmClient;
    use tokenline_llm::replay::{Recording, ReplayServer};
    use tokenline_llm::request::ChatRequest;

    let usage = r#"data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":5}}}"#;
    let wire = [&text("{\"a\":\"SECRET-VALUE\"}\n"), &chunk("{}", "stop"), usage, "\n\n", DONE].concat();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let seen = observed(|| {
        runtime.block_on(async {
            let recordings = [Recording::new("gpt-x", wire)];
            let server =
                ReplayServer::bind(([127, 0, 0, 1], 0).into(), recordings).await.expect("a free port");
            let client = LlmClient::new(Provider::OpenAiChat, server.url()).expect("a URL");
            let request = ChatRequest::new("gpt-x").user("SECRET-VALUE").max_tokens(9).temperature(0.5);
            let mut records =
                client.stream(&request).expect("a request").send().await.expect("a response").records();
            while records.next().await.is_some() {}
        });
    })
    .1;
    let span = seen.log.lines().last().expect("the end");
    for attribute in [
        "chat{source=\"openai-chat\" otel.kind=\"client\" otel.name=\"chat gpt-x\"",
        "gen_ai.operation.name=\"chat\"",
        "gen_ai.provider.name=\"openai\"",
        "gen_ai.request.model=\"gpt-x\"",
        "gen_ai.request.max_tokens=9",
        "gen_ai.request.temperature=0.5",
        "server.address=\"127.0.0.1\"",
        "gen_ai.response.finish_reasons=[\"stop\"]",
        "gen_ai.request.stream=true",
        "gen_ai.response.time_to_first_chunk=0.",
        "gen_ai.usage.input_tokens=7",
        "gen_ai.usage.output_tokens=3",
        "gen_ai.usage.cache_read.input_tokens=5",
    ] {
        assert!(span.contains(attribute), "{attribute}: {}", seen.log);
    }
    assert!(!seen.log.contains("SECRET-VALUE"), "{}", seen.log);
}
