//! PostgreSQL.

mod copy;
mod query;
mod row;
mod server;
mod tls;
mod value;

use std::fmt;
use std::future::Future;
use std::mem;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use futures_core::Stream as _;
use tokio::time::{Interval, MissedTickBehavior};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Connection, Error, SimpleQueryMessage, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use self::copy::{CopyReader, Fields, Malformed};
use self::query::{Part, Position, QueryPlan, Wanted};
use self::row::{CopyRow, Progress};
use self::server::Server;
use super::interrupt::{Interrupt, TICK};
use super::sql::{identity, no_key, null_key, other_position, repeated_key, subquery};
use super::store::{OnTotal, Reading, Store, StoreOptions};
use crate::{Begin, ImportError, Importer, Place};

/// Rows of a query in PostgreSQL.
///
/// They are read in one read-only transaction that sees a single state of the database, in `COPY`'s binary format. With a
/// [key](Self::key), reading goes on after the last row if the connection breaks, and after a
/// [checkpoint](Importer::checkpoint) if the program ended; it then sees the state of the database at that time.
///
/// | type | read as |
/// |---|---|
/// | `smallint`, `integer`, `bigint`, `real`, `double precision`, `boolean` | what they are |
/// | `numeric` | text with all digits |
/// | `text`, `varchar`, `char`, enumerations, `uuid` | text; `char` without trailing spaces |
/// | `timestamptz` | time |
/// | `timestamp`, `date` | text without an offset: the mapping has the time zone |
/// | `json`, `jsonb`, arrays and composites | JSON; a column such as `/extra/user` is a JSON Pointer into `extra` |
/// | others | PostgreSQL's text |
///
/// ```no_run
/// use std::time::Duration;
///
/// use tokenline_import::{Importer, Mapping, Output, PostgresSource};
///
/// # async fn import(mapping: &Mapping, file: std::fs::File) -> Result<(), Box<dyn std::error::Error>> {
/// let source = PostgresSource::new("postgres://reader@db.example/shop", "SELECT * FROM messages")?
///     .key("id")
///     .retry_for(Duration::from_secs(600));
/// let importer = Importer::new(mapping, Output::file(file))?.grouped(true);
/// let mut importer = importer.checkpoint("messages.checkpoint", &source.identity())?;
/// source.read(&mut importer).await?;
/// println!("{} conversations", importer.finish()?.summary.conversation_count);
/// # Ok(())
/// # }
/// ```
#[must_use = "call `read` for the rows"]
pub struct PostgresSource {
    server: Server,
    query: String,
    key: Option<String>,
    retry_for: Duration,
    on_total: Option<OnTotal>,
}

const KIND: &str = "postgres";
const DEFAULT_RETRY_FOR: Duration = Duration::from_secs(30);
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LAST_RETRY: Duration = Duration::from_secs(5);
/// How long the server may go on sending before what it sent is read.
const GATHER: Duration = Duration::from_micros(500);

/// One state of the database, however long it takes. The text of values does not depend on the server's settings.
const BEGIN: &str = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY;\
    SET LOCAL statement_timeout = 0;\
    SET LOCAL lock_timeout = 0;\
    SET LOCAL idle_in_transaction_session_timeout = 0;\
    SET LOCAL TimeZone = 'UTC';\
    SET LOCAL DateStyle = 'ISO, YMD';\
    SET LOCAL IntervalStyle = 'postgres';\
    SET LOCAL extra_float_digits = 3;\
    SET LOCAL bytea_output = 'hex'";

/// Finds collations that take different texts for equal. Servers before version 12 have none, and no such column.
const INEXACT_COLLATIONS: &str =
    "SELECT 1 FROM pg_collation AS c WHERE to_jsonb(c) ->> 'collisdeterministic' = 'false' LIMIT 1";

impl PostgresSource {
    /// The rows of a query, such as `SELECT * FROM messages` or `TABLE messages`.
    ///
    /// The URL is that of libpq, `postgres://user:password@host:port/database`, or its `host=... dbname=...`. What it
    /// lacks is taken from `PGHOST`, `PGPORT`, `PGUSER`, `PGPASSWORD`, `PGDATABASE`, `PGSSLMODE` and `PGSSLROOTCERT`:
    /// it can be empty. `sslmode` is as in libpq: `prefer`, the default, encrypts if the server can, `require` always
    /// does, `verify-full` also verifies the server, with the certificates in `sslrootcert` or those of the system.
    ///
    /// # Errors
    ///
    /// If the URL is not valid, or the root certificates cannot be read.
    pub fn new(url: &str, query: &str) -> Result<Self, ImportError> {
        Ok(Self {
            server: Server::new(url, |name| std::env::var(name).ok())?,
            query: query.to_owned(),
            key: None,
            retry_for: DEFAULT_RETRY_FOR,
            on_total: None,
        })
    }

    /// Sets a column of the query that is unique and never null, such as the primary key. The rows are then read in its
    /// order. An index makes that fast. In a database with nondeterministic collations, texts are ordered by their bytes.
    pub fn key(mut self, column: impl Into<String>) -> Self {
        self.key = Some(column.into());
        self
    }

    /// Sets how long to try to connect again after the connection broke; default: 30 seconds.
    pub fn retry_for(mut self, duration: Duration) -> Self {
        self.retry_for = duration;
        self
    }

    /// Calls a function, before the first row over each connection, with the number of rows, including those that were
    /// read before. It is the server's estimate, which can be far off.
    pub fn on_total(mut self, on_total: impl Fn(u64) + Send + Sync + 'static) -> Self {
        self.on_total = Some(Box::new(on_total));
        self
    }

    /// The name in rejects and reports: host and database, without credentials.
    #[must_use]
    pub fn name(&self) -> String {
        self.server.name.clone()
    }

    /// Identifies the source in a [checkpoint](Importer::checkpoint): the source, the query and the key, without
    /// credentials.
    #[must_use]
    pub fn identity(&self) -> String {
        identity(KIND, &self.server.name, &self.query, self.key.as_deref())
    }

    /// Reads all rows. Needs a Tokio runtime with I/O and time. The importer writes files in between, which blocks.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached, refuses the query, or lacks a column of the mapping; if the connection broke and
    /// cannot be restored, or there is no key to go on after; if the key is not unique; and the errors of
    /// [`Importer::row`].
    pub async fn read(&self, importer: &mut Importer<'_>) -> Result<(), ImportError> {
        let (after, row_count) = match importer.begin(&self.server.name, KIND)? {
            Begin::Done => return Ok(()),
            Begin::Start => (None, 0),
            Begin::After(position) => {
                let is_ordered = importer.grouping_column().is_some();
                (Some(self.position(&position, is_ordered)?), importer.source_row_count())
            }
        };
        let mut progress = Progress::new(after, row_count);
        let mut retry = Retry::default();
        loop {
            let before = progress.row_count;
            let error = match self.attempt(importer, &mut progress).await {
                Ok(()) => return Ok(()),
                Err(Stop::Import(error)) => return Err(error),
                Err(Stop::Server(error)) => error,
            };
            if !is_broken(&error, progress.is_connected) {
                return Err(self.failed(&error));
            }
            if progress.row_count > 0 && progress.after.is_none() {
                let message = format!(
                    "the connection to {} broke after row {}: {}; a key is needed to go on",
                    &self.server.name,
                    progress.row_count,
                    self.server.describe(&error)
                );
                return Err(ImportError::source(message));
            }
            if progress.row_count > before {
                retry = Retry::default();
            }
            let Some(delay) = retry.next(self.retry_for) else { return Err(self.failed(&error)) };
            Interrupt::of(importer).race(tokio::time::sleep(delay)).await?;
        }
    }

    fn failed(&self, error: &Error) -> ImportError {
        ImportError::source(format!("cannot read {}: {}", &self.server.name, self.server.describe(error)))
    }

    /// Reads what [`Row::position`] wrote.
    fn position(&self, position: &str, is_ordered: bool) -> Result<Position, ImportError> {
        let values: Vec<Option<String>> = serde_json::from_str(position).map_err(|_| other_position())?;
        match (&values[..], &self.key, is_ordered) {
            ([], _, _) => Err(no_key(&self.server.name)),
            ([Some(key)], Some(_), false) => Ok(Position { conversation: None, key: key.clone() }),
            ([conversation, Some(key)], Some(_), true) => {
                Ok(Position { conversation: Some(conversation.clone()), key: key.clone() })
            }
            _ => Err(other_position()),
        }
    }

    /// Reads over one connection.
    async fn attempt(&self, importer: &mut Importer<'_>, progress: &mut Progress) -> Result<(), Stop> {
        let mut wire = Wire::new(Interrupt::of(importer));
        let connecting = self.server.config.connect(self.server.tls.clone());
        let (client, connection) = wire.run(connecting).await?;
        wire.connection = Some(connection);
        progress.is_connected = true;
        wire.run(client.batch_execute(BEGIN)).await?;
        let plan = self.plan(importer, &client, &mut wire).await?;
        let parts = plan.parts(&self.query, progress.after.as_ref());
        if let Some(on_total) = &self.on_total {
            let mut estimate = progress.row_count;
            for part in parts.iter().filter(|part| !part.finds_null_keys) {
                let explain = format!("EXPLAIN (FORMAT JSON) {}", part.sql);
                let explained = wire.run(client.simple_query(&explain)).await?;
                estimate += estimated_rows(&explained).unwrap_or(0);
            }
            on_total(estimate);
        }
        let read = self.read_parts(importer, progress, &plan, &parts, &client, &mut wire).await;
        progress.note(&plan);
        read?;
        // Everything is read: it does not matter whether the server still hears of it.
        let _ = wire.run(client.batch_execute("COMMIT")).await;
        Ok(())
    }

    async fn plan(
        &self,
        importer: &mut Importer<'_>,
        client: &Client,
        wire: &mut Wire,
    ) -> Result<QueryPlan, Stop> {
        let all = format!("SELECT * FROM (\n{}\n) AS q", subquery(&self.query));
        let statement = wire.run(client.prepare(&all)).await?;
        let columns = statement.columns();
        let mut type_names = vec![String::new(); columns.len()];
        if !columns.is_empty() {
            let types = columns.iter().map(|column| format!("format_type({}, -1)", column.type_().oid()));
            let named = format!("SELECT {}", types.collect::<Vec<_>>().join(", "));
            for message in wire.run(client.simple_query(&named)).await? {
                if let SimpleQueryMessage::Row(row) = message {
                    for (at, name) in type_names.iter_mut().enumerate() {
                        *name = row.try_get(at)?.unwrap_or_default().to_owned();
                    }
                }
            }
        }
        let found = wire.run(client.simple_query(INEXACT_COLLATIONS)).await?;
        let wanted = Wanted {
            source: &self.server.name,
            has_inexact_collations: found.iter().any(|message| matches!(message, SimpleQueryMessage::Row(_))),
            columns: importer.columns().names(),
            conversation: importer.conversation_column(),
            key: self.key.as_deref(),
            is_ordered_by_conversation: importer.grouping_column().is_some(),
        };
        Ok(QueryPlan::new(&wanted, columns, &type_names)?)
    }

    async fn read_parts(
        &self,
        importer: &mut Importer<'_>,
        progress: &mut Progress,
        plan: &QueryPlan,
        parts: &[Part],
        client: &Client,
        wire: &mut Wire,
    ) -> Result<(), Stop> {
        let mut documents = plan.new_documents();
        let mut fields = Fields::default();
        let malformed = |_: Malformed| {
            ImportError::source(format!("{} sent rows that are not in the format of COPY", &self.server.name))
        };
        for part in parts {
            let copy = format!("COPY ({}) TO STDOUT (FORMAT BINARY)", part.sql);
            let mut stream = pin!(wire.run(client.copy_out(&copy)).await?);
            let mut reader = CopyReader::default();
            loop {
                let next =
                    std::future::poll_fn(|context| stream.as_mut().poll_next(context).map(Option::transpose));
                let Some(chunk) = wire.run_after(next, GATHER).await? else { break };
                reader.push(chunk).map_err(malformed)?;
                while let Some(bytes) = reader.next(plan.fields.len(), &mut fields).map_err(malformed)? {
                    let number = progress.row_count + 1;
                    for (document, field) in documents.iter_mut().zip(&plan.documents) {
                        let format = plan.fields[*field].format;
                        let text =
                            fields.get(bytes, *field).map(|bytes| format.document(bytes).unwrap_or_default());
                        document.read(text);
                    }
                    let row = CopyRow { plan, bytes, fields: &fields, documents: &documents };
                    if let Some(key) = &self.key {
                        self.check_key(&row, key, number, progress)?;
                    }
                    importer.row(Place { row: number, line: 0 }, &row)?;
                    progress.passed(&row);
                }
            }
            if !reader.is_complete() {
                return Err(malformed(Malformed).into());
            }
        }
        Ok(())
    }

    /// Whether reading could go on after this row.
    fn check_key(
        &self,
        row: &CopyRow<'_>,
        key: &str,
        number: u64,
        progress: &Progress,
    ) -> Result<(), ImportError> {
        match row.key() {
            None => Err(null_key(&self.server.name, key, number)),
            Some(bytes) if progress.is_last(bytes, row.conversation()) => {
                Err(repeated_key(&self.server.name, key, number))
            }
            Some(_) => Ok(()),
        }
    }
}

impl Store for PostgresSource {
    fn open(address: &str, options: &StoreOptions<'_>) -> Result<Box<dyn Store>, ImportError> {
        let source = Self::new(address, options.query.unwrap_or_default())?;
        Ok(Box::new(Self { key: options.key.map(str::to_owned), ..source }))
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

impl fmt::Debug for PostgresSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresSource")
            .field("name", &self.server.name)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// Why an attempt ended.
enum Stop {
    Import(ImportError),
    Server(Error),
}

impl From<ImportError> for Stop {
    fn from(error: ImportError) -> Self {
        Self::Import(error)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Server(error)
    }
}

/// A connection, which makes progress while something waits for it.
struct Wire {
    connection: Option<Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>>,
    interrupt: Interrupt,
    tick: Interval,
}

impl Wire {
    fn new(interrupt: Interrupt) -> Self {
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { connection: None, interrupt, tick }
    }

    /// Waits for a response, or an interrupt of the import.
    async fn run<T>(&mut self, response: impl Future<Output = Result<T, Error>>) -> Result<T, Stop> {
        self.run_after(response, Duration::ZERO).await
    }

    /// The same. If nothing has arrived, lets the server send for some time first: waking up for many rows costs as much as
    /// for one.
    async fn run_after<T>(
        &mut self,
        response: impl Future<Output = Result<T, Error>>,
        mut gather: Duration,
    ) -> Result<T, Stop> {
        let mut response = pin!(response);
        std::future::poll_fn(|context| {
            if let Poll::Ready(response) = response.as_mut().poll(context) {
                return Poll::Ready(response.map_err(Stop::Server));
            }
            if let Some(connection) = &mut self.connection {
                match Pin::new(connection).poll(context) {
                    Poll::Pending => {}
                    Poll::Ready(Ok(())) => self.connection = None,
                    Poll::Ready(Err(error)) => {
                        self.connection = None;
                        return Poll::Ready(Err(Stop::Server(error)));
                    }
                }
                if let Poll::Ready(response) = response.as_mut().poll(context) {
                    return Poll::Ready(response.map_err(Stop::Server));
                }
            }
            while self.tick.poll_tick(context).is_ready() {
                self.interrupt.check()?;
            }
            thread::sleep(mem::take(&mut gather));
            Poll::Pending
        })
        .await
    }
}

/// The delays between attempts to connect.
#[derive(Debug, Default)]
struct Retry {
    began: Option<Instant>,
    attempts: u32,
}

impl Retry {
    /// The delay before the next attempt; `None` if there is none.
    fn next(&mut self, retry_for: Duration) -> Option<Duration> {
        let began = *self.began.get_or_insert_with(Instant::now);
        let left = retry_for.checked_sub(began.elapsed()).filter(|left| !left.is_zero())?;
        let delay = FIRST_RETRY.saturating_mul(1 << self.attempts.min(10)).min(LAST_RETRY).min(left);
        self.attempts += 1;
        Some(delay)
    }
}

/// Whether another connection can help.
fn is_broken(error: &Error, was_connected: bool) -> bool {
    if let Some(error) = error.as_db_error() {
        let code = error.code().code();
        // It starts or shuts down, was killed, lost the state that is read, or has no connections left.
        return match code {
            "57P03" => true,
            "53300" | "40001" | "57P01" | "57P02" | "57P05" => was_connected,
            _ => was_connected && code.starts_with("08"),
        };
    }
    let mut source = std::error::Error::source(error);
    let mut is_io = false;
    while let Some(error) = source {
        if let Some(error) = error.downcast_ref::<std::io::Error>() {
            use std::io::ErrorKind::{InvalidData, InvalidInput, PermissionDenied, Unsupported};
            is_io = !matches!(error.kind(), InvalidData | InvalidInput | PermissionDenied | Unsupported);
            break;
        }
        source = error.source();
    }
    was_connected && (error.is_closed() || is_io)
}

/// The number of rows that the server expects of a statement.
fn estimated_rows(explained: &[SimpleQueryMessage]) -> Option<u64> {
    let text: String = explained
        .iter()
        .filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.try_get(0).ok().flatten(),
            _ => None,
        })
        .collect();
    let plans: serde_json::Value = serde_json::from_str(&text).ok()?;
    plans.get(0)?.get("Plan")?.get("Plan Rows")?.as_f64().map(|rows| rows as u64)
}
