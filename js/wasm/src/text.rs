//! The records of a text.

#[cfg(feature = "calls")]
use std::cell::RefCell;
#[cfg(feature = "calls")]
use std::convert::Infallible;
#[cfg(feature = "calls")]
use std::sync::Arc;

#[cfg(feature = "calls")]
use tokenline_core::adapter::{Judge, Passage, Rules, SourceEnd, Verdict};
use tokenline_core::json::{Change, Value, ValueDelta};
use tokenline_core::{
    CheckedChunk, CompletedBy, Diagnostic, Event, LentEvent, OpenRecord, Record, RecordDecoder, Span,
};

#[cfg(feature = "calls")]
use crate::calls::{rejected_call, tool_call};
use crate::machine::{Machine, Part, finding, place, record};
use crate::output::{Output, Target};
use crate::settings::Settings;

/// A decoder, and what judges its records.
pub(crate) struct TextMachine {
    decoder: RecordDecoder,
    #[cfg(feature = "calls")]
    judge: Judge,
    /// Whether rejected calls have their texts.
    #[cfg(feature = "calls")]
    shows_values: bool,
    open: Open,
    is_complete: bool,
}

/// The record that grows.
#[derive(Clone, Copy, Default)]
struct Open {
    /// Where it starts.
    start: Option<u64>,
}

impl Open {
    fn grow(&mut self, delta: &OpenRecord<ValueDelta<'_>>, out: &mut Output) {
        if self.start != Some(delta.start) {
            self.start = Some(delta.start);
            out.begin_steps(Target::OpenRecord);
        }
        out.delta(&delta.value);
    }

    fn record(&mut self, found: &Record<Value<'_>>, out: &mut Output) {
        if self.start != Some(found.span.start) {
            return record(found, Part::default(), out);
        }
        self.start = None;
        // Its value is the one that has grown.
        out.event("record", |json| place(found, json));
    }

    fn found(&mut self, found: &Diagnostic, out: &mut Output) {
        self.ended_in(found.span, out);
        finding(found, Part::default(), out);
    }

    /// What covers its start is no record.
    fn ended_in(&mut self, span: Span, out: &mut Output) {
        if self.start.is_some_and(|start| span.start <= start && start < span.end) {
            self.start = None;
            out.gone();
        }
    }

    /// What looked like a record may have turned out to be prose.
    fn settle(&mut self, still_open: Option<u64>, out: &mut Output) {
        if self.start.is_some() && self.start != still_open {
            self.start = None;
            out.gone();
        }
    }
}

impl TextMachine {
    pub(crate) fn new(settings: Settings) -> Self {
        #[cfg(feature = "calls")]
        let judge = {
            let mut rules = Rules::default();
            rules.set_reads(settings.calls.reads);
            if let Some(tools) = &settings.calls.tools {
                rules.set_tools(Arc::clone(tools));
            }
            rules.set_syntax_repair(settings.options.repairs_syntax());
            #[cfg(feature = "schema")]
            if let Some(schema) = settings.schema {
                rules.add_validator(Arc::new(schema));
            }
            let mut judge = Judge::new(Arc::new(rules), &settings.options.limits);
            judge.set_at_once(settings.options.partials);
            judge
        };
        let decoder = RecordDecoder::new(settings.options);
        #[cfg(feature = "calls")]
        let decoder = match settings.calls.tools {
            Some(tools) => decoder.with_tools(tools),
            None => decoder,
        };
        Self {
            decoder,
            #[cfg(feature = "calls")]
            judge,
            #[cfg(feature = "calls")]
            shows_values: settings.calls.shows_values,
            open: Open::default(),
            is_complete: false,
        }
    }
}

/// Writes an event of the decoder.
#[cfg(not(feature = "calls"))]
fn event(open: &mut Open, event: LentEvent<'_>, out: &mut Output) {
    match event {
        Event::Record(record) => open.record(&record, out),
        Event::Rejected(found) | Event::Note(found) => open.found(&found, out),
        Event::Partial(delta) => open.grow(&delta, out),
        _ => {}
    }
}

#[cfg(feature = "calls")]
impl TextMachine {
    /// Judges an event of the decoder, and writes it.
    fn event(
        (judge, open, shows_values): (&mut Judge, &mut Open, bool),
        event: LentEvent<'_>,
        passage: Passage<'_>,
        out: &mut Output,
    ) {
        if let Event::Partial(delta) = event {
            return open.grow(&delta, out);
        }
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
                    rejected_call(&call, None, Part::default(), shows_values, &mut out);
                }
                Verdict::NotACall(call) => open.found(&call.diagnostic, &mut out),
                Verdict::Record(_) | Verdict::Ask(_) => {}
            }
            Ok::<_, Infallible>(())
        };
        let Ok(rest) = judge.event(event, passage, make, sink);
        if let Some(Event::Note(note)) = rest {
            open.into_inner().found(&note, out.into_inner());
        }
    }
}

impl Machine for TextMachine {
    fn push(&mut self, chunk: &[u8], out: &mut Output) -> bool {
        #[cfg(feature = "calls")]
        let passage = Passage::chunk(chunk, self.decoder.position());
        let mut rest = CheckedChunk::new(chunk);
        let mut is_appended = false;
        while let Some(found) = self.decoder.next_event(&mut rest) {
            if let Event::Partial(delta) = &found
                && let Change::Append(text) = delta.value.change
                && text.as_bytes() == chunk
                && self.open.start == Some(delta.start)
            {
                // Nothing else is in the chunk.
                is_appended = true;
                continue;
            }
            #[cfg(feature = "calls")]
            Self::event((&mut self.judge, &mut self.open, self.shows_values), found, passage, out);
            #[cfg(not(feature = "calls"))]
            event(&mut self.open, found, out);
        }
        #[cfg(feature = "calls")]
        {
            if let Some(invalid) = self.judge.arriving(&mut self.decoder) {
                if std::mem::take(&mut is_appended) {
                    out.appends(&String::from_utf8_lossy(chunk));
                }
                out.event("invalid", |json| crate::machine::diagnostic(invalid, json));
            }
            self.judge.keep(&self.decoder, chunk);
        }
        self.open.settle(self.decoder.open_value(), out);
        is_appended && out.is_empty()
    }

    fn finish(&mut self, has_failed: bool, out: &mut Output) {
        #[cfg(feature = "calls")]
        let passage = {
            let end = if has_failed { SourceEnd::Failed } else { SourceEnd::Clean };
            Passage::end(self.decoder.position(), CompletedBy::EndOfInput, end)
        };
        while let Some(found) = self.decoder.finish_with(CompletedBy::EndOfInput) {
            #[cfg(feature = "calls")]
            Self::event((&mut self.judge, &mut self.open, self.shows_values), found, passage, out);
            #[cfg(not(feature = "calls"))]
            event(&mut self.open, found, out);
        }
        self.open.settle(None, out);
        self.is_complete = !has_failed;
    }

    fn reset(&mut self) {
        self.decoder.reset();
        #[cfg(feature = "calls")]
        self.judge.reset();
        self.open = Open::default();
        self.is_complete = false;
    }

    fn status(&self) -> u32 {
        u32::from(self.is_complete)
    }
}
