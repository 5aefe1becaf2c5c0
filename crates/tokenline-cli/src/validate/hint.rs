//! The hint about a file that is one JSON document instead of JSON Lines.

use tokenline::Code;
use tokenline::conversations::{ErrorCode, InvalidLine};

/// How the commands read other documents.
#[derive(Clone, Copy)]
pub(super) enum Documents {
    /// With `--items`.
    Items,
    /// Not at all.
    Unsupported,
}

/// The hint that the first invalid line gives.
pub(super) struct DocumentHint {
    documents: Documents,
    has_seen: bool,
    hint: Option<String>,
}

impl DocumentHint {
    pub(super) fn new(documents: Documents) -> Self {
        Self { documents, has_seen: false, hint: None }
    }

    /// Looks at an invalid line.
    pub(super) fn see(&mut self, invalid: InvalidLine<'_>) {
        if !self.has_seen {
            self.has_seen = true;
            self.hint = Opening::of(invalid).map(|opening| {
                format!("line {}: {}", invalid.error.line_number, opening.hint(self.documents))
            });
        }
    }

    /// The hint, if the file is one document.
    pub(super) fn text(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

/// The beginning of a document.
enum Opening {
    Array,
    Object,
}

impl Opening {
    /// The beginning of a document, if the line is an array, or its value goes on in the next line.
    fn of(invalid: InvalidLine<'_>) -> Option<Self> {
        let InvalidLine { error, line, .. } = invalid;
        let goes_on = error.code == ErrorCode::Record(Code::MalformedJson)
            && error.column > line.trim_ascii_end().len() as u64;
        // A line that a crash cut off rarely ends like this.
        let is_laid_out = matches!(line.trim_ascii_end().last()?, b'{' | b'[' | b',');
        match line.trim_ascii_start().first()? {
            b'[' if goes_on || error.code == ErrorCode::Record(Code::NotAnObject) => Some(Self::Array),
            b'{' if goes_on && is_laid_out => Some(Self::Object),
            _ => None,
        }
    }

    fn hint(&self, documents: Documents) -> &'static str {
        match (self, documents) {
            (Self::Array, Documents::Items) => {
                "an array begins; if the file is one array of records, use --items ''"
            }
            (Self::Array, Documents::Unsupported) => {
                "an array begins; write its elements as lines, such as with jq -c '.[]' FILE"
            }
            (Self::Object, Documents::Items) => {
                "an object goes on in the next line; write each record on one line, such as with jq -c . FILE, or name \
                 the array of the records with --items"
            }
            (Self::Object, Documents::Unsupported) => {
                "an object goes on in the next line; write each conversation on one line, such as with jq -c . FILE"
            }
        }
    }
}
