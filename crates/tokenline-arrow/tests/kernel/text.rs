//! Texts: the records and rejects are those of `RecordDecoder`.

use arrow_array::{BinaryArray, StringArray};
use tokenline_arrow::{ExtractOptions, Extractor};
use tokenline_core::json::Raw;
use tokenline_core::{CallFormat, Diagnostic, Options};
use tokenline_schema::ToolSet;

use crate::common::cases::all;
use crate::common::{Seen, decode};
use crate::random::{Random, VALUE_PARTS};
use crate::rows::{Row, only, rows};

pub(crate) fn reject(diagnostic: &Diagnostic) -> String {
    let Diagnostic { line, column, span, code, message, instance_path, schema_path, .. } = diagnostic;
    let path = |path: &Option<String>| path.clone().unwrap_or_else(|| "null".to_owned());
    let (instance, schema) = (path(instance_path), path(schema_path));
    format!("{line} | {column} | {} | {} | {code} | {message} | {instance} | {schema}", span.start, span.end)
}

/// The row that these events make.
fn expected(seen: &[Seen]) -> Row {
    let mut row = Row { status: "complete".to_owned(), ..Row::default() };
    for event in seen {
        match event {
            Seen::Record { raw, record } => {
                let json = Raw::new(raw).expect("a record is JSON");
                let (line, span) = (record.line, record.span);
                let (start, end, completion) = (span.start, span.end, record.completion);
                row.records
                    .push(format!("{line} | {start} | {end} | {completion} | {}", json.to_single_line()));
            }
            Seen::Rejected(diagnostic) => row.rejects.push(reject(diagnostic)),
            Seen::Note(_) => {}
        }
    }
    row
}

fn kernel(options: Options) -> Extractor {
    Extractor::new(ExtractOptions::new().options(options)).expect("the options are consistent")
}

#[test]
fn every_fixture_has_the_events_of_the_decoder() {
    let mut records = 0;
    for case in all() {
        let output =
            kernel(case.options.clone()).extract(&BinaryArray::from_vec(vec![&case.input])).expect("a batch");
        let row = expected(&decode(&case.options, [&*case.input]));
        records += row.records.len();
        assert_eq!(only(&output), row, "{}", case.name);
    }
    assert!(records > 100, "{records} records");
}

#[test]
fn random_texts_have_the_events_of_the_decoder_in_any_batch() {
    let mut random = Random::new(23);
    let texts: Vec<Option<String>> = (0..3000)
        .map(|_| {
            let parts = random.below(24);
            let text = (0..parts).map(|_| *random.pick(&VALUE_PARTS)).collect();
            (!random.once_in(50)).then_some(text)
        })
        .collect();
    let kernel = kernel(Options::lenient());
    let text_rows = |texts: &[Option<String>]| {
        rows(&kernel.extract(&StringArray::from(texts.to_vec())).expect("a batch"))
    };
    let whole = text_rows(&texts);
    let of_decoder =
        |text: &Option<String>| Some(expected(&decode(Options::lenient(), [text.as_ref()?.as_bytes()])));
    assert_eq!(whole, texts.iter().map(of_decoder).collect::<Vec<_>>());
    assert!(whole.iter().any(Option::is_none));
    for size in [1, 7, 999] {
        let parts: Vec<_> = texts.chunks(size).flat_map(text_rows).collect();
        assert_eq!(parts, whole, "in batches of {size}");
    }
}

#[test]
fn a_schema_rejects_with_the_place_of_the_fault() {
    let schema = r#"{"properties":{"a":{"type":"integer"}},"required":["a"]}"#.parse().expect("a schema");
    let kernel = Extractor::new(ExtractOptions::new().schema(schema)).expect("the options are consistent");
    let row =
        only(&kernel.extract(&StringArray::from(vec!["{\"a\":1}\n{\"a\":\"secret\"}\n"])).expect("a batch"));
    assert_eq!(row.records, ["1 | 0 | 7 | newline | {\"a\":1}"]);
    assert_eq!(
        row.rejects,
        [
            "2 | 6 | 8 | 22 | schema_violation | expected type integer, found a string | /a | /properties/a/type"
        ]
    );
}

#[test]
fn tools_read_the_text_as_calls() {
    let tools = r#"[{"name":"weather","parameters":{"properties":{"city":{"type":"string"}}}}]"#;
    let tools = ToolSet::from_json_str(tools).expect("tool definitions");
    let kernel = Extractor::new(ExtractOptions::new().tools(tools)).expect("the options are consistent");
    let text = concat!(
        "{\"name\":\"weather\",\"parameters\":{\"city\":\"Oslo\"},\"call_id\":\"c1\"}\n",
        "{\"name\":\"weather\",\"parameters\":{\"city\":7}}\n",
    );
    let row = only(&kernel.extract(&StringArray::from(vec![text])).expect("a batch"));
    assert_eq!(row.calls, ["1 | 0 | 62 | newline | c1 | weather | {\"city\":\"Oslo\"}"]);
    assert!(row.records.is_empty());
    assert!(row.rejects[0].contains("invalid_parameters"), "{:?}", row.rejects);

    let options = ExtractOptions::new().call_format(CallFormat::Hermes);
    let kernel = Extractor::new(options).expect("the options are consistent");
    let text = "<tool_call>\n{\"name\":\"now\",\"arguments\":{}}\n</tool_call>\n";
    let row = only(&kernel.extract(&StringArray::from(vec![text])).expect("a batch"));
    assert!(row.calls[0].ends_with("| null | now | {}"), "{:?}", row.calls);
}

#[test]
fn an_extractor_is_used_by_several_threads() {
    let kernel = kernel(Options::lenient());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let kernel = kernel.clone();
            scope.spawn(move || {
                for round in 0..50 {
                    let text = format!("{{\"thread\":{thread},\"round\":{round}}}\n");
                    let row =
                        only(&kernel.extract(&StringArray::from(vec![text.as_str()])).expect("a batch"));
                    assert!(row.records[0].ends_with(text.trim()), "{:?}", row.records);
                }
            });
        }
    });
}
