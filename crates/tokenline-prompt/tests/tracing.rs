//! Warnings as log events.

mod common;

use std::io;
use std::sync::{Arc, Mutex};

use common::manager;
use tracing_subscriber::fmt::MakeWriter;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[test]
fn rejects_are_logged_without_values() {
    let log = Log::default();
    let subscriber =
        tracing_subscriber::fmt().with_writer(log.clone()).without_time().with_ansi(false).finish();
    let response = "Sure:\n{\"entity\":[\"secret\"]}\n{\"entity\":\"secr";
    tracing::subscriber::with_default(subscriber, || manager().apply("extract", response)).unwrap();
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let prefix = " WARN tokenline_prompt::manager: ";
    assert_eq!(
        log.lines().map(|line| line.strip_prefix(prefix).unwrap()).collect::<Vec<_>>(),
        [
            "2:11: schema_violation: expected type string, found an array (at /entity) prompt=\"extract\"",
            "3:16: truncated: expected the rest of the string, found the end of the input prompt=\"extract\"",
            "the response contains no valid object prompt=\"extract\"",
        ]
    );
}
