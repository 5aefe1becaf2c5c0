//! OpenSearch and Elasticsearch.

mod client;
mod page;
mod position;
mod search;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use tokenline_core::json::{Kind, Parser, Value};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;

use self::client::{Client, Failure};
use self::position::Position;
use self::search::{Pit, Search};
use super::field::{field_of, unescaped};
use super::interrupt::Interrupt;
use super::store::{OnTotal, Reading, Store, StoreOptions};
use crate::cell::json_string;
use crate::{Begin, ImportError, Importer};

/// An index of OpenSearch or Elasticsearch, whose hits are rows.
///
/// Columns are looked up in `_source`, then in the hit, so that `_id` is a column too. The hits are those of one point
/// in time. If it expires, or the import goes on in another run, reading continues after the last key in a new one:
/// no hit is lost or doubled, and documents that were added meanwhile are read if they come after the key. The rows
/// arrive in the same order each time, also in several slices.
///
/// Credentials are those in the URL, or else in the environment: `ELASTICSEARCH_API_KEY`, `ELASTIC_API_KEY` or
/// `ES_API_KEY`, `OPENSEARCH_USERNAME` and `OPENSEARCH_PASSWORD`, `ELASTICSEARCH_USERNAME` and `ELASTICSEARCH_PASSWORD`.
///
/// Needs OpenSearch 2.4 or Elasticsearch 7.12, or a later version.
///
/// ```no_run
/// use tokenline_import::{Importer, Mapping, OpenSearchSource, Output};
///
/// # async fn import(mapping: Mapping) -> Result<(), tokenline_import::ImportError> {
/// let source = OpenSearchSource::new("https://reader:secret@localhost:9200/messages")?
///     .query(r#"{"range":{"sent_at":{"gte":"2026-01-01"}}}"#)?
///     .key("message_id")
///     .slices(4);
/// let mut importer = Importer::new(&mapping, Output::writer(std::io::stdout()))?;
/// source.read(&mut importer).await?;
/// importer.finish()?;
/// # Ok(())
/// # }
/// ```
#[must_use = "call `read`"]
pub struct OpenSearchSource {
    client: Client,
    query: Option<String>,
    key: Option<String>,
    conversation_field: Option<String>,
    slices: usize,
    page_size: usize,
    keep_alive: Duration,
    on_total: Option<OnTotal>,
}

const KIND: &str = "opensearch";
const DEFAULT_PAGE_SIZE: usize = 1_000;
const DEFAULT_KEEP_ALIVE: Duration = Duration::from_secs(300);

/// Retries of the first request.
const FIRST_RETRIES: u32 = 2;

impl OpenSearchSource {
    /// An index, or several by a pattern: `https://user:password@host:9200/index`.
    ///
    /// # Errors
    ///
    /// If the URL is not valid. The error does not repeat it.
    pub fn new(url: &str) -> Result<Self, ImportError> {
        Ok(Self {
            client: Client::new(url)?,
            query: None,
            key: None,
            conversation_field: None,
            slices: 1,
            page_size: DEFAULT_PAGE_SIZE,
            keep_alive: DEFAULT_KEEP_ALIVE,
            on_total: None,
        })
    }

    /// Sets the query that documents must match, as JSON: `{"term":{"channel":"web"}}`. Default: all documents.
    ///
    /// # Errors
    ///
    /// If it is not a JSON object.
    pub fn query(self, query: &str) -> Result<Self, ImportError> {
        let mut parser = Parser::new();
        let value = parser.parse(query);
        let value = value.map_err(|error| ImportError::mapping(format!("the query is not JSON: {error}")))?;
        if value.kind() != Kind::Object {
            return Err(ImportError::mapping("the query is not a JSON object"));
        }
        Ok(Self { query: Some(value.to_single_line().into_owned()), ..self })
    }

    /// Sets the field to sort by: unique, in all documents, and sortable, such as a `keyword` or a number. In OpenSearch,
    /// `_id` is one.
    ///
    /// Without it, the import cannot continue after the point in time has expired, or in another run. In Elasticsearch,
    /// several [slices](Self::slices) need a number.
    pub fn key(self, field: impl Into<String>) -> Self {
        Self { key: Some(field.into()), ..self }
    }

    /// Sets the field to sort by if the importer is [grouped](Importer::grouped), such as `thread.keyword`. Default: the
    /// column of the conversation id.
    pub fn conversation_field(self, field: impl Into<String>) -> Self {
        Self { conversation_field: Some(field.into()), ..self }
    }

    /// Sets how many slices are read at once; default: 1. A [grouped](Importer::grouped) importer reads one.
    pub fn slices(self, slices: usize) -> Self {
        Self { slices: slices.max(1), ..self }
    }

    /// Sets the number of hits per page; default: 1,000. Servers allow up to 10,000.
    pub fn page_size(self, hits: usize) -> Self {
        Self { page_size: hits.max(1), ..self }
    }

    /// Sets how long the point in time is kept after each page; default: 5 minutes.
    pub fn keep_alive(self, keep_alive: Duration) -> Self {
        Self { keep_alive, ..self }
    }

    /// Sets how often a request is repeated after a connection error or status 429 or 5xx; default: 8 times, which
    /// takes one minute.
    pub fn retries(mut self, retries: u32) -> Self {
        self.client.retries = retries;
        self
    }

    /// Calls a function with the number of documents that match, before the first is read.
    pub fn on_total(self, on_total: impl Fn(u64) + Send + Sync + 'static) -> Self {
        Self { on_total: Some(Box::new(on_total)), ..self }
    }

    /// The URL of the index without credentials, which names the source in rejects.
    #[must_use]
    pub fn name(&self) -> String {
        self.client.name()
    }

    /// Identifies the source in a [checkpoint](Importer::checkpoint): the index, the query and the fields to sort by,
    /// without credentials.
    #[must_use]
    pub fn identity(&self) -> String {
        let Self { query, key, conversation_field, slices, .. } = self;
        serde_json::json!([KIND, self.name(), query, key, conversation_field, slices]).to_string()
    }

    /// Reads all documents. Needs a tokio runtime with time and I/O; with several threads, slices are parsed in parallel.
    /// The thread that reads is blocked while conversations are written.
    ///
    /// # Errors
    ///
    /// If the server cannot be read, the key is not unique, or something cannot be written.
    pub async fn read(&self, importer: &mut Importer<'_>) -> Result<(), ImportError> {
        let grouping = importer.grouping_column().map(|column| match &self.conversation_field {
            Some(field) => field.clone(),
            None => field_of(column),
        });
        let slices = if grouping.is_some() { 1 } else { self.slices };
        let mut keys: Vec<String> = grouping.into_iter().collect();
        keys.extend(self.key.clone());
        let key_count = if self.key.is_some() { keys.len() } else { 0 };
        let mut position = match importer.begin(&self.name(), KIND)? {
            Begin::Done => return Ok(()),
            Begin::Start => Position::start(slices, key_count),
            Begin::After(_) if self.key.is_none() => {
                return Err(ImportError::mapping(
                    "the import cannot continue: it needs a key, a unique field to sort by. Remove the checkpoint, and set a key",
                ));
            }
            Begin::After(position) => Position::parse(&position, key_count, self.page_size)?,
        };
        let interrupt = Interrupt::of(importer);
        let is_elasticsearch = interrupt.race(self.is_elasticsearch()).await??;
        let columns = importer.columns().clone();
        let search = Arc::new(Search {
            client: self.client.clone(),
            is_elasticsearch,
            keep_alive: format!("{}ms", self.keep_alive.as_millis().max(1)),
            slice_field: self.key.clone().filter(|_| is_elasticsearch),
            sort: sort_of(&keys, self.key.is_some() && !is_elasticsearch),
            query: self.query.clone(),
            source: source_filter(columns.names()),
            slices: position.after.len(),
            key_count,
            pit: Mutex::new(Pit::default()),
        });
        let read = interrupt.race(async {
            search.renew(0).await?;
            if let Some(on_total) = &self.on_total {
                on_total(search.total().await?);
            }
            let mut tasks = JoinSet::new();
            let mut open = Vec::new();
            for (slice, after) in position.after.iter().enumerate() {
                // One page waits while the next is fetched.
                let (sender, receiver) = mpsc::channel(1);
                let taken = if slice == position.turn { position.taken } else { 0 };
                let (search, after, page_size) = (Arc::clone(&search), after.clone(), self.page_size);
                tasks.spawn(async move {
                    if let Err(error) = search.pages(slice, after, page_size, taken, &sender).await {
                        let _ = sender.send(Err(error)).await;
                    }
                });
                open.push(Some(receiver));
            }
            while open.iter().any(Option::is_some) {
                if let Some(pages) = &mut open[position.turn] {
                    match pages.recv().await {
                        Some(page) => page?.import(importer, &columns, &mut position)?,
                        None => open[position.turn] = None,
                    }
                }
                position.next_slice();
            }
            // A task that panicked has closed its channel too.
            while let Some(ended) = tasks.join_next().await {
                ended.map_err(|_| ImportError::source("a slice could not be read"))?;
            }
            Ok(())
        });
        let read = read.await;
        search.close().await;
        read?
    }

    async fn is_elasticsearch(&self) -> Result<bool, ImportError> {
        // A wrong address is an error soon.
        let mut client = self.client.clone();
        client.retries = client.retries.min(FIRST_RETRIES);
        match client.send(Method::GET, "/", None).await {
            Ok(body) => {
                let mut parser = Parser::new();
                let Ok(info) = parser.parse(&body) else {
                    return Err(ImportError::source(format!("{} is not a search server", self.name())));
                };
                let distribution = info.pointer("/version/distribution").and_then(Value::as_str);
                Ok(distribution.as_deref() != Some("opensearch"))
            }
            // Amazon's serverless OpenSearch does not say what it is.
            Err(Failure::NotFound { is_elasticsearch, .. }) => Ok(is_elasticsearch),
            Err(failure) => Err(failure.into()),
        }
    }
}

impl Store for OpenSearchSource {
    fn open(address: &str, options: &StoreOptions<'_>) -> Result<Box<dyn Store>, ImportError> {
        let source = Self::new(address)?.slices(options.slices.map_or(1, usize::from));
        let source = Self { key: options.key.map(str::to_owned), ..source };
        Ok(Box::new(match options.query {
            Some(query) => source.query(query)?,
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

impl fmt::Debug for OpenSearchSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenSearchSource").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// The sort as JSON. `_shard_doc` breaks ties if there is no key, and in Elasticsearch, which adds it in any case.
fn sort_of(keys: &[String], is_complete: bool) -> String {
    let mut fields: Vec<_> = keys.iter().map(|field| format!("{{{}:\"asc\"}}", json_string(field))).collect();
    if !is_complete {
        fields.push("{\"_shard_doc\":\"asc\"}".to_owned());
    }
    format!("[{}]", fields.join(","))
}

/// The members of `_source` that hold the columns, as JSON.
fn source_filter(columns: &[String]) -> String {
    let mut names = Vec::new();
    for column in columns {
        names.push(json_string(column));
        if let Some(pointer) = column.strip_prefix('/') {
            let mut tokens = pointer.split('/').map(unescaped);
            // A pointer may begin at the hit.
            let first = tokens.next().filter(|first| first != "_source").or_else(|| tokens.next());
            names.extend(first.map(|name| json_string(&name)));
        }
    }
    names.sort();
    names.dedup();
    format!("[{}]", names.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_as_it_was_written() {
        let text = r#"{"after":[["a\ud83d",1.10],null,[18446744073709551615]],"turn":2,"taken":7,"rows":12}"#;
        let mut written = String::new();
        Position::parse(text, 1, 10).ok().unwrap().write(&mut written);
        assert_eq!(written, text);
        // The page was complete: the next slice has its turn.
        Position::parse(text, 1, 7).ok().unwrap().write(&mut written);
        assert_eq!(written, text.replace(r#""turn":2,"taken":7"#, r#""turn":0,"taken":0"#));
        for bad in ["", "none", "{}", r#"{"after":[],"turn":0,"taken":0,"rows":0}"#] {
            assert!(Position::parse(bad, 1, 10).is_err());
        }
    }

    #[test]
    fn columns_are_looked_up_in_the_source() {
        let columns = ["text", "/author/name", "/_source/a~1b/c", "/x", "_id"].map(str::to_owned);
        let expected = r#"["/_source/a~1b/c","/author/name","/x","_id","a/b","author","text","x"]"#;
        assert_eq!(source_filter(&columns), expected);
        assert_eq!((field_of("/a~1b/c").as_str(), field_of("a.b").as_str()), ("a/b.c", "a.b"));
    }
}
