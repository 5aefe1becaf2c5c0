//! The errors of the kernel.

use std::fmt;

use arrow_schema::DataType;
use tokenline_core::json::InvalidPointer;

/// Why an extractor cannot be made, or a column cannot be read. Faults of the text itself are rejects in the output.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExtractError {
    /// The pointer to the items is not a JSON Pointer.
    InvalidItems(InvalidPointer),
    /// Items or a call format other than JSON were asked for in strict mode, where each line is one object.
    NotInStrictMode {
        /// The option: `items` or `call_format`.
        option: &'static str,
    },
    /// Typed columns were asked for without a schema.
    TypedWithoutSchema,
    /// A declared column has a type that values of JSON are not read as.
    UnsupportedColumn {
        /// The column's path, such as `order.price`; `[]` stands for the items of a list.
        column: String,
        /// Its type.
        data_type: DataType,
    },
    /// Two declared columns have the same name.
    DuplicateColumn {
        /// The column's path.
        column: String,
    },
    /// A declared column has a type that an engine does not have.
    NotInEngine {
        /// The engine: `Spark` or `DuckDB`.
        engine: &'static str,
        /// The column's path in the output, such as `records.value.price`.
        column: String,
        /// Its type.
        data_type: DataType,
    },
    /// The input array holds neither text nor a dictionary of texts.
    UnsupportedInput(DataType),
    /// More text or entries than one output column can hold. Split the batch.
    ColumnTooLarge {
        /// The column, such as `records.json`.
        column: String,
        /// The input row, from 0, that did not fit.
        row: usize,
        /// The most bytes of text, or entries of a list, in one column.
        limit: usize,
    },
    /// [`extract_while`](crate::Extractor::extract_while) was told to stop.
    Interrupted,
    /// The kernel panicked: a bug. The message of the panic is on standard error; it may quote the input.
    Panicked {
        /// The input row, from 0.
        row: usize,
    },
}

impl fmt::Display for ExtractError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidItems(error) => write!(f, "items: {error}"),
            Self::NotInStrictMode { option } => {
                write!(f, "{option} needs the lenient mode: in strict mode each line is one object")
            }
            Self::TypedWithoutSchema => {
                f.write_str("typed columns need a schema: give one, or take columns of JSON")
            }
            Self::UnsupportedColumn { column, data_type } => write!(
                f,
                "the column `{column}` is {data_type}; it must be text, a boolean, an integer, a float of 32 or 64 bits, \
                 a decimal, a date, a time, a timestamp, a list, a large list, or a struct of these"
            ),
            Self::DuplicateColumn { column } => write!(f, "two columns are named `{column}`"),
            Self::NotInEngine { engine, column, data_type } => {
                write!(f, "the column `{column}` is {data_type}, which {engine} does not have")
            }
            Self::UnsupportedInput(found) => write!(
                f,
                "the input column is {found}; it must be utf8, large_utf8, utf8_view, binary, large_binary, \
                 binary_view, or a dictionary of one of these"
            ),
            Self::ColumnTooLarge { column, row, limit } => write!(
                f,
                "row {row} of the batch does not fit: the output column `{column}` holds at most {limit} bytes or \
                 entries; split the batch into smaller ones"
            ),
            Self::Interrupted => f.write_str("interrupted"),
            Self::Panicked { row } => {
                write!(f, "the kernel panicked at row {row} of the batch; this is a bug, please report it")
            }
        }
    }
}

impl std::error::Error for ExtractError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::InvalidItems(error) => Some(error),
            _ => None,
        }
    }
}

/// An output column is full.
#[derive(Debug)]
pub(crate) struct Full {
    pub(crate) column: String,
    pub(crate) limit: usize,
}

impl Full {
    pub(crate) fn at(self, row: usize) -> ExtractError {
        ExtractError::ColumnTooLarge { column: self.column, row, limit: self.limit }
    }
}
