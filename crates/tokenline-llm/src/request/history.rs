//! Messages in the form that a provider's API accepts in the history of a conversation.

use std::borrow::Cow;

use tokenline_core::ToolCall;
use tokenline_core::adapter::Digest;

use super::sent_ids::SentIds;
use super::{AssistantPart, ChatRequest, Message, UserPart};
use crate::Provider;

/// The rules of an API for messages of a conversation. A response may break those for the next request, and the response
/// of another provider even more so.
pub(crate) struct HistoryRules {
    /// Whether a text of white space is refused, and not only an empty one.
    pub(crate) refuses_white_space: bool,
    /// The rules for names of tools; `None` if any name is accepted.
    pub(crate) names: Option<NameRules>,
    /// Whether ids of calls are 1 to 64 ASCII letters, digits, `_` and `-`.
    pub(crate) has_plain_ids: bool,
    /// Whether a system message may stand inside the conversation.
    pub(crate) has_inline_system: bool,
    /// Whether a tool's result can be marked as an error.
    pub(crate) marks_errors: bool,
}

/// The rules for names of tools: 1 to 64 ASCII letters, digits, and some others.
pub(crate) struct NameRules {
    /// The other characters.
    pub(crate) others: &'static str,
    /// Whether the first one is a letter or `_`.
    pub(crate) starts_with_letter: bool,
}

impl NameRules {
    /// Letters, digits, `_` and `-`.
    pub(crate) const PLAIN: Self = Self { others: "_-", starts_with_letter: false };
    /// As for Gemini: <https://ai.google.dev/api/caching#FunctionDeclaration>.
    pub(crate) const GEMINI: Self = Self { others: "_-.:", starts_with_letter: true };

    const MAX_CHARS: usize = 64;

    fn allows(&self, name: &str) -> bool {
        name.len() <= Self::MAX_CHARS && self.may_start(name) && name.chars().all(|c| self.has(c))
    }

    fn has(&self, c: char) -> bool {
        c.is_ascii_alphanumeric() || self.others.contains(c)
    }

    fn may_start(&self, name: &str) -> bool {
        let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
        if self.starts_with_letter { name.starts_with(is_letter) } else { !name.is_empty() }
    }

    /// The name with `_` in place of what the API refuses.
    fn adapted(&self, name: &str) -> String {
        let name: String = name.chars().map(|c| if self.has(c) { c } else { '_' }).collect();
        let start = if self.may_start(&name) { "" } else { "_" };
        start.chars().chain(name.chars()).take(Self::MAX_CHARS).collect()
    }
}

impl HistoryRules {
    /// Whether the API refuses this text as blank.
    fn is_blank(&self, text: &str) -> bool {
        if self.refuses_white_space { text.trim().is_empty() } else { text.is_empty() }
    }

    /// An id that the API accepts, the same one for the call and for its result.
    pub(super) fn id<'i>(&self, id: &'i str) -> Cow<'i, str> {
        let is_plain = || (1..=64).contains(&id.len()) && id.chars().all(|c| NameRules::PLAIN.has(c));
        if !self.has_plain_ids || is_plain() {
            return Cow::Borrowed(id);
        }
        Cow::Owned(format!("id_{:016x}", Digest::of(id).hash()))
    }
}

impl Provider {
    /// Whether the API refuses this text as blank.
    pub(crate) fn is_blank(self, text: &str) -> bool {
        self.info().history.is_blank(text)
    }
}

impl ChatRequest {
    /// The request with messages that the provider accepts: without blank texts and reasoning of other providers, and
    /// with valid names, and with ids that are valid and tell the calls apart. Of an assistant message, nothing may be left.
    pub(crate) fn adapted(&self, provider: Provider) -> Cow<'_, Self> {
        let mut ids = SentIds::default();
        let messages = self.messages.iter().enumerate();
        let changed = messages
            .filter_map(|(index, message)| Some((index, self.adapt(provider, &mut ids, index, message)?)));
        let changed: Vec<_> = changed.collect();
        if changed.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut adapted = self.clone();
        for (index, message) in changed {
            adapted.messages[index] = message;
        }
        Cow::Owned(adapted)
    }

    /// The messages that are sent, with their indices: all but the assistant messages of which nothing is left.
    pub(crate) fn sent_messages(&self) -> impl Iterator<Item = (usize, &Message)> {
        let is_sent = |message: &Message| !matches!(message, Message::Assistant(parts) if parts.is_empty());
        self.messages.iter().enumerate().filter(move |(_, message)| is_sent(message))
    }

    /// The message in the form that the provider accepts, if it is another one.
    fn adapt(
        &self,
        provider: Provider,
        ids: &mut SentIds,
        index: usize,
        message: &Message,
    ) -> Option<Message> {
        let rules = &provider.info().history;
        match message {
            Message::System(_) => None,
            Message::User(parts) => {
                let is_kept = |part: &&UserPart| !part.as_text().is_some_and(|text| rules.is_blank(text));
                let kept = parts.iter().filter(is_kept).count();
                // A blank message is an error of some providers, and the prompt of others.
                (kept > 0 && kept < parts.len())
                    .then(|| Message::User(parts.iter().filter(is_kept).cloned().collect()))
            }
            Message::Assistant(parts) => {
                let is_kept = |part: &&AssistantPart| match part {
                    AssistantPart::Text { text, .. } => {
                        !rules.is_blank(text) || part.opaque_of(provider).is_some()
                    }
                    AssistantPart::Reasoning { .. } => part.opaque_of(provider).is_some(),
                    AssistantPart::ToolCall { .. } => true,
                };
                let sent_id = |call: &ToolCall| Some(ids.of_call(rules, index, call.call_id.as_deref()?));
                let sent_ids: Vec<_> = message.tool_calls().map(sent_id).collect();
                let is_valid = |(call, sent_id): (&ToolCall, &Option<String>)| {
                    self.allows_name(rules, &call.name) && call.call_id == *sent_id
                };
                if parts.iter().all(|part| is_kept(&part))
                    && message.tool_calls().zip(&sent_ids).all(is_valid)
                {
                    return None;
                }
                let mut parts: Vec<_> = parts.iter().filter(is_kept).cloned().collect();
                let calls = parts.iter_mut().filter_map(|part| match part {
                    AssistantPart::ToolCall { call, .. } => Some(call),
                    _ => None,
                });
                for (call, sent_id) in calls.zip(sent_ids) {
                    self.adapt_name(rules, &mut call.name);
                    call.call_id = sent_id;
                }
                Some(Message::Assistant(parts))
            }
            Message::Tool(result) => {
                let sent_id = result.call_id.as_ref().map(|id| ids.of_result(rules, id));
                let is_valid = result.name.as_ref().is_none_or(|name| self.allows_name(rules, name))
                    && result.call_id == sent_id;
                (!is_valid).then(|| {
                    let mut result = result.clone();
                    result.call_id = sent_id;
                    if let Some(name) = &mut result.name {
                        self.adapt_name(rules, name);
                    }
                    Message::Tool(result)
                })
            }
        }
    }

    /// A tool of the request has a name that this server accepts.
    fn allows_name(&self, rules: &HistoryRules, name: &str) -> bool {
        let Some(names) = &rules.names else { return true };
        names.allows(name) || self.tools.iter().any(|tool| tool.name == name)
    }

    fn adapt_name(&self, rules: &HistoryRules, name: &mut String) {
        if let Some(names) = &rules.names
            && !self.allows_name(rules, name)
        {
            *name = names.adapted(name);
        }
    }
}
