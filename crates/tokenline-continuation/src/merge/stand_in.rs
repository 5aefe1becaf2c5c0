//! Whether a fragment continues a document, as the grammar has it.

use tokenline_core::json::{Cut, Expected, Kind, OpenToken};

use crate::document::{Document, Status};
use crate::text::trim_start;
use crate::tokens::string_end;

/// A short text after which the parser is in the state in which it is after the document. So a seam is tried at the cost
/// of the fragment, by the parser itself.
pub(super) struct StandIn(Document);

impl StandIn {
    pub(super) fn new(document: &Document, cut: Cut) -> Self {
        let mut stand_in = Document::of(&path(document, cut));
        stand_in.commit();
        Self(stand_in)
    }

    /// So many bytes are JSON behind the document. The end of a fence may follow them, and if the document is whole then,
    /// prose. `None` if it is not JSON there.
    pub(super) fn read(&self, new: &str) -> Option<usize> {
        let mut document = self.0.clone();
        document.push(new);
        let len = document.text().len().saturating_sub(self.0.text().len());
        let rest = trim_start(&new[len..]);
        let is_json = match document.status() {
            Status::Open => true,
            // What follows a whole value may show that it is part of another one.
            Status::Complete => !rest.starts_with([',', ':', ']', '}', '{', '[']),
            Status::Empty | Status::Malformed(_) => false,
        };
        is_json.then_some(len)
    }
}

/// The open containers and the open token.
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
        let is_behind = matches!(cut.expected, Expected::CommaOrBrace | Expected::CommaOrBracket);
        if !is_first {
            path += if is_object { "\"\":\"\"" } else { "\"\"" };
            path += if is_behind && cut.token.is_none() { "" } else { "," };
        }
        let in_name = matches!(cut.token, Some(OpenToken::Name { .. }));
        if is_object && !in_name && cut.member < text.len() {
            path += &text[cut.member..string_end(text.as_bytes(), cut.member + 1)];
            path += if cut.expected == Expected::Colon { "" } else { ":" };
        }
    }
    match cut.token {
        // What is whole of a string is left out: it may be long, and goes on in any way.
        Some(OpenToken::String { whole, .. }) => path = path + "\"" + &text[whole..],
        Some(token) => path += &text[token.start()..],
        None => {}
    }
    path
}
