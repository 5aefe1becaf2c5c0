//! Passes on the text that events leave, each byte of it once.

use super::judged::Role;
use super::{TextPart, TextReader};
use crate::adapter::Verdict;
use crate::feature::RepairFeature;
use crate::rejected_call::rejected_call;
use crate::{Reads, Span};

/// The kind of text before the current markup.
#[derive(Clone, Copy)]
pub(super) enum Preceding {
    Text,
    /// A record, or a reject that is not shown as text.
    Record,
    /// An object that is not a call, or a reject shown as text.
    TextLike,
}

impl TextReader {
    /// Gives the sink the text that an event concerns.
    pub(super) fn pass<T>(&mut self, role: Role, sink: &mut impl FnMut(u64, TextPart<'_, T>)) {
        match role {
            Role::None => {}
            Role::Asked(judged) => self.asked = RepairFeature::boxed(|| judged),
            Role::Markup(span) => {
                let span = self.cover(span);
                match self.before {
                    Preceding::TextLike => sink(0, TextPart::Text(self.decoder.text(span))),
                    Preceding::Text | Preceding::Record => self.markup.push_str(self.decoder.text(span)),
                }
            }
            Role::Text(span) => {
                let own = self.cover_event(span);
                sink(span.end, TextPart::Text(self.decoder.text(own)));
                self.follow(Preceding::Text);
            }
            Role::Reasoning(span) => {
                let own = self.cover_event(span);
                sink(span.end, TextPart::Reasoning(self.decoder.text(own)));
                self.follow(Preceding::Text);
            }
            Role::Record(span) => {
                self.cover_event(span);
                self.follow(Preceding::Record);
            }
            Role::TextLike(span) => self.pass_as_text(span, sink),
            Role::Rejected(diagnostic) => {
                let span = diagnostic.span;
                let own = self.uncovered(span);
                let options = self.decoder.options();
                // A longer text is kept only if it came in one piece.
                let is_kept = own.len() <= options.limits.line_bytes as u64;
                let text = if is_kept { self.decoder.text(own) } else { "" };
                let rules = self.judge.rules();
                let call = match rules.reads() {
                    Reads::Records => None,
                    Reads::ToolCalls | Reads::RecordsAndToolCalls => {
                        rejected_call(&diagnostic, (&self.markup, text), options, rules.tools())
                    }
                };
                let is_text = is_kept && call.is_none();
                sink(
                    span.end,
                    TextPart::Verdict(match call {
                        Some(call) => Verdict::RejectedCall(call),
                        None => Verdict::Rejected(diagnostic),
                    }),
                );
                if is_text {
                    self.pass_as_text(span, sink);
                } else {
                    self.cover_event(span);
                    self.follow(Preceding::Record);
                }
            }
        }
    }

    /// Passes a value that stays text, with the markup around it that does not belong to another record.
    fn pass_as_text<T>(&mut self, span: Span, sink: &mut impl FnMut(u64, TextPart<'_, T>)) {
        let uncovered = self.cover_event(span);
        if uncovered.is_empty() {
            return;
        }
        let own = match self.before {
            Preceding::Record => self.markup.split_once('\n').map_or(&*self.markup, |(_, own)| own),
            Preceding::Text | Preceding::TextLike => &self.markup,
        };
        let text = [own, self.decoder.text(uncovered)].concat();
        sink(span.end, TextPart::Text(&text));
        self.follow(Preceding::TextLike);
    }

    /// The part of a span that no event has covered: a reject may contain records and reasoning.
    fn uncovered(&self, span: Span) -> Span {
        Span::new(span.start.max(self.covered_to), span.end.max(self.covered_to))
    }

    /// Marks a span as covered by an event. Returns the part that no earlier event covered.
    fn cover(&mut self, span: Span) -> Span {
        let uncovered = self.uncovered(span);
        self.covered_to = uncovered.end;
        uncovered
    }

    /// The same for an event that is not markup.
    fn cover_event(&mut self, span: Span) -> Span {
        self.passed_to = self.passed_to.max(span.end);
        self.cover(span)
    }

    pub(super) fn follow(&mut self, before: Preceding) {
        self.markup.clear();
        self.before = before;
    }
}
