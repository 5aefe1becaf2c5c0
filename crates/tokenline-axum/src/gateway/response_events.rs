//! The events of a response, however many requests it takes.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream as _;
use tokenline::json::Raw;
use tokenline::llm::client::{
    ClientError, ContinuedDocument, ContinuedError, ContinuedEvents, ExtractionEvents, ReaskOptions,
};
use tokenline::llm::request::ChatRequest;
use tokenline::llm::writer::{Failure, ResponseWriter};
use tokenline::llm::{
    ContinuationOptions, Document, FinishReason, RecordContinuation, ResponseEnd, ResponseEvent, Usage,
};
use tokenline::{Event, LlmClient, Options, Reasks, RepetitionLimits};

use super::RequestSummary;
use super::body::failure_of;
use super::schema::{JsonText, Shape, is_of_record};

/// The events of a response. Dropping it closes the upstream's connections.
pub(super) struct ResponseEvents {
    /// The response to the request, and those for rejected items.
    extraction: ExtractionEvents,
    /// Rewrites the text, if the request has a schema for it.
    json: Option<JsonText>,
    continuation: Option<Continuation>,
    rest: Option<Rest>,
    ready: VecDeque<Result<ResponseEvent<Raw>, Failure>>,
    counts: Counts,
    /// The bytes of the response so far.
    bytes: usize,
    has_ended: bool,
}

#[derive(Default)]
struct Counts {
    records: u64,
    rejected_records: u64,
    continuations: u64,
    /// Of the first response.
    usage: Usage,
}

/// How JSON that was cut off is continued.
pub(super) struct Continuation {
    pub(super) upstream: LlmClient,
    pub(super) request: ChatRequest,
    pub(super) max_continuations: u32,
    pub(super) reask: ReaskOptions,
    pub(super) repetition: Option<RepetitionLimits>,
}

/// The rest of a response that was cut off.
enum Rest {
    List(Box<ContinuedEvents>),
    /// Its text comes at the end.
    Document(Pin<Box<Completing>>),
}

type Completing = dyn Future<Output = (Result<Raw, ContinuedError>, ContinuedDocument)> + Send;

impl ResponseEvents {
    pub(super) fn new(
        extraction: ExtractionEvents,
        json: Option<JsonText>,
        continuation: Option<Continuation>,
    ) -> Self {
        let (ready, counts) = (VecDeque::new(), Counts::default());
        Self { extraction, json, continuation, rest: None, ready, counts, bytes: 0, has_ended: false }
    }

    pub(super) async fn next(&mut self) -> Option<Result<ResponseEvent<Raw>, Failure>> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    pub(super) fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<ResponseEvent<Raw>, Failure>>> {
        loop {
            if let Some(next) = self.ready.pop_front() {
                self.bytes += next.as_ref().map_or(0, size);
                if self.bytes > MAX_RESPONSE {
                    self.ready.clear();
                    self.has_ended = true;
                    return Poll::Ready(Some(Err(too_large())));
                }
                return Poll::Ready(Some(next));
            }
            if self.has_ended {
                return Poll::Ready(None);
            }
            ready!(self.poll_source(cx));
        }
    }

    /// Reads on.
    fn poll_source(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.rest {
            None => match ready!(Pin::new(&mut self.extraction).poll_next(cx)) {
                Some(Ok(event)) => self.put(event),
                Some(Err(error)) => self.ready.push_back(Err(failure_of(&error))),
                None => match self.start_rest() {
                    Some(rest) => self.rest = Some(rest),
                    None => self.end(),
                },
            },
            Some(Rest::List(events)) => {
                let event = ready!(Pin::new(&mut **events).poll_next(cx));
                let report = events.report();
                self.counts.continuations = u64::from(report.requests().saturating_sub(1));
                let tokens = report.output_tokens();
                match event {
                    Some(Ok(Event::Record(record))) => {
                        self.put(ResponseEvent::Record { choice: 0, block: 0, record });
                    }
                    Some(Ok(Event::Rejected(diagnostic))) => {
                        self.put(ResponseEvent::Rejected { choice: Some(0), block: 0, diagnostic });
                    }
                    Some(Ok(_)) => {}
                    // What came stands.
                    Some(Err(_)) => self.end_rest(FinishReason::Length, tokens),
                    None => self.end_rest(FinishReason::Stop, tokens),
                }
            }
            Some(Rest::Document(completing)) => {
                let (result, document) = ready!(completing.as_mut().poll(cx));
                self.counts.continuations = u64::from(document.machine().requests());
                if let Some(json) = &mut self.json {
                    json.take_document(document.so_far().text());
                }
                let reason = match result {
                    Ok(_) => {
                        self.counts.records += 1;
                        FinishReason::Stop
                    }
                    Err(ContinuedError::Invalid(diagnostic)) => {
                        let diagnostic = *diagnostic;
                        self.put(ResponseEvent::Rejected { choice: Some(0), block: 0, diagnostic });
                        FinishReason::Stop
                    }
                    Err(_) => FinishReason::Length,
                };
                self.end_rest(reason, Some(document.machine().output_tokens()));
            }
        }
        Poll::Ready(())
    }

    /// Hands over an event of the upstream, or the one in its place.
    fn put(&mut self, event: ResponseEvent<Raw>) {
        if let ResponseEvent::Usage(usage) = &event {
            self.counts.usage = *usage;
        }
        let Some(json) = &mut self.json else { return self.ready.push_back(Ok(event)) };
        match &event {
            ResponseEvent::Record { .. } => self.counts.records += 1,
            ResponseEvent::Rejected { diagnostic, .. } if is_of_record(diagnostic) => {
                self.counts.rejected_records += 1;
            }
            _ => {}
        }
        self.ready.extend(json.replace(event).map(Ok));
    }

    /// The rest of the response, if it was cut off and may be continued.
    fn start_rest(&mut self) -> Option<Rest> {
        let continuation = self.continuation.take()?;
        let (shape, text) = self.json.as_ref()?.cut_off()?;
        continuation.start(shape, text, self.counts.usage.output_tokens).ok().flatten()
    }

    fn end_rest(&mut self, reason: FinishReason, output_tokens: Option<u64>) {
        self.add_tokens(0, output_tokens.unwrap_or(0));
        self.put(ResponseEvent::Finish { choice: 0, reason });
        self.end();
    }

    fn end(&mut self) {
        self.has_ended = true;
        let reasks = self.reasks();
        self.add_tokens(reasks.input_tokens, reasks.output_tokens);
        match self.json.as_mut().map_or(Ok(Vec::new()), JsonText::finish) {
            Ok(events) => self.ready.extend(events.into_iter().map(Ok)),
            Err(failure) => self.ready.push_back(Err(failure)),
        }
    }

    /// Adds the tokens of further requests: the client pays for them.
    fn add_tokens(&mut self, input: u64, output: u64) {
        if input + output == 0 {
            return;
        }
        let usage = &mut self.counts.usage;
        usage.input_tokens = Some(usage.input_tokens.unwrap_or(0) + input);
        usage.output_tokens = Some(usage.output_tokens.unwrap_or(0) + output);
        usage.total_tokens = usage.total_tokens.map(|total| total + input + output);
        let usage = *usage;
        self.put(ResponseEvent::Usage(usage));
    }

    /// The further requests for what was rejected.
    fn reasks(&self) -> Reasks {
        let mut reasks = self.extraction.report().reasks();
        if let Some(Rest::List(events)) = &self.rest {
            reasks += events.report().report().reasks();
        }
        reasks
    }

    /// Ends the writing of a response, with what the provider attached to the message.
    pub(super) fn finish(&self, writer: &mut ResponseWriter) {
        if let Some(message) = self.extraction.parser().message(0) {
            writer.keep_message(&message);
        }
        writer.finish();
    }

    /// Adds the counts of records and further requests.
    pub(super) fn summarize(&self, summary: &mut RequestSummary) {
        summary.reasks = self.reasks().requests;
        let Counts { records, rejected_records, continuations, .. } = self.counts;
        (summary.records, summary.rejected_records) = (records, rejected_records);
        summary.continuations = continuations;
    }
}

/// The most bytes of a response: what is read of it is kept, for the body or for the next request.
pub(super) const MAX_RESPONSE: usize = 64 << 20;

/// The error of a larger response.
pub(super) fn too_large() -> Failure {
    Failure::new(502, format!("the response is larger than {} MiB", MAX_RESPONSE >> 20))
}

/// The bytes of an event's content.
fn size(event: &ResponseEvent<Raw>) -> usize {
    match event {
        ResponseEvent::Text { text, .. }
        | ResponseEvent::TextDelta { text, .. }
        | ResponseEvent::Refusal { text, .. }
        | ResponseEvent::Reasoning { text, .. } => text.len(),
        ResponseEvent::ToolCall { call, .. } => call.parameters.as_str().len(),
        ResponseEvent::RejectedCall { call, .. } => call.received.len(),
        ResponseEvent::Record { record, .. } => record.value.as_str().len(),
        _ => 0,
    }
}

impl Continuation {
    /// Starts to ask for the rest. `None` if the text is no JSON.
    fn start(
        self,
        shape: &Shape,
        text: &str,
        output_tokens: Option<u64>,
    ) -> Result<Option<Rest>, ClientError> {
        let Self { upstream, request, max_continuations, reask, repetition } = self;
        Ok(match shape {
            Shape::List { pointer, .. } => {
                let Ok(options) = Options::lenient().items(pointer) else { return Ok(None) };
                let mut machine = RecordContinuation::new(ContinuationOptions::new(), options);
                machine.begin();
                machine.push(text);
                machine.finish(ResponseEnd::Cut);
                // They are known.
                while machine.next_event().is_some() {}
                machine.count_output_tokens(output_tokens.unwrap_or(0));
                let settings = ContinuationOptions::resume(machine.checkpoint());
                let settings = settings.max_requests(max_continuations.saturating_add(1));
                let list =
                    upstream.continued(&request, settings)?.stop_on_repetition(repetition).reask(reask);
                Some(Rest::List(Box::new(list.events())))
            }
            Shape::Document => {
                let document = Document::of(text);
                if document.text().is_empty() {
                    return Ok(None);
                }
                let settings = ContinuationOptions::new().max_requests(max_continuations);
                let request = upstream.continued(&request, settings)?.stop_on_repetition(repetition);
                let mut document = request.document().resume(document);
                Some(Rest::Document(Box::pin(async move {
                    let result = document.complete().await;
                    (result, document)
                })))
            }
        })
    }
}
