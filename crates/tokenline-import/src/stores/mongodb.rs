//! MongoDB.

mod order;
mod row;

use std::fmt;

use bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};
use mongodb::error::{Error, ErrorKind};
use mongodb::options::ClientOptions;
use mongodb::{Client, ClientSession, Collection, Cursor, SessionCursor};
use percent_encoding::percent_decode_str;

use self::row::{MongoRow, RowReader};
use super::field::{field_of, unescaped};
use super::interrupt::Interrupt;
use super::retry;
use super::store::{OnTotal, Reading, Store, StoreOptions};
use crate::{Begin, ImportError, Importer, Place};

/// A collection of MongoDB, whose documents are rows.
///
/// Columns are the members of a document, or JSON Pointers into it. ObjectIds, UUIDs and decimal numbers are texts,
/// dates are times, and whole doubles are integers.
///
/// The documents are read in the order of `_id`; if the importer is [grouped](Importer::grouped), in that of the
/// conversation and `_id`. Replica sets read from one snapshot while the server keeps it, five minutes by default; then
/// reading continues in a newer one. If the connection or the cursor is lost, or the import resumes in another run,
/// reading continues after the last document: none is lost or doubled, and documents that were added meanwhile are read
/// if they come after it.
///
/// ```no_run
/// use tokenline_import::{Importer, Mapping, MongoSource, Output};
///
/// # async fn import(mapping: Mapping) -> Result<(), tokenline_import::ImportError> {
/// let source = MongoSource::new("mongodb://reader:secret@localhost/support")?
///     .collection("messages")
///     .filter(r#"{"sent_at":{"$gte":{"$date":"2026-01-01T00:00:00Z"}}}"#)?;
/// let mut importer = Importer::new(&mapping, Output::writer(std::io::stdout()))?;
/// source.read(&mut importer).await?;
/// importer.finish()?;
/// # Ok(())
/// # }
/// ```
#[must_use = "call `read`"]
pub struct MongoSource {
    url: String,
    /// The hosts, without credentials and options.
    hosts: String,
    database: Option<String>,
    collection: Option<String>,
    filter: Document,
    batch_size: u32,
    retries: u32,
    on_total: Option<OnTotal>,
}

const KIND: &str = "mongodb";
const DEFAULT_BATCH_SIZE: u32 = 1_000;
const DEFAULT_RETRIES: u32 = 8;

impl MongoSource {
    /// A server or a cluster: `mongodb://user:password@host:27017/database` or `mongodb+srv://...`, with the options of
    /// [connection strings].
    ///
    /// # Errors
    ///
    /// If the URL is not valid. The error does not repeat it.
    ///
    /// [connection strings]: https://www.mongodb.com/docs/manual/reference/connection-string/
    pub fn new(url: &str) -> Result<Self, ImportError> {
        let invalid = |what: &str| ImportError::mapping(format!("the URL of MongoDB {what}"));
        let url = url.trim();
        let (scheme, rest) = url.split_once("://").unwrap_or_default();
        if !matches!(scheme, "mongodb" | "mongodb+srv") {
            return Err(invalid("must begin with mongodb:// or mongodb+srv://"));
        }
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        // Else the end of a password would pass for a host.
        if path.contains('@') || authority.matches('@').count() > 1 {
            return Err(invalid("must have `/`, `?` and `@` in the password and in options percent-encoded"));
        }
        let hosts = authority.rsplit_once('@').map_or(authority, |(_, hosts)| hosts);
        if hosts.is_empty() {
            return Err(invalid("has no host"));
        }
        let database = path.strip_prefix('/').unwrap_or_default().split('?').next().unwrap_or_default();
        Ok(Self {
            url: url.to_owned(),
            hosts: format!("{scheme}://{hosts}"),
            database: (!database.is_empty()).then(|| database.to_owned()),
            collection: None,
            filter: Document::new(),
            batch_size: DEFAULT_BATCH_SIZE,
            retries: DEFAULT_RETRIES,
            on_total: None,
        })
    }

    /// Sets the database. Default: that of the URL.
    pub fn database(self, database: impl Into<String>) -> Self {
        Self { database: Some(database.into()), ..self }
    }

    /// Sets the collection or view.
    pub fn collection(self, collection: impl Into<String>) -> Self {
        Self { collection: Some(collection.into()), ..self }
    }

    /// Sets the filter that documents must match, as Extended JSON. Default: all documents.
    ///
    /// # Errors
    ///
    /// If it is not a JSON object, or not valid Extended JSON.
    pub fn filter(self, filter: &str) -> Result<Self, ImportError> {
        let invalid = |what| ImportError::mapping(format!("the filter is not {what}"));
        let filter: serde_json::Value = serde_json::from_str(filter).map_err(|_| invalid("JSON"))?;
        match Bson::try_from(filter) {
            Ok(Bson::Document(filter)) => Ok(Self { filter, ..self }),
            Ok(_) => Err(invalid("a JSON object")),
            Err(_) => Err(invalid("Extended JSON")),
        }
    }

    /// Sets the number of documents that the server sends at once; default: 1,000.
    pub fn batch_size(self, documents: u32) -> Self {
        Self { batch_size: documents.max(1), ..self }
    }

    /// Sets how often reading continues after a lost connection or cursor without a document in between; default: 8
    /// times, which takes one minute, and the time in which the driver looks for a server.
    pub fn retries(self, retries: u32) -> Self {
        Self { retries, ..self }
    }

    /// Calls a function with the number of documents that match, before the first is read.
    pub fn on_total(self, on_total: impl Fn(u64) + Send + Sync + 'static) -> Self {
        Self { on_total: Some(Box::new(on_total)), ..self }
    }

    /// The hosts, the database and the collection, without credentials, which name the source in rejects.
    #[must_use]
    pub fn name(&self) -> String {
        let Self { hosts, database, collection, .. } = self;
        let (database, collection) =
            (database.as_deref().unwrap_or_default(), collection.as_deref().unwrap_or_default());
        format!("{hosts}/{database}.{collection}")
    }

    /// Identifies the source in a [checkpoint](Importer::checkpoint): the collection and the filter, without credentials.
    #[must_use]
    pub fn identity(&self) -> String {
        serde_json::json!([KIND, self.name(), self.filter.to_string()]).to_string()
    }

    /// Reads all documents. Needs a tokio runtime with time and I/O. The thread that reads is blocked while conversations
    /// are written.
    ///
    /// # Errors
    ///
    /// If there is no database or collection, the server cannot be read, or something cannot be written.
    pub async fn read(&self, importer: &mut Importer<'_>) -> Result<(), ImportError> {
        let missing = |what| ImportError::mapping(format!("the source {} has no {what}", self.name()));
        let database = self.database.as_deref().ok_or_else(|| missing("database"))?;
        let collection = self.collection.as_deref().ok_or_else(|| missing("collection"))?;
        let group = importer.grouping_column().map(str::to_owned);
        let begin = importer.begin(&self.name(), KIND)?;
        let position = match &begin {
            Begin::Done => return Ok(()),
            Begin::Start => Position { group: None, id: None, rows: 0 },
            Begin::After(position) => Position::parse(position, group.is_some())?,
        };
        let interrupt = Interrupt::of(importer);
        let options = interrupt.race(ClientOptions::parse(&self.url).into_future()).await?;
        let client = options.and_then(Client::with_options).map_err(|error| self.error(&error))?;
        let collection = client.database(database).collection(collection);
        if let Some(on_total) = &self.on_total {
            let counted = interrupt.race(self.count(&collection)).await?;
            // The documents themselves can still be read.
            if let Ok(total) = counted {
                on_total(total);
            }
        }
        let mut reader = Reader {
            source: self,
            projection: projection(importer.columns().names()),
            group_field: group.as_deref().map(field_of),
            group,
            collection,
            client: client.clone(),
            has_snapshots: true,
            position,
        };
        let read = interrupt.race(reader.read(importer)).await;
        client.shutdown().await;
        read?
    }

    async fn count(&self, collection: &Collection<RawDocumentBuf>) -> Result<u64, Error> {
        if self.filter.is_empty() {
            collection.estimated_document_count().await
        } else {
            collection.count_documents(self.filter.clone()).await
        }
    }

    fn error(&self, error: &Error) -> ImportError {
        let mut message = error.kind.to_string();
        for secret in secrets(&self.url) {
            message = message.replace(&secret, "***");
        }
        if message.chars().count() > MAX_MESSAGE {
            message = message.chars().take(MAX_MESSAGE).chain(['…']).collect();
        }
        ImportError::source(format!("cannot read {}: {message}", self.name()))
    }
}

/// The longest message of the driver that is shown, in characters: it repeats what it knows of all servers.
const MAX_MESSAGE: usize = 500;

impl Store for MongoSource {
    fn open(address: &str, options: &StoreOptions<'_>) -> Result<Box<dyn Store>, ImportError> {
        let collection = options.collection.map(str::to_owned);
        let source = Self { collection, ..Self::new(address)? };
        Ok(Box::new(match options.query {
            Some(filter) => source.filter(filter)?,
            None => source,
        }))
    }

    fn name(&self) -> String {
        self.name()
    }

    fn identity(&self) -> String {
        self.identity()
    }

    fn read<'a>(self: Box<Self>, importer: &'a mut Importer<'_>, on_total: OnTotal) -> Reading<'a> {
        Box::pin(async move { self.on_total(on_total).read(importer).await })
    }
}

impl fmt::Debug for MongoSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MongoSource").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// Reads documents from where the last cursor ended.
struct Reader<'a> {
    source: &'a MongoSource,
    projection: Option<Document>,
    /// The column of the conversation, and its field, if the documents must be sorted by it.
    group: Option<String>,
    group_field: Option<String>,
    collection: Collection<RawDocumentBuf>,
    client: Client,
    has_snapshots: bool,
    position: Position,
}

/// Why a cursor ended early.
enum Stop {
    Lost(Error),
    Failed(ImportError),
}

impl From<ImportError> for Stop {
    fn from(error: ImportError) -> Self {
        Self::Failed(error)
    }
}

impl Reader<'_> {
    async fn read(&mut self, importer: &mut Importer<'_>) -> Result<(), ImportError> {
        let mut attempt = 0;
        loop {
            let rows = self.position.rows;
            let error = match self.read_cursor(importer).await {
                Ok(()) => return Ok(()),
                Err(Stop::Failed(error)) => return Err(error),
                Err(Stop::Lost(error)) => error,
            };
            if self.position.rows > rows {
                attempt = 0;
            }
            if attempt >= self.source.retries {
                return Err(self.source.error(&error));
            }
            tokio::time::sleep(retry::delay(attempt)).await;
            attempt += 1;
        }
    }

    async fn read_cursor(&mut self, importer: &mut Importer<'_>) -> Result<(), Stop> {
        let stop = |error: Error| {
            if is_transient(&error) { Stop::Lost(error) } else { Stop::Failed(self.source.error(&error)) }
        };
        let mut documents = match self.open(self.has_snapshots).await {
            Err(error) if self.has_snapshots && !is_transient(&error) => {
                // A server without snapshots. If it is something else, it fails again.
                self.has_snapshots = false;
                self.open(false).await.map_err(stop)?
            }
            opened => opened.map_err(stop)?,
        };
        let mut rows = RowReader::new();
        let columns = importer.columns().clone();
        loop {
            match documents.advance().await {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(error) if is_transient(&error) => return Err(Stop::Lost(error)),
                Err(error) => return Err(Stop::Failed(self.source.error(&error))),
            }
            let document = documents.current();
            self.position.advance(document, self.group.as_deref())?;
            let place = Place { row: self.position.rows, line: 0 };
            match rows.read(document, &columns, &self.position) {
                Ok(row) => importer.row(place, &row)?,
                Err(fault) => {
                    let row = MongoRow::of_scalars(document, &columns, &self.position);
                    importer.malformed_row(place, &fault, &row)?;
                }
            }
        }
    }

    async fn open(&self, with_snapshot: bool) -> Result<Documents, Error> {
        let mut filter = self.source.filter.clone();
        if let Some(after) = self.position.filter(self.group_field.as_deref()) {
            filter = if filter.is_empty() {
                after
            } else {
                doc! { "$and": [filter, after] }
            };
        }
        let mut find = self.collection.find(filter).batch_size(self.source.batch_size);
        find = match &self.group_field {
            Some(field) if field != "_id" => find.sort(doc! { field: 1, "_id": 1 }).allow_disk_use(true),
            _ => find.sort(doc! { "_id": 1 }),
        };
        if let Some(projection) = &self.projection {
            find = find.projection(projection.clone());
        }
        if !with_snapshot {
            return Ok(Documents::Plain(find.await?));
        }
        let mut session = self.client.start_session().snapshot(true).await?;
        let cursor = find.session(&mut session).await?;
        Ok(Documents::Snapshot(cursor, Box::new(session)))
    }
}

/// The documents of a cursor.
enum Documents {
    Plain(Cursor<RawDocumentBuf>),
    Snapshot(SessionCursor<RawDocumentBuf>, Box<ClientSession>),
}

impl Documents {
    async fn advance(&mut self) -> Result<bool, Error> {
        match self {
            Self::Plain(cursor) => cursor.advance().await,
            Self::Snapshot(cursor, session) => cursor.advance(session).await,
        }
    }

    fn current(&self) -> &RawDocument {
        match self {
            Self::Plain(cursor) => cursor.current(),
            Self::Snapshot(cursor, _) => cursor.current(),
        }
    }
}

/// Whether another cursor may succeed.
fn is_transient(error: &Error) -> bool {
    match &*error.kind {
        ErrorKind::Io(_) | ErrorKind::ConnectionPoolCleared { .. } | ErrorKind::ServerSelection { .. } => {
            true
        }
        ErrorKind::Command(error) => TRANSIENT_CODES.contains(&error.code),
        _ => false,
    }
}

/// Codes of errors that end a cursor but not the next one, from `error_codes.yml` of the server.
const TRANSIENT_CODES: [i32; 22] = [
    6,      // HostUnreachable
    7,      // HostNotFound
    43,     // CursorNotFound
    63,     // StaleShardVersion
    89,     // NetworkTimeout
    91,     // ShutdownInProgress
    133,    // FailedToSatisfyReadPreference
    134,    // ReadConcernMajorityNotAvailableYet
    175,    // QueryPlanKilled
    189,    // PrimarySteppedDown
    237,    // CursorKilled
    239,    // SnapshotTooOld
    246,    // SnapshotUnavailable
    262,    // ExceededTimeLimit
    9_001,  // SocketException
    10_107, // NotWritablePrimary
    11_600, // InterruptedAtShutdown
    11_601, // Interrupted
    11_602, // InterruptedDueToReplStateChange
    13_388, // StaleConfig
    13_435, // NotPrimaryNoSecondaryOk
    13_436, // NotPrimaryOrSecondary
];

/// Where reading continues: after this document.
struct Position {
    /// The conversation, if the documents are sorted by it.
    group: Option<Bson>,
    id: Option<Bson>,
    /// The documents read so far.
    rows: u64,
}

impl Position {
    fn parse(text: &str, is_grouped: bool) -> Result<Self, ImportError> {
        let parsed = || {
            let mut position: serde_json::Value = serde_json::from_str(text).ok()?;
            let rows = position.get("rows")?.as_u64()?;
            let mut value = |name| position.get_mut(name).map(serde_json::Value::take).map(Bson::try_from);
            let (group, id) = (value("group").transpose().ok()?, value("_id").transpose().ok()?);
            (id.is_some() && group.is_some() == is_grouped).then_some(Self { group, id, rows })
        };
        parsed().ok_or_else(|| ImportError::mapping("the checkpoint has no position of a collection"))
    }

    /// Writes canonical Extended JSON, which keeps the types.
    fn write(&self, out: &mut String) {
        use std::fmt::Write as _;

        let json = |value: &Bson| value.clone().into_canonical_extjson();
        out.clear();
        let _ = write!(out, "{{\"rows\":{}", self.rows);
        if let Some(group) = &self.group {
            let _ = write!(out, ",\"group\":{}", json(group));
        }
        if let Some(id) = &self.id {
            let _ = write!(out, ",\"_id\":{}", json(id));
        }
        out.push('}');
    }

    /// Moves to this document.
    fn advance(&mut self, document: &RawDocument, group: Option<&str>) -> Result<(), ImportError> {
        self.rows += 1;
        let unreadable = |_| ImportError::source("the server sent a document that is not BSON");
        let id = document.get("_id").map_err(unreadable)?;
        let id =
            id.ok_or_else(|| ImportError::source("a document has no `_id`, by which documents are read"))?;
        let id = Bson::try_from(id).map_err(unreadable)?;
        if let Some(column) = group {
            let group = match row::find(document, column).map_err(unreadable)? {
                Some(group) => Bson::try_from(group).map_err(unreadable)?,
                None => Bson::Null,
            };
            if !order::is_ordered(&group) {
                let message = "the documents cannot be grouped: a conversation id is an array or of another type without an order";
                return Err(ImportError::mapping(message));
            }
            self.group = Some(group);
        }
        self.id = Some(id);
        Ok(())
    }

    /// A filter for the documents that follow.
    fn filter(&self, group_field: Option<&str>) -> Option<Document> {
        let after = order::after("_id", self.id.as_ref()?);
        let (Some(field), Some(group)) = (group_field.filter(|field| *field != "_id"), &self.group) else {
            return Some(after);
        };
        // Null is also a member that is missing.
        let same = doc! { "$and": [{ field: { "$eq": group.clone() } }, after] };
        Some(doc! { "$or": [same, order::after(field, group)] })
    }
}

/// The members that hold the columns; `None` if all are needed.
fn projection(columns: &[String]) -> Option<Document> {
    let mut projection = Document::new();
    for column in columns {
        let name = match column.strip_prefix('/') {
            Some(pointer) => pointer.split('/').next().map(unescaped).unwrap_or_default(),
            None => column.clone(),
        };
        // Projections understand neither these names nor a pointer that is the name of a member.
        if name.is_empty() || name.starts_with('$') || name.contains('.') {
            return None;
        }
        projection.insert(name, 1);
        if column.starts_with('/') && !column.contains('.') {
            projection.insert(column, 1);
        }
    }
    Some(projection)
}

/// The parts of the URL that messages must not repeat.
fn secrets(url: &str) -> Vec<String> {
    let authority =
        url.split_once("://").map_or("", |(_, rest)| rest).split(['/', '?']).next().unwrap_or_default();
    let credentials = authority.rsplit_once('@').map_or("", |(credentials, _)| credentials);
    let password = credentials.split_once(':').map_or("", |(_, password)| password);
    let options = url.split_once('?').map_or("", |(_, options)| options).split('&');
    let options = options.filter_map(|option| {
        let (name, value) = option.split_once('=')?;
        let name = name.to_ascii_lowercase();
        (name.contains("password") || name == "authmechanismproperties").then_some(value)
    });
    let raw = options.chain([password]).filter(|secret| !secret.is_empty());
    let decoded = |secret: &str| percent_decode_str(secret).decode_utf8_lossy().into_owned();
    raw.flat_map(|secret| [secret.to_owned(), decoded(secret)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_keeps_the_types() {
        for id in [
            Bson::Int64(7),
            Bson::Int32(7),
            Bson::Double(0.1),
            Bson::Double(7.0),
            Bson::Null,
            Bson::String("$oid".to_owned()),
            Bson::Boolean(true),
            bson::oid::ObjectId::from_bytes([1; 12]).into(),
            bson::DateTime::from_millis(-5).into(),
            bson::Uuid::from_bytes([3; 16]).into(),
            "1.50".parse::<bson::Decimal128>().unwrap().into(),
            doc! { "a": [1_i64, { "b": null }] }.into(),
        ] {
            let position = Position { group: Some(id.clone()), id: Some(id.clone()), rows: 3 };
            let mut written = String::new();
            position.write(&mut written);
            let read = Position::parse(&written, true).ok().unwrap();
            assert_eq!((read.id, read.group, read.rows), (Some(id.clone()), Some(id), 3), "{written}");
            assert!(Position::parse(&written, false).is_err());
        }
        assert!(Position::parse("", false).is_err());
    }

    #[test]
    fn columns_are_projected() {
        let names = |columns: &[&str]| {
            let columns: Vec<_> = columns.iter().map(|&column| column.to_owned()).collect();
            projection(&columns).map(|projection| projection.keys().cloned().collect::<Vec<_>>())
        };
        assert_eq!(names(&["a", "/b~1c/d"]).unwrap(), ["a", "b/c", "/b~1c/d"]);
        assert_eq!((names(&["a.b"]), names(&["$a"]), names(&["/"])), (None, None, None));
    }

    #[test]
    fn a_name_has_no_credentials() {
        let url = "mongodb+srv://me:hunter2@a.example,b.example:27018/support?appName=x&tlsCertificateKeyFilePassword=y%20z";
        let source = MongoSource::new(url).ok().unwrap().collection("messages");
        assert_eq!(source.name(), "mongodb+srv://a.example,b.example:27018/support.messages");
        assert_eq!(secrets(url), ["y%20z", "y z", "hunter2", "hunter2"]);
    }
}
