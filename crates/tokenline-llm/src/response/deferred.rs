//! What an event of the wire came to, kept until it is its turn.

use tokenline_core::{CallDelta, PartialArgument, PartialValue};

use crate::Delta;

/// A delta that waits.
pub(super) struct Deferred {
    held: Held,
    lossy: bool,
    /// How much of its text was looked at.
    read: usize,
}

/// Bytes of a text that are looked at at a time: it holds a bounded number of records.
pub(super) const SLICE: usize = 8 * 1024;

/// As [`Delta`], with texts of its own.
enum Held {
    /// What borrows nothing.
    Plain(Delta<'static>),
    Text {
        choice: u64,
        block: u64,
        text: String,
    },
    Reasoning {
        choice: u64,
        text: String,
    },
    Refusal {
        choice: u64,
        text: String,
    },
    Call {
        choice: u64,
        header: CallDelta<'static>,
        id: Option<String>,
        name: Option<String>,
        arguments: String,
    },
    Argument {
        choice: u64,
        block: u64,
        path: String,
        value: String,
        is_text: bool,
        goes_on: bool,
    },
}

impl Deferred {
    pub(super) fn new(delta: Delta<'_>, lossy: bool) -> Self {
        let held = match delta {
            Delta::Start { choice } => Held::Plain(Delta::Start { choice }),
            Delta::Text { choice, block, text } => Held::Text { choice, block, text: text.to_owned() },
            Delta::Reasoning { choice, text } => Held::Reasoning { choice, text: text.to_owned() },
            Delta::Refusal { choice, text } => Held::Refusal { choice, text: text.to_owned() },
            Delta::ToolCall { choice, call } => Held::Call {
                choice,
                header: CallDelta { id: None, name: None, arguments: "", ..call },
                id: call.id.map(str::to_owned),
                name: call.name.map(str::to_owned),
                arguments: call.arguments.to_owned(),
            },
            Delta::PartialArgument { choice, block, part } => {
                let (value, is_text) = match part.value {
                    PartialValue::Text(text) => (text, true),
                    PartialValue::Literal(literal) => (literal, false),
                };
                let (path, value) = (part.path.to_owned(), value.to_owned());
                Held::Argument { choice, block, path, value, is_text, goes_on: part.has_more }
            }
            Delta::Opaque { choice, of, data } => {
                Held::Plain(Delta::Opaque { choice, of, data: data.into_owned().into() })
            }
            Delta::LoneSurrogates(lone) => Held::Plain(Delta::LoneSurrogates(lone)),
            Delta::BlockStop { choice, block, completion } => {
                Held::Plain(Delta::BlockStop { choice, block, completion })
            }
            Delta::Finish { choice, reason } => Held::Plain(Delta::Finish { choice, reason }),
            Delta::Restart => Held::Plain(Delta::Restart),
            Delta::Usage(usage) => Held::Plain(Delta::Usage(usage)),
            Delta::Error { message } => Held::Plain(Delta::Error { message: message.into_owned().into() }),
            Delta::Terminator => Held::Plain(Delta::Terminator),
            Delta::Unknown { parent, name } => {
                Held::Plain(Delta::Unknown { parent, name: name.into_owned().into() })
            }
        };
        Self { held, lossy, read: 0 }
    }

    pub(super) fn is_lossy(&self) -> bool {
        self.lossy
    }

    /// The delta, or of a long text the next slice.
    pub(super) fn next(&mut self) -> Delta<'_> {
        match &self.held {
            Held::Plain(delta) => delta.clone(),
            Held::Text { choice, block, text } => {
                let start = self.read;
                let end = (start + SLICE).min(text.len());
                let is_boundary = |at: &usize| text.is_char_boundary(*at);
                self.read = (end..=text.len()).find(is_boundary).unwrap_or(text.len());
                Delta::Text { choice: *choice, block: *block, text: &text[start..self.read] }
            }
            Held::Reasoning { choice, text } => Delta::Reasoning { choice: *choice, text },
            Held::Refusal { choice, text } => Delta::Refusal { choice: *choice, text },
            Held::Call { choice, header, id, name, arguments } => Delta::ToolCall {
                choice: *choice,
                call: CallDelta { id: id.as_deref(), name: name.as_deref(), arguments, ..*header },
            },
            Held::Argument { choice, block, path, value, is_text, goes_on } => {
                let value = if *is_text { PartialValue::Text(value) } else { PartialValue::Literal(value) };
                let part = PartialArgument { path, value, has_more: *goes_on };
                Delta::PartialArgument { choice: *choice, block: *block, part }
            }
        }
    }

    /// Whether a part of its text is left.
    pub(super) fn has_more(&self) -> bool {
        matches!(&self.held, Held::Text { text, .. } if self.read < text.len())
    }
}
