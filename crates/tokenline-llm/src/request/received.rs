//! Requests as clients send them, in the format of a provider: the opposite of [`ChatRequest::to_body`].

mod equivalents;
mod own_members;
mod read;

use std::collections::HashSet;
use std::error::Error;
use std::fmt;
use std::mem;

use tokenline_core::json::{Parser, Value};

use super::{ChatRequest, Message, RequestError, ResponseFormat, ToolResult, UserPart};
use crate::Provider;
use equivalents::Equivalents;
use own_members::{Comparison, OwnMembers};
pub(crate) use read::{Content, Member, Read, Reading, ResultMedia};

/// A request as a client sent it, in a provider's format.
///
/// ```
/// use tokenline_llm::Provider;
/// use tokenline_llm::request::ReceivedRequest;
///
/// let body = br#"{"model": "gpt-5", "reasoning_effort": "low", "logprobs": true,
///     "messages": [{"role": "user", "content": "Why is the sky blue?"}]}"#;
/// let received = ReceivedRequest::from_json(Provider::OpenAiChat, body)?;
/// assert_eq!(received.request.messages[0].text(), "Why is the sky blue?");
///
/// let (request, left_out) = received.into_request_for(Provider::Anthropic);
/// assert_eq!(request.extra["output_config"]["effort"], "low");
/// assert_eq!(left_out, ["/logprobs"]);
/// # Ok::<(), tokenline_llm::request::InvalidRequest>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReceivedRequest {
    /// The request, as far as it is the same for every provider.
    pub request: ChatRequest,
    /// The format in which it arrived.
    pub provider: Provider,
    /// Whether the client asked for token usage in the response's stream. OpenAI chat completions omit it by default, the
    /// others always report it.
    pub include_usage: bool,
    own: OwnMembers,
    equivalents: Equivalents,
    /// Pointers to the marks of tools' results that are errors.
    errors: Vec<String>,
    /// Messages that only this provider understands, in place of those of the request.
    substitutes: Vec<(usize, Message)>,
    /// Images and documents in the results of tools.
    media: Vec<ResultMedia>,
    /// The format of the response is among the own members, because it cannot be written otherwise.
    has_own_format: bool,
}

impl ReceivedRequest {
    /// Reads the body of a request to OpenAI chat completions, OpenAI Responses or Anthropic messages.
    ///
    /// A member that is missing has the default of the format: without `stream`, the response is not streamed.
    ///
    /// # Errors
    ///
    /// If the body is not JSON, if it is not a request of this format, or if requests of the format are not read.
    pub fn from_json(provider: Provider, body: &[u8]) -> Result<Self, InvalidRequest> {
        let Some(api) = provider.for_clients() else {
            return Err(InvalidRequest::new("", format!("requests to {} are not read", provider.as_str())));
        };
        let body = std::str::from_utf8(body).map_err(|_| InvalidRequest::new("", "the body is not UTF-8"))?;
        let mut json = Parser::new();
        let body = json
            .parse(body)
            .map_err(|error| InvalidRequest::new("", format!("the body is not JSON: {error}")))?;
        let mut reading = api.read_request(&Member::root(body))?;
        let equivalents = Equivalents::read(provider, body);
        let has_own_format = reading.has_own_format(provider);
        let own = reading.own_members(provider, body, has_own_format)?;
        let Reading { request, include_usage, errors, substitutes, media, .. } = reading;
        Ok(Self {
            request,
            provider,
            include_usage,
            own,
            equivalents,
            errors,
            substitutes,
            media,
            has_own_format,
        })
    }

    /// The request to send to `upstream`, and JSON Pointers (RFC 6901) to the members of the received body that it cannot
    /// carry there, sorted.
    ///
    /// For the provider of the received format, members that the request does not have become [additional
    /// members](ChatRequest::extra_at) at their place, which a later change to the messages must not move. For another
    /// one, they are left out unless that provider has the same setting.
    #[must_use]
    pub fn into_request_for(self, upstream: Provider) -> (ChatRequest, Vec<String>) {
        let provider = self.provider;
        let (request, mut left_out) =
            if upstream == provider { self.into_same() } else { self.into_foreign(upstream) };
        left_out.sort_unstable();
        left_out.dedup();
        (request, left_out)
    }

    fn into_same(mut self) -> (ChatRequest, Vec<String>) {
        swap(&mut self.request, &mut self.substitutes);
        let mut request = self.request;
        if self.has_own_format {
            request.response_format = ResponseFormat::Text;
        }
        for (place, value) in self.own.placed {
            match own_members::name_of_top(&place) {
                Some(name) => drop(request.extra.insert(name.to_owned(), value)),
                None => request.extra_at.push((place, value)),
            }
        }
        let limit = request.extra.get("max_completion_tokens").filter(|limit| !limit.is_null());
        if self.provider == Provider::OpenAiChat && limit.is_some() {
            // OpenAI refuses both names at once.
            request.max_tokens = None;
        }
        (request, self.own.unplaced)
    }

    fn into_foreign(self, upstream: Provider) -> (ChatRequest, Vec<String>) {
        let (mut request, mut left_out) = (self.request, self.own.foreign);
        move_media(self.media, upstream, &mut request, &mut left_out);
        self.equivalents.carry(upstream, &mut request, &mut left_out);
        equivalents::drop_unsupported(self.provider, upstream, &mut request, &mut left_out);
        let rules = &upstream.info().history;
        if !rules.marks_errors {
            left_out.extend(self.errors);
        }
        if !rules.has_inline_system {
            let is_system = |message: &Message| matches!(message, Message::System(_));
            for message in request.messages.iter_mut().skip_while(|message| is_system(message)) {
                if let Message::System(text) = message {
                    *message = Message::user(mem::take(text));
                }
            }
        }
        (request, left_out)
    }
}

/// Moves images and documents from the results of tools, which hold texts, to a user message behind them, if the upstream
/// takes them there.
fn move_media(
    media: Vec<ResultMedia>,
    upstream: Provider,
    request: &mut ChatRequest,
    left_out: &mut Vec<String>,
) {
    let is_accepted = |media: &ResultMedia| {
        let probe = ChatRequest::new("-").message(Message::User(vec![media.part.probe()]));
        probe.to_object(upstream).is_ok()
    };
    let mut media = media.into_iter().filter(is_accepted).peekable();
    if media.peek().is_none() {
        return;
    }
    let mut moved = HashSet::new();
    let mut parts = Vec::new();
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    for (index, mut message) in mem::take(&mut request.messages).into_iter().enumerate() {
        match &mut message {
            Message::Tool(ToolResult { call_id, .. }) => {
                while let Some(ResultMedia { pointer, part, .. }) =
                    media.next_if(|media| media.result == index)
                {
                    let id = call_id.as_deref().unwrap_or_default();
                    parts.extend([UserPart::Text(format!("From the result of the tool call {id}:")), part]);
                    moved.insert(pointer);
                }
            }
            Message::User(own) => own.splice(..0, parts.drain(..)).for_each(drop),
            _ if !parts.is_empty() => messages.push(Message::User(mem::take(&mut parts))),
            _ => {}
        }
        messages.push(message);
    }
    if !parts.is_empty() {
        messages.push(Message::User(parts));
    }
    request.messages = messages;
    let is_moved = |path: &String| {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        ends.into_iter().any(|end| moved.contains(&path[..end]))
    };
    left_out.retain(|path| !is_moved(path));
}

/// Exchanges messages with those in the list.
fn swap(request: &mut ChatRequest, substitutes: &mut [(usize, Message)]) {
    for (index, substitute) in substitutes {
        mem::swap(&mut request.messages[*index], substitute);
    }
}

impl Reading {
    /// Whether the provider enforces schemas, and not this one as this crate writes it.
    fn has_own_format(&self, provider: Provider) -> bool {
        let mut probe = ChatRequest::new("").user("-");
        probe.response_format = self.request.response_format.clone();
        matches!(probe.to_object(provider), Err(RequestError::Schema { .. }))
    }

    /// The members that the body has beyond the request: those that the same provider's writer would not write.
    fn own_members(
        &mut self,
        provider: Provider,
        body: Value<'_>,
        has_own_format: bool,
    ) -> Result<OwnMembers, InvalidRequest> {
        swap(&mut self.request, &mut self.substitutes);
        let format = has_own_format.then(|| mem::take(&mut self.request.response_format));
        // The provider's own tools are not written yet.
        let choice = self.request.tools.is_empty().then(|| mem::take(&mut self.request.tool_choice));
        let written = self.request.to_body(provider).ok().or_else(|| self.settings_only(provider));
        if let Some(format) = format {
            self.request.response_format = format;
        }
        if let Some(choice) = choice {
            self.request.tool_choice = choice;
        }
        swap(&mut self.request, &mut self.substitutes);
        let mut json = Parser::new();
        match written.as_deref().map(|written| json.parse(written)) {
            Some(Ok(written)) => Comparison::new(self, provider).of(body, written),
            // To write the request fails, with the reason.
            Some(Err(_)) | None => Ok(OwnMembers::default()),
        }
    }

    /// The body without the messages, of a request whose messages this provider refuses.
    fn settings_only(&mut self, provider: Provider) -> Option<String> {
        let messages = mem::replace(&mut self.request.messages, vec![Message::user("-")]);
        let written = self.request.to_body(provider).ok();
        self.request.messages = messages;
        self.replaced.extend(["/messages", "/input"].map(str::to_owned));
        written
    }
}

/// A body that is not a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidRequest {
    pointer: String,
    reason: String,
}

impl InvalidRequest {
    pub(crate) fn new(pointer: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), reason: reason.into() }
    }

    /// JSON Pointer (RFC 6901) to the member at fault; empty for the whole body.
    #[must_use]
    pub fn pointer(&self) -> &str {
        &self.pointer
    }

    /// The reason: `must be a string`.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for InvalidRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.pointer {
            "" => f.write_str(&self.reason),
            pointer => write!(f, "{pointer}: {}", self.reason),
        }
    }
}

impl Error for InvalidRequest {}
