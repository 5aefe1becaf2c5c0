//! What one poll does.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::stream::TryStream;
use tokenline_core::{Completion, EndedBy, Event, Recovery, Report};

use super::{JsonlStreamParser, State};
use crate::observe::Metered;
use crate::reader::End;
use crate::stream::budget::Budget;
use crate::stream::hooks::{Fate, Hooks};
use crate::stream::{SourceError, StreamError};

/// What a poll for an event comes to.
type EventPoll<T, E> = Poll<Option<Result<Event<T>, StreamError<E>>>>;

impl<S: TryStream<Ok: AsRef<[u8]>>, T> JsonlStreamParser<S, T> {
    /// The next event. Records are counted, diagnostics left to the caller.
    pub(in crate::stream) fn poll_event(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        budget: &mut Budget,
    ) -> EventPoll<T, S::Error> {
        let mut this = self.project();
        let mut meter = this.meter.enter();
        let event = loop {
            if budget.is_spent() {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            if !matches!(this.state, State::Ended | State::Exceeded(_))
                && let Some(event) = this.reader.more()
            {
                break event;
            }
            if let Some(hooks) = this.hooks.as_deref_mut()
                && let Some(event) = ready!(hooks.poll_repaired(cx, this.reader))
            {
                break event;
            }
            match this.state {
                State::Reading => {
                    // So it is only where nothing was to be delivered.
                    if this.hooks.as_ref().is_some_and(|hooks| hooks.quota.is_full(this.report)) {
                        end_full(this.source, this.chunk, this.state, this.report, &mut meter);
                        return Poll::Ready(None);
                    }
                    let Some(source) = this.source.as_mut().as_pin_mut() else {
                        return Poll::Ready(None);
                    };
                    match ready!(source.try_poll_next(cx)) {
                        Some(Ok(chunk)) => {
                            budget.spend_step();
                            meter.chunk(&chunk);
                            *this.chunk = Some(chunk);
                            *this.at = 0;
                            *this.state = State::Decoding;
                        }
                        end => {
                            let error = end.and_then(Result::err);
                            if error.is_none() {
                                this.report.set_complete();
                            } else {
                                meter.source_failed();
                            }
                            this.source.set(None);
                            *this.state = State::Ending(error);
                        }
                    }
                }
                State::Decoding => {
                    let chunk = this.chunk.as_ref().map_or(&[][..], |chunk| chunk.as_ref());
                    let unread = chunk.get(*this.at..).unwrap_or_default();
                    let decoded = this.decoder.decode(&unread[..unread.len().min(Budget::BYTES)]);
                    let consumed = decoded.consumed;
                    let fate = decoded.event.map(|event| match this.hooks.as_deref_mut() {
                        None => Fate::new(this.reader.read(event, End::Clean)),
                        Some(hooks) => hooks.read(this.reader, event, End::Clean),
                    });
                    *this.at += consumed;
                    budget.spend(consumed);
                    let has_event = fate.is_some();
                    let mut event = None;
                    match (fate, this.hooks.as_deref_mut()) {
                        (Some(Fate::Event(its)), _) => event = Some(its),
                        (Some(Fate::Lost(diagnostic)), Some(hooks)) => {
                            let start = this.decoder.position() - *this.at as u64;
                            event = hooks.lose(diagnostic, Completion::Newline, chunk, start);
                        }
                        _ => {}
                    }
                    if consumed == unread.len() {
                        if let Some(hooks) = this.hooks {
                            hooks.keep(this.decoder, chunk);
                        }
                        // Events may be left in what the decoder holds, but not in the chunk.
                        *this.chunk = None;
                        *this.at = 0;
                    }
                    match event {
                        Some(event) => break event,
                        None if this.chunk.is_none() && !has_event => *this.state = State::Reading,
                        None => {}
                    }
                }
                State::Ending(error) => {
                    let end = if error.is_none() { End::Clean } else { End::Failed };
                    if let Some(event) = this.decoder.finish() {
                        let fate = match this.hooks.as_deref_mut() {
                            None => Fate::new(this.reader.read(event, end)),
                            Some(hooks) => hooks.read(this.reader, event, end),
                        };
                        match fate {
                            Fate::Event(event) => break event,
                            Fate::Lost(diagnostic) => {
                                let start = this.decoder.position();
                                let hooks = this.hooks.as_deref_mut();
                                let lose = |hooks: &mut Hooks| {
                                    hooks.lose(diagnostic, Completion::EndOfInput, &[], start)
                                };
                                match hooks.and_then(lose) {
                                    Some(event) => break event,
                                    None => continue,
                                }
                            }
                            Fate::Asked | Fate::Nothing => continue,
                        }
                    }
                    let error = error.take();
                    *this.state = State::Ended;
                    meter.end(this.report);
                    let offset = this.decoder.position();
                    let error = error.map(|error| StreamError::Source(SourceError::new(offset, error)));
                    return Poll::Ready(error.map(Err));
                }
                State::Exceeded(error) => {
                    let error = StreamError::TooManyRejected(error.clone());
                    *this.state = State::Ended;
                    return Poll::Ready(Some(Err(error)));
                }
                State::Ended => return Poll::Ready(None),
            }
        };
        budget.spend_step();
        meter.event();
        match &event {
            Event::Record(record) => {
                this.reader.count(this.report, &mut meter);
                if let Some(hooks) = this.hooks {
                    if record.recovered.contains(Recovery::Repaired) {
                        this.report.count_repaired();
                    }
                    if hooks.quota.is_full(this.report) {
                        // Now, not at the next poll, for which there may be no reason.
                        end_full(this.source, this.chunk, this.state, this.report, &mut meter);
                    }
                }
            }
            Event::Rejected(diagnostic) => meter.finding(diagnostic),
            _ => {}
        }
        Poll::Ready(Some(Ok(event)))
    }
}

/// Ends a stream that has delivered all that it was to deliver.
#[cold]
fn end_full<S: TryStream>(
    mut source: Pin<&mut Option<S>>,
    chunk: &mut Option<S::Ok>,
    state: &mut State<S::Error>,
    report: &mut Report,
    meter: &mut Metered<'_>,
) {
    report.set_ended_by(EndedBy::MaxRecords);
    source.set(None);
    *chunk = None;
    *state = State::Ended;
    meter.close();
}
