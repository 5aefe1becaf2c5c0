//! A JSON document that may take several responses.

use std::convert::Infallible;
use std::fmt;
use std::future::{Future, IntoFuture, poll_fn};
use std::marker::PhantomData;
use std::pin::{Pin, pin};
use std::sync::Arc;

use futures_core::Stream as _;
use serde::de::DeserializeOwned;
use tokenline_codec::AsyncRepair;
use tokenline_continuation::{Decision, Document, DocumentContinuation, DocumentRequest};
use tokenline_core::adapter::{Judge, Verdict};
use tokenline_core::json::{Raw, Value};
use tokenline_core::{CompletedBy, Record, Recovered, RepetitionLimits, Span};

use super::request::Settings;
use super::response_end::{end_of, ended_by};
use super::verdict::verdict;
use super::{ContinuationOptions, ContinuedError, ContinuedRequest, ResponseEnd};
use crate::ResponseStream;
use crate::client::{ClientError, ClientErrorKind, LlmClient, ResponseBody};
use crate::request::{ChatRequest, Message, ResponseFormat, UserPart};

/// Where requests have the format of the response.
const OF_FORMATS: [&str; 3] = ["/response_format/", "/text/format/", "/output_config/format/"];

/// A JSON document that may take several responses. Await it; or call [`complete`](Self::complete), which keeps the document so
/// far after an error.
///
/// While the document is incomplete, the model is asked for the rest. A response is used only if it proves where it belongs: it
/// begins with the requested overlap, or repeats the whole document so far. The request for the rest is the original one, with
/// the context of the document at the end of its last user message, and without its
/// [response format](ChatRequest::response_format): the rest of a document is not JSON by itself.
///
/// ```
/// use tokenline_llm::ContinuationOptions;
/// use tokenline_llm::Provider;
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
/// let client = LlmClient::new(Provider::OpenAiChat, base_url)?;
/// let request = ChatRequest::new("definitions").user("Everything in a cell, as one JSON object.");
/// let mut document = client.continued(&request, ContinuationOptions::new())?.typed::<Definition>().document();
/// match document.complete().await {
///     Ok(definition) => println!("{}", definition.entity),
///     // What has arrived, with all brackets closed. The last string may be cut off.
///     Err(error) => println!("{error}: {:?}", document.so_far().complete_part()),
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "no request is sent until it is awaited"]
pub struct ContinuedDocument<T = Raw> {
    client: LlmClient,
    request: ChatRequest,
    continuation: ContinuationOptions,
    machine: DocumentContinuation,
    judge: Judge,
    repair: Option<Box<AsyncRepair>>,
    repetition: Option<RepetitionLimits>,
    kind: PhantomData<fn() -> T>,
}

impl<T> ContinuedDocument<T> {
    pub(super) fn new(request: ContinuedRequest<T>) -> Self {
        let ContinuedRequest { settings, kind } = request;
        let Settings { client, request, continuation, options, rules, repair, repetition, .. } = settings;
        let judge = Judge::new(Arc::new(rules), &options.limits);
        let machine = machine(Document::new(), &continuation);
        Self { client, request, continuation, machine, judge, repair, repetition, kind }
    }

    /// Continues a document, such as one from an earlier process.
    pub fn resume(self, document: Document) -> Self {
        let machine = machine(document, &self.continuation);
        Self { machine, ..self }
    }

    /// The document so far. It changes when a response is used.
    #[must_use]
    pub fn so_far(&self) -> &Document {
        self.machine.document()
    }

    /// The machine that decides about requests and responses, with their counts.
    #[must_use]
    pub fn machine(&self) -> &DocumentContinuation {
        &self.machine
    }
}

/// The prompt is in the request.
fn machine(document: Document, continuation: &ContinuationOptions) -> DocumentContinuation {
    DocumentContinuation::resume("", document, continuation.clone())
}

impl<T: DeserializeOwned> ContinuedDocument<T> {
    /// Sends the requests that are needed, and returns the complete document.
    ///
    /// After an error, [`so_far`](Self::so_far) has the document up to there, and another call continues it. The same is true if
    /// the future is dropped, but then the text of the open response is lost, and its request counts. A
    /// [`ContinuationError`](super::ContinuationError) is final: every further call returns it.
    ///
    /// # Errors
    ///
    /// If a request or its response fails, if the last message of the request is not of the user, if the document is still
    /// incomplete at one of the [limits](super::ContinuationOptions), or if the complete document breaks a rule or does not
    /// fit its type.
    pub async fn complete(&mut self) -> Result<T, ContinuedError> {
        while let Some(next) = self.machine.next_request() {
            let request = self.request(&next)?;
            let response = self.client.stream(&request).map_err(ContinuedError::Client)?;
            let response = response.with_options(|options| options.stop_on_repetition(self.repetition));
            self.machine.begin();
            let response = response.send().await.map_err(|error| {
                // No response arrived, so the state is unchanged.
                self.machine.give_up();
                ContinuedError::Client(error)
            })?;
            let (text, end, error, tokens) = self.receive(response).await;
            self.machine.count_output_tokens(tokens.unwrap_or_default());
            let decision = self.machine.receive(&text, end);
            if let Some(error) = error.filter(|_| decision != Decision::Complete) {
                return Err(error);
            }
        }
        match self.machine.error() {
            Some(error) => Err(ContinuedError::Continuation(error)),
            None => self.judge().await,
        }
    }

    /// The original request, or the request for the rest.
    fn request(&self, next: &DocumentRequest<'_>) -> Result<ChatRequest, ContinuedError> {
        let mut request = self.request.clone();
        let Some(Message::User(parts)) = request.messages.last_mut() else {
            let message = "the last message of the request is not a user message";
            return Err(ContinuedError::Client(ClientError::new(ClientErrorKind::Request, message)));
        };
        if next.requested_overlap.is_some() {
            match parts.last_mut() {
                Some(UserPart::Text(text)) => text.push_str(&next.prompt),
                _ => parts.push(next.prompt.trim_start().into()),
            }
            request.response_format = ResponseFormat::Text;
            // Members of the format have no place without it.
            request.extra_at.retain(|(at, _)| !OF_FORMATS.iter().any(|format| at.starts_with(format)));
        }
        Ok(request)
    }

    /// The text of one response, and how it ended.
    async fn receive(
        &self,
        response: ResponseStream<ResponseBody>,
    ) -> (String, ResponseEnd, Option<ContinuedError>, Option<u64>) {
        let mut pieces = pin!(response.text());
        let (mut text, mut error) = (String::new(), None);
        // One byte more is too many.
        while text.len() <= self.machine.free_bytes() {
            match poll_fn(|cx| pieces.as_mut().poll_next(cx)).await {
                Some(Ok(piece)) => text += &piece,
                Some(Err(ended)) => {
                    error = Some(ended);
                    break;
                }
                None => break,
            }
        }
        let tokens = pieces.parser().usage().and_then(|usage| usage.output_tokens);
        (text, end_of(error.as_ref()), ended_by(error), tokens)
    }

    /// The complete document, or its replacement, in its type.
    async fn judge(&mut self) -> Result<T, ContinuedError> {
        let text = self.machine.document().text();
        let value = Raw::new(text).expect("the document is complete");
        let span = Span::new(0, text.len() as u64);
        let (completion, recovered) = (CompletedBy::EndOfInput, Recovered::default());
        let record = Record { value, line: 1, column: 1, span, completion, recovered };
        let mut found = Some(verdict(&mut self.judge, &record));
        if let (Some(Verdict::Ask(rejected)), Some(repair)) = (&found, &mut self.repair) {
            repair.ask((**rejected).clone());
            let replacement = poll_fn(|cx| repair.poll_replacement(cx)).await.flatten();
            let make = |record: &Record<Value<'_>>| Ok::<_, Infallible>(record.deserialize());
            Ok(found) = self.judge.resume(replacement, make);
        }
        match found {
            Some(Verdict::Record(record)) => Ok(record.value),
            Some(Verdict::Rejected(diagnostic)) => Err(ContinuedError::Invalid(Box::new(diagnostic))),
            _ => unreachable!("a document is no call, and the question about it is answered"),
        }
    }
}

/// Completes it.
impl<T: DeserializeOwned + Send + 'static> IntoFuture for ContinuedDocument<T> {
    type Output = Result<T, ContinuedError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(mut self) -> Self::IntoFuture {
        Box::pin(async move { self.complete().await })
    }
}

/// Without the text.
impl<T> fmt::Debug for ContinuedDocument<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContinuedDocument")
            .field("client", &self.client)
            .field("requests", &self.machine.requests())
            .field("status", &self.machine.document().status())
            .finish_non_exhaustive()
    }
}
