//! Helpers of the tests of the examples.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpStream;

/// Reads the body of a request.
pub(crate) fn read_request(socket: &TcpStream) -> String {
    let mut socket = BufReader::new(socket);
    let (mut length, mut line) = (0, String::new());
    while line != "\r\n" {
        line.clear();
        socket.read_line(&mut line).expect("a head");
        if let Some(number) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
            length = number.trim().parse().expect("a number");
        }
    }
    let mut body = vec![0; length];
    socket.read_exact(&mut body).expect("a body");
    String::from_utf8(body).expect("UTF-8")
}
