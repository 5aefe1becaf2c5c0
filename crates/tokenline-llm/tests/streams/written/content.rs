//! The content of a response, to compare.

use std::collections::BTreeMap;

use serde_json::Value;
use tokenline_core::json::Raw;
use tokenline_core::{Options, Severity};
use tokenline_llm::request::Message;
use tokenline_llm::{
    DataLoss, FinishReason, Provider, ResponseEvent, ResponseOptions, ResponseParser, TextMode, Usage,
};

/// The content of a response, as its events have it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Content {
    pub(super) choices: BTreeMap<u64, Choice>,
    pub(super) usage: Option<Usage>,
    pub(super) failure: Option<String>,
    /// A call that had begun was rejected, is text, or has other arguments at its end.
    pub(super) is_taken_back: bool,
    /// The arguments so far of each call that grows.
    pub(super) growing: BTreeMap<(u64, u64), String>,
    pub(super) is_complete: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Choice {
    /// The kind of each part, and its text.
    pub(super) parts: Vec<(&'static str, String)>,
    pub(super) calls: Vec<(String, Value)>,
    pub(super) ids: Vec<Option<String>>,
    pub(super) rejected: usize,
    pub(super) reason: Option<FinishReason>,
}

impl Choice {
    pub(super) fn text(&mut self, kind: &'static str, is_new: bool, text: &str) {
        match self.parts.last_mut() {
            Some((last, all)) if *last == kind && !is_new => all.push_str(text),
            _ => self.parts.push((kind, text.to_owned())),
        }
    }

    /// The text of a kind.
    pub(super) fn joined(&self, kind: &str, keeps_white_space: bool) -> String {
        let parts = self
            .parts
            .iter()
            .filter(|(of, text)| *of == kind && (keeps_white_space || !text.trim_start().is_empty()));
        parts.map(|(_, text)| text.as_str()).collect()
    }
}

/// Reads a response in pieces: each event goes to `also`.
pub(super) fn read<'a>(
    mut parser: ResponseParser<Raw>,
    pieces: impl IntoIterator<Item = &'a [u8]>,
    mut also: impl FnMut(&ResponseEvent<Raw>),
) -> (Content, Option<Message>) {
    let mut content = Content::default();
    let mut latest = (0, 0);
    let mut take = |parser: &mut ResponseParser<Raw>| {
        while let Some(event) = parser.next_event() {
            also(&event);
            content.add(&event, &mut latest);
        }
    };
    for piece in pieces {
        parser.push(piece);
        take(&mut parser);
    }
    parser.finish();
    take(&mut parser);
    content.is_complete = parser.is_complete();
    (content, parser.message(0))
}

impl Content {
    fn add(&mut self, event: &ResponseEvent<Raw>, latest: &mut (u64, u64)) {
        match event {
            ResponseEvent::Text { choice, block, text } => {
                let is_new = std::mem::replace(latest, (*choice, *block)) != (*choice, *block);
                self.choices.entry(*choice).or_default().text("text", is_new, text);
            }
            ResponseEvent::Reasoning { choice, text, .. } if !text.is_empty() => {
                self.choices.entry(*choice).or_default().text("reasoning", false, text);
            }
            ResponseEvent::Refusal { choice, text } => {
                self.choices.entry(*choice).or_default().text("refusal", false, text);
            }
            ResponseEvent::ToolCallBegan { choice, number, .. } => {
                self.growing.insert((*choice, *number), String::new());
            }
            ResponseEvent::ToolCallArguments { choice, number, text } => {
                self.growing.entry((*choice, *number)).or_default().push_str(text);
            }
            ResponseEvent::ToolCallDiscarded { choice, number } => {
                self.is_taken_back |= self.growing.remove(&(*choice, *number)).is_some();
            }
            ResponseEvent::ToolCall { choice, number, call, .. } => {
                let sent = number.and_then(|number| self.growing.remove(&(*choice, number)));
                let arguments = call.parameters.to_single_line();
                self.is_taken_back |= sent.is_some_and(|sent| {
                    let is_same =
                        Raw::new(&sent).is_ok_and(|sent| sent.to_compact() == call.parameters.to_compact());
                    !arguments.starts_with(&sent) && !is_same
                });
                let choice = self.choices.entry(*choice).or_default();
                // Text after a call is another part.
                choice.parts.push(("call", String::new()));
                let arguments = call.parameters.to_value().expect("JSON in the range of f64");
                choice.calls.push((call.name.clone(), arguments));
                choice.ids.push(call.call_id.clone().filter(|_| !call.is_synthetic_id));
            }
            ResponseEvent::RejectedCall { choice, number, .. } => {
                let sent = number.and_then(|number| self.growing.remove(&(*choice, number)));
                self.is_taken_back |= sent.is_some();
                self.choices.entry(*choice).or_default().rejected += 1;
            }
            ResponseEvent::Finish { choice, reason } => {
                self.choices.entry(*choice).or_default().reason = Some(reason.clone());
            }
            ResponseEvent::Usage(usage) => self.usage = Some(*usage),
            ResponseEvent::Rejected { diagnostic, .. } if DataLoss::is_failure(diagnostic) => {
                self.failure.get_or_insert_with(|| diagnostic.message.clone());
            }
            ResponseEvent::Rejected { diagnostic, .. } => {
                assert!(diagnostic.severity() >= Severity::Warning, "{diagnostic}");
            }
            _ => {}
        }
    }

    pub(super) fn first(&self) -> Choice {
        self.choices.get(&0).cloned().unwrap_or_default()
    }
}

pub(super) fn parser(provider: Provider, text_as: TextMode, is_growing: bool) -> ResponseParser<Raw> {
    let options = ResponseOptions::from(Options::lenient()).text_as(text_as).text_and_reasoning();
    let options = options.keep_message();
    ResponseParser::new(provider, if is_growing { options.call_updates() } else { options })
}
