//! The servers and clients that are not the page: other names of this machine, heads that never end.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A server that ends with the test.
struct Server(Child, String);

impl Server {
    fn start(args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tokenline"))
            .args(args)
            .args(["--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let mut url = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut url).expect("a URL");
        Self(child, url.trim_end().strip_prefix("http://").expect("a URL").to_owned())
    }

    /// Sends a text, and returns what the server answers until it closes the connection.
    fn exchange(&self, text: &str) -> String {
        let mut socket = TcpStream::connect(&self.1).expect("a connection");
        socket.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
        socket.write_all(text.as_bytes()).expect("sent");
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).expect("it closes the connection");
        String::from_utf8_lossy(&answer).into_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn other_names_are_refused() {
    for (args, request) in [
        (&["serve", "--host-name", "page.example"][..], "GET / HTTP/1.1\r\n"),
        (&["replay", "--host-name", "page.example"], "POST /nowhere HTTP/1.1\r\n"),
    ] {
        let server = Server::start(args);
        let status = |host: &str| {
            let answer = server.exchange(&format!("{request}Host: {host}\r\nConnection: close\r\n\r\n"));
            answer.split(' ').nth(1).expect("a status").to_owned()
        };
        for host in ["127.0.0.1", "[::1]:8000", "localhost:1", "page.example"] {
            assert_ne!(status(host), "403", "{args:?} {host}");
        }
        for host in
            ["[::1].evil.com", "evil.com", "127.0.0.1.evil.com", "[::1]:80.evil.com", "localhost@evil.com"]
        {
            assert_eq!(status(host), "403", "{args:?} {host}");
        }
    }
}

/// Part of a test that waits as long.
pub(crate) fn a_head_that_does_not_end_is_not_waited_for() {
    let server = Server::start(&["serve"]);
    let started = Instant::now();
    let answer = server.exchange("GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ");
    assert!(!answer.contains(" 200 "), "{answer}");
    assert!((8..25).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
}
