//! Judges the records of a text, and its tool calls.

use std::cell::RefCell;
use std::convert::Infallible;
use std::sync::Arc;

use tokenline_core::adapter::{Judge, Passage, Rules, SourceEnd, Verdict};
use tokenline_core::json::Value;
use tokenline_core::{CompletedBy, Event, LentEvent, Record, RecordDecoder};

use crate::calls::{rejected_call, tool_call};
use crate::machine::Part;
use crate::open::Open;
use crate::output::Output;
use crate::settings::Settings;

/// The judge of a decoder's events.
pub(crate) struct TextJudge {
    judge: Judge,
    /// Whether rejected calls have their texts.
    shows_values: bool,
}

impl TextJudge {
    /// The decoder and the judge of a text.
    pub(crate) fn new(settings: Settings) -> (RecordDecoder, Self) {
        let Settings { options, calls, .. } = settings;
        let mut rules = Rules::default();
        rules.set_reads(calls.reads);
        if let Some(tools) = &calls.tools {
            rules.set_tools(Arc::clone(tools));
        }
        #[cfg(feature = "schema")]
        if let Some(schema) = settings.schema {
            rules.add_validator(Arc::new(schema));
        }
        let judge = Judge::new(Arc::new(rules), &options.limits);
        let decoder = RecordDecoder::new(options);
        let decoder = match calls.tools {
            Some(tools) => decoder.with_tools(tools),
            None => decoder,
        };
        (decoder, Self { judge, shows_values: calls.shows_values })
    }

    /// Judges an event, and writes it. At the end, `end` says whether the source has failed.
    pub(crate) fn event(
        &mut self,
        open: &mut Open,
        event: LentEvent<'_>,
        end: Option<bool>,
        out: &mut Output,
    ) {
        if let Event::Partial(delta) = event {
            return open.grow(&delta, out);
        }
        // Nothing is repaired, so that its text is not needed.
        let passage = match end {
            None => Passage::chunk(&[], 0),
            Some(has_failed) => {
                let end = if has_failed { SourceEnd::Failed } else { SourceEnd::Clean };
                Passage::end(0, CompletedBy::EndOfInput, end)
            }
        };
        // Both closures write.
        let (open, out) = (RefCell::new(open), RefCell::new(out));
        let make = |record: &Record<Value<'_>>| {
            open.borrow_mut().record(record, &mut out.borrow_mut());
            Ok(Ok(record.map(|_| ())))
        };
        let sink = |verdict| {
            let (mut open, mut out) = (open.borrow_mut(), out.borrow_mut());
            match verdict {
                Verdict::Call(call, record) => {
                    open.ended_in(record.span, &mut out);
                    tool_call(&call, None, Part::default(), Some(&record), &mut out);
                }
                Verdict::Rejected(found) => open.found(&found, &mut out),
                Verdict::RejectedCall(call) => {
                    open.ended_in(call.diagnostic.span, &mut out);
                    rejected_call(&call, None, Part::default(), self.shows_values, &mut out);
                }
                Verdict::NotACall(call) => open.found(&call.diagnostic, &mut out),
                Verdict::Record(_) | Verdict::Ask(_) => {}
            }
            Ok::<_, Infallible>(())
        };
        let Ok(rest) = self.judge.event(event, passage, make, sink);
        if let Some(Event::Note(note)) = rest {
            open.into_inner().found(&note, out.into_inner());
        }
    }

    /// Validates what is new in the open record: little of a long one remains to be validated once it is complete.
    pub(crate) fn arriving(&mut self, decoder: &mut RecordDecoder) {
        self.judge.arriving(decoder);
    }

    pub(crate) fn reset(&mut self) {
        self.judge.reset();
    }
}
