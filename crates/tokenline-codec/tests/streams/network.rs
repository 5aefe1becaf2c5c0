//! Over real sockets: a reader that does not poll stops the writer, and dropping one closes the connection.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::Deserialize;
use tokenline_codec::JsonlStreamParser;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_util::io::ReaderStream;

const BUFFER: u32 = 32 * 1024;
const LINE: &[u8] = b"{\"n\":7,\"text\":\"0123456789012345678901234567890123456789012345\"}\n";
const LINES: usize = 500_000;
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Deserialize)]
struct Line {
    n: u64,
}

/// A server that writes `LINES` lines to each client, and the number of bytes written.
async fn server() -> (TcpStream, Arc<AtomicUsize>, JoinHandle<io::Result<()>>) {
    let listener = TcpSocket::new_v4().unwrap();
    listener.set_send_buffer_size(BUFFER).unwrap();
    listener.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let listener = listener.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let written = Arc::new(AtomicUsize::new(0));
    let count = written.clone();
    let task = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await?;
        let block = LINE.repeat(200);
        for _ in 0..LINES / 200 {
            let mut rest = &block[..];
            while !rest.is_empty() {
                let taken = socket.write(rest).await?;
                count.fetch_add(taken, Ordering::Relaxed);
                rest = &rest[taken..];
            }
        }
        socket.shutdown().await
    });
    let client = TcpSocket::new_v4().unwrap();
    client.set_recv_buffer_size(BUFFER).unwrap();
    (client.connect(address).await.unwrap(), written, task)
}

/// How much had been written when writing stopped.
async fn stalled_at(written: &AtomicUsize) -> usize {
    let mut last = usize::MAX;
    for _ in 0..200 {
        let now = written.load(Ordering::Relaxed);
        if now == last {
            return now;
        }
        last = now;
        sleep(Duration::from_millis(100)).await;
    }
    panic!("the writer never stalled");
}

#[tokio::test]
async fn a_reader_that_does_not_poll_stops_the_writer() {
    let (socket, written, server) = server().await;
    let mut values = JsonlStreamParser::<_, Line>::new(ReaderStream::new(socket)).values().infallible();
    let total = LINE.len() * LINES;
    let mut read = 0;
    let mut stalls = Vec::new();
    for pause in [1, 1000, 50_000] {
        while read < pause {
            read += 1;
            assert_eq!(values.next().await.map(|line| line.n), Some(7));
        }
        stalls.push(stalled_at(&written).await);
        let ahead = stalls.last().unwrap() - read * LINE.len();
        assert!(ahead < total / 8, "{ahead} of {total} bytes ahead of the reader");
    }
    assert!(stalls.is_sorted_by(|a, b| a <= b) && !server.is_finished(), "{stalls:?}");
    while values.next().await.is_some() {
        read += 1;
    }
    assert_eq!(read, LINES);
    assert!(values.error().is_none() && values.report().is_complete());
    timeout(PATIENCE, server).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let (socket, _, server) = server().await;
    let mut values = JsonlStreamParser::<_, Line>::new(ReaderStream::new(socket)).values();
    assert!(values.next().await.unwrap().is_ok());
    drop(values);
    let closed = timeout(PATIENCE, server).await.expect("the server sees the close").unwrap().unwrap_err();
    let kinds = [io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset, io::ErrorKind::ConnectionAborted];
    assert!(kinds.contains(&closed.kind()), "{closed}");
}

#[tokio::test]
async fn a_strict_stream_closes_the_connection_at_the_first_reject() {
    #[derive(Debug, Deserialize)]
    struct Other {
        #[serde(rename = "other")]
        _other: u64,
    }

    let (socket, _, server) = server().await;
    let mut values = JsonlStreamParser::<_, Other>::new(ReaderStream::new(socket)).strict();
    assert!(values.next().await.unwrap().is_err());
    timeout(PATIENCE, server).await.expect("the server sees the close").unwrap().unwrap_err();
    assert!(values.next().await.is_none());
}

#[tokio::test]
async fn the_last_record_closes_the_connection_though_the_stream_is_held() {
    let (socket, _, server) = server().await;
    let parser = JsonlStreamParser::<_, Line>::new(ReaderStream::new(socket)).with_max_records(3);
    let mut values = parser.values();
    for _ in 0..3 {
        assert!(values.next().await.unwrap().is_ok());
    }
    timeout(PATIENCE, server).await.expect("the server sees the close").unwrap().unwrap_err();
    assert!(values.next().await.is_none());
}

#[tokio::test]
async fn one_reject_too_many_closes_the_connection() {
    let (socket, _, server) = server().await;
    let mut values =
        JsonlStreamParser::<_, Vec<u8>>::new(ReaderStream::new(socket)).with_error_budget(3).values();
    let error = values.next().await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "the stream was ended: more than 3 rejected");
    timeout(PATIENCE, server).await.expect("the server sees the close").unwrap().unwrap_err();
    assert!(values.next().await.is_none());
}
