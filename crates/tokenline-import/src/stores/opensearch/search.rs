//! The pages of a search in a point in time.

use reqwest::Method;
use tokenline_core::json::{Parser, Value};
use tokio::sync::{Mutex, mpsc};

use super::client::{Client, Failure};
use super::page::{self, Fault, Page};
use crate::ImportError;
use crate::cell::json_string;
use crate::stores::retry;

/// New points in time without a page in between, before the import gives up.
const MAX_RENEWALS: u32 = 10;
/// After every `_shard_doc`: the search continues after all hits with these keys.
const LAST_SHARD_DOC: &str = "9223372036854775807";

/// A search whose pages are read.
pub(super) struct Search {
    pub(super) client: Client,
    pub(super) is_elasticsearch: bool,
    pub(super) keep_alive: String,
    /// The field whose values decide the slice of a document. Elasticsearch's own choice differs in each point in time.
    pub(super) slice_field: Option<String>,
    /// The sort as JSON.
    pub(super) sort: String,
    pub(super) query: Option<String>,
    pub(super) source: String,
    pub(super) slices: usize,
    /// The number of sort values that are keys in every point in time; 0 without a key.
    pub(super) key_count: usize,
    pub(super) pit: Mutex<Pit>,
}

/// A point in time.
#[derive(Clone, Default)]
pub(super) struct Pit {
    /// Counts the points in time.
    pub(super) generation: u32,
    pub(super) id: String,
}

impl Search {
    /// Opens a new point in time, unless another slice has replaced this one.
    pub(super) async fn renew(&self, generation: u32) -> Result<(), ImportError> {
        let mut pit = self.pit.lock().await;
        if pit.generation != generation {
            return Ok(());
        }
        let (index, keep_alive) = (self.client.index(), &self.keep_alive);
        let path = if self.is_elasticsearch {
            format!("/{index}/_pit?keep_alive={keep_alive}")
        } else {
            format!("/{index}/_search/point_in_time?keep_alive={keep_alive}")
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
    pub(super) async fn close(&self) {
        let pit = self.pit.lock().await.clone();
        if pit.generation == 0 {
            return;
        }
        let mut client = self.client.clone();
        client.retries = 0;
        let id = json_string(&pit.id);
        let (path, body) = if self.is_elasticsearch {
            ("/_pit", format!("{{\"id\":{id}}}"))
        } else {
            ("/_search/point_in_time", format!("{{\"pit_id\":[{id}]}}"))
        };
        let _ = client.send(Method::DELETE, path, Some(&body)).await;
    }

    pub(super) async fn total(&self) -> Result<u64, ImportError> {
        let pit = self.pit.lock().await.clone();
        let body = self.body(&pit, 0, "true", None, None);
        let text = self.client.send(Method::POST, SEARCH, Some(&body)).await?;
        let total = Page::parse(text).ok().and_then(|page| page.total());
        total
            .ok_or_else(|| ImportError::source(format!("{} did not count the documents", self.client.name())))
    }

    /// Sends the pages of a slice after these keys. Some hits of the first page have been taken already.
    pub(super) async fn pages(
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
                _ => after.as_deref().map(|keys| self.after_keys(keys)),
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

    /// The sort values after all hits with these keys.
    pub(super) fn after_keys(&self, keys: &str) -> String {
        match (self.is_elasticsearch, keys.strip_suffix(']')) {
            (true, Some(keys)) => format!("{keys},{LAST_SHARD_DOC}]"),
            _ => keys.to_owned(),
        }
    }

    pub(super) fn body(
        &self,
        pit: &Pit,
        size: usize,
        track_total_hits: &str,
        slice: Option<usize>,
        after: Option<&str>,
    ) -> String {
        let Self { keep_alive, sort, source, slices, .. } = self;
        let id = json_string(&pit.id);
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
                body.push_str(&json_string(field));
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
