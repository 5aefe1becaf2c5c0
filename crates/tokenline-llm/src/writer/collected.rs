//! A whole response, for a body that is not streamed.

use tokenline_core::json::Raw;

use super::{PartKind, Step};
use crate::{FinishReason, Usage};

/// Collects the steps of a response.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    pub(crate) choices: Vec<CollectedChoice>,
    pub(crate) usage: Option<Usage>,
}

/// A choice in all.
#[derive(Debug, Default)]
pub(crate) struct CollectedChoice {
    pub(crate) index: u64,
    pub(crate) parts: Vec<CollectedPart>,
    pub(crate) reason: Option<FinishReason>,
}

/// A part in all, in the order of the parts.
#[derive(Debug)]
pub(crate) enum CollectedPart {
    Text { kind: PartKind, text: String, opaque: Option<Raw> },
    Opaque(Raw),
    Call { id: String, name: String, arguments: Raw },
}

impl Collector {
    pub(crate) fn write(&mut self, choice: u64, step: Step<'_>) {
        if let Step::End(usage) = step {
            self.usage = usage.copied();
            return;
        }
        let at = match self.choices.iter().position(|known| known.index == choice) {
            Some(at) => at,
            None => {
                self.choices.push(CollectedChoice { index: choice, ..CollectedChoice::default() });
                self.choices.len() - 1
            }
        };
        let CollectedChoice { parts, reason, .. } = &mut self.choices[at];
        match step {
            Step::PartStart(kind) => {
                parts.push(CollectedPart::Text { kind, text: String::new(), opaque: None });
            }
            Step::PartDelta(_, more) => {
                if let Some(CollectedPart::Text { text, .. }) = parts.last_mut() {
                    text.push_str(more);
                }
            }
            Step::Opaque(data) => match parts.last_mut() {
                Some(CollectedPart::Text { kind: PartKind::Reasoning, opaque: opaque @ None, .. }) => {
                    *opaque = Some(data.clone());
                }
                _ => parts.push(CollectedPart::Opaque(data.clone())),
            },
            Step::Record(record) => {
                let (kind, text) = (PartKind::Text, format!("{}\n", record.to_single_line()));
                parts.push(CollectedPart::Text { kind, text, opaque: None });
            }
            Step::CallEnd { id, name, arguments, .. } => {
                let (id, name, arguments) = (id.to_owned(), name.to_owned(), arguments.clone());
                parts.push(CollectedPart::Call { id, name, arguments });
            }
            Step::Finish(finish) => *reason = Some(finish.clone()),
            _ => {}
        }
    }
}
