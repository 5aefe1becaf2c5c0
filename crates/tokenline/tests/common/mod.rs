//! Shared test helpers.
#![allow(dead_code, reason = "each test uses some of this")]

use serde_json::json;

/// A streamed Ollama response: one line per piece of text, and one for the finish reason, if any.
pub(crate) fn as_ollama(pieces: impl IntoIterator<Item = String>, reason: Option<&str>) -> String {
    let mut body = String::new();
    let mut line = |content: String, reason: Option<&str>| {
        let mut line = json!({"model": "gemma3:270m", "created_at": "2026-11-21T17:00:00.143271446Z",
            "message": {"role": "assistant", "content": content}, "done": reason.is_some()});
        if let Some(reason) = reason {
            line["done_reason"] = reason.into();
        }
        body += &format!("{line}\n");
    };
    pieces.into_iter().for_each(|piece| line(piece, None));
    if reason.is_some() {
        line(String::new(), reason);
    }
    body
}

/// Splits a text into pieces of this number of characters.
pub(crate) fn pieces(text: &str, characters: usize) -> Vec<String> {
    text.chars().collect::<Vec<_>>().chunks(characters).map(String::from_iter).collect()
}
