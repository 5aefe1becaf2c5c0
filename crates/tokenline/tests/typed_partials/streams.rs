//! Typed partials of streams.

use std::collections::BTreeMap;

use serde_json::json;
use tokenline::{JsonlStreamParser, Options, PartialEvent};

#[tokio::test]
async fn prose_that_began_like_a_record_is_discarded() {
    let seen = seen(&["Write {", "id} in the URL.\n{\"text\":\"a", "b\"}\n"]).await;
    assert_eq!(seen, ["{}", "discarded", "{\"text\": \"a\"}", "complete {\"text\": \"ab\"}"]);
}

#[tokio::test]
async fn a_malformed_record_is_rejected_and_not_discarded_before() {
    let seen = seen(&["{\"text\":\"a", "\" and so", " on\n\n", "{\"text\":\"b\"}\n"]).await;
    assert_eq!(seen, ["{\"text\": \"a\"}", "malformed_json", "complete {\"text\": \"b\"}"]);
}

/// The events of the text in these chunks.
async fn seen(chunks: &[&'static str]) -> Vec<String> {
    let chunks = chunks.iter().copied();
    let body = futures_util::stream::iter(chunks.map(Ok::<_, std::io::Error>));
    let mut partials = JsonlStreamParser::<_, BTreeMap<String, String>>::new(body).partials();
    let mut seen = Vec::new();
    while let Some(event) = partials.next().await {
        seen.push(match event.unwrap() {
            PartialEvent::Growing(partial) => format!("{partial:?}"),
            PartialEvent::Complete(record) => format!("complete {:?}", record.value),
            PartialEvent::Invalid(diagnostic) => {
                format!("invalid: {}", diagnostic.instance_path.unwrap_or_default())
            }
            PartialEvent::Rejected(diagnostic) => diagnostic.code.to_string(),
            PartialEvent::Discarded => "discarded".to_owned(),
        });
    }
    assert!(partials.partial().is_none());
    seen
}

#[cfg(feature = "llm")]
#[tokio::test]
async fn the_settings_of_a_response_apply_to_its_partials() {
    use tokenline::{Provider, ResponseOptions, ResponseParser, ResponseStream};

    let event = |content: &str| {
        let content = json!(content);
        format!("data: {{\"choices\":[{{\"delta\":{{\"content\":{content}}}}}]}}\n\n")
    };
    let text =
        ["{\"rows\":[{\"text\":\"a", "b\"},{\"text\":1},{\"te", "xt\":\"c\"},{\"text\":\"d\"}]}"].map(event);
    let body = futures_util::stream::iter(text.map(Ok::<_, std::io::Error>));
    let options = ResponseOptions::from(Options::lenient().items("/rows").unwrap())
        .max_records(2)
        .repair(|rejected| Some(rejected.text.replace('1', "\"one\"")));
    let parser = ResponseParser::<tokenline::json::Raw>::new(Provider::OpenAiChat, options);
    let mut partials = ResponseStream::new(body, parser).partials::<BTreeMap<String, String>>();
    let mut seen = Vec::new();
    while let Some(event) = partials.next().await {
        seen.push(match event.unwrap() {
            PartialEvent::Growing(partial) => format!("{partial:?}"),
            PartialEvent::Complete(record) => format!("complete {:?}", record.value),
            other => format!("{other:?}"),
        });
    }
    assert_eq!(seen, ["{\"text\": \"a\"}", "complete {\"text\": \"ab\"}", "complete {\"text\": \"one\"}"]);
}
