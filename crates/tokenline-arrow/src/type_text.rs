//! The output's type in the words of the engines.

use arrow_schema::{DataType, Fields, TimeUnit};

use crate::ExtractError;

/// How an engine writes types.
struct Dialect {
    engine: &'static str,
    /// Around names.
    quote: char,
    /// A list of items.
    list: fn(&str) -> String,
    /// The start and the end of a struct, and what is between a name and its type.
    structure: [&'static str; 3],
    /// Any other type.
    scalar: fn(&DataType) -> Option<String>,
}

const SPARK: Dialect = Dialect {
    engine: "Spark",
    quote: '`',
    list: |item| format!("ARRAY<{item}>"),
    structure: ["STRUCT<", ">", ": "],
    scalar: spark_scalar,
};

const DUCKDB: Dialect = Dialect {
    engine: "DuckDB",
    quote: '"',
    list: |item| format!("{item}[]"),
    structure: ["STRUCT(", ")", " "],
    scalar: duckdb_scalar,
};

/// The columns as Spark's DDL. Names are quoted.
pub(crate) fn spark(fields: &Fields) -> Result<String, ExtractError> {
    SPARK.columns("", fields, " ")
}

/// The columns as a type of DuckDB. Names are quoted.
pub(crate) fn duckdb(fields: &Fields) -> Result<String, ExtractError> {
    Ok(format!("STRUCT({})", DUCKDB.columns("", fields, " ")?))
}

impl Dialect {
    fn columns(&self, path: &str, fields: &Fields, between: &str) -> Result<String, ExtractError> {
        let column = |field: &arrow_schema::FieldRef| {
            let name = field.name();
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            Ok(format!("{}{between}{}", self.quoted(name), self.type_of(&path, field.data_type())?))
        };
        Ok(fields.iter().map(column).collect::<Result<Vec<_>, ExtractError>>()?.join(", "))
    }

    fn type_of(&self, path: &str, data_type: &DataType) -> Result<String, ExtractError> {
        let [start, end, between] = self.structure;
        match data_type {
            DataType::List(item) | DataType::LargeList(item) => {
                Ok((self.list)(&self.type_of(path, item.data_type())?))
            }
            DataType::Struct(fields) => Ok(format!("{start}{}{end}", self.columns(path, fields, between)?)),
            scalar => (self.scalar)(scalar).ok_or_else(|| ExtractError::NotInEngine {
                engine: self.engine,
                column: path.to_owned(),
                data_type: scalar.clone(),
            }),
        }
    }

    fn quoted(&self, name: &str) -> String {
        let quote = self.quote;
        format!("{quote}{}{quote}", name.replace(quote, &[quote, quote].iter().collect::<String>()))
    }
}

/// Types of Spark that pyspark reads from Arrow as they are.
fn spark_scalar(data_type: &DataType) -> Option<String> {
    Some(match data_type {
        DataType::Utf8 | DataType::LargeUtf8 => "STRING".to_owned(),
        DataType::Boolean => "BOOLEAN".to_owned(),
        DataType::Int8 => "TINYINT".to_owned(),
        DataType::Int16 => "SMALLINT".to_owned(),
        DataType::Int32 => "INT".to_owned(),
        DataType::Int64 => "BIGINT".to_owned(),
        DataType::Float32 => "FLOAT".to_owned(),
        DataType::Float64 => "DOUBLE".to_owned(),
        DataType::Date32 => "DATE".to_owned(),
        DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => "TIMESTAMP".to_owned(),
        DataType::Timestamp(TimeUnit::Microsecond, None) => "TIMESTAMP_NTZ".to_owned(),
        DataType::Decimal128(precision, scale @ 0..) => format!("DECIMAL({precision},{scale})"),
        _ => return None,
    })
}

fn duckdb_scalar(data_type: &DataType) -> Option<String> {
    Some(match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "VARCHAR".to_owned(),
        DataType::Boolean => "BOOLEAN".to_owned(),
        DataType::Int8 => "TINYINT".to_owned(),
        DataType::Int16 => "SMALLINT".to_owned(),
        DataType::Int32 => "INTEGER".to_owned(),
        DataType::Int64 => "BIGINT".to_owned(),
        DataType::UInt8 => "UTINYINT".to_owned(),
        DataType::UInt16 => "USMALLINT".to_owned(),
        DataType::UInt32 => "UINTEGER".to_owned(),
        DataType::UInt64 => "UBIGINT".to_owned(),
        DataType::Float32 => "FLOAT".to_owned(),
        DataType::Float64 => "DOUBLE".to_owned(),
        DataType::Date32 | DataType::Date64 => "DATE".to_owned(),
        DataType::Time32(_) | DataType::Time64(_) => "TIME".to_owned(),
        DataType::Timestamp(_, Some(_)) => "TIMESTAMP WITH TIME ZONE".to_owned(),
        DataType::Timestamp(TimeUnit::Second, None) => "TIMESTAMP_S".to_owned(),
        DataType::Timestamp(TimeUnit::Millisecond, None) => "TIMESTAMP_MS".to_owned(),
        DataType::Timestamp(TimeUnit::Microsecond, None) => "TIMESTAMP".to_owned(),
        DataType::Timestamp(TimeUnit::Nanosecond, None) => "TIMESTAMP_NS".to_owned(),
        DataType::Decimal32(precision, scale @ 0..)
        | DataType::Decimal64(precision, scale @ 0..)
        | DataType::Decimal128(precision, scale @ 0..) => format!("DECIMAL({precision},{scale})"),
        _ => return None,
    })
}
