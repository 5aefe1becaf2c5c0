//! The request for one item.

use tokenline_core::adapter::{Digest, RejectedTexts};
use tokenline_core::{Code, Diagnostic, RejectedCall};

use crate::request::{ChatRequest, Message};
use crate::{ResponseEvent, ResponseOptions};

use super::ReaskOptions;
use crate::client::LlmClient;

/// The longest text that is sent back, in bytes.
const MAX_TEXT: usize = 64 * 1024;

/// The settings that all further requests share.
pub(crate) struct Setup {
    pub(super) client: LlmClient,
    /// The request without its messages.
    request: ChatRequest,
    /// The messages that each further request begins with.
    messages: Vec<Message>,
    /// How their responses are read.
    pub(super) options: ResponseOptions,
    /// Whether the response emits how records, and calls, grow.
    pub(super) has_partials: bool,
    pub(super) has_call_updates: bool,
}

impl Setup {
    pub(crate) fn new(
        client: LlmClient,
        mut request: ChatRequest,
        options: ResponseOptions,
        reask: &ReaskOptions,
    ) -> Self {
        let mut messages = std::mem::take(&mut request.messages);
        if reask.is_item_only {
            messages.retain(|message| matches!(message, Message::System(_)));
        }
        if let Some(model) = &reask.model {
            request.model.clone_from(model);
        }
        Self {
            client: reask.client.clone().unwrap_or(client),
            request,
            messages,
            has_partials: options.has_partials(),
            has_call_updates: options.has_call_updates(),
            options: options.for_one_item(),
        }
    }

    /// The request for a rejected item.
    pub(super) fn request(&self, item: &Item) -> ChatRequest {
        // The rest of a conversation is not repeated: an item alone must be shown.
        let is_alone = !self.messages.iter().any(|message| !matches!(message, Message::System(_)));
        let mut request = self.request.clone().messages(self.messages.iter().cloned());
        let mut messages = item.messages(is_alone).into_iter();
        // Some models want the roles to alternate.
        if let (Some(Message::User(before)), [Message::User(_)]) =
            (request.messages.last_mut(), messages.as_slice())
            && let Some(Message::User(parts)) = messages.next()
        {
            before.extend(parts);
        }
        request.messages(messages)
    }
}

/// A rejected record or call.
#[derive(Clone, Debug)]
pub(super) enum Item {
    Record { text: String, why: Box<Diagnostic> },
    Call(Box<RejectedCall>),
}

impl Item {
    /// The item of an event, if the model can be asked for it again.
    pub(super) fn of<T>(event: &ResponseEvent<T>, texts: &RejectedTexts) -> Option<Self> {
        match event {
            ResponseEvent::Rejected { choice: Some(_), diagnostic, .. } => {
                let text = texts.take(diagnostic)?;
                Some(Self::Record { text, why: Box::new(diagnostic.clone()) })
            }
            ResponseEvent::RejectedCall { call, .. } => {
                texts.take(&call.diagnostic);
                Some(Self::Call(call.clone()))
            }
            _ => None,
        }
        .filter(Self::can_be_asked)
    }

    /// Whether a request is of use. Prose that the strict mode rejects is no record; of a record or call that was delivered,
    /// only the rest is rejected.
    fn can_be_asked(&self) -> bool {
        let (code, text) = (self.why().code, self.text());
        let is_item = self.is_call() || text.contains(['{', '[']);
        let may_pass = code.is_repairable() || (self.is_call() && code == Code::Unsealed);
        is_item && may_pass && code != Code::LateFragment && text.len() <= MAX_TEXT
    }

    /// Adds the text, and of a call its name, to the digest of a response.
    pub(super) fn add_to(&self, digest: &mut Digest) {
        if let Self::Call(call) = self {
            digest.add(call.name.as_deref().unwrap_or_default());
            digest.add("\n");
        }
        digest.add(self.text());
    }

    /// Its digest: equal items are the same text, and of calls the same tool.
    pub(super) fn digest(&self) -> Digest {
        let mut digest = Digest::default();
        self.add_to(&mut digest);
        digest
    }

    /// Whether it is more than a part of what was asked for.
    pub(super) fn is_whole(&self) -> bool {
        self.why().code != Code::Truncated
            && (self.is_call() || self.text().trim_start().starts_with(['{', '[']))
    }

    /// The text that the model wrote.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Record { text, .. } => text,
            Self::Call(call) => &call.received,
        }
    }

    /// Why it was rejected.
    pub(super) fn why(&self) -> &Diagnostic {
        match self {
            Self::Record { why, .. } => why,
            Self::Call(call) => &call.diagnostic,
        }
    }

    pub(super) fn is_call(&self) -> bool {
        matches!(self, Self::Call(_))
    }

    /// The messages that ask for it again.
    fn messages(&self, is_alone: bool) -> Vec<Message> {
        let why = self.why().for_model();
        match self {
            Self::Record { text, .. } if is_alone => {
                vec![Message::user(format!(
                    "This record was rejected:\n\n{text}\n\nThe reason: {why}\n\n\
                     Write the record again, corrected, and nothing else."
                ))]
            }
            Self::Record { text, .. } => {
                let ask = format!(
                    "This record was rejected: {why}\n\nWrite this one record again, corrected, and nothing else."
                );
                vec![Message::assistant(text.as_str(), []), Message::user(ask)]
            }
            // Not as a call with its result: some providers want the reasoning before it back, or an id.
            Self::Call(call) => {
                let name = call.name.as_deref().map(|name| format!(" of `{name}`")).unwrap_or_default();
                let text = &call.received;
                vec![Message::user(format!(
                    "This tool call{name} was not run, because it was rejected:\n\n{text}\n\nThe reason: {why}\n\n\
                     Call the tool again, corrected."
                ))]
            }
        }
    }
}
