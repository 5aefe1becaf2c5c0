//! One worker that nothing disturbs.

use std::time::Duration;

use tokenline::{Provider, ToolSet};
use tokenline_nats::{Format, Worker, WorkerOptions};

use crate::fixtures::{Source, messages, publish, responses, texts};
use crate::output::{Output, all_stored, decoded, payloads};
use crate::server::{Server, create_streams};
use crate::worker::options;

/// Runs one worker until all sources have ended.
pub(crate) async fn run(sources: &[Source], options: WorkerOptions) -> Output {
    let server = Server::start().await;
    let context = server.context().await;
    create_streams(&context, Duration::from_secs(120)).await;
    publish(&context, &messages(sources)).await;
    let worker = tokio::spawn(Worker::new(server.client().await, options).await.unwrap().run());
    let output = all_stored(&context, sources.len(), Duration::from_secs(20)).await;
    assert!(!worker.is_finished());
    worker.abort();
    output
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn text_is_decoded_as_by_the_parser() {
    let sources = texts(6, 60, 40);
    let output = run(&sources, options()).await;
    assert_eq!(payloads(&output), decoded(&sources, None, None));
    let (end, _) = output["records.text.2"].last().unwrap();
    assert!(end.contains(&"Tokenline-End: incomplete".to_owned()), "{end:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn responses_are_decoded_as_by_the_parser() {
    let sources = responses();
    let wire = WorkerOptions::new("wire").format(Format::Provider(Provider::OpenAiChat));
    let output = run(&sources, wire.clone()).await;
    assert_eq!(payloads(&output), decoded(&sources, Some(Provider::OpenAiChat), None));
    for (name, end) in
        [("definitions", "complete"), ("truncated", "incomplete"), ("local-truncated", "incomplete")]
    {
        let (shown, _) = output[&format!("records.{name}")].last().unwrap();
        assert!(shown.contains(&format!("Tokenline-End: {end}")), "{name}: {shown:?}");
    }

    let tools = r#"[{"name":"get_weather","parameters":{"type":"object"}},{"name":"search","parameters":{"type":"object"}}]"#;
    let tools = ToolSet::from_json_str(tools).unwrap();
    let output = run(&sources, wire.tools(tools.clone())).await;
    assert_eq!(payloads(&output), decoded(&sources, Some(Provider::OpenAiChat), Some(&tools)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_schema_applies_to_records_with_calls() {
    let text = br#"{"name":"search","parameters":{"q":"a"}}
{"name":"search","parameters":{"q":"b"},"reason":"it was asked for"}
"#;
    let tools = ToolSet::from_json_str(r#"[{"name":"search","parameters":{"type":"object"}}]"#).unwrap();
    let schema = r#"{"required":["reason"]}"#.parse().unwrap();
    let options = WorkerOptions::new("calls").schema(schema).tools(tools);
    let output = payloads(&run(&[Source::cut("a", text, 20)], options).await);
    assert_eq!(output["records.a"], [r#"{"name":"search","parameters":{"q":"b"}}"#]);
    let rejects = &output["rejects.a"];
    assert!(rejects.len() == 1 && rejects[0].contains(r#""line":1,"#), "{rejects:?}");
}
