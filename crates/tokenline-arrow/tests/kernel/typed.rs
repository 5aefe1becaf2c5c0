//! Typed columns hold the values of the JSON.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, StringArray, StructArray};
use arrow_schema::DataType;
use serde_json::{Value, json};
use tokenline_arrow::{Columns, ExtractOptions, Extractor};
use tokenline_schema::{SchemaOptions, SchemaValidator};

use crate::rows::{only, rows};

fn kernel(schema: SchemaValidator) -> Extractor {
    let options = ExtractOptions::new().schema(schema).columns(Columns::Typed);
    Extractor::new(options).expect("the options are consistent")
}

fn schema() -> SchemaValidator {
    SchemaValidator::new(&json!({
        "properties": {
            "name": {"type": "string"},
            "count": {"type": ["integer", "null"]},
            "share": {"type": "number"},
            "good": {"type": "boolean"},
            "at": {"type": "string", "format": "date-time"},
            "tags": {"type": "array", "items": {"type": ["string", "null"]}},
            "any": {},
            "deep": {"type": "object", "properties": {
                "points": {"type": "array", "items": {"properties": {"x": {"type": "integer"}, "y": {"type": "number"}}}},
                "grid": {"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}},
            }},
        },
        "required": ["name"],
    }))
    .expect("a schema")
}

/// The typed value as JSON; absent members are null, and JSON text is a string.
fn value(column: &ArrayRef, at: usize) -> Value {
    if column.is_null(at) {
        return Value::Null;
    }
    let list = |items: ArrayRef| (0..items.len()).map(|at| value(&items, at)).collect();
    match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().value(at).into(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(at).into(),
        DataType::Float64 => column.as_primitive::<Float64Type>().value(at).into(),
        DataType::Boolean => column.as_boolean().value(at).into(),
        DataType::Timestamp(..) => column.as_primitive::<TimestampMicrosecondType>().value(at).into(),
        DataType::List(_) => Value::Array(list(column.as_list::<i32>().value(at))),
        DataType::Struct(fields) => {
            let columns = fields.iter().zip(column.as_struct().columns());
            Value::Object(columns.map(|(field, column)| (field.name().clone(), value(column, at))).collect())
        }
        other => panic!("a column of {other}"),
    }
}

fn values(output: &StructArray) -> Vec<Value> {
    let records = output.column_by_name("records").expect("records").as_list::<i32>().values().clone();
    let column = records.as_struct().column_by_name("value").expect("typed values");
    (0..column.len()).map(|at| value(column, at)).collect()
}

fn extract(kernel: &Extractor, lines: &[&str]) -> StructArray {
    kernel.extract(&StringArray::from(vec![lines.join("\n")])).expect("a batch")
}

#[test]
fn values_at_the_edges() {
    let output = extract(
        &kernel(schema()),
        &[
            r#"{"name":"n\u00e9\n","count":9223372036854775807,"share":1e308,"good":true,"at":"2024-02-29T12:00:00.123456789+02:00"}"#,
            r#"{"count":-9223372036854775808,"share":-0.0,"name":"","good":false,"at":"1969-12-31T23:59:59Z"}"#,
            r#"{"name":"whole","count":1e3,"share":18446744073709551615,"tags":["a",null,"\ud83d\ude00"],"any":{"k":[1, 2.50]}}"#,
            r#"{"name":"deep","deep":{"grid":[[true],[],[false,true]],"points":[{"y":2,"x":1.0},{},{"z":3}]},"extra":1}"#,
            r#"{"name":"nulls","count":null,"any":null,"tags":[],"deep":{}}"#,
        ],
    );
    assert_eq!(only(&output_without_values(&output)).rejects, Vec::<String>::new());
    let none = json!(null);
    let row = |members: Value| {
        let mut row = json!({"name": none, "count": none, "share": none, "good": none, "at": none, "tags": none, "any": none, "deep": none});
        for (name, value) in members.as_object().expect("an object") {
            row[name] = value.clone();
        }
        row
    };
    assert_eq!(
        values(&output),
        [
            row(
                json!({"name": "né\n", "count": i64::MAX, "share": 1e308, "good": true, "at": 1_709_200_800_123_456_i64})
            ),
            row(json!({"name": "", "count": i64::MIN, "share": -0.0, "good": false, "at": -1_000_000})),
            row(
                json!({"name": "whole", "count": 1000, "share": 18446744073709551615_u64 as f64, "tags": ["a", none, "😀"], "any": r#"{"k":[1, 2.50]}"#})
            ),
            row(json!({"name": "deep", "deep": {
                "grid": [[true], [], [false, true]],
                "points": [{"x": 1, "y": 2.0}, {"x": none, "y": none}, {"x": none, "y": none}],
            }})),
            row(json!({"name": "nulls", "tags": [], "deep": {"points": none, "grid": none}})),
        ]
    );
}

/// The output with only the rejects to compare.
fn output_without_values(output: &StructArray) -> StructArray {
    let keep = |name: &str| {
        let (at, field) = output.fields().find(name).expect("a column");
        (field.clone(), output.column(at).clone())
    };
    StructArray::from(vec![keep("status"), keep("rejects")])
}

#[test]
fn values_that_do_not_fit_are_rejected_and_leave_nothing_behind() {
    // Valid by the schema, but not in a column of 64 bits or a timestamp.
    let validator = SchemaOptions::new().assert_formats(false).build(schema().schema()).expect("a schema");
    let output = extract(
        &kernel(validator),
        &[
            r#"{"name":"one","tags":["a"],"deep":{"grid":[[true]]}}"#,
            r#"{"name":"two","tags":["b","c"],"count":9223372036854775808}"#,
            r#"{"deep":{"grid":[[false],[true]],"points":[{"x":1},{"x":1e30}]},"name":"three"}"#,
            r#"{"name":"four","at":"yesterday"}"#,
            r#"{"name":"five","share":1e999}"#,
            r#"{"name":"six","deep":{"points":[7]}}"#,
            r#"{"name":"seven","tags":["d"],"deep":{"grid":[[false]]}}"#,
        ],
    );
    let rejects = only(&output_without_values(&output)).rejects;
    let summary: Vec<String> = rejects
        .iter()
        .map(|reject| {
            let parts: Vec<&str> = reject.split(" | ").collect();
            format!("{}:{} {} {} {}", parts[0], parts[1], parts[4], parts[5], parts[6])
        })
        .collect();
    assert_eq!(
        summary,
        [
            "2:40 schema_violation does not fit its column: expected an integer of 64 bits /count",
            "3:57 schema_violation does not fit its column: expected an integer of 64 bits /deep/points/1/x",
            "4:21 schema_violation does not fit its column: expected a date and time with an offset, as in RFC 3339 /at",
            "5:24 schema_violation does not fit its column: expected a number in the range of a double /share",
            "6:33 schema_violation does not fit its column: expected an object /deep/points/0",
        ]
    );
    let seen = values(&output);
    assert_eq!(seen.len(), 2);
    assert_eq!((&seen[0]["tags"], &seen[0]["deep"]["grid"]), (&json!(["a"]), &json!([[true]])));
    assert_eq!(
        (&seen[1]["name"], &seen[1]["tags"], &seen[1]["deep"]["grid"]),
        (&json!("seven"), &json!(["d"]), &json!([[false]]))
    );
    assert_eq!(seen[1]["count"], json!(null));
}

#[test]
fn of_two_members_with_one_name_the_last_counts() {
    let text = r#"{"properties":{"a":{"type":"array","items":{"type":"integer"}},"b":{"type":"string"}}}"#;
    let validator = SchemaOptions::new().allow_duplicate_keys(true).build_str(text).expect("a schema");
    let output = extract(&kernel(validator), &[r#"{"a":[1,2],"b":"x","a":[3],"b":"yz"}"#, r#"{"b":"w"}"#]);
    assert_eq!(values(&output), [json!({"a": [3], "b": "yz"}), json!({"a": null, "b": "w"})]);
}

#[test]
fn a_schema_of_alternatives_is_json_text() {
    let validator = SchemaValidator::new(&json!({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}));
    let output = extract(&kernel(validator.expect("a schema")), &[r#"{"a":1}"#, r#"{"a":1,"b":2}"#]);
    assert_eq!(values(&output), [json!(r#"{"a":1}"#)]);
}

#[test]
fn typed_rows_have_the_places_of_json_rows() {
    let texts = StringArray::from(vec![
        Some("Sure:\n{\"name\":\"a\"}\n{\"nam"),
        None,
        Some(""),
        Some("[{\"name\":\"b\"},{\"name\":7}]"),
    ]);
    let typed = kernel(schema()).extract(&texts).expect("a batch");
    let json = Extractor::new(ExtractOptions::new().schema(schema())).expect("the options are consistent");
    let json = json.extract(&texts).expect("a batch");
    assert_eq!(rows(&output_without_values(&typed)), rows(&output_without_values(&json)));
    let places = |output: &StructArray| {
        let records = output.column_by_name("records").expect("records").as_list::<i32>().values().clone();
        let records = records.as_struct();
        (0..4).map(|at| records.column(at).clone()).collect::<Vec<_>>()
    };
    assert_eq!(places(&typed), places(&json));
}
