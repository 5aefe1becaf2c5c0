//! Parts of text: text, reasoning and refusals.

use super::ChunkWriter;
use crate::ai_sdk::UiChunk;

/// White space that a part may start with, in bytes. More of it starts the part.
const MAX_SPACE: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text { block: u64 },
    Reasoning,
    Refusal,
}

pub(super) struct OpenPart {
    kind: Kind,
    /// `None` until there is more than white space.
    id: Option<String>,
    space: String,
}

impl ChunkWriter {
    pub(super) fn text(&mut self, kind: Kind, text: &str) {
        self.open_step();
        if self.open.as_ref().is_none_or(|open| open.kind != kind) {
            self.close_part();
        }
        let open = self.open.get_or_insert_with(|| OpenPart { kind, id: None, space: String::new() });
        let is_reasoning = kind == Kind::Reasoning;
        let (id, delta) = match &open.id {
            Some(id) => (id.clone(), text.to_owned()),
            None => {
                open.space.push_str(text);
                if text.trim().is_empty() && open.space.len() < MAX_SPACE {
                    return;
                }
                self.parts += 1;
                let id = format!("{}-{}", if is_reasoning { "reasoning" } else { "text" }, self.parts);
                open.id = Some(id.clone());
                let text = std::mem::take(&mut open.space);
                let start = id.clone();
                self.send(if is_reasoning {
                    UiChunk::ReasoningStart { id: start }
                } else {
                    UiChunk::TextStart { id: start }
                });
                (id, text)
            }
        };
        self.send(if is_reasoning {
            UiChunk::ReasoningDelta { id, delta }
        } else {
            UiChunk::TextDelta { id, delta }
        });
    }

    pub(super) fn close_part(&mut self) {
        if let Some(OpenPart { kind, id: Some(id), .. }) = self.open.take() {
            self.send(match kind {
                Kind::Reasoning => UiChunk::ReasoningEnd { id },
                Kind::Text { .. } | Kind::Refusal => UiChunk::TextEnd { id },
            });
        }
    }
}
