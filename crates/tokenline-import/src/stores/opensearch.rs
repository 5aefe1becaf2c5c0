//! OpenSearch and Elasticsearch.

mod client;
mod page;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use tokenline_core::json::{Kind, Parser, Value};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;

use self::client::{Client, Failure};
use self::page::{Fault, Page};
use super::field::{field_of, unescaped};
use super::interrupt::Interrupt;
use super::retry;
use crate::cell::write_string;
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
    on_total: Option<Box<dyn Fn(u64) + Send + Sync>>,
}

const KIND: &str = "opensearch";
const DEFAULT_PAGE_SIZE: usize = 1_000;
const DEFAULT_KEEP_ALIVE: Duration = Duration::from_secs(300);

/// Retries of the first request.
const FIRST_RETRIES: u32 = 2;

/// New points in time without a page in between, before the import gives up.
const MAX_RENEWALS: u32 = 10;

/// After every `_shard_doc`: the search continues behind all hits with these keys.
const LAST_SHARD_DOC: &str = "9223372036854775807";

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

    /// What a [checkpoint](Importer::checkpoint) is of: the index, the query and the fields to sort by, without
    /// credentials.
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

impl fmt::Debug for OpenSearchSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenSearchSource").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// A search whose pages are read.
struct Search {
    client: Client,
    is_elasticsearch: bool,
    keep_alive: String,
    /// The field whose values decide the slice of a document. Elasticsearch's own choice differs in each point in time.
    slice_field: Option<String>,
    /// The sort as JSON.
    sort: String,
    query: Option<String>,
    source: String,
    slices: usize,
    /// The number of sort values that are keys in every point in time; 0 without a key.
    key_count: usize,
    pit: Mutex<Pit>,
}

/// A point in time.
#[derive(Clone, Default)]
struct Pit {
    /// Counts the points in time.
    generation: u32,
    id: String,
}

impl Search {
    /// Opens a new point in time, unless another slice has replaced this one.
    async fn renew(&self, generation: u32) -> Result<(), ImportError> {
        let mut pit = self.pit.lock().await;
        if pit.generation != generation {
            return Ok(());
        }
        let (index, keep_alive) = (self.client.index(), &self.keep_alive);
        let path = match self.is_elasticsearch {
            true => format!("/{index}/_pit?keep_alive={keep_alive}"),
            false => format!("/{index}/_search/point_in_time?keep_alive={keep_alive}"),
        };
        let body = self.client.send(Method::POST, &path, None).await?;
        let mut parser = Parser::new();
        let opened = parser.parse(&body).ok();
        let id = opened
            .and_then(|opened| opened.get("pit_id").or_else(|| opened.get("id")))
            .and_then(Value::as_str);
        let Some(id) = id else {
            return Err(ImportError::source(format!("{} opened no point in time", self.client.name())));
        };
        *pit = Pit { generation: generation + 1, id: id.into_owned() };
        Ok(())
    }

    /// Deletes the point in time. If that fails, it expires.
    async fn close(&self) {
        let pit = self.pit.lock().await.clone();
        if pit.generation == 0 {
            return;
        }
        let mut client = self.client.clone();
        client.retries = 0;
        let id = json(&pit.id);
        let (path, body) = match self.is_elasticsearch {
            true => ("/_pit", format!("{{\"id\":{id}}}")),
            false => ("/_search/point_in_time", format!("{{\"pit_id\":[{id}]}}")),
        };
        let _ = client.send(Method::DELETE, path, Some(&body)).await;
    }

    async fn total(&self) -> Result<u64, ImportError> {
        let pit = self.pit.lock().await.clone();
        let body = self.body(&pit, 0, "true", None, None);
        let text = self.client.send(Method::POST, SEARCH, Some(&body)).await?;
        let total = Page::parse(text).ok().and_then(|page| page.total());
        total
            .ok_or_else(|| ImportError::source(format!("{} did not count the documents", self.client.name())))
    }

    /// Sends the pages of a slice, from behind these keys on. Some hits of the first page have been taken already.
    async fn pages(
        &self,
        slice: usize,
        mut after: Option<String>,
        page_size: usize,
        taken: usize,
        pages: &mpsc::Sender<Result<Page, ImportError>>,
    ) -> Result<(), ImportError> {
        let mut size = page_size - taken;
        // All sort values of the last hit, and their point in time.
        let mut last: Option<(u32, String)> = None;
        let (mut renewals, mut failures) = (0, 0);
        loop {
            let pit = self.pit.lock().await.clone();
            let search_after = match &last {
                Some((generation, sort)) if *generation == pit.generation => Some(sort.clone()),
                Some(_) if self.key_count == 0 => return Err(needs_key()),
                _ => after.as_deref().map(|keys| self.behind(keys)),
            };
            let body = self.body(&pit, size, "false", Some(slice), search_after.as_deref());
            let fetched = match self.client.send(Method::POST, SEARCH, Some(&body)).await {
                Ok(text) => Page::parse(text),
                Err(Failure::LostContext) => Err(Fault::LostContext),
                Err(failure) => return Err(failure.into()),
            };
            let page = match fetched {
                Ok(page) => page,
                Err(Fault::LostContext) => {
                    renewals += 1;
                    if self.key_count == 0 {
                        return Err(needs_key());
                    }
                    if renewals > MAX_RENEWALS {
                        return Err(ImportError::source(
                            "the point in time expires before a page is read: keep it alive longer",
                        ));
                    }
                    self.renew(pit.generation).await?;
                    continue;
                }
                Err(Fault::Partial) if failures < self.client.retries => {
                    tokio::time::sleep(retry::delay(failures)).await;
                    failures += 1;
                    continue;
                }
                Err(Fault::Partial) => {
                    return Err(ImportError::source(format!(
                        "shards of {} failed or timed out",
                        self.client.name()
                    )));
                }
                Err(Fault::NotAPage) => {
                    return Err(ImportError::source(format!(
                        "the response of {} is not a page of hits",
                        self.client.name()
                    )));
                }
            };
            (renewals, failures) = (0, 0);
            if let Some(id) = page.pit_id() {
                let mut current = self.pit.lock().await;
                if current.generation == pit.generation {
                    current.id = id;
                }
            }
            let is_last = page.len() < size;
            if !is_last && page.last_sort().is_none() {
                return Err(ImportError::source(format!("{} does not sort its hits", self.client.name())));
            }
            if let Some(sort) = page.last_sort() {
                last = Some((pit.generation, sort.to_owned()));
                let mut parser = Parser::new();
                if let Ok(sort) = parser.parse_lossy(sort) {
                    page::write_keys(sort, self.key_count, after.get_or_insert_default());
                }
            }
            size = page_size;
            if pages.send(Ok(page)).await.is_err() || is_last {
                return Ok(());
            }
        }
    }

    /// The sort values behind all hits with these keys.
    fn behind(&self, keys: &str) -> String {
        match (self.is_elasticsearch, keys.strip_suffix(']')) {
            (true, Some(keys)) => format!("{keys},{LAST_SHARD_DOC}]"),
            _ => keys.to_owned(),
        }
    }

    fn body(
        &self,
        pit: &Pit,
        size: usize,
        track_total_hits: &str,
        slice: Option<usize>,
        after: Option<&str>,
    ) -> String {
        let Self { keep_alive, sort, source, slices, .. } = self;
        let id = json(&pit.id);
        let mut body = format!(
            "{{\"size\":{size},\"track_total_hits\":{track_total_hits},\"pit\":{{\"id\":{id},\"keep_alive\":\"{keep_alive}\"}},\
             \"_source\":{source},\"sort\":{sort}"
        );
        if let Some(query) = &self.query {
            body.push_str(",\"query\":");
            body.push_str(query);
        }
        if let Some(after) = after {
            body.push_str(",\"search_after\":");
            body.push_str(after);
        }
        if let Some(slice) = slice.filter(|_| *slices > 1) {
            body.push_str(&format!(",\"slice\":{{\"id\":{slice},\"max\":{slices}"));
            if let Some(field) = &self.slice_field {
                body.push_str(",\"field\":");
                body.push_str(&json(field));
            }
            body.push('}');
        }
        body.push('}');
        body
    }
}

/// A page must not lack the hits of shards that failed.
const SEARCH: &str = "/_search?allow_partial_search_results=false";

fn needs_key() -> ImportError {
    ImportError::source(
        "the point in time expired, and the import cannot continue: it needs a key, a unique field to sort by",
    )
}

/// Where the import continues: after these keys of each slice. The slices take turns with their pages.
struct Position {
    after: Vec<Option<String>>,
    /// The slice whose page is read, and the hits of the page that were taken.
    turn: usize,
    taken: usize,
    /// The hits read so far.
    rows: u64,
    key_count: usize,
    /// The keys of the hit at hand.
    keys: String,
}

impl Position {
    fn start(slices: usize, key_count: usize) -> Self {
        Self { after: vec![None; slices], turn: 0, taken: 0, rows: 0, key_count, keys: String::new() }
    }

    fn parse(text: &str, key_count: usize, page_size: usize) -> Result<Self, ImportError> {
        let parsed = || {
            let mut parser = Parser::new();
            let position = parser.parse_lossy(text).ok()?;
            let number = |name| position.get(name)?.as_number()?.as_u64();
            let after: Vec<_> = position
                .get("after")?
                .as_array()?
                .iter()
                .map(|keys| (keys.kind() == Kind::Array).then(|| keys.raw().to_owned()))
                .collect();
            let (turn, taken) = (number("turn")? as usize, number("taken")? as usize);
            let mut position =
                Self { after, turn, taken, rows: number("rows")?, key_count, keys: String::new() };
            if position.turn >= position.after.len() {
                return None;
            }
            if position.taken >= page_size {
                position.next_slice();
            }
            Some(position)
        };
        parsed().ok_or_else(|| ImportError::mapping("the checkpoint has no position of a search"))
    }

    fn write(&self, out: &mut String) {
        use std::fmt::Write as _;

        out.clear();
        if self.key_count == 0 {
            out.push_str("none");
            return;
        }
        out.push_str("{\"after\":[");
        for (slice, keys) in self.after.iter().enumerate() {
            if slice > 0 {
                out.push(',');
            }
            out.push_str(keys.as_deref().unwrap_or("null"));
        }
        let _ = write!(out, "],\"turn\":{},\"taken\":{},\"rows\":{}}}", self.turn, self.taken, self.rows);
    }

    /// Moves to the hit with these sort values, the first of which are keys.
    fn advance(&mut self, sort: Option<Value<'_>>) -> Result<(), ImportError> {
        self.taken += 1;
        self.rows += 1;
        let keys = self.key_count;
        if keys == 0 {
            return Ok(());
        }
        let Some(sort) = sort.filter(|sort| !page::is_missing(*sort, keys - 1)) else {
            return Err(ImportError::mapping("a document does not have the key: set a field that all have"));
        };
        page::write_keys(sort, keys, &mut self.keys);
        let after = self.after[self.turn].get_or_insert_default();
        if *after == self.keys {
            return Err(ImportError::mapping(
                "the key is not unique: several documents have the same, or none",
            ));
        }
        std::mem::swap(after, &mut self.keys);
        Ok(())
    }

    fn next_slice(&mut self) {
        self.turn = (self.turn + 1) % self.after.len();
        self.taken = 0;
    }
}

fn json(text: &str) -> String {
    let mut out = Vec::new();
    write_string(text, &mut out);
    String::from_utf8(out).expect("JSON is UTF-8")
}

/// The sort as JSON. `_shard_doc` breaks ties if there is no key, and in Elasticsearch, which adds it in any case.
fn sort_of(keys: &[String], is_complete: bool) -> String {
    let mut fields: Vec<_> = keys.iter().map(|field| format!("{{{}:\"asc\"}}", json(field))).collect();
    if !is_complete {
        fields.push("{\"_shard_doc\":\"asc\"}".to_owned());
    }
    format!("[{}]", fields.join(","))
}

/// The members of `_source` that hold the columns, as JSON.
fn source_filter(columns: &[String]) -> String {
    let mut names = Vec::new();
    for column in columns {
        names.push(json(column));
        if let Some(pointer) = column.strip_prefix('/') {
            let mut tokens = pointer.split('/').map(unescaped);
            // A pointer may begin at the hit.
            let first = tokens.next().filter(|first| first != "_source").or_else(|| tokens.next());
            names.extend(first.map(|name| json(&name)));
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
