//! Imports from OSMem, which stands in for OpenSearch, and from peers that answer as real servers do where it does not.

mod documents;

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reqwest::{Client, Method};
use serde_json::{Value, json};
use tokenline_import::{ErrorKind, ImportError, Importer, OpenSearchSource, Output};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use documents::{
    Message, Server, document_count, example, expected, importer, killed, mapping, messages, slow,
};

async fn send(method: Method, url: &str, body: String) -> Value {
    let request = Client::new().request(method, url).header("content-type", "application/json").body(body);
    let response = request.send().await.unwrap();
    let status = response.status();
    let text = response.text().await.unwrap();
    assert!(status.is_success(), "{status} {text}");
    serde_json::from_str(&text).unwrap_or_default()
}

/// Makes the index `messages`, and returns its URL.
async fn index(server: &str, messages: &[Message]) -> String {
    let keyword = json!({ "type": "keyword" });
    let properties = json!({
        "key": keyword, "thread": keyword, "user": keyword, "number": { "type": "long" },
        "sent_at": { "type": "date" }, "role": keyword, "text": { "type": "text" }, "channel": keyword,
    });
    let url = format!("{server}/messages");
    let settings = json!({ "mappings": { "properties": properties }, "settings": { "number_of_shards": 1 } });
    send(Method::PUT, &url, settings.to_string()).await;
    for part in messages.chunks(10_000) {
        let mut body = String::new();
        for message in part {
            let Message { id, number, thread, user, time, role, text, channel } = message;
            let document = json!({
                "key": id, "number": number, "thread": thread, "user": user, "sent_at": time, "role": role,
                "text": text, "channel": channel, "other": "not mapped",
            });
            body.push_str(&format!("{{\"index\":{{\"_id\":\"{id}\"}}}}\n{document}\n"));
        }
        let answer = send(Method::POST, &format!("{url}/_bulk?refresh=true"), body).await;
        assert_eq!(answer["errors"], false);
    }
    url
}

fn source(url: &str) -> OpenSearchSource {
    OpenSearchSource::new(url).unwrap().retries(5)
}

/// OSMem sorts all documents for each page.
fn large(url: &str) -> OpenSearchSource {
    source(url).page_size(10_000)
}

async fn import(source: &OpenSearchSource, is_grouped: bool) -> Result<String, ImportError> {
    let mut output = Vec::new();
    let mut importer = importer(&mut output).grouped(is_grouped);
    source.read(&mut importer).await?;
    let report = importer.finish()?;
    assert!(report.is_valid, "{:?}", report.errors);
    Ok(String::from_utf8(output).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn many_documents() {
    let Some(server) = Server::opensearch() else { return };
    let messages = messages(document_count());
    let expected = expected(&messages);
    let url = index(&server.url, &messages).await;
    let total = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&total);
    let four = large(&url).key("key").slices(4).on_total(move |total| seen.store(total, Ordering::Relaxed));
    let time = |what: &str, start: Instant| {
        println!("{what}: {:.0} documents/s", document_count() as f64 / start.elapsed().as_secs_f64());
    };
    let start = Instant::now();
    assert!(import(&four, false).await.unwrap() == expected);
    time("four slices", start);
    assert_eq!(total.load(Ordering::Relaxed), document_count());
    let start = Instant::now();
    assert!(import(&large(&url), false).await.unwrap() == expected);
    time("without a key", start);
    let start = Instant::now();
    // Grouped, the order of the conversations is the store's, which is that of bytes here.
    assert!(import(&four, true).await.unwrap() == expected);
    time("grouped", start);
    // The points in time are deleted.
    let left = send(Method::GET, &format!("{}/_search/point_in_time/_all", server.url), String::new()).await;
    assert_eq!(left["pits"].as_array().map_or(0, Vec::len), 0, "{left}");
    // A query, and a key that is a number.
    let some = source(&url).key("number").query(r#"{"range":{"number":{"lt":5000}}}"#).unwrap();
    assert!(import(&some, false).await.unwrap() == documents::expected(&messages[..5_000]));
}

/// Deletes all points in time, again and again, until the import ends.
async fn import_while_they_are_lost(
    server: &str,
    source: &OpenSearchSource,
    is_grouped: bool,
) -> (String, usize) {
    let lost = Arc::new(AtomicUsize::new(0));
    let (server, count) = (server.to_owned(), Arc::clone(&lost));
    let task = tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_millis(60)).await;
            let url = format!("{server}/_search/point_in_time/_all");
            let deleted = send(Method::DELETE, &url, String::new()).await;
            count.fetch_add(deleted["pits"].as_array().map_or(0, Vec::len), Ordering::Relaxed);
        }
    });
    let imported = import(source, is_grouped).await.unwrap();
    task.abort();
    (imported, lost.load(Ordering::Relaxed))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_point_in_time_is_replaced() {
    let Some(server) = Server::opensearch() else { return };
    let messages = messages(10_000);
    let expected = expected(&messages);
    let url = index(&server.url, &messages).await;
    for (slices, is_grouped) in [(1, false), (4, false), (1, true)] {
        let source = source(&url).key("key").slices(slices).page_size(200);
        let (imported, lost) = import_while_they_are_lost(&server.url, &source, is_grouped).await;
        println!("{slices} slices, grouped {is_grouped}: {lost} points in time lost");
        assert!(lost >= 2, "only {lost} points in time were lost");
        assert!(imported == expected);
    }
    // It expires while the output is slow.
    let slow = SlowWriter(Vec::new());
    let mut output = slow;
    let mut importer = Importer::new(&mapping(), Output::writer(&mut output)).unwrap().grouped(true);
    let source_ = source(&url).key("key").page_size(2_000).keep_alive(Duration::from_millis(30));
    source_.read(&mut importer).await.unwrap();
    importer.finish().unwrap();
    assert!(output.0 == expected.as_bytes());
    // Without a key, it cannot go on.
    let unkeyed = source(&url).page_size(2_000).keep_alive(Duration::from_millis(30));
    let mut output = SlowWriter(Vec::new());
    let mut importer = Importer::new(&mapping(), Output::writer(&mut output)).unwrap().grouped(true);
    let error = unkeyed.read(&mut importer).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Source);
    assert!(error.to_string().contains("needs a key"), "{error}");
}

struct SlowWriter(Vec<u8>);

impl std::io::Write for SlowWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0.len() / 200_000 != (self.0.len() + bytes.len()) / 200_000 {
            std::thread::sleep(Duration::from_millis(100));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_is_killed_goes_on() {
    let Some(server) = Server::opensearch() else { return };
    let messages = messages(360);
    let expected = expected(&messages);
    let url = index(&server.url, &messages).await;
    let program = &example("import_opensearch");
    let url = &url.replace(&server.url, &format!("http://{}", slow(&server.url)));
    let folder = tempfile::tempdir().unwrap();
    let mapping_file = folder.path().join("mapping.toml");
    std::fs::write(&mapping_file, toml::to_string(&mapping()).unwrap()).unwrap();
    let outputs = killed(|import, output, checkpoint| {
        let mut command = Command::new(program);
        command.args([url, "key"]).arg(&mapping_file).args([output, checkpoint]);
        command
            .args([["1", "3"][import % 2], "2"])
            .args((import % 5 == 4).then_some("grouped"))
            .stderr(Stdio::null());
        command
    });
    assert!(outputs.iter().all(|output| *output == expected));
}

#[tokio::test]
async fn what_cannot_be_read_is_an_error() {
    let Some(server) = Server::opensearch() else { return };
    let messages = messages(100);
    let url = index(&server.url, &messages).await;
    let error = import(&source(&url).key("user").page_size(7), false).await.unwrap_err();
    assert!(error.to_string().contains("the key is not unique"), "{error}");
    let error = import(&source(&url).key("channel"), false).await.unwrap_err();
    assert!(
        error.to_string().contains("does not have the key") || error.to_string().contains("unique"),
        "{error}"
    );
    let error = import(&source(&url).key("text"), false).await.unwrap_err();
    assert!(error.to_string().contains("400"), "{error}");
    let error = import(&source(&format!("{}/nothing", server.url)).key("key"), false).await.unwrap_err();
    assert!(error.to_string().contains("404") && error.to_string().contains("no such index"), "{error}");
    assert!(OpenSearchSource::new(&url).unwrap().query("[]").is_err());
    assert!(OpenSearchSource::new(&url).unwrap().query("{").is_err());
}

/// A server between the importer and OSMem, which answers some requests itself.
struct Peer {
    url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

type Answer = Box<dyn Fn(usize, &str, &str) -> Option<String> + Send + Sync>;

/// `answer` gets the number of the request, its first line with the headers, and its body.
async fn peer(upstream: Option<&str>, answer: Answer) -> Peer {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let requests = Arc::new(Mutex::new(Vec::new()));
    let (seen, upstream) = (Arc::clone(&requests), upstream.map(|url| url.replace("http://", "")));
    tokio::spawn(async move {
        let mut count = 0;
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let Some((head, body)) = read_request(&mut stream).await else { continue };
            seen.lock().unwrap().push(format!("{head}{body}"));
            count += 1;
            match (answer(count, &head, &body), &upstream) {
                (Some(answer), _) => stream.write_all(answer.as_bytes()).await.unwrap(),
                (None, Some(upstream)) => {
                    let answer = forward(upstream, &head, &body).await;
                    stream.write_all(answer.as_bytes()).await.unwrap();
                }
                (None, None) => {}
            }
        }
    });
    Peer { url, requests }
}

async fn read_request(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.to_ascii_lowercase().lines().find_map(|line| {
                line.strip_prefix("content-length: ").map(|length| length.trim().parse::<usize>().unwrap())
            });
            if body.len() >= length.unwrap_or(0) {
                return Some((format!("{head}\r\n"), body.to_owned()));
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

async fn forward(upstream: &str, head: &str, body: &str) -> String {
    let (line, _) = head.split_once("\r\n").unwrap();
    // As Elasticsearch spells it, to OpenSearch's.
    let mut line =
        line.replace("/_pit?", "/_search/point_in_time?").replace("/_pit ", "/_search/point_in_time ");
    let mut body = body.to_owned();
    if line.starts_with("DELETE") {
        let id: Value = serde_json::from_str(&body).unwrap();
        body = json!({ "pit_id": [id["id"]] }).to_string();
    }
    line = line.replace("HTTP/1.1", "HTTP/1.0");
    let mut stream = TcpStream::connect(upstream).await.unwrap();
    let length = body.len();
    let request = format!(
        "{line}\r\nhost: h\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.lines().next().unwrap().split_once(' ').unwrap().1;
    let is_pit = line.starts_with("POST") && line.contains("/point_in_time");
    response(status, "", &if is_pit { body.replace("\"pit_id\"", "\"id\"") } else { body.to_owned() })
}

fn response(status: &str, headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// The error of Elasticsearch 8 for an expired point in time.
const EXPIRED: &str = r#"{"error":{"root_cause":[{"type":"search_context_missing_exception","reason":"No search context found for id [17]"}],"type":"search_phase_execution_exception","reason":"all shards failed","phase":"query","grouped":true,"failed_shards":[{"shard":0,"index":"messages","node":"n","reason":{"type":"search_context_missing_exception","reason":"No search context found for id [17]"}}]},"status":404}"#;
/// A page whose other shards have lost the point in time.
const EXPIRED_ON_A_SHARD: &str = r#"{"took":1,"timed_out":false,"_shards":{"total":2,"successful":1,"skipped":0,"failed":1,"failures":[{"shard":1,"index":"messages","node":"n","reason":{"type":"search_context_missing_exception","reason":"No search context found for id [18]"}}]},"hits":{"max_score":null,"hits":[]}}"#;
const PARTIAL: &str = r#"{"took":1,"timed_out":true,"_shards":{"total":2,"successful":2,"skipped":0,"failed":0},"hits":{"max_score":null,"hits":[]}}"#;
const BUSY: &str = r#"{"error":{"root_cause":[{"type":"es_rejected_execution_exception","reason":"rejected execution"}],"type":"es_rejected_execution_exception","reason":"rejected execution"},"status":429}"#;

#[tokio::test(flavor = "multi_thread")]
async fn elasticsearch_with_faults() {
    let Some(server) = Server::opensearch() else { return };
    let messages = messages(2_000);
    index(&server.url, &messages).await;
    for slices in [1, 3] {
        let answer: Answer = Box::new(|count, head, _| {
            if head.starts_with("GET / ") {
                return Some(response(
                    "200 OK",
                    "",
                    r#"{"name":"n","version":{"number":"8.17.0","build_flavor":"default"}}"#,
                ));
            }
            match count % 13 {
                5 => Some(response("429 Too Many Requests", "retry-after: 0\r\n", BUSY)),
                7 if head.contains("/_search?") => Some(response("404 Not Found", "", EXPIRED)),
                8 => Some(response("503 Service Unavailable", "", "<html>busy</html>")),
                9 if head.contains("/_search?") => Some(response("200 OK", "", EXPIRED_ON_A_SHARD)),
                11 if head.contains("/_search?") => Some(response("200 OK", "", PARTIAL)),
                // The connection ends within the body.
                12 => Some("HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{\"took\"".to_owned()),
                _ => None,
            }
        });
        let peer = peer(Some(&server.url), answer).await;
        let url = format!("{}/messages", peer.url.replace("http://", "http://reader:hunter2@"));
        let source = source(&url).key("number").slices(slices).page_size(60);
        assert!(import(&source, false).await.unwrap() == expected(&messages));
        let requests = peer.requests.lock().unwrap();
        let searches: Vec<_> = requests.iter().filter(|request| request.contains("/_search?")).collect();
        assert!(
            searches
                .iter()
                .all(|request| request.contains(r#""sort":[{"number":"asc"},{"_shard_doc":"asc"}]"#))
        );
        assert!(searches.iter().all(|request| request.contains("allow_partial_search_results=false")));
        assert!(searches.iter().all(|request| !request.contains("other")));
        assert_eq!(searches[0].contains(r#""slice":{"#), slices > 1);
        assert_eq!(searches[0].contains(r#""field":"number"}"#), slices > 1);
        assert!(requests.iter().all(|request| request.contains("authorization: Basic cmVhZGVyOmh1bnRlcjI=")));
        assert!(requests.iter().any(|request| request.starts_with("DELETE /_pit ")));
    }
}

#[tokio::test]
async fn the_time_to_wait_is_the_servers() {
    let answer: Answer = Box::new(|count, _, _| {
        Some(match count {
            1 => response("429 Too Many Requests", "retry-after: 1\r\n", BUSY),
            _ => response("400 Bad Request", "", "{}"),
        })
    });
    let peer = peer(None, answer).await;
    let start = Instant::now();
    let error = import(&source(&format!("{}/messages", peer.url)), false).await.unwrap_err();
    assert!(error.to_string().contains("400"), "{error}");
    assert!(start.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn errors_do_not_have_the_password() {
    let refused: Answer = Box::new(|_, _, _| {
        let body = r#"{"error":{"reason":"failed to authenticate [reader] with hunter2"},"status":401}"#;
        Some(response("401 Unauthorized", "", body))
    });
    let refused = peer(None, refused).await.url;
    let closed: Answer = Box::new(|_, _, _| None);
    let closed = peer(None, closed).await.url;
    for server in [refused.as_str(), &closed, "http://127.0.0.1:9", "http://host.invalid"] {
        let url = format!("{}/messages", server.replace("http://", "http://reader:hunter2@"));
        let source = OpenSearchSource::new(&url).unwrap().retries(0);
        let error = import(&source, false).await.unwrap_err();
        let shown = format!("{error} {error:?} {source:?} {}", source.name());
        assert!(!shown.contains("hunter2") && !shown.contains("cmVhZGVy"), "{shown}");
        assert!(error.to_string().contains("/messages"), "{error}");
    }
    for bad in [
        "",
        "hunter2",
        "ftp://me:hunter2@h/i",
        "http://me:hunter2@h",
        "http://me:hunter2@h:99999/i",
        "http://me:hunter2@h/i?x=hunter2",
        "http://me:hunter2@/i",
    ] {
        let error = OpenSearchSource::new(bad).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mapping);
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{bad}: {error}");
    }
}

#[tokio::test]
async fn an_interrupt_ends_the_wait_for_a_server() {
    let mut output = Vec::new();
    let mut importer = importer(&mut output).interrupted_by(documents::interrupt_soon());
    // Nobody answers.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/messages", silent.local_addr().unwrap());
    let start = Instant::now();
    let error = OpenSearchSource::new(&url).unwrap().read(&mut importer).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}
