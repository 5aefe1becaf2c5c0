//! The records of an answer and of its continuations, as one stream.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::stream::{FusedStream, Stream};
use serde::de::DeserializeOwned;
use tokenline_core::json::Raw;
use tokenline_core::{Diagnostic, Event, Options, Record, Report, Validate};

use super::{Checkpoint, Continuation, ContinuationError, ContinuationStep, RecordContinuation, ResponseEnd};
use crate::client::{AnswerBody, ClientError, ClientErrorKind, LlmClient};
use crate::request::{ChatRequest, Message};
use crate::{AnswerError, AnswerStream, FinishReason, TextPieces};

/// A request whose answer is continued when it is cut off, and how its records are read.
/// [`LlmClient::continued`] makes it.
#[must_use = "a request does nothing until its records are asked for"]
pub struct ContinuedRequest<T = Raw> {
    client: LlmClient,
    request: ChatRequest,
    continuation: Continuation,
    options: Options,
    validator: Option<Box<dyn Validate + Send + Sync>>,
    kind: PhantomData<fn() -> T>,
}

impl ContinuedRequest {
    pub(crate) fn new(client: LlmClient, request: ChatRequest, continuation: Continuation) -> Self {
        let (options, validator, kind) = (Options::lenient(), None, PhantomData);
        Self { client, request, continuation, options, validator, kind }
    }
}

impl<T> ContinuedRequest<T> {
    /// Reads the records into a type.
    pub fn typed<U: DeserializeOwned>(self) -> ContinuedRequest<U> {
        let Self { client, request, continuation, options, validator, kind: _ } = self;
        ContinuedRequest { client, request, continuation, options, validator, kind: PhantomData }
    }

    /// Holds each record against a validator.
    pub fn with_validator(self, validator: impl Validate + Send + Sync + 'static) -> Self {
        Self { validator: Some(Box::new(validator)), ..self }
    }

    /// Sets how the text is read: lenient unless told otherwise. With [`Options::items`] the answer is one JSON value
    /// with the records in it.
    pub fn with_options(self, options: Options) -> Self {
        Self { options, ..self }
    }

    /// The records. The first request is sent when the first of them is asked for.
    pub fn records(self) -> ContinuedRecords<T> {
        let Self { client, request, continuation, options, validator, kind } = self;
        let report = ContinuationReport {
            report: Report::new(&options.limits),
            requests: 0,
            failures: 0,
            skipped: 0,
            output_tokens: None,
            is_complete: false,
        };
        let machine = RecordContinuation::new(continuation, options);
        let state = State::Ask;
        let mut records =
            ContinuedRecords { client, request, validator, machine, state, fault: None, report, kind };
        records.account();
        records
    }
}

/// Without the messages.
impl<T> fmt::Debug for ContinuedRequest<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContinuedRequest").field("client", &self.client).finish_non_exhaustive()
    }
}

/// The records of an answer and of its continuations: each once, in order, as if it had never been cut off.
///
/// It is pulled: nothing is asked, read or sent but when it is polled, and nothing is lost if a wait for it is given
/// up. Dropping it closes the connection. A record's places are those of the response that it came in. What was
/// rejected is left in the [report](Self::report). An error comes once, after everything that was complete, and ends
/// the stream; a [checkpoint](Self::checkpoint) taken then goes on where it ended.
///
/// ```
/// use futures_util::StreamExt;
/// use tokenline_llm::Continuation;
/// use tokenline_llm::client::LlmClient;
/// use tokenline_llm::request::ChatRequest;
///
/// #[derive(serde::Deserialize)]
/// struct Definition {
///     entity: String,
/// }
///
/// # #[cfg(not(feature = "replay"))]
/// # fn main() {}
/// # #[cfg(feature = "replay")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use tokenline_llm::replay::{self, ReplayServer};
/// # let server = ReplayServer::bind("127.0.0.1:0".parse()?, replay::builtin()).await?;
/// # let base_url = &server.url();
/// let client = LlmClient::openai_chat(base_url)?;
/// let request = ChatRequest::new("definitions").user("Everything in a cell, as JSON Lines.");
/// let continuation = Continuation::new().max_requests(20);
/// let mut records = client.continued(&request, continuation)?.typed::<Definition>().records();
/// while let Some(record) = records.next().await {
///     println!("{}", record?.value.entity);
/// }
/// assert!(records.report().is_complete() && records.report().requests() == 1);
/// # Ok(())
/// # }
/// ```
#[must_use = "streams do nothing unless polled"]
pub struct ContinuedRecords<T = Raw> {
    client: LlmClient,
    request: ChatRequest,
    validator: Option<Box<dyn Validate + Send + Sync>>,
    machine: RecordContinuation,
    state: State,
    /// Why the response is the last one, to be told behind its records.
    fault: Option<ContinuedError>,
    report: ContinuationReport,
    kind: PhantomData<fn() -> T>,
}

type Sending = dyn Future<Output = Result<AnswerStream<AnswerBody>, ClientError>> + Send;

enum State {
    /// There is no response.
    Ask,
    Sending(Pin<Box<Sending>>),
    Reading(Pin<Box<TextPieces<AnswerBody>>>),
    /// The response has ended, and may have more records.
    Draining,
    Over,
}

/// Events and pieces that one poll takes in search of a record, for the sake of the other tasks of the thread.
const QUIET_STEPS: usize = 256;

impl<T> ContinuedRecords<T> {
    /// What was delivered and rejected so far, and what it took.
    #[must_use]
    pub fn report(&self) -> &ContinuationReport {
        &self.report
    }

    /// Where the answer is, behind the last record that was taken. To be saved, and
    /// [resumed](Continuation::resume) in another process.
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        self.machine.checkpoint()
    }

    /// The machine beneath, for what it holds.
    #[must_use]
    pub fn machine(&self) -> &RecordContinuation {
        &self.machine
    }

    fn ask(&self, messages: Vec<Message>) -> Result<Pin<Box<Sending>>, ClientError> {
        let request = self.request.clone().messages(messages);
        Ok(Box::pin(self.client.stream(&request)?.send()))
    }

    /// The response is over, for this reason.
    fn over(&mut self, error: Option<AnswerError<ClientError>>, tokens: Option<u64>) {
        if let Some(tokens) = tokens {
            self.machine.count_output_tokens(tokens);
            *self.report.output_tokens.get_or_insert(0) += tokens;
        }
        let end = match &error {
            None => ResponseEnd::Clean,
            Some(AnswerError::Cut(_)) => ResponseEnd::Cut,
            Some(_) => ResponseEnd::Broken,
        };
        // A filter, a refusal and a failure of the provider are answers: to ask again would be to argue.
        self.fault =
            error.filter(|error| !is_accident(error)).map(|error| ContinuedError::Answer(Box::new(error)));
        self.machine.finish(end);
        self.state = State::Draining;
    }

    fn account(&mut self) {
        self.report.requests = self.machine.requests();
        self.report.failures = self.machine.failures();
        self.report.skipped = self.machine.skipped();
    }
}

/// Whether it is by no fault of the request that the answer is not whole.
fn is_accident(error: &AnswerError<ClientError>) -> bool {
    match error {
        AnswerError::Source(error) => {
            matches!(error.kind(), ClientErrorKind::Transport | ClientErrorKind::Timeout)
        }
        AnswerError::Incomplete(_) => true,
        AnswerError::Cut(reason) => match reason {
            FinishReason::Length | FinishReason::Other(_) | FinishReason::Stop | FinishReason::ToolCalls => {
                true
            }
            FinishReason::ContentFilter | FinishReason::MalformedCall | FinishReason::Error => false,
        },
        AnswerError::Provider(_) | AnswerError::TooManyRejected(_) => false,
    }
}

impl<T: DeserializeOwned> ContinuedRecords<T> {
    /// The next record that is what was asked for, of what was pushed.
    fn take(&mut self) -> Option<Record<T>> {
        while let Some(event) = self.machine.next_event() {
            match event {
                Event::Record(record) => match self.read(&record) {
                    Ok(record) => {
                        self.report.report.count_record();
                        return Some(record);
                    }
                    Err(diagnostic) => self.report.report.add(*diagnostic),
                },
                Event::Rejected(diagnostic) | Event::Note(diagnostic) => self.report.report.add(diagnostic),
                // None are asked for.
                _ => {}
            }
        }
        None
    }

    fn read(&self, record: &Record<Raw>) -> Result<Record<T>, Box<Diagnostic>> {
        record.value.with_value(|value| {
            let record = record.clone().map(|_| value);
            if let Some(validator) = &self.validator {
                record.validate(validator)?;
            }
            record.deserialize()
        })
    }

    fn fail(&mut self, error: ContinuedError) -> Poll<Option<Result<Record<T>, ContinuedError>>> {
        self.state = State::Over;
        Poll::Ready(Some(Err(error)))
    }

    fn poll_record(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Record<T>, ContinuedError>>> {
        for _ in 0..QUIET_STEPS {
            match &mut self.state {
                State::Over => return Poll::Ready(None),
                State::Ask => match self.machine.step() {
                    ContinuationStep::Ask(messages) => match self.ask(messages) {
                        Ok(sending) => {
                            self.machine.begin();
                            self.state = State::Sending(sending);
                        }
                        Err(error) => return self.fail(ContinuedError::Client(error)),
                    },
                    ContinuationStep::Failed(error) => {
                        return self.fail(ContinuedError::Continuation(error));
                    }
                    ContinuationStep::Done => {
                        self.report.is_complete = true;
                        self.report.report.set_complete();
                        self.state = State::Over;
                    }
                    ContinuationStep::Read => self.state = State::Draining,
                },
                State::Sending(sending) => match ready!(sending.as_mut().poll(cx)) {
                    Ok(answer) => self.state = State::Reading(Box::pin(answer.text())),
                    Err(error) => {
                        // Nothing was answered: what is to be gone on with is what it was before.
                        self.machine.give_up();
                        return self.fail(ContinuedError::Client(error));
                    }
                },
                State::Reading(_) => {
                    if let Some(record) = self.take() {
                        return Poll::Ready(Some(Ok(record)));
                    }
                    if !self.machine.wants_more() {
                        self.machine.finish(ResponseEnd::Cut);
                        self.state = State::Draining;
                        continue;
                    }
                    let State::Reading(text) = &mut self.state else { continue };
                    let piece = ready!(text.as_mut().poll_next(cx));
                    let tokens = text.parser().usage().and_then(|usage| usage.output_tokens);
                    match piece {
                        Some(Ok(piece)) => self.machine.push(&piece),
                        Some(Err(error)) => self.over(Some(error), tokens),
                        None => self.over(None, tokens),
                    }
                }
                State::Draining => {
                    if let Some(record) = self.take() {
                        return Poll::Ready(Some(Ok(record)));
                    }
                    if let Some(fault) = self.fault.take() {
                        return self.fail(fault);
                    }
                    self.state = State::Ask;
                }
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<T> Unpin for ContinuedRecords<T> {}

impl<T: DeserializeOwned> Stream for ContinuedRecords<T> {
    type Item = Result<Record<T>, ContinuedError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let polled = this.poll_record(cx);
        this.account();
        polled
    }
}

impl<T: DeserializeOwned> FusedStream for ContinuedRecords<T> {
    fn is_terminated(&self) -> bool {
        matches!(self.state, State::Over)
    }
}

/// Without the messages and without the text.
impl<T> fmt::Debug for ContinuedRecords<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContinuedRecords")
            .field("client", &self.client)
            .field("machine", &self.machine)
            .field("is_over", &matches!(self.state, State::Over))
            .finish_non_exhaustive()
    }
}

/// What became of an answer and its continuations. Counts of records and rejects are those of this stream; requests
/// include those before a [checkpoint](Checkpoint).
#[derive(Clone, Debug)]
pub struct ContinuationReport {
    report: Report,
    requests: u32,
    failures: u64,
    skipped: u64,
    output_tokens: Option<u64>,
    is_complete: bool,
}

impl ContinuationReport {
    /// Records delivered.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.report.records()
    }

    /// Rejects: what was malformed, or was not what was asked for. A cut is none.
    #[must_use]
    pub fn rejected(&self) -> u64 {
        self.report.rejected()
    }

    /// All that was found in the texts; its places are those of single responses.
    #[must_use]
    pub fn findings(&self) -> &Report {
        &self.report
    }

    /// Requests made.
    #[must_use]
    pub fn requests(&self) -> u32 {
        self.requests
    }

    /// Continuations that brought nothing.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.failures
    }

    /// Records that responses repeated, and that were left out.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Tokens written in the answers of this stream, if the provider tells.
    #[must_use]
    pub fn output_tokens(&self) -> Option<u64> {
        self.output_tokens
    }

    /// Whether the answer came to its end.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }
}

/// Why a stream of records that are continued ended before the answer did.
#[derive(Debug)]
#[non_exhaustive]
pub enum ContinuedError {
    /// A request had no answer: it could not be sent, or was refused.
    Client(ClientError),
    /// An answer ended in a way that asking again does not mend: the provider failed, or a filter cut in.
    Answer(Box<AnswerError<ClientError>>),
    /// It is not continued any further.
    Continuation(ContinuationError),
}

impl fmt::Display for ContinuedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(error) => error.fmt(f),
            Self::Answer(error) => error.fmt(f),
            Self::Continuation(error) => error.fmt(f),
        }
    }
}

impl Error for ContinuedError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Client(error) => error.source(),
            Self::Answer(error) => error.source(),
            Self::Continuation(error) => error.source(),
        }
    }
}
