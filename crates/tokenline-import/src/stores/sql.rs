//! The common part of the databases whose rows a query selects.

use tokenline_core::Limits;
use tokenline_core::json::Parser;

use crate::{Cell, ImportError};

/// Where a column of the mapping is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Located {
    /// The number of the query's column.
    pub(super) column: usize,
    /// The JSON Pointer in the column's document. `None`: the column itself.
    pub(super) pointer: Option<String>,
}

/// Finds the columns of the mapping among those of a query. `/column/rest` is a JSON Pointer in a column.
pub(super) fn locate(source: &str, wanted: &[String], known: &[&str]) -> Result<Vec<Located>, ImportError> {
    wanted.iter().map(|name| locate_one(source, name, known)).collect()
}

pub(super) fn locate_one(source: &str, name: &str, known: &[&str]) -> Result<Located, ImportError> {
    let at = |name: &str| known.iter().position(|known| *known == name);
    if let Some(column) = at(name) {
        return Ok(Located { column, pointer: None });
    }
    let in_document = name.strip_prefix('/').and_then(|path| {
        let end = path.find('/').unwrap_or(path.len());
        let column = at(&path[..end].replace("~1", "/").replace("~0", "~"))?;
        Some(Located { column, pointer: Some(path[end..].to_owned()) })
    });
    in_document.ok_or_else(|| {
        let message =
            format!("the query of {source} has no column `{name}`; its columns are {}", known.join(", "));
        ImportError::mapping(message)
    })
}

/// A name in SQL.
pub(super) fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Identifies the source in a checkpoint.
pub(super) fn identity(kind: &str, name: &str, query: &str, key: Option<&str>) -> String {
    serde_json::json!([kind, name, query, key]).to_string()
}

/// The query as it can stand in parentheses.
pub(super) fn subquery(query: &str) -> &str {
    query.trim_end_matches(|c: char| c.is_whitespace() || c == ';')
}

/// The document in a JSON column of a row.
#[derive(Debug)]
pub(super) struct Document {
    parser: Parser,
    state: DocumentState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DocumentState {
    Null,
    Valid,
    Invalid,
}

impl Document {
    pub(super) fn new() -> Self {
        // The line that is written has it in the metadata, two levels deeper.
        let limits = Limits { depth: Limits::DEFAULT.depth - 2, ..Limits::DEFAULT };
        Self { parser: Parser::new().with_limits(&limits), state: DocumentState::Null }
    }

    /// Parses the document of a row.
    pub(super) fn read(&mut self, text: Option<&str>) {
        self.state = match text {
            None => DocumentState::Null,
            Some(text) => match self.parser.parse(text) {
                Ok(value) if value.repeated_name().is_none() => DocumentState::Valid,
                _ => DocumentState::Invalid,
            },
        };
    }

    /// The value at a pointer. `text` is the text that was parsed.
    pub(super) fn cell<'a>(&'a self, text: &'a str, pointer: Option<&str>) -> Cell<'a> {
        match self.state {
            DocumentState::Null => Cell::Null,
            DocumentState::Invalid => Cell::Invalid,
            DocumentState::Valid => {
                let value = self.parser.value(text);
                match pointer {
                    None => Cell::Json(value),
                    Some(pointer) => value.pointer(pointer).map_or(Cell::Null, Cell::Json),
                }
            }
        }
    }
}

/// Replaces a position by the values of a row as JSON.
pub(super) fn write_position(values: &impl serde::Serialize, position: &mut String) {
    let mut bytes = std::mem::take(position).into_bytes();
    bytes.clear();
    serde_json::to_writer(&mut bytes, values).expect("the values are JSON, and a vector takes them");
    *position = String::from_utf8(bytes).expect("JSON is UTF-8");
}

/// The error for a position that this source did not give.
#[cold]
pub(super) fn other_position() -> ImportError {
    ImportError::mapping("the checkpoint is that of another import: use its key and order, or remove it")
}

/// The error for a checkpoint without a key.
#[cold]
pub(super) fn no_key(source: &str) -> ImportError {
    ImportError::mapping(format!(
        "{source} cannot be read on: that needs a key, a unique column that orders the rows"
    ))
}

/// The error for a row without a key.
#[cold]
pub(super) fn null_key(source: &str, key: &str, row: u64) -> ImportError {
    ImportError::mapping(format!(
        "row {row} of {source} has no value in the key `{key}`: use a column that is unique and never null"
    ))
}

/// The error for a key that two rows have.
#[cold]
pub(super) fn repeated_key(source: &str, key: &str, row: u64) -> ImportError {
    ImportError::mapping(format!(
        "row {row} of {source} has the same value in the key `{key}` as the row before: use a column that is unique"
    ))
}

/// The column that names the conversation, of which the order needs the column itself.
pub(super) fn conversation_column(
    source: &str,
    column: Option<usize>,
    located: &[Located],
) -> Result<usize, ImportError> {
    match column.map(|column| &located[column]) {
        Some(Located { column, pointer: None }) => Ok(*column),
        Some(_) => Err(ImportError::mapping(format!(
            "the rows of {source} cannot be ordered by a JSON Pointer: select the id of the conversation as a column"
        ))),
        None => Err(ImportError::mapping(format!(
            "the rows of {source} cannot be ordered by conversation: the mapping has no column for it"
        ))),
    }
}
