//! The request for one item.

use tokenline_core::{Code, Diagnostic, RejectedCall};

use crate::request::{ChatRequest, Message};
use crate::{ResponseEvent, ResponseOptions};

use super::ReaskOptions;
use super::rejected_texts::RejectedTexts;
use crate::client::LlmClient;

/// The longest text that is sent back, in bytes.
const MAX_TEXT: usize = 64 * 1024;

/// What further requests have in common.
pub(super) struct Setup {
    pub(super) client: LlmClient,
    /// The request without its messages.
    request: ChatRequest,
    /// The messages that each further request begins with.
    messages: Vec<Message>,
    /// How their responses are read.
    pub(super) options: ResponseOptions,
}

impl Setup {
    pub(super) fn new(
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
            options: options.for_one_item(),
        }
    }

    /// The request for a rejected item.
    pub(super) fn request(&self, item: &Item) -> ChatRequest {
        // The rest of a conversation is not repeated: an item alone must be shown.
        let is_alone = !self.messages.iter().any(|message| !matches!(message, Message::System(_)));
        self.request.clone().messages(self.messages.iter().cloned()).messages(item.messages(is_alone))
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
                let code = call.diagnostic.code;
                (code.is_repairable() || code == Code::Unsealed).then(|| Self::Call(call.clone()))
            }
            _ => None,
        }
        .filter(|item| item.text().len() <= MAX_TEXT)
    }

    /// What the model wrote.
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
            Self::Call(call) => match Message::rejected(call).filter(|_| !is_alone) {
                Some((call, result)) => vec![Message::assistant("", [call]), result],
                None => {
                    let name = call.name.as_deref().map(|name| format!(" of `{name}`")).unwrap_or_default();
                    vec![Message::user(format!(
                        "This tool call{name} was not run:\n\n{}\n\nThe reason: {why}\n\nCall the tool again, corrected.",
                        call.received
                    ))]
                }
            },
        }
    }
}
