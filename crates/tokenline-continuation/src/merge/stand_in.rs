//! Checks with the parser whether a fragment continues a document.

use tokenline_core::json::{Cut, Expected, Kind, OpenToken};

use crate::document::{Document, Status};
use crate::text::trim_start;
use crate::tokens::string_end;

/// A short text that leads the parser to the same state as the document does. A join point is tried by parsing the fragment
/// after it, which costs no more than the fragment.
pub(super) struct StandIn(Document);

impl StandIn {
    pub(super) fn new(document: &Document, cut: Cut) -> Self {
        let mut stand_in = Document::of(&path(document, cut));
        stand_in.commit();
        Self(stand_in)
    }

    /// How many bytes of `new` continue the document. A closing fence may follow them, with prose after it; or prose alone
    /// if the document is then complete. `None` if the bytes do not continue it.
    pub(super) fn read(&self, new: &str) -> Option<usize> {
        let mut document = self.0.clone();
        document.push(new);
        let len = document.text().len().saturating_sub(self.0.text().len());
        let rest = trim_start(&new[len..]);
        let is_json = match document.status() {
            // After a fence that opens, the JSON goes on.
            Status::Open => !is_fence_before_json(rest),
            // A token that follows a complete value may show that the value is part of another one.
            Status::Complete => !rest.starts_with([',', ':', ']', '}', '{', '[']),
            Status::Empty | Status::Malformed(_) => false,
        };
        is_json.then_some(len)
    }
}

/// Whether a fence is followed by a line with JSON.
fn is_fence_before_json(text: &str) -> bool {
    let mut lines = text.lines().skip(1).filter(|line| !line.trim().is_empty());
    lines.next().is_some_and(|line| line.contains(['{', '}', '[', ']', '"']))
}

/// A text with the same open containers and the same open token.
fn path(document: &Document, cut: Cut) -> String {
    let text = document.text();
    let open = document.open_containers();
    let mut path = String::new();
    for container in &open {
        if let Some(name) = &container.name {
            path += &text[name.start - 1..=name.end];
            path.push(':');
        }
        path.push(if container.kind == Kind::Object { '{' } else { '[' });
    }
    if let Some(innermost) = open.last() {
        let is_object = innermost.kind == Kind::Object;
        let is_first = matches!(cut.expected, Expected::NameOrBrace | Expected::ValueOrBracket);
        let is_after = matches!(cut.expected, Expected::CommaOrBrace | Expected::CommaOrBracket);
        if !is_first {
            path += if is_object { "\"\":\"\"" } else { "\"\"" };
            path += if is_after && cut.token.is_none() { "" } else { "," };
        }
        let in_name = matches!(cut.token, Some(OpenToken::Name { .. }));
        if is_object && !in_name && cut.member < text.len() {
            path += &text[cut.member..string_end(text.as_bytes(), cut.member + 1)];
            path += if cut.expected == Expected::Colon { "" } else { ":" };
        }
    }
    match cut.token {
        // The complete part of a string is left out: it may be long, and does not change what may follow.
        Some(OpenToken::String { whole, .. }) => path = path + "\"" + &text[whole..],
        Some(token) => path += &text[token.start()..],
        None => {}
    }
    path
}
