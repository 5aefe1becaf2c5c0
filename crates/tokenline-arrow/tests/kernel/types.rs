//! The output's type, before any data.

use std::sync::Arc;

use arrow_array::StringArray;
use arrow_schema::{DataType, Field, Fields, TimeUnit};
use tokenline_arrow::{Columns, ExtractError, ExtractOptions, Extractor, Format};

fn ddl(schema: &str) -> String {
    let options = ExtractOptions::new().schema(schema.parse().expect("a schema")).columns(Columns::Typed);
    let kernel = Extractor::new(options).expect("the options are consistent");
    let output = kernel.extract(&StringArray::from(vec!["{}\n"])).expect("a batch");
    assert_eq!(output.fields(), &fields(&kernel), "the type of the output is the announced one");
    let ddl = kernel.spark_ddl().expect("types that Spark has");
    let (_, value) = ddl.split_once("`value`: ").expect("a value");
    let (value, _) = value.split_once(">>, `rejects`").expect("rejects");
    value.to_owned()
}

fn fields(kernel: &Extractor) -> arrow_schema::Fields {
    match kernel.data_type() {
        arrow_schema::DataType::Struct(fields) => fields.clone(),
        other => panic!("an output of {other}"),
    }
}

#[test]
fn json_columns() {
    let kernel = Extractor::new(ExtractOptions::new()).expect("the options are consistent");
    assert_eq!(
        kernel.spark_ddl().expect("types that Spark has"),
        "`status` STRING, \
         `records` ARRAY<STRUCT<`line`: BIGINT, `start`: BIGINT, `end`: BIGINT, `completion`: STRING, `json`: STRING>>, \
         `rejects` ARRAY<STRUCT<`line`: BIGINT, `column`: BIGINT, `start`: BIGINT, `end`: BIGINT, `code`: STRING, \
         `message`: STRING, `instance_path`: STRING, `schema_path`: STRING>>"
    );
    assert!(kernel.duckdb_type().expect("types that DuckDB has").starts_with(
        r#"STRUCT("status" VARCHAR, "records" STRUCT("line" BIGINT, "start" BIGINT, "end" BIGINT, "completion" VARCHAR, "json" VARCHAR)[], "#
    ));
}

#[test]
fn every_format_has_its_columns() {
    for format in Format::all() {
        assert_eq!(Format::from_name(format.as_str()), Some(format));
        let kernel =
            Extractor::new(ExtractOptions::new().format(format)).expect("the options are consistent");
        let names: Vec<_> = fields(&kernel).iter().map(|field| field.name().clone()).collect();
        let expected: &[&str] = match format {
            Format::Text => &["status", "records", "rejects"],
            Format::Provider(_) => &["status", "records", "tool_calls", "rejects"],
            _ => &["status", "records", "tool_calls", "rejects", "custom_id", "http_status", "error", "text"],
        };
        assert_eq!(names, expected, "{}", format.as_str());
    }
}

#[test]
fn the_mapping() {
    for (schema, expected) in [
        (
            r#"{"properties":{"b":{"type":"string"},"a":{"type":"integer"}}}"#,
            "STRUCT<`b`: STRING, `a`: BIGINT>",
        ),
        (
            r#"{"properties":{"a":{"type":"number"},"b":{"type":"boolean"}}}"#,
            "STRUCT<`a`: DOUBLE, `b`: BOOLEAN>",
        ),
        (r#"{"properties":{"a":{"type":"string","format":"date-time"}}}"#, "STRUCT<`a`: TIMESTAMP>"),
        (
            r#"{"properties":{"a":{"type":"string","format":"date"},"b":{"type":"string","format":"time"}}}"#,
            "STRUCT<`a`: DATE, `b`: STRING>",
        ),
        (r#"{"properties":{"a":{"type":["integer","null"]}}}"#, "STRUCT<`a`: BIGINT>"),
        (r#"{"properties":{"a":{"type":["integer","string"]}}}"#, "STRUCT<`a`: STRING>"),
        (r#"{"properties":{"a":{"anyOf":[{"type":"null"},{"type":"number"}]}}}"#, "STRUCT<`a`: DOUBLE>"),
        (r#"{"properties":{"a":{"oneOf":[{"type":"integer"},{"type":"string"}]}}}"#, "STRUCT<`a`: STRING>"),
        (r#"{"properties":{"a":{"type":"array","items":{"type":"integer"}}}}"#, "STRUCT<`a`: ARRAY<BIGINT>>"),
        (r#"{"properties":{"a":{"type":"array"}}}"#, "STRUCT<`a`: ARRAY<STRING>>"),
        (
            r#"{"properties":{"a":{"type":"array","prefixItems":[{"type":"integer"}]}}}"#,
            "STRUCT<`a`: STRING>",
        ),
        (
            r#"{"properties":{"a":{"type":"object","additionalProperties":{"type":"integer"}}}}"#,
            "STRUCT<`a`: STRING>",
        ),
        (
            r#"{"properties":{"a":{"enum":["x","y"]},"b":{"enum":[1,"y"]},"c":{"const":"z"}}}"#,
            "STRUCT<`a`: STRING, `b`: STRING, `c`: STRING>",
        ),
        (
            r##"{"$ref":"#/$defs/r","$defs":{"r":{"properties":{"a":{"$ref":"#/$defs/n"}}},"n":{"type":"integer"}}}"##,
            "STRUCT<`a`: BIGINT>",
        ),
        (
            r##"{"properties":{"n":{"type":"integer"},"next":{"$ref":"#"}}}"##,
            "STRUCT<`n`: BIGINT, `next`: STRING>",
        ),
        (r#"{"properties":{"a`b":{"allOf":[{"type":"boolean"}]}}}"#, "STRUCT<`a``b`: BOOLEAN>"),
        (r#"{"oneOf":[{"properties":{"a":{}}},{"properties":{"b":{}}}]}"#, "STRING"),
        ("true", "STRING"),
    ] {
        assert_eq!(ddl(schema), expected, "{schema}");
    }
}

#[test]
fn references_that_multiply_stay_small() {
    let mut defs = String::new();
    for at in 0..20 {
        let next = at + 1;
        defs += &format!(
            r##""d{at}":{{"properties":{{"a":{{"$ref":"#/$defs/d{next}"}},"b":{{"$ref":"#/$defs/d{next}"}}}}}},"##
        );
    }
    let schema = format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{defs}"d20":{{"type":"integer"}}}}}}"##);
    assert!(ddl(&schema).len() < 1_000_000);
}

fn declared(fields: Vec<Field>) -> Result<Extractor, ExtractError> {
    Extractor::new(ExtractOptions::new().columns(Columns::Fields(fields.into())))
}

#[test]
fn declared_columns_in_the_words_of_the_engines() {
    let decimal = || Field::new("price", DataType::Decimal128(10, 2), true);
    let list = DataType::LargeList(Arc::new(Field::new("element", DataType::LargeUtf8, true)));
    let fields = vec![
        decimal(),
        Field::new("day", DataType::Date32, true),
        Field::new("at", DataType::Timestamp(TimeUnit::Microsecond, None), true),
        Field::new("n", DataType::Int16, true),
        Field::new("tags", list, true),
    ];
    let kernel = declared(fields).expect("columns that JSON is read as");
    let spark = kernel.spark_ddl().expect("types that Spark has");
    assert!(
        spark.contains(
            "`value`: STRUCT<`price`: DECIMAL(10,2), `day`: DATE, `at`: TIMESTAMP_NTZ, `n`: SMALLINT, `tags`: ARRAY<STRING>>"
        ),
        "{spark}"
    );
    let duckdb = kernel.duckdb_type().expect("types that DuckDB has");
    assert!(
        duckdb.contains(
            r#""value" STRUCT("price" DECIMAL(10,2), "day" DATE, "at" TIMESTAMP, "n" SMALLINT, "tags" VARCHAR[])"#
        ),
        "{duckdb}"
    );

    let time =
        declared(vec![Field::new("t", DataType::Time64(TimeUnit::Microsecond), true)]).expect("a time");
    assert!(time.duckdb_type().is_ok_and(|text| text.contains(r#""t" TIME"#)));
    assert_eq!(
        time.spark_ddl().expect_err("Spark has none").to_string(),
        "the column `records.value.t` is Time64(µs), which Spark does not have"
    );
    let wide = declared(vec![Field::new("w", DataType::Decimal256(40, 0), true)]).expect("a decimal");
    assert!(wide.spark_ddl().is_err() && wide.duckdb_type().is_err());
}

#[test]
fn columns_that_json_is_not_read_as() {
    let inner = DataType::Struct(vec![Field::new("b", DataType::Null, true)].into());
    let list = DataType::List(Arc::new(Field::new("item", inner, true)));
    let error = declared(vec![Field::new("a", list, true)]).expect_err("a null").to_string();
    assert!(error.starts_with("the column `a[].b` is Null; it must be text, a boolean"), "{error}");
    for other in [
        DataType::Binary,
        DataType::Float16,
        DataType::Time32(TimeUnit::Nanosecond),
        DataType::Decimal128(39, 0),
        DataType::Decimal128(0, 0),
        DataType::Decimal128(4, 5),
        DataType::Duration(TimeUnit::Second),
        DataType::Struct(Fields::empty()),
    ] {
        let error = declared(vec![Field::new("a", other.clone(), true)]).expect_err("not read");
        assert_eq!(error, ExtractError::UnsupportedColumn { column: "a".to_owned(), data_type: other });
    }
    let twice = declared(vec![Field::new("a", DataType::Utf8, true), Field::new("a", DataType::Int64, true)]);
    assert_eq!(twice.expect_err("a duplicate").to_string(), "two columns are named `a`");
    let none = declared(Vec::new()).expect_err("no columns").to_string();
    assert!(none.starts_with("the column `value` is Struct()"), "{none}");
}
