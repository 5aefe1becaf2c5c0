//! The type of the output.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields};

use crate::options::Rules;
use crate::typed::TypedColumn;

/// The fields of the output, in their order. Those of a null row are null.
pub(crate) fn output_fields(rules: &Rules, record_type: Option<&TypedColumn>) -> Fields {
    let mut fields = vec![
        nullable("status", DataType::Utf8),
        list(
            "records",
            vec![
                place("line"),
                place("start"),
                place("end"),
                text("completion"),
                match record_type {
                    None => text("json"),
                    Some(record_type) => Field::new("value", record_type.data_type.clone(), false),
                },
            ],
        ),
    ];
    if rules.has_calls() {
        fields.push(list(
            "tool_calls",
            vec![
                // A native call has no place in a text.
                nullable("line", DataType::Int64),
                nullable("start", DataType::Int64),
                nullable("end", DataType::Int64),
                text("completion"),
                nullable("call_id", DataType::Utf8),
                text("name"),
                text("parameters"),
            ],
        ));
    }
    fields.push(list(
        "rejects",
        vec![
            place("line"),
            place("column"),
            place("start"),
            place("end"),
            text("code"),
            text("message"),
            nullable("instance_path", DataType::Utf8),
            nullable("schema_path", DataType::Utf8),
        ],
    ));
    if rules.is_batch() {
        fields.push(nullable("custom_id", DataType::Utf8));
        fields.push(nullable("http_status", DataType::Int64));
        fields.push(nullable("error", DataType::Utf8));
        fields.push(nullable("text", DataType::Utf8));
    }
    fields.into()
}

fn nullable(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type, true)
}

fn place(name: &str) -> Field {
    Field::new(name, DataType::Int64, false)
}

fn text(name: &str) -> Field {
    Field::new(name, DataType::Utf8, false)
}

fn list(name: &str, entry: Vec<Field>) -> Field {
    let item: FieldRef = Arc::new(Field::new_list_field(DataType::Struct(entry.into()), false));
    nullable(name, DataType::List(item))
}
