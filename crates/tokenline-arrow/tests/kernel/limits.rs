//! Limits, and options that contradict each other.

use arrow_array::StringArray;
use tokenline_arrow::{Columns, ExtractError, ExtractOptions, Extractor};
use tokenline_core::{CallFormat, Mode};

use crate::rows::rows;

fn error(options: ExtractOptions) -> String {
    Extractor::new(options).expect_err("a contradiction").to_string()
}

#[test]
fn a_full_column_names_itself_and_the_row() {
    let kernel = Extractor::new(ExtractOptions::new().column_bytes(20)).expect("the options are consistent");
    let texts = StringArray::from(vec!["{\"a\":1}\n", "{\"a\":22}\n", "{\"a\":333}\n"]);
    let error = kernel.extract(&texts).expect_err("more than 20 bytes");
    let expected = ExtractError::ColumnTooLarge { column: "records.json".to_owned(), row: 2, limit: 20 };
    assert_eq!(error, expected);
    assert!(error.to_string().contains("split the batch"), "{error}");
    // The reader that stopped inside a row is not used again.
    let rest = StringArray::from(vec!["{\"a\":1}\n"]);
    assert_eq!(
        rows(&kernel.extract(&rest).expect("a batch"))[0].as_ref().map(|row| row.records.len()),
        Some(1)
    );
}

#[test]
fn a_typed_column_is_named_by_its_path() {
    let schema = r#"{"properties":{"a":{"type":"array","items":{"properties":{"b":{"type":"string"}}}}}}"#;
    let options = ExtractOptions::new().schema(schema.parse().expect("a schema")).columns(Columns::Typed);
    let kernel = Extractor::new(options.column_bytes(12)).expect("the options are consistent");
    let texts = StringArray::from(vec!["{\"a\":[{\"b\":\"0123456\"},{\"b\":\"0123456\"}]}\n"]);
    let error = kernel.extract(&texts).expect_err("more than 12 bytes");
    assert!(error.to_string().contains("`records.value.a.b`"), "{error}");
}

#[test]
fn contradictions() {
    let strict = || ExtractOptions::new().mode(Mode::Strict);
    assert_eq!(
        error(strict().items("/a")),
        "items needs the lenient mode: in strict mode each line is one object"
    );
    assert!(
        error(strict().call_format(CallFormat::Hermes)).starts_with("call_format needs the lenient mode")
    );
    assert!(error(ExtractOptions::new().items("a")).starts_with("items: not a JSON Pointer"));
    assert!(error(ExtractOptions::new().columns(Columns::Typed)).starts_with("typed columns need a schema"));
    assert!(Extractor::new(strict().call_format(CallFormat::Jsonl)).is_ok());
}

#[test]
fn a_long_extraction_asks_after_each_mebibyte_whether_to_go_on() {
    let kernel = Extractor::new(ExtractOptions::new()).expect("the options are consistent");
    let line = format!("{{\"a\":\"{}\"}}\n", "x".repeat(64 * 1024));
    let texts = StringArray::from(vec![&*line; 64]);
    let mut asked = 0;
    let output = kernel.extract_while(&texts, || {
        asked += 1;
        true
    });
    assert_eq!((output, asked), (kernel.extract(&texts), 4));
    assert_eq!(kernel.extract_while(&texts, || false), Err(ExtractError::Interrupted));
}
