//! Judges the events of a decoder, and decides how their text is passed on.

use std::mem;

use super::{LeftCalls, TextPart};
use crate::adapter::{Judge, Made, Passage, Verdict};
use crate::json::Value;
use crate::{Code, Diagnostic, Event, LentEvent, Record, RejectedCall, Span, ToolCall};

/// How an event relates to the text outside records.
pub(super) enum Role {
    None,
    Record(Span),
    Text(Span),
    Reasoning(Span),
    /// Markup around records.
    Markup(Span),
    /// An object that stays text.
    TextLike(Span),
    /// A reject of the decoder, which may be a call.
    Rejected(Diagnostic),
    /// A record or a reject whose replacement is awaited.
    Asked(Judged),
}

/// Judges an event. The sink takes all but the text.
pub(super) fn judge_event<T>(
    judge: &mut Judge,
    left: LeftCalls,
    event: LentEvent<'_>,
    passage: Passage<'_>,
    make: &impl Fn(&Record<Value<'_>>) -> Option<Made<T>>,
    sink: &mut impl FnMut(u64, TextPart<'_, T>),
) -> Role {
    let leaves_all = matches!(left, LeftCalls::All(_));
    let mut judged = match &event {
        Event::Record(record) => {
            if let Some(why) = left.why(record, judge.rules()) {
                let is_call =
                    ToolCall::all_from_record(record, judge.rules().call_rules()).any(|call| is_meant(&call));
                if is_call {
                    let note =
                        Diagnostic::new(Code::CallInText, record.line, record.span, record.column, why);
                    sink(0, TextPart::Note(note));
                }
                judge.skip();
                return Role::TextLike(record.span);
            }
            Judged::new(record.span, true)
        }
        Event::Rejected(diagnostic) if leaves_all => return Role::TextLike(diagnostic.span),
        Event::Rejected(diagnostic) => Judged::new(diagnostic.span, false),
        Event::Text(span) => return Role::Text(*span),
        Event::Reasoning(span) => {
            judge.pass_text(*span);
            return Role::Reasoning(*span);
        }
        Event::Markup(span) => return Role::Markup(*span),
        Event::Note(note) if leaves_all && note.code != Code::CallInText => return Role::None,
        Event::Note(_) | Event::Partial(_) => Judged::new(Span::default(), false),
    };
    let make = |record: &Record<Value<'_>>| make(record).ok_or(Taken);
    let other = judge.event(event, passage, make, |verdict| {
        judged.take(verdict, sink);
        Ok(())
    });
    match other {
        Ok(None) => return judged.role(),
        Err(Taken) => return Role::Record(judged.span),
        Ok(Some(Event::Note(note))) => sink(0, TextPart::Note(note)),
        Ok(Some(Event::Partial(partial))) => sink(0, TextPart::Partial(partial)),
        Ok(Some(_)) => unreachable!("it has a role of its own"),
    }
    Role::None
}

/// The record was taken while it was made, so there is no verdict to pass on.
struct Taken;

/// The verdicts on an event of the decoder.
pub(super) struct Judged {
    span: Span,
    /// It is a record, not a reject.
    is_record: bool,
    is_asked: bool,
    /// The reject of the decoder, if it stands.
    reject: Option<Diagnostic>,
    has_reject: bool,
    has_other: bool,
}

impl Judged {
    fn new(span: Span, is_record: bool) -> Self {
        Self { span, is_record, is_asked: false, reject: None, has_reject: false, has_other: false }
    }

    /// Passes a verdict on, except a reject of the decoder, which may be text or a call.
    pub(super) fn take<T>(&mut self, verdict: Verdict<T>, sink: &mut impl FnMut(u64, TextPart<'_, T>)) {
        match &verdict {
            Verdict::Ask(_) => self.is_asked = true,
            Verdict::Rejected(diagnostic) if !self.is_record => {
                self.reject = Some(diagnostic.clone());
                return;
            }
            Verdict::Rejected(_) | Verdict::NotACall(_) => self.has_reject = true,
            Verdict::Record(_) | Verdict::Call(..) | Verdict::RejectedCall(_) => self.has_other = true,
        }
        sink(self.span.end, TextPart::Verdict(verdict));
    }

    pub(super) fn role(mut self) -> Role {
        match self.reject.take() {
            _ if mem::take(&mut self.is_asked) => Role::Asked(self),
            Some(diagnostic) => Role::Rejected(diagnostic),
            // A record that is neither delivered nor a call stays text. An empty list of calls is not text.
            None if self.has_reject && !self.has_other => Role::TextLike(self.span),
            None => Role::Record(self.span),
        }
    }
}

/// Whether a value is a call of a known tool, even if its arguments do not fit.
fn is_meant(call: &Result<ToolCall, Box<RejectedCall>>) -> bool {
    match call {
        Ok(_) => true,
        Err(call) => !matches!(call.diagnostic.code, Code::MissingField | Code::UnknownTool),
    }
}
