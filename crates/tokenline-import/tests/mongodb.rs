//! Imports from SecantusDB, which stands in for MongoDB, and through a proxy that loses connections and cursors.

mod documents;

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bson::{Bson, Document, doc};
use mongodb::Client;
use tokenline_import::{ErrorKind, ImportError, Importer, Mapping, MongoSource, Output};
use tokio::io::{AsyncReadExt, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use documents::{Message, Server, document_count, example, expected, expected_by, killed, messages, slow};

fn document(id: impl Into<Bson>, message: &Message) -> Document {
    let Message { number, thread, user, time, role, text, channel, .. } = message;
    doc! {
        "_id": id, "number": *number as i64, "thread": thread, "user": { "name": user, "age": 30 },
        "sent_at": bson::DateTime::from_millis(*time), "role": *role, "text": text, "channel": *channel,
        "other": "not mapped",
    }
}

/// Fills the collection `messages`.
async fn fill(url: &str, documents: impl Iterator<Item = Document>) {
    let client = Client::with_uri_str(url).await.unwrap();
    let collection = client.database("support").collection::<Document>("messages");
    let documents: Vec<_> = documents.collect();
    // Not in the order in which they are read.
    for part in documents.rchunks(5_000) {
        collection.insert_many(part).await.unwrap();
    }
}

fn mapping() -> Mapping {
    Mapping { user_id: Some("/user/name".to_owned()), ..documents::mapping() }
}

fn source(url: &str) -> MongoSource {
    MongoSource::new(&format!("{url}/support")).unwrap().collection("messages")
}

async fn import(source: &MongoSource, is_grouped: bool) -> Result<String, ImportError> {
    let mut output = Vec::new();
    let mut importer = Importer::new(&mapping(), Output::writer(&mut output))?.grouped(is_grouped);
    source.read(&mut importer).await?;
    let report = importer.finish()?;
    assert!(report.is_valid, "{:?}", report.errors);
    Ok(String::from_utf8(output).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn many_documents() {
    let data = tempfile::tempdir().unwrap();
    let Some(server) = Server::mongodb(data.path(), None) else { return };
    let messages = messages(document_count());
    let start = Instant::now();
    fill(&server.url, messages.iter().map(|message| document(message.id.as_str(), message))).await;
    println!("filled in {:?}", start.elapsed());
    let expected = expected(&messages);
    let total = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&total);
    let all = source(&server.url).on_total(move |total| seen.store(total, Ordering::Relaxed));
    for is_grouped in [false, true] {
        let start = Instant::now();
        assert!(import(&all, is_grouped).await.unwrap() == expected);
        println!(
            "grouped {is_grouped}: {:.0} documents/s",
            document_count() as f64 / start.elapsed().as_secs_f64()
        );
    }
    assert_eq!(total.load(Ordering::Relaxed), document_count());
    let some = source(&server.url).filter(r#"{"number":{"$lt":{"$numberLong":"5000"}}}"#).unwrap();
    assert!(import(&some, false).await.unwrap() == documents::expected(&messages[..5_000]));
}

/// Ids of several types, and their places in the order of BSON.
fn mixed_id(message: &Message) -> (Bson, (u8, String)) {
    let Message { id, number, .. } = message;
    let hex = format!("{id}00");
    match number % 6 {
        0 => (Bson::Int64(*number as i64), (0, format!("{number:012}"))),
        1 => (Bson::Double(*number as f64 + 0.5), (0, format!("{number:012}"))),
        2 => (Bson::String(id.clone()), (1, id.clone())),
        3 => (bson::oid::ObjectId::parse_str(&hex).unwrap().into(), (3, hex)),
        4 => (bson::DateTime::from_millis(*number as i64).into(), (5, format!("{number:012}"))),
        _ => (doc! { "part": *number as i64 }.into(), (2, format!("{number:012}"))),
    }
}

/// Forwards to the server, and spoils every `nth` request for more documents: the cursor is not found, or the
/// connection is closed.
async fn proxy(upstream: &str, nth: usize) -> (String, Arc<AtomicUsize>) {
    let upstream = upstream.replace("mongodb://", "");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("mongodb://{}", listener.local_addr().unwrap());
    let spoilt = Arc::new(AtomicUsize::new(0));
    let (count, requests) = (Arc::clone(&spoilt), Arc::new(AtomicUsize::new(0)));
    tokio::spawn(async move {
        loop {
            let (client, _) = listener.accept().await.unwrap();
            let server = TcpStream::connect(&upstream).await.unwrap();
            let (count, requests) = (Arc::clone(&count), Arc::clone(&requests));
            tokio::spawn(async move {
                let (mut from_client, mut to_client) = client.into_split();
                let (mut from_server, mut to_server) = server.into_split();
                let answers =
                    tokio::spawn(async move { tokio::io::copy(&mut from_server, &mut to_client).await });
                while let Some(mut message) = read_message(&mut from_client).await {
                    let more = b"\x12getMore\0";
                    if let Some(at) = message.windows(more.len()).position(|window| window == more) {
                        let request = requests.fetch_add(1, Ordering::Relaxed) + 1;
                        if request % nth == 0 {
                            count.fetch_add(1, Ordering::Relaxed);
                            if (request / nth).is_multiple_of(2) {
                                break;
                            }
                            // Another cursor.
                            message[at + more.len()] ^= 0x55;
                            message[at + more.len() + 5] ^= 0x55;
                        }
                    }
                    if to_server.write_all(&message).await.is_err() {
                        break;
                    }
                }
                answers.abort();
            });
        }
    });
    (url, spoilt)
}

async fn read_message(stream: &mut (impl AsyncReadExt + Unpin)) -> Option<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).await.ok()?;
    let mut message = vec![0; u32::from_le_bytes(length) as usize];
    message[..4].copy_from_slice(&length);
    stream.read_exact(&mut message[4..]).await.ok()?;
    Some(message)
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_cursors_and_connections_are_replaced() {
    let data = tempfile::tempdir().unwrap();
    let Some(server) = Server::mongodb(data.path(), None) else { return };
    let messages = messages(6_000);
    fill(&server.url, messages.iter().map(|message| document(mixed_id(message).0, message))).await;
    let expected = expected_by(&messages, |message| mixed_id(message).1);
    for is_grouped in [false, true] {
        let (url, spoilt) = proxy(&server.url, 6).await;
        // The server calls itself by its own address.
        let url = format!("{url}/support?directConnection=true");
        let source = MongoSource::new(&url).unwrap().collection("messages").batch_size(100);
        assert!(import(&source, is_grouped).await.unwrap() == expected, "grouped {is_grouped}");
        let spoilt = spoilt.load(Ordering::Relaxed);
        println!("grouped {is_grouped}: {spoilt} cursors lost");
        assert!(spoilt >= 8, "only {spoilt} cursors were lost");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_starts_again_is_read_on() {
    let data = tempfile::tempdir().unwrap();
    let Some(mut server) = Server::mongodb(data.path(), None) else { return };
    let messages = messages(5_000);
    fill(&server.url, messages.iter().map(|message| document(message.id.as_str(), message))).await;
    let url = server.url.clone();
    let port = url.rsplit_once(':').unwrap().1.parse().unwrap();
    let source = source(&url).batch_size(10);
    let importing = tokio::spawn(async move { import(&source, false).await });
    tokio::time::sleep(Duration::from_millis(400)).await;
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    let was_early = !importing.is_finished();
    let _again = Server::mongodb(data.path(), Some(port));
    assert!(importing.await.unwrap().unwrap() == expected(&messages));
    assert!(was_early, "the import ended before the server did");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_is_killed_goes_on() {
    let data = tempfile::tempdir().unwrap();
    let Some(server) = Server::mongodb(data.path(), None) else { return };
    let messages = messages(360);
    fill(&server.url, messages.iter().map(|message| document(mixed_id(message).0, message))).await;
    let expected = expected_by(&messages, |message| mixed_id(message).1);
    let program = &example("import_mongodb");
    let url = &format!("mongodb://{}/support?directConnection=true", slow(&server.url));
    let folder = tempfile::tempdir().unwrap();
    let mapping_file = folder.path().join("mapping.toml");
    std::fs::write(&mapping_file, toml::to_string(&mapping()).unwrap()).unwrap();
    let outputs = killed(|import, output, checkpoint| {
        let mut command = Command::new(program);
        command.args([url, "messages"]).arg(&mapping_file).args([output, checkpoint]);
        command.arg("2").args((import % 3 == 2).then_some("grouped")).stderr(Stdio::null());
        command
    });
    assert!(outputs.iter().all(|output| *output == expected));
}

#[tokio::test]
async fn values_are_what_they_mean() {
    let data = tempfile::tempdir().unwrap();
    let Some(server) = Server::mongodb(data.path(), None) else { return };
    let id = bson::oid::ObjectId::parse_str("65c76ef01234567890abcdef").unwrap();
    let time = bson::DateTime::from_millis(1_707_568_496_250);
    let uuid = bson::Uuid::parse_str("6ba7b810-9dad-11d1-80b4-00c04fd430c8").unwrap();
    let decimal: bson::Decimal128 = "12.50".parse().unwrap();
    let values = doc! {
        "int": 7, "long": 1_i64 << 53, "double": 0.1, "whole": 42.0, "nan": f64::NAN, "true": true, "null": null,
        "id": id, "time": time, "uuid": uuid, "decimal": decimal, "text": "a\"\u{2028}b",
        "bytes": bson::Binary { subtype: bson::spec::BinarySubtype::Generic, bytes: vec![1, 2] },
        "timestamp": bson::Timestamp { time: 5, increment: 6 },
    };
    let mut document = doc! {
        "_id": id, "thread": id, "user": { "name": uuid }, "sent_at": time, "role": "user",
        "text": [{ "type": "text", "text": "Hi" }, "there"], "all": values.clone(), "list": [1, [id], { "a": time }],
        "deep": { "er": [{ "id": id }] },
    };
    document.extend(values.clone().into_iter().map(|(name, value)| (format!("{name}_"), value)));
    fill(&server.url, [document].into_iter()).await;
    let names = ["all", "list", "missing", "/deep/er/0/id", "/deep/er/00/id"].map(str::to_owned);
    let columns = names.into_iter().chain(values.keys().map(|name| format!("{name}_")));
    let columns: BTreeMap<_, _> =
        columns.filter(|name| name != "text_").map(|name| (name.clone(), name)).collect();
    let mapping = Mapping { metadata: columns, ..mapping() };
    let mut output = Vec::new();
    let mut importer = Importer::new(&mapping, Output::writer(&mut output)).unwrap();
    source(&server.url).read(&mut importer).await.unwrap();
    let report = importer.finish().unwrap();
    assert!(report.is_valid, "{:?}", report.errors);
    let line: serde_json::Value = serde_json::from_slice(&output).unwrap();
    assert_eq!(line["conversation_id"], "65c76ef01234567890abcdef");
    assert_eq!(line["user_id"], "6ba7b810-9dad-11d1-80b4-00c04fd430c8");
    assert_eq!(line["timestamp"], "2024-02-10T12:34:56.25Z");
    assert_eq!(line["messages"][0]["content"], "Hi\nthere");
    let all = r#"{"int":7,"long":9007199254740992,"double":0.1,"whole":42,"nan":"NaN","true":true,"null":null,
        "id":"65c76ef01234567890abcdef","time":"2024-02-10T12:34:56.25Z","uuid":"6ba7b810-9dad-11d1-80b4-00c04fd430c8",
        "decimal":"12.50","text":"a\"\u2028b","bytes":{"$binary":{"base64":"AQI=","subType":"00"}},
        "timestamp":{"$timestamp":{"t":5,"i":6}}}"#;
    let all: serde_json::Value = serde_json::from_str(all).unwrap();
    let metadata = &line["metadata"];
    assert_eq!(metadata["all"], all);
    for (name, value) in all.as_object().unwrap() {
        if name != "null" && name != "text" {
            assert_eq!(metadata[format!("{name}_")], *value, "{name}");
        }
    }
    let list = r#"[1,["65c76ef01234567890abcdef"],{"a":"2024-02-10T12:34:56.25Z"}]"#;
    assert_eq!(metadata["list"], serde_json::from_str::<serde_json::Value>(list).unwrap());
    assert_eq!(metadata["/deep/er/0/id"], "65c76ef01234567890abcdef");
    assert_eq!((metadata.get("missing"), metadata.get("/deep/er/00/id")), (None, None));
}

#[tokio::test]
async fn errors_do_not_have_the_password() {
    for url in [
        "mongodb://reader:hunter2@127.0.0.1:9/support?serverSelectionTimeoutMS=200",
        "mongodb://reader:hunter2@127.0.0.1:9/support?serverSelectionTimeoutMS=200&tls=true&tlsCertificateKeyFile=/no&tlsCertificateKeyFilePassword=hunter2",
        "mongodb://reader:hunter2@127.0.0.1:9/support?nonsense=1&serverSelectionTimeoutMS=x",
        "mongodb://reader:%hunter2@127.0.0.1:9/support?serverSelectionTimeoutMS=200",
        "mongodb+srv://reader:hunter2@nothing.invalid/support?serverSelectionTimeoutMS=200",
    ] {
        let source = MongoSource::new(url).unwrap().collection("messages").retries(0);
        let error = import(&source, false).await.unwrap_err();
        let shown = format!("{error} {error:?} {source:?} {}", source.name());
        assert!(!shown.contains("hunter2"), "{shown}");
        assert_eq!(error.kind(), ErrorKind::Source);
    }
    for bad in [
        "",
        "hunter2",
        "http://me:hunter2@h/d",
        "mongodb://me:hunter2@",
        "mongodb://me:hun/ter2@h/d",
        "mongodb://me:hun?ter2@h/d",
        "mongodb://me:hun@ter2@h/d",
    ] {
        let error = MongoSource::new(bad).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mapping);
        assert!(!format!("{error} {error:?}").contains("ter2"), "{bad}: {error}");
    }
    let source = MongoSource::new("mongodb://reader:hunter2@h").unwrap();
    let error = import(&source, false).await.unwrap_err();
    assert_eq!(error.to_string(), "the source mongodb://h/. has no database");
}

#[tokio::test]
async fn an_interrupt_ends_the_wait_for_a_server() {
    let (mut output, interrupt) = (Vec::new(), documents::interrupt_soon());
    let importer = Importer::new(&mapping(), Output::writer(&mut output)).unwrap();
    let mut importer = importer.interrupted_by(interrupt);
    let start = Instant::now();
    let error = source("mongodb://127.0.0.1:1").read(&mut importer).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}
