//! `<tool_call>{"name":"weather","arguments":{"city":"Paris"}}</tool_call>`

use super::json_calls::{JsonCalls, Tags};
use super::scan::{Literal, literal};
use super::{CallReader, CallStep, Opener, ToolCallFormat};
use crate::Limits;

/// The tags of Hermes 2 Pro and 3, and of Qwen 2.5 and 3: each holds one JSON object with `arguments`.
///
/// Several objects in one pair of tags are accepted. If the closing tag is missing, as with servers that use
/// it as a stop sequence, the call is not confirmed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hermes;

const TAGS: Tags = Tags { open: "<tool_call>", close: Some("</tool_call>") };

impl ToolCallFormat for Hermes {
    fn name(&self) -> &str {
        "hermes"
    }

    fn openers(&self) -> Vec<Opener> {
        vec![TAGS.open.into()]
    }

    fn start(&self, limits: &Limits) -> Box<dyn CallReader> {
        Box::new(Reader { calls: JsonCalls::new(TAGS.open.len(), TAGS, limits), is_open: false })
    }
}

#[derive(Debug)]
struct Reader {
    calls: JsonCalls,
    /// Whether the opening tag has been read.
    is_open: bool,
}

impl CallReader for Reader {
    fn read(&mut self, text: &str, is_end: bool) -> CallStep {
        if !self.is_open {
            match literal(text, 0, &[TAGS.open]) {
                Literal::Found(_) => self.is_open = true,
                Literal::NeedMore if !is_end => return CallStep::NeedMore,
                _ => return CallStep::NotACall,
            }
        }
        self.calls.read(text, is_end)
    }
}
