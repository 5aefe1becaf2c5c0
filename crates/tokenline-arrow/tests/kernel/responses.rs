//! Bodies and streams of providers, and lines of batch files.

use std::path::{Path, PathBuf};

use arrow_array::{BinaryArray, StringArray};
use tokenline_arrow::{Columns, ExtractOptions, Extractor, Format};
use tokenline_core::Options;
use tokenline_core::json::Raw;
use tokenline_llm::batch::BatchFormat;
use tokenline_llm::{Provider, ResponseEvent, ResponseParser};

use crate::rows::{Row, cell, only};
use crate::text::reject;

fn kernel(format: Format) -> Extractor {
    Extractor::new(ExtractOptions::new().format(format)).expect("the options are consistent")
}

/// The recorded streams of a provider.
fn recordings(provider: Provider) -> Vec<PathBuf> {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../tokenline-llm/fixtures").join(provider.as_str());
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.filter(|path| path.is_file() && path.extension().is_some_and(|it| it != "md")).collect()
}

/// The row that a parser's events make.
fn expected(provider: Provider, bytes: &[u8]) -> Row {
    let mut parser = ResponseParser::<Raw>::new(provider, Options::lenient());
    let mut row = Row::default();
    parser.push(bytes);
    parser.finish();
    while let Some(event) = parser.next_event() {
        match event {
            ResponseEvent::Record { record, .. } => row.records.push(format!(
                "{} | {} | {} | {} | {}",
                record.line,
                record.span.start,
                record.span.end,
                record.completion,
                record.value.to_single_line()
            )),
            ResponseEvent::ToolCall { call, .. } => {
                let id = call.call_id.as_deref().filter(|_| !call.is_synthetic_id).unwrap_or("null");
                let parameters = call.parameters.to_single_line();
                row.calls.push(format!("{} | {id} | {} | {parameters}", call.completion, call.name));
            }
            ResponseEvent::RejectedCall { call, .. } => row.rejects.push(reject(&call.diagnostic)),
            ResponseEvent::Rejected { diagnostic, .. } => row.rejects.push(reject(&diagnostic)),
            _ => {}
        }
    }
    row.status = if parser.is_complete() && !parser.is_cut_off() { "complete" } else { "other" }.to_owned();
    row
}

#[test]
fn recorded_streams_have_the_events_of_the_parser() {
    let mut rows = 0;
    for provider in Provider::ALL {
        let kernel = kernel(Format::Provider(*provider));
        for path in recordings(*provider) {
            let bytes = std::fs::read(&path).expect("a recording");
            let mut row = only(&kernel.extract(&BinaryArray::from_vec(vec![&bytes])).expect("a batch"));
            let mut expected = expected(*provider, &bytes);
            if row.status != "complete" {
                assert!(expected.status != "complete", "{}", path.display());
                let has_failed = row.rejects.iter().any(|reject| reject.contains("| provider_error |"));
                assert_eq!(
                    row.status,
                    if has_failed { "failed" } else { "incomplete" },
                    "{}",
                    path.display()
                );
                expected.status.clone_from(&row.status);
            }
            // The place of a call in text is not compared.
            for call in &mut row.calls {
                *call = call.splitn(4, " | ").last().expect("a part").to_owned();
            }
            assert_eq!(row, expected, "{}", path.display());
            rows += 1;
        }
    }
    assert!(rows > 20, "{rows} recordings");
}

#[test]
fn a_row_is_a_body_or_a_stream() {
    let kernel = kernel(Format::Provider(Provider::OpenAiChat));
    let body = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"{\"a\":1}\n{\"a\":2}"},"finish_reason":"stop"}]}"#;
    let stream = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"{\\\"a\\\":1}\\n{\\\"a\\\":2}\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let row = only(&kernel.extract(&StringArray::from(vec![body])).expect("a batch"));
    assert_eq!((row.status.as_str(), row.records.len(), row.rejects.len()), ("complete", 2, 0));
    assert_eq!(only(&kernel.extract(&StringArray::from(vec![stream])).expect("a batch")), row);

    let ollama = self::kernel(Format::Provider(Provider::Ollama));
    let pretty = "{\n  \"message\": {\"content\": \"{\\\"a\\\":1}\"},\n  \"done\": true\n}";
    let lines = "{\"message\":{\"content\":\"{\\\"a\\\"\"},\"done\":false}\n{\"message\":{\"content\":\":1}\"},\"done\":true}\n";
    for text in [pretty, lines] {
        let row = only(&ollama.extract(&StringArray::from(vec![text])).expect("a batch"));
        assert_eq!((row.status.as_str(), row.records.len()), ("complete", 1), "{text}");
    }
}

#[test]
fn a_cut_stream_is_incomplete_and_an_error_failed() {
    let kernel = kernel(Format::Provider(Provider::OpenAiChat));
    let cut = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"{\\\"a\\\":1}\\n\"}}]}\n\n";
    let row = only(&kernel.extract(&StringArray::from(vec![cut])).expect("a batch"));
    assert_eq!((row.status.as_str(), row.records.len()), ("incomplete", 1));
    let error = r#"{"error":{"message":"overloaded","type":"server_error"}}"#;
    let row = only(&kernel.extract(&StringArray::from(vec![error])).expect("a batch"));
    assert_eq!((row.status.as_str(), row.records.len()), ("failed", 0));
}

#[test]
fn typed_records_of_a_body() {
    let schema = r#"{"properties":{"a":{"type":"integer"}}}"#.parse().expect("a schema");
    let options = ExtractOptions::new().schema(schema).columns(Columns::Typed);
    let kernel =
        Extractor::new(options.format(Format::Provider(Provider::Ollama))).expect("consistent options");
    let body = r#"{"message":{"content":"{\"a\":1}\n{\"a\":9223372036854775808}\n"},"done":true}"#;
    let output = kernel.extract(&StringArray::from(vec![body])).expect("a batch");
    let rejects = only(&without(&output, "records")).rejects;
    assert_eq!(rejects.len(), 1);
    assert!(rejects[0].starts_with("2 | 6 | 8 | 33 | schema_violation"), "{rejects:?}");
}

/// The output without a column.
fn without(output: &arrow_array::StructArray, name: &str) -> arrow_array::StructArray {
    let columns = output.fields().iter().cloned().zip(output.columns().iter().cloned());
    arrow_array::StructArray::from(columns.filter(|(field, _)| field.name() != name).collect::<Vec<_>>())
}

#[test]
fn batch_lines() {
    let kernel = kernel(Format::Batch(BatchFormat::OpenAi));
    let texts = StringArray::from(vec![
        Some(
            r#"{"custom_id":"1","response":{"status_code":200,"body":{"choices":[{"message":{"role":"assistant","content":"Sure:\n{\"a\":1}\n"},"finish_reason":"stop"}]}},"error":null}"#,
        ),
        Some(
            r#"{"custom_id":"2","response":{"status_code":429,"body":{"error":{"message":"slow down"}}},"error":null}"#,
        ),
        Some("not JSON"),
        None,
    ]);
    let output = kernel.extract(&texts).expect("a batch");
    let rows = crate::rows::rows(&output);
    let status: Vec<_> = rows.iter().map(|row| row.as_ref().map(|row| row.status.as_str())).collect();
    assert_eq!(status, [Some("complete"), Some("failed"), Some("failed"), None]);
    assert_eq!(rows[0].as_ref().map(|row| row.records.len()), Some(1));
    assert!(rows[1].as_ref().is_some_and(|row| row.rejects[0].contains("provider_error | slow down")));
    assert!(rows[2].as_ref().is_some_and(|row| row.rejects[0].contains("malformed_json")));
    let of = |name: &str| {
        let column = output.column_by_name(name).expect("a column");
        (0..4).map(|at| cell(column, at)).collect::<Vec<_>>()
    };
    assert_eq!(of("custom_id"), ["1", "2", "null", "null"]);
    assert_eq!(of("http_status"), ["200", "429", "null", "null"]);
    assert_eq!(of("error")[..2], ["null", "slow down"]);
    assert_eq!(of("text"), ["Sure:\n{\"a\":1}\n", "null", "null", "null"]);
}
