//! SQLite.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Error, OpenFlags, params_from_iter};

use super::sql::{
    Document, Located, conversation_column, identifier, identity, locate, no_key, null_key, other_position,
    repeated_key, subquery, write_position,
};
use super::store::{OnTotal, Reading, Store, StoreOptions};
use crate::{Begin, Cell, ImportError, Importer, Place, Row};

/// Rows of a query in an SQLite file.
///
/// The file is opened read-only, and read in one transaction. With a [key](Self::key), reading goes on after a
/// [checkpoint](Importer::checkpoint) if the program ended.
///
/// Values are read as what they are stored as: text, integers, numbers with a fraction. Blobs are rejected. A column such
/// as `/extra/user` is a JSON Pointer into the JSON text in `extra`.
///
/// ```
/// use tokenline_import::{Importer, Mapping, Output, SqliteSource};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("chat.db");
/// let file = rusqlite::Connection::open(&path)?;
/// file.execute_batch(r#"
///     CREATE TABLE messages (id INTEGER PRIMARY KEY, thread, customer, sent_at, author, text);
///     INSERT INTO messages VALUES (1, 't1', 'u1', 1770726896, 'human', 'Hi.'), (2, 't1', 'u1', 1770726897, 'bot', 'Hello!');
/// "#)?;
///
/// let mapping: Mapping = toml::from_str(r#"
///     conversation-id = "thread"
///     user-id = "customer"
///     timestamp = "sent_at"
///     role = "author"
///     content = "text"
/// "#)?;
/// let mut conversations = Vec::new();
/// let mut importer = Importer::new(&mapping, Output::writer(&mut conversations))?.grouped(true);
/// let source = SqliteSource::new(&path, "SELECT * FROM messages").key("id");
/// source.read(&mut importer)?;
/// assert_eq!(importer.finish()?.summary.message_count, 2);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[must_use = "call `read` for the rows"]
pub struct SqliteSource {
    path: PathBuf,
    name: String,
    query: String,
    key: Option<String>,
    json_columns: Vec<String>,
}

const KIND: &str = "sqlite";
/// How long to wait for a writer.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

impl SqliteSource {
    /// The rows of a query, such as `SELECT * FROM messages`, in a file.
    pub fn new(path: impl Into<PathBuf>, query: &str) -> Self {
        let path = path.into();
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        Self { path, name, query: query.to_owned(), key: None, json_columns: Vec::new() }
    }

    /// Sets a column of the query that is unique and never null, such as the primary key or `rowid`, if the query selects
    /// it. The rows are then read in its order. An index makes that fast.
    pub fn key(mut self, column: impl Into<String>) -> Self {
        self.key = Some(column.into());
        self
    }

    /// Sets columns whose text is JSON, such as an array of messages. Columns of JSON Pointers need not be named.
    pub fn json_columns(mut self, columns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.json_columns = columns.into_iter().map(Into::into).collect();
        self
    }

    /// The name in rejects and reports: that of the file.
    #[must_use]
    pub fn name(&self) -> String {
        self.name.clone()
    }

    /// Identifies the source in a [checkpoint](Importer::checkpoint): the source, the query and the key, without
    /// credentials.
    #[must_use]
    pub fn identity(&self) -> String {
        identity(KIND, &self.path.display().to_string(), &self.query, self.key.as_deref())
    }

    /// Reads all rows.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, the query is not valid, or lacks a column of the mapping; if the key is not unique; and
    /// the errors of [`Importer::row`].
    pub fn read(&self, importer: &mut Importer<'_>) -> Result<(), ImportError> {
        let (after, mut row_count) = match importer.begin(&self.name, KIND)? {
            Begin::Done => return Ok(()),
            Begin::Start => (None, 0),
            Begin::After(position) => {
                let is_ordered = importer.grouping_column().is_some();
                (Some(self.position(&position, is_ordered)?), importer.source_row_count())
            }
        };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let file = Connection::open_with_flags(&self.path, flags).map_err(|error| self.failed(&error))?;
        file.busy_timeout(BUSY_TIMEOUT).map_err(|error| self.failed(&error))?;
        file.execute_batch("BEGIN").map_err(|error| self.failed(&error))?;
        let plan = self.plan(importer, &file)?;
        for (sql, values) in plan.parts(&self.query, after) {
            let mut statement = file.prepare(&sql).map_err(|error| self.failed(&error))?;
            let mut rows = statement.query(params_from_iter(values)).map_err(|error| self.failed(&error))?;
            let mut documents: Vec<_> = plan.documents.iter().map(|_| Document::new()).collect();
            let mut last: Option<(Value, Value)> = None;
            while let Some(row) = rows.next().map_err(|error| self.failed(&error))? {
                row_count += 1;
                let values = (0..plan.fields.len()).map(|at| row.get_ref(at)).collect::<Result<Vec<_>, _>>();
                let values = values.map_err(|error| self.failed(&error))?;
                for (document, field) in documents.iter_mut().zip(&plan.documents) {
                    document.read(json_text(values[*field]));
                }
                if let (Some(name), Some(at)) = (&self.key, plan.key) {
                    let conversation = plan.conversation.map_or(ValueRef::Null, |at| values[at]);
                    match &mut last {
                        _ if values[at] == ValueRef::Null => {
                            return Err(null_key(&self.name, name, row_count));
                        }
                        Some((key, of)) if values[at] == (&*key).into() && conversation == (&*of).into() => {
                            return Err(repeated_key(&self.name, name, row_count));
                        }
                        last => *last = Some((owned(values[at]), owned(conversation))),
                    }
                }
                let row = SqliteRow { plan: &plan, values: &values, documents: &documents };
                importer.row(Place { row: row_count, line: 0 }, &row)?;
            }
        }
        Ok(())
    }

    fn failed(&self, error: &Error) -> ImportError {
        let message = match error {
            // Without the statement.
            Error::SqlInputError { msg, .. } => msg.clone(),
            error => error.to_string(),
        };
        ImportError::source(format!("cannot read {}: {message}", self.name))
    }

    fn position(&self, position: &str, is_ordered: bool) -> Result<Vec<Value>, ImportError> {
        let values: Vec<serde_json::Value> = serde_json::from_str(position).map_err(|_| other_position())?;
        let values: Vec<_> =
            values.iter().map(from_json).collect::<Option<_>>().ok_or_else(other_position)?;
        let expected = if is_ordered { 2 } else { 1 };
        match (values.len(), &self.key) {
            (0, _) => Err(no_key(&self.name)),
            (len, Some(_)) if len == expected => Ok(values),
            _ => Err(other_position()),
        }
    }

    fn plan(&self, importer: &Importer<'_>, file: &Connection) -> Result<Plan, ImportError> {
        let all = format!("SELECT * FROM (\n{}\n) AS q", subquery(&self.query));
        let statement = file.prepare(&all).map_err(|error| self.failed(&error))?;
        let names: Vec<_> = statement.column_names().collect();
        let located = locate(&self.name, importer.columns().names(), &names)?;
        let mut plan = Plan {
            fields: Vec::new(),
            cells: Vec::new(),
            documents: Vec::new(),
            key: None,
            conversation: None,
        };
        for Located { column, pointer } in &located {
            let field = plan.field(names[*column]);
            let is_json = pointer.is_some() || self.json_columns.iter().any(|name| name == names[*column]);
            let document = is_json.then(|| {
                let at = plan.documents.iter().position(|known| *known == field);
                at.unwrap_or_else(|| {
                    plan.documents.push(field);
                    plan.documents.len() - 1
                })
            });
            plan.cells.push(CellPlan { field, pointer: pointer.clone(), document });
        }
        if let Some(key) = &self.key {
            let key = locate(&self.name, std::slice::from_ref(key), &names)?;
            let [Located { column, pointer: None }] = key[..] else {
                return Err(ImportError::mapping(format!("the key of {} is not a column", self.name)));
            };
            plan.key = Some(plan.field(names[column]));
        }
        if importer.grouping_column().is_some() {
            let column = conversation_column(&self.name, importer.conversation_column(), &located)?;
            plan.conversation = Some(plan.field(names[column]));
        }
        Ok(plan)
    }
}

impl Store for SqliteSource {
    fn open(address: &str, options: &StoreOptions<'_>) -> Result<Box<dyn Store>, ImportError> {
        let path = address.strip_prefix("sqlite:").unwrap_or(address);
        let path = path.strip_prefix("//").unwrap_or(path);
        let source = Self::new(path, options.query.unwrap_or_default()).json_columns(options.messages);
        Ok(Box::new(Self { key: options.key.map(str::to_owned), ..source }))
    }

    fn name(&self) -> String {
        self.name()
    }

    fn identity(&self) -> String {
        self.identity()
    }

    fn path(&self) -> Option<&Path> {
        Some(&self.path)
    }

    fn read<'a>(self: Box<Self>, importer: &'a mut Importer<'_>, _: OnTotal) -> Reading<'a> {
        Box::pin(async move { Self::read(&self, importer) })
    }
}

impl fmt::Debug for SqliteSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteSource")
            .field("path", &self.path)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// The columns of the query that are read.
struct Plan {
    /// The columns in SQL.
    fields: Vec<String>,
    /// Where each column of the mapping is.
    cells: Vec<CellPlan>,
    /// The fields with JSON.
    documents: Vec<usize>,
    key: Option<usize>,
    conversation: Option<usize>,
}

struct CellPlan {
    field: usize,
    pointer: Option<String>,
    document: Option<usize>,
}

impl Plan {
    fn field(&mut self, name: &str) -> usize {
        let field = format!("q.{}", identifier(name));
        let known = self.fields.iter().position(|known| *known == field);
        known.unwrap_or_else(|| {
            self.fields.push(field);
            self.fields.len() - 1
        })
    }

    /// The statements, one after the other, for the rows after a position, with their parameters.
    fn parts(&self, query: &str, after: Option<Vec<Value>>) -> Vec<(String, Vec<Value>)> {
        let select = format!("SELECT {} FROM (\n{}\n) AS q", self.fields.join(", "), subquery(query));
        // Texts that differ in case only are different keys and conversations.
        let binary = |at: usize| format!("{} COLLATE BINARY", self.fields[at]);
        // As an id, 7 and '7' are the same.
        let text = |at: usize| format!("CAST({} AS TEXT) COLLATE BINARY", self.fields[at]);
        let (key, conversation) = (self.key.map(binary), self.conversation.map(text));
        let order: Vec<_> = conversation.iter().chain(&key).map(String::as_str).collect();
        let order = if order.is_empty() { String::new() } else { format!(" ORDER BY {}", order.join(", ")) };
        let (Some(key), Some(values)) = (key, after) else { return vec![(select + &order, Vec::new())] };
        // Nulls are first, and no comparison finds them.
        let Some(conversation) = conversation else {
            return vec![(format!("{select} WHERE {key} > ?1{order}"), values)];
        };
        if values[0] == Value::Null {
            return vec![
                (
                    format!("{select} WHERE {conversation} IS NULL AND {key} > ?1 ORDER BY {key}"),
                    values[1..].to_vec(),
                ),
                (format!("{select} WHERE {conversation} IS NOT NULL{order}"), Vec::new()),
            ];
        }
        vec![(format!("{select} WHERE ({conversation}, {key}) > (CAST(?1 AS TEXT), ?2){order}"), values)]
    }
}

struct SqliteRow<'a> {
    plan: &'a Plan,
    values: &'a [ValueRef<'a>],
    documents: &'a [Document],
}

impl Row for SqliteRow<'_> {
    fn cell(&self, column: usize) -> Cell<'_> {
        let cell = &self.plan.cells[column];
        let value = self.values[cell.field];
        if let Some(document) = cell.document {
            return self.documents[document]
                .cell(json_text(value).unwrap_or_default(), cell.pointer.as_deref());
        }
        match value {
            ValueRef::Null => Cell::Null,
            ValueRef::Integer(number) => Cell::Integer(number),
            ValueRef::Real(number) if number.is_finite() => Cell::Float(number),
            ValueRef::Real(number) => Cell::Text(number.to_string().into()),
            ValueRef::Text(text) => {
                std::str::from_utf8(text).map_or(Cell::Invalid, |text| Cell::Text(text.into()))
            }
            ValueRef::Blob(_) => Cell::Invalid,
        }
    }

    fn position(&self, position: &mut String) {
        // Without a key, a position that no source begins after: the order of rows can change.
        let values = self.plan.key.map(|key| self.plan.conversation.into_iter().chain([key]));
        let values = values.into_iter().flatten().map(|at| to_json(self.values[at]));
        write_position(&values.collect::<Vec<_>>(), position);
    }
}

/// A copy of a value. A text that is not UTF-8 is compared as bytes.
fn owned(value: ValueRef<'_>) -> Value {
    value.try_into().unwrap_or_else(|_| Value::Blob(value.as_bytes().unwrap_or_default().to_vec()))
}

/// The text of a JSON column. What is neither text nor null is not a document.
fn json_text(value: ValueRef<'_>) -> Option<&str> {
    match value {
        ValueRef::Null => None,
        ValueRef::Text(text) => Some(std::str::from_utf8(text).unwrap_or_default()),
        _ => Some(""),
    }
}

/// A value with its storage class, for a position. Numbers keep all bits, as text.
fn to_json(value: ValueRef<'_>) -> serde_json::Value {
    match value {
        ValueRef::Null => serde_json::Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => serde_json::json!({ "real": number.to_string() }),
        ValueRef::Text(text) => match std::str::from_utf8(text) {
            Ok(text) => text.into(),
            Err(_) => serde_json::json!({ "text": text }),
        },
        ValueRef::Blob(bytes) => serde_json::json!({ "blob": bytes }),
    }
}

fn from_json(value: &serde_json::Value) -> Option<Value> {
    use serde_json::Value as Json;
    let bytes = |value: &Json| {
        let byte = |value: &Json| value.as_u64().and_then(|byte| u8::try_from(byte).ok());
        value.as_array()?.iter().map(byte).collect::<Option<Vec<u8>>>()
    };
    Some(match value {
        Json::Null => Value::Null,
        Json::Number(number) => Value::Integer(number.as_i64()?),
        Json::String(text) => Value::Text(text.clone()),
        Json::Object(members) => match members.iter().next()? {
            (name, Json::String(number)) if name == "real" => Value::Real(number.parse().ok()?),
            (name, value) if name == "blob" => Value::Blob(bytes(value)?),
            _ => return None,
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_keep_the_storage_class() {
        for value in [
            Value::Null,
            Value::Integer(i64::MIN),
            Value::Real(0.1 + 0.2),
            Value::Text("42".to_owned()),
            Value::Blob(vec![0, 255]),
        ] {
            assert_eq!(from_json(&to_json((&value).into())), Some(value));
        }
    }
}
