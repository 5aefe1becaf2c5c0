//! The writers of the providers' wire formats.

use std::fmt;
use std::io::Write as _;
use std::mem;

use tokenline_core::json::Raw;

use super::{CallIds, Failure, StepRules, StepWriter, Steps};
use crate::request::Message;
use crate::{Provider, ResponseEvent};

/// The head of a response: its id, its model, its time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResponseHead {
    /// A text that is unique among responses, of ASCII letters and digits. The ids of the response, its items and its calls
    /// contain it.
    pub id: String,
    /// The model's name.
    pub model: String,
    /// When the response was created, in seconds since 1970.
    pub created: u64,
    /// Whether the client of a stream asked for token usage. For OpenAI's chat completions; the others always send it.
    pub include_usage: bool,
    /// The provider of the response. Its opaque data is written for clients of its own API.
    pub upstream: Option<Provider>,
    /// Members of the request, which OpenAI's Responses repeat: name and JSON value.
    pub request_members: Vec<(String, Raw)>,
}

impl ResponseHead {
    /// The head of a response with an id, which is unique and of ASCII letters and digits, and a model.
    pub fn new(id: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            model: model.into(),
            created: 0,
            include_usage: false,
            upstream: None,
            request_members: Vec::new(),
        }
    }

    /// Sets when the response was created, in seconds since 1970.
    #[must_use]
    pub fn created(self, seconds: u64) -> Self {
        Self { created: seconds, ..self }
    }

    /// Sets whether the client of a stream asked for token usage.
    #[must_use]
    pub fn include_usage(self, include_usage: bool) -> Self {
        Self { include_usage, ..self }
    }

    /// Sets the provider of the response.
    #[must_use]
    pub fn upstream(self, provider: Provider) -> Self {
        Self { upstream: Some(provider), ..self }
    }

    /// Sets the members of the request that OpenAI's Responses repeat.
    #[must_use]
    pub fn request_members(self, members: impl IntoIterator<Item = (String, Raw)>) -> Self {
        Self { request_members: members.into_iter().collect(), ..self }
    }
}

/// Writes a response in the wire format of a provider. Does no I/O. See [the module](super).
pub struct ResponseWriter {
    steps: Steps,
    wire: Box<dyn WireWriter>,
}

/// The wire format of a provider.
pub(crate) trait WireWriter: StepWriter + Send {
    /// How events become steps.
    fn rules(&self) -> StepRules;

    /// The bytes of the stream so far.
    fn out(&mut self) -> &mut Vec<u8>;

    /// Writes the data that a provider attached to the message, for the next request.
    fn keep_message(&mut self, message: &Message);

    /// The body, if the response is not streamed.
    fn body(&self) -> String;

    /// The event that keeps a silent stream open.
    fn ping(&self) -> &'static str;
}

impl ResponseWriter {
    /// A writer of server-sent events; `None` if the provider has no writer.
    #[must_use]
    pub fn streamed(provider: Provider, head: ResponseHead) -> Option<Self> {
        Self::new(provider, head, true)
    }

    /// A writer of a body that is not streamed; `None` if the provider has no writer.
    #[must_use]
    pub fn whole(provider: Provider, head: ResponseHead) -> Option<Self> {
        Self::new(provider, head, false)
    }

    fn new(provider: Provider, head: ResponseHead, is_streamed: bool) -> Option<Self> {
        let ids = CallIds::with_prefix(format!("call_{}_", head.id));
        let wire = provider.for_clients()?.writer(head, is_streamed);
        Some(Self { steps: Steps::new(wire.rules(), ids), wire })
    }

    /// Writes an event.
    pub fn push(&mut self, event: &ResponseEvent<Raw>) {
        self.steps.push(event, &mut *self.wire);
    }

    /// Notes that the response ends with an error. [`finish`](Self::finish) writes it. The first error counts.
    pub fn fail(&mut self, failure: Failure) {
        self.steps.fail(failure);
    }

    /// Keeps the data that another provider than the client's attached to the message, such as signatures and encrypted
    /// reasoning, for the next request: the client sends it back, and
    /// [`ReceivedRequest`](crate::request::ReceivedRequest) puts it in its place. Call it before
    /// [`finish`](Self::finish), with the [message](crate::ResponseParser::message) of the response.
    pub fn keep_message(&mut self, message: &Message) {
        if let Some(message) = self.steps.as_delivered(message) {
            self.wire.keep_message(&message);
        }
    }

    /// Ends the response.
    pub fn finish(&mut self) {
        self.steps.finish(&mut *self.wire);
    }

    /// Whether the response has ended: nothing follows.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.steps.is_ended()
    }

    /// The error that ended the response.
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        self.steps.failure().filter(|_| self.is_ended())
    }

    /// The number of bytes that [`take`](Self::take) returns.
    #[must_use]
    pub fn ready_bytes(&mut self) -> usize {
        self.wire.out().len()
    }

    /// Takes the bytes of the stream so far: complete events.
    pub fn take(&mut self) -> Vec<u8> {
        mem::take(self.wire.out())
    }

    /// An event without content, which keeps the connection of a silent stream open. It may stand between any two
    /// results of [`take`](Self::take).
    #[must_use]
    pub fn ping(&self) -> &'static str {
        self.wire.ping()
    }

    /// The body of a response that is not streamed, once it has ended.
    ///
    /// # Errors
    ///
    /// If the response failed; [`Failure::to_body`] is the body of the error.
    pub fn into_body(self) -> Result<String, Failure> {
        match self.failure() {
            Some(failure) => Err(failure.clone()),
            None => Ok(self.wire.body()),
        }
    }
}

/// Appends a text as a JSON string.
pub(crate) fn append_json(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(&mut *out, text).expect("a text is JSON, and memory takes it");
}

/// Appends formatted text.
pub(crate) fn append(out: &mut Vec<u8>, text: fmt::Arguments<'_>) {
    out.write_fmt(text).expect("memory takes it");
}

/// Appends a server-sent event. The data has no line feed.
pub(crate) fn append_event(out: &mut Vec<u8>, name: Option<&str>, data: &dyn fmt::Display) {
    if let Some(name) = name {
        append(out, format_args!("event: {name}\n"));
    }
    append(out, format_args!("data: {data}\n\n"));
}

impl fmt::Debug for ResponseWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseWriter").field("steps", &self.steps).finish_non_exhaustive()
    }
}
