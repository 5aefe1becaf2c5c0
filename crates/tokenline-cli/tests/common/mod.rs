//! Runs the program as a user does.
#![allow(dead_code, reason = "each test binary uses some of this")]

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    pub(crate) fn lines(&self) -> Vec<&str> {
        self.out.lines().collect()
    }
}

pub(crate) fn tokenline(args: &[&str], input: impl AsRef<[u8]>) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tokenline"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // With bad arguments the program does not read its input.
    let _ = child.stdin.take().expect("piped").write_all(input.as_ref());
    let output = child.wait_with_output().expect("the program ends");
    Run {
        code: output.status.code().expect("no signal"),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

pub(crate) fn file(folder: &tempfile::TempDir, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, content).expect("writable");
    path.to_str().expect("UTF-8").to_owned()
}

pub(crate) fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tokenline-llm/fixtures/openai-chat").join(name);
    path.to_str().expect("UTF-8").to_owned()
}

/// A streamed Ollama response with its text in one event, and this finish reason.
pub(crate) fn ollama_body(text: &str, reason: &str) -> String {
    let content = serde_json::Value::from(text);
    format!(
        "{{\"message\":{{\"content\":{content}}},\"done\":false}}\n{{\"message\":{{\"content\":\"\"}},\"done\":true,\"done_reason\":\"{reason}\"}}\n"
    )
}
