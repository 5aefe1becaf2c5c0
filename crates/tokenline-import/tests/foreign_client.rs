//! HTTP clients of other crates in the same program. A program of its own: the clients come before anything of ours.

use std::time::Duration;

use rustls::crypto::CryptoProvider;
use tokenline_import::{Importer, Mapping, OpenSearchSource, Output, PostgresSource};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// A peer that reads once from each connection, answers this, reads what follows, and closes it. Returns its address,
/// and what it read second.
async fn peer(answer: &'static [u8]) -> (String, tokio::sync::mpsc::UnboundedReceiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut bytes = vec![0; 4096];
            let _ = socket.read(&mut bytes).await;
            let _ = socket.write_all(answer).await;
            let length = socket.read(&mut bytes).await.unwrap_or_default();
            bytes.truncate(length);
            let _ = sender.send(bytes);
        }
    });
    (address, receiver)
}

#[tokio::test]
async fn foreign_clients_work_and_the_process_gets_no_provider() {
    // Both ask for no feature, so that TLS is what our dependencies make of it.
    let new = reqwest_0_13::Client::new();
    let old = reqwest::Client::new();
    let (http, _requests) =
        peer(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok").await;
    let url = format!("http://{http}");
    assert_eq!(new.get(&url).send().await.unwrap().text().await.unwrap(), "ok");
    assert_eq!(old.get(&url).send().await.unwrap().text().await.unwrap(), "ok");

    // Both get as far as to use TLS: the second peer allows it, and then receives a handshake (22).
    let mapping: Mapping =
        toml::from_str("conversation-id = 'a'\nuser-id = 'b'\ntimestamp = 'e'\nrole = 'c'\ncontent = 'd'")
            .unwrap();
    let mut output = Vec::new();
    let mut importer = Importer::new(&mapping, Output::writer(&mut output)).unwrap();
    let (address, _handshakes) = peer(b"no TLS").await;
    let source = OpenSearchSource::new(&format!("https://{address}/messages")).unwrap().retries(0);
    let error = source.read(&mut importer).await.unwrap_err().to_string();
    assert!(error.contains("received corrupt message"), "{error}");
    let (address, mut handshakes) = peer(b"S").await;
    let url = format!("postgres://reader@{address}/test?sslmode=require");
    let source = PostgresSource::new(&url, "SELECT 1").unwrap().retry_for(Duration::ZERO);
    source.read(&mut importer).await.unwrap_err();
    assert_eq!(handshakes.recv().await.unwrap().first(), Some(&22));

    assert!(CryptoProvider::get_default().is_none(), "a provider was installed for the process");
    let (http, _requests) =
        peer(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok").await;
    let again = reqwest_0_13::get(format!("http://{http}")).await.unwrap();
    assert_eq!(again.text().await.unwrap(), "ok");
}
