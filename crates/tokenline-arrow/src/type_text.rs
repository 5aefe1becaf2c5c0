//! The output's type in the words of the engines.

use std::fmt::Write as _;

use arrow_schema::{DataType, Fields};

/// The columns as Spark's DDL. Names are quoted.
pub(crate) fn spark(fields: &Fields) -> String {
    let mut ddl = String::new();
    for (at, field) in fields.iter().enumerate() {
        let separator = if at > 0 { ", " } else { "" };
        let _ = write!(ddl, "{separator}{} ", quoted(field.name(), '`'));
        spark_type(field.data_type(), &mut ddl);
    }
    ddl
}

fn spark_type(data_type: &DataType, out: &mut String) {
    match data_type {
        DataType::List(item) => {
            out.push_str("ARRAY<");
            spark_type(item.data_type(), out);
            out.push('>');
        }
        DataType::Struct(fields) => {
            out.push_str("STRUCT<");
            for (at, field) in fields.iter().enumerate() {
                let separator = if at > 0 { ", " } else { "" };
                let _ = write!(out, "{separator}{}: ", quoted(field.name(), '`'));
                spark_type(field.data_type(), out);
            }
            out.push('>');
        }
        DataType::Utf8 => out.push_str("STRING"),
        DataType::Int64 => out.push_str("BIGINT"),
        DataType::Float64 => out.push_str("DOUBLE"),
        DataType::Boolean => out.push_str("BOOLEAN"),
        DataType::Timestamp(..) => out.push_str("TIMESTAMP"),
        other => unreachable!("no output column is {other}"),
    }
}

/// The struct as a type of DuckDB. Names are quoted.
pub(crate) fn duckdb(data_type: &DataType) -> String {
    match data_type {
        DataType::List(item) => duckdb(item.data_type()) + "[]",
        DataType::Struct(fields) => {
            let field = |field: &arrow_schema::FieldRef| {
                format!("{} {}", quoted(field.name(), '"'), duckdb(field.data_type()))
            };
            format!("STRUCT({})", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
        DataType::Utf8 => "VARCHAR".to_owned(),
        DataType::Int64 => "BIGINT".to_owned(),
        DataType::Float64 => "DOUBLE".to_owned(),
        DataType::Boolean => "BOOLEAN".to_owned(),
        DataType::Timestamp(..) => "TIMESTAMP WITH TIME ZONE".to_owned(),
        other => unreachable!("no output column is {other}"),
    }
}

fn quoted(name: &str, quote: char) -> String {
    let doubled = [quote, quote].iter().collect::<String>();
    format!("{quote}{}{quote}", name.replace(quote, &doubled))
}
