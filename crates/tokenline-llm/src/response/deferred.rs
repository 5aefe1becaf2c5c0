//! Deltas kept until the events before them are taken.

use tokenline_core::adapter::{PartialArgument, PartialValue};

use tokenline_core::CallDelta;

use crate::Delta;

/// A delta to be processed later.
pub(super) struct Deferred {
    held: Held,
    lossy: bool,
    /// The length of the text already read.
    read: usize,
    /// The length of the text that is announced already.
    begun: usize,
}

/// Bytes of text read at a time: bounds the records per step.
pub(super) const SLICE: usize = 8 * 1024;

/// A [`Delta`] with owned texts.
enum Held {
    /// A delta that borrows nothing.
    Owned(Delta<'static>),
    Text {
        choice: u64,
        block: u64,
        text: String,
    },
    Whole {
        choice: u64,
        block: u64,
        part: u64,
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
            Delta::Start { choice } => Held::Owned(Delta::Start { choice }),
            Delta::Text { choice, block, text } => Held::Text { choice, block, text: text.to_owned() },
            Delta::WholeText { choice, block, part, text } => {
                Held::Whole { choice, block, part, text: text.to_owned() }
            }
            Delta::TextPart { choice, block, part } => Held::Owned(Delta::TextPart { choice, block, part }),
            Delta::BlockStart { choice, block } => Held::Owned(Delta::BlockStart { choice, block }),
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
            Delta::Opaque { choice, target, data } => {
                Held::Owned(Delta::Opaque { choice, target, data: data.into_owned().into() })
            }
            Delta::LoneSurrogates(lone) => Held::Owned(Delta::LoneSurrogates(lone)),
            Delta::BlockStop { choice, block, completion } => {
                Held::Owned(Delta::BlockStop { choice, block, completion })
            }
            Delta::Finish { choice, reason } => Held::Owned(Delta::Finish { choice, reason }),
            Delta::Restart => Held::Owned(Delta::Restart),
            Delta::Usage(usage) => Held::Owned(Delta::Usage(usage)),
            Delta::Error { message, code } => {
                let code = code.map(|code| code.into_owned().into());
                Held::Owned(Delta::Error { message: message.into_owned().into(), code })
            }
            Delta::Terminator => Held::Owned(Delta::Terminator),
            Delta::Unknown { parent, name } => {
                Held::Owned(Delta::Unknown { parent, name: name.into_owned().into() })
            }
            Delta::Unreadable { parent, name, kind } => {
                Held::Owned(Delta::Unreadable { parent, name: name.into_owned().into(), kind })
            }
        };
        Self { held, lossy, read: 0, begun: 0 }
    }

    /// The rest of a text whose beginning was read.
    pub(super) fn rest(choice: u64, block: u64, text: &str, lossy: bool) -> Self {
        let held = Held::Text { choice, block, text: text.to_owned() };
        Self { held, lossy, read: 0, begun: text.len() }
    }

    /// Whether the next text is announced already.
    pub(super) fn is_begun(&self) -> bool {
        self.read < self.begun
    }

    /// Puts back a text of this length, which was [next](Self::next), and is announced now.
    pub(super) fn put_back(&mut self, len: usize) {
        self.begun = self.read;
        self.read -= len;
    }

    pub(super) fn is_lossy(&self) -> bool {
        self.lossy
    }

    /// The delta; of a long text, the next slice.
    pub(super) fn next(&mut self) -> Delta<'_> {
        match &self.held {
            Held::Owned(delta) => delta.clone(),
            Held::Text { choice, block, text } => {
                let start = self.read;
                let end = (start + SLICE).min(text.len());
                let is_boundary = |at: &usize| text.is_char_boundary(*at);
                self.read = (end..=text.len()).find(is_boundary).unwrap_or(text.len());
                Delta::Text { choice: *choice, block: *block, text: &text[start..self.read] }
            }
            Held::Whole { choice, block, part, text } => {
                Delta::WholeText { choice: *choice, block: *block, part: *part, text }
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

    /// Whether some of its text is unread.
    pub(super) fn has_more(&self) -> bool {
        matches!(&self.held, Held::Text { text, .. } if self.read < text.len())
    }
}
