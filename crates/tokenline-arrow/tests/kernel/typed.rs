//! Typed columns hold the values of the JSON.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float32Type,
    Float64Type, Int8Type, Int32Type, Int64Type, Time32SecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, UInt64Type,
};
use arrow_array::{Array, ArrayRef, StringArray, StructArray};
use arrow_buffer::i256;
use arrow_schema::{DataType, Field, TimeUnit};
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
            r#"{"name":"n\u00e9\n","count":9223372036854775807,"share":1e308,"good":true,"at":"2024-02-29T12:00:00.123456000+02:00"}"#,
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
            r#"{"name":"four","at":"2024-02-29T12:00:00.123456789Z"}"#,
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
            "4:21 schema_violation does not fit its column: expected a date and time with an offset, as in RFC 3339, to the microsecond /at",
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

fn declared(fields: Vec<Field>) -> Extractor {
    let options = ExtractOptions::new().columns(Columns::Fields(fields.into()));
    Extractor::new(options).expect("columns that JSON is read as")
}

/// The first column of the records, with the rejects as `line: message path`.
fn first_column(data_type: DataType, lines: &[&str]) -> (ArrayRef, Vec<String>) {
    let field = Field::new("v", data_type, true);
    let output = extract(&declared(vec![field.clone()]), lines);
    let records = output.column_by_name("records").expect("records").as_list::<i32>().values().clone();
    let column =
        records.as_struct().column_by_name("value").expect("typed values").as_struct().column(0).clone();
    assert_eq!(column.data_type(), field.data_type());
    column.to_data().validate_full().expect("a valid array");
    let rejects = only(&output_without_values(&output)).rejects;
    let short = |reject: &String| {
        let parts: Vec<&str> = reject.split(" | ").collect();
        assert_eq!((parts[4], parts[6]), ("schema_violation", "/v"));
        format!(
            "{}: {}",
            parts[0],
            parts[5].strip_prefix("does not fit its column: expected ").expect("a misfit")
        )
    };
    (column, rejects.iter().map(short).collect())
}

#[test]
fn declared_integers_and_floats() {
    let (column, rejects) = first_column(
        DataType::Int8,
        &[r#"{"v":127}"#, r#"{"v":-128.0}"#, r#"{"v":128}"#, r#"{"v":1.5}"#, r#"{}"#],
    );
    assert_eq!(column.as_primitive::<Int8Type>().iter().collect::<Vec<_>>(), [Some(127), Some(-128), None]);
    assert_eq!(rejects, ["3: an integer of 8 bits", "4: an integer of 8 bits"]);
    let (column, rejects) = first_column(
        DataType::UInt64,
        &[r#"{"v":18446744073709551615}"#, r#"{"v":0}"#, r#"{"v":-1}"#, r#"{"v":18446744073709551616}"#],
    );
    assert_eq!(column.as_primitive::<UInt64Type>().values(), &[u64::MAX, 0]);
    assert_eq!(rejects, ["3: an unsigned integer of 64 bits", "4: an unsigned integer of 64 bits"]);
    let (column, rejects) =
        first_column(DataType::Float32, &[r#"{"v":0.1}"#, r#"{"v":1e39}"#, r#"{"v":"1"}"#]);
    assert_eq!(column.as_primitive::<Float32Type>().values(), &[0.1_f32]);
    assert_eq!(rejects, ["2: a number in the range of a float", "3: a number in the range of a float"]);
}

#[test]
fn declared_decimals_are_exact_or_rejected() {
    let lines = [
        r#"{"v":0.1}"#,
        r#"{"v":"12345678.90"}"#,
        r#"{"v":-1.5e1}"#,
        r#"{"v":null}"#,
        r#"{"v":1.005}"#,
        r#"{"v":"123456789"}"#,
        r#"{"v":"1,5"}"#,
        r#"{"v":true}"#,
    ];
    let expected = [Some(10), Some(1_234_567_890), Some(-1_500), None];
    let misfit = "a decimal of at most 8 digits before the point and 2 after it";
    let rejects: Vec<String> = (5..=8).map(|line| format!("{line}: {misfit}")).collect();
    let (column, found) = first_column(DataType::Decimal128(10, 2), &lines);
    assert_eq!(column.as_primitive::<Decimal128Type>().iter().collect::<Vec<_>>(), expected);
    assert_eq!(found, rejects);
    let (column, found) = first_column(DataType::Decimal64(10, 2), &lines);
    let narrow = expected.map(|value| value.map(|value: i128| value as i64));
    assert_eq!(column.as_primitive::<Decimal64Type>().iter().collect::<Vec<_>>(), narrow);
    assert_eq!(found, rejects);
    let (column, found) = first_column(DataType::Decimal256(10, 2), &lines);
    let wide = expected.map(|value| value.map(i256::from_i128));
    assert_eq!(column.as_primitive::<Decimal256Type>().iter().collect::<Vec<_>>(), wide);
    assert_eq!(found, rejects);

    let digits = "9".repeat(76);
    let (column, found) = first_column(
        DataType::Decimal256(76, 0),
        &[&format!(r#"{{"v":{digits}}}"#), &format!(r#"{{"v":{digits}0}}"#)],
    );
    assert_eq!(
        column.as_primitive::<Decimal256Type>().values()[0],
        i256::from_string(&digits).expect("76 digits")
    );
    assert_eq!(found.len(), 1);
    let (column, found) = first_column(DataType::Decimal32(4, -2), &[r#"{"v":1200}"#, r#"{"v":1250}"#]);
    assert_eq!(column.as_primitive::<Decimal32Type>().values(), &[12]);
    assert_eq!(found, ["2: a multiple of 1e2 of at most 6 digits"]);
}

#[test]
fn declared_dates_and_times_are_exact_or_rejected() {
    let (column, rejects) = first_column(
        DataType::Date32,
        &[
            r#"{"v":"2024-02-29"}"#,
            r#"{"v":"2023-02-29"}"#,
            r#"{"v":"2024-02-29T00:00:00Z"}"#,
            r#"{"v":19782}"#,
        ],
    );
    assert_eq!(column.as_primitive::<Date32Type>().values(), &[19_782]);
    assert_eq!(rejects, (2..=4).map(|line| format!("{line}: a date, as in RFC 3339")).collect::<Vec<_>>());
    let (column, _) = first_column(DataType::Date64, &[r#"{"v":"1970-01-02"}"#]);
    assert_eq!(column.as_primitive::<Date64Type>().values(), &[86_400_000]);
    let (column, rejects) =
        first_column(DataType::Time32(TimeUnit::Second), &[r#"{"v":"12:30:00"}"#, r#"{"v":"12:30:00.5"}"#]);
    assert_eq!(column.as_primitive::<Time32SecondType>().values(), &[45_000]);
    assert_eq!(rejects, ["2: a time without an offset, to the second"]);
    let (column, rejects) = first_column(
        DataType::Timestamp(TimeUnit::Millisecond, None),
        &[r#"{"v":"1970-01-01T00:00:01.5"}"#, r#"{"v":"1970-01-01T00:00:01Z"}"#],
    );
    assert_eq!(column.as_primitive::<TimestampMillisecondType>().values(), &[1_500]);
    assert_eq!(rejects, ["2: a date and time without an offset, as in RFC 3339, to the millisecond"]);
    let zone = DataType::Timestamp(TimeUnit::Nanosecond, Some("Europe/Oslo".into()));
    let (column, rejects) = first_column(
        zone,
        &[r#"{"v":"1970-01-01T01:00:00.000000001+01:00"}"#, r#"{"v":"2300-01-01T00:00:00Z"}"#],
    );
    assert_eq!(column.as_primitive::<TimestampNanosecondType>().values(), &[1]);
    assert_eq!(rejects, ["2: a date and time with an offset, as in RFC 3339, to the nanosecond"]);
}

#[test]
fn declared_layouts_of_text_and_lists() {
    let lines =
        [r#"{"v":["a",null,"a text of more than twelve bytes"]}"#, r#"{"v":[]}"#, r#"{}"#, r#"{"v":[1]}"#];
    for text in [DataType::Utf8, DataType::LargeUtf8, DataType::Utf8View] {
        let item = Arc::new(Field::new("element", text, true));
        for list in [DataType::List(Arc::clone(&item)), DataType::LargeList(item)] {
            let field = Field::new("v", list.clone(), true);
            let output = extract(&declared(vec![field]), &lines);
            let records =
                output.column_by_name("records").expect("records").as_list::<i32>().values().clone();
            let column =
                records.as_struct().column_by_name("value").expect("values").as_struct().column(0).clone();
            assert_eq!(column.data_type(), &list);
            column.to_data().validate_full().expect("a valid array");
            let items = |at: usize| match column.data_type() {
                DataType::List(_) => column.as_list::<i32>().value(at),
                _ => column.as_list::<i64>().value(at),
            };
            let text = |items: &ArrayRef, at: usize| match items.data_type() {
                DataType::Utf8 => items.as_string::<i32>().value(at).to_owned(),
                DataType::LargeUtf8 => items.as_string::<i64>().value(at).to_owned(),
                _ => items.as_string_view().value(at).to_owned(),
            };
            assert_eq!((column.len(), items(0).len(), items(1).len(), column.is_null(2)), (3, 3, 0, true));
            assert_eq!(text(&items(0), 0), "a");
            assert!(items(0).is_null(1));
            assert_eq!(text(&items(0), 2), "a text of more than twelve bytes");
            assert_eq!(only(&output_without_values(&output)).rejects.len(), 1);
        }
    }
}

#[test]
fn declared_json_is_any_value() {
    let json = [("ARROW:extension:name".to_owned(), "arrow.json".to_owned())];
    let field = Field::new("any", DataType::Utf8, true).with_metadata(json.into());
    let output = extract(&declared(vec![field]), &[r#"{"any":{"k":[1, 2.50]}}"#, r#"{"any":"x"}"#]);
    assert_eq!(values(&output), [json!({"any": r#"{"k":[1, 2.50]}"#}), json!({"any": r#""x""#})]);
}

#[test]
fn a_column_that_is_not_nullable_needs_a_value() {
    let point = vec![Field::new("x", DataType::Int64, false)];
    let fields = vec![
        Field::new("id", DataType::Utf8, false),
        Field::new("at", DataType::Struct(point.into()), true),
        Field::new("tags", DataType::List(Arc::new(Field::new("item", DataType::Utf8, false))), true),
    ];
    let output = extract(
        &declared(fields),
        &[
            r#"{"id":"a","at":{"x":1},"tags":["t"],"other":1}"#,
            r#"{"id":"b"}"#,
            r#"{"at":{"x":1}}"#,
            r#"{"id":null}"#,
            r#"{"id":"c","at":{}}"#,
            r#"{"id":"d","tags":["t",null]}"#,
        ],
    );
    assert_eq!(
        values(&output),
        [json!({"id": "a", "at": {"x": 1}, "tags": ["t"]}), json!({"id": "b", "at": null, "tags": null})]
    );
    let rejects = only(&output_without_values(&output)).rejects;
    let found: Vec<_> = rejects
        .iter()
        .map(|reject| {
            let parts: Vec<_> = reject.split(" | ").collect();
            [parts[0], parts[1], parts[5], parts[6]].join(" ")
        })
        .collect();
    assert_eq!(
        found,
        [
            "3 1 does not fit its column: expected the member `id` ",
            "4 7 does not fit its column: expected a value other than null /id",
            "5 16 does not fit its column: expected the member `x` /at",
            "6 23 does not fit its column: expected a value other than null /tags/1",
        ]
    );
}

#[test]
fn declared_columns_and_a_schema() {
    let schema = SchemaValidator::new(&json!({"properties": {"a": {"minimum": 2}}})).expect("a schema");
    let columns = Columns::Fields(vec![Field::new("a", DataType::Int32, true)].into());
    let kernel = Extractor::new(ExtractOptions::new().schema(schema).columns(columns)).expect("columns");
    let output = extract(&kernel, &[r#"{"a":1}"#, r#"{"a":2,"b":3}"#]);
    let records = output.column_by_name("records").expect("records").as_list::<i32>().values().clone();
    let column = records.as_struct().column_by_name("value").expect("values").as_struct().column(0).clone();
    assert_eq!(column.as_primitive::<Int32Type>().values(), &[2]);
    assert!(only(&output_without_values(&output)).rejects[0].contains("/a"));
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
