//! A call as its fragments arrive.

use std::mem;

use memchr::{memchr_iter, memrchr};

use super::arguments::Arguments;
use super::certain::CertainArguments;
use super::repetition::AfterArguments;
use crate::digest::Digest;
use crate::json::{Parser, Value};
use crate::tool_call::validate_call;
use crate::{Code, CompletedBy, Diagnostic, Origin, RejectedCall, Span, ToolCall, ValidateCall, Violation};

/// A fragment of a native tool call, as a provider sends it.
///
/// The first fragment of a call, its header, names the tool; the later ones carry its arguments. Empty texts
/// count as missing: servers repeat `"id": ""` and `"name": ""`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallDelta<'a> {
    /// The call's number in the response, if the provider counts its calls.
    pub index: Option<u64>,
    /// The provider's id of the call.
    pub id: Option<&'a str>,
    /// The tool's name.
    pub name: Option<&'a str>,
    /// More of the arguments' JSON text.
    pub arguments: &'a str,
    /// Whether `arguments` is the complete text instead of a fragment, whatever came before: some providers
    /// send a call at once, some repeat it at its end.
    pub is_whole: bool,
    /// Whether a U+FFFD in the id, the name or the arguments may replace bytes that were not UTF-8, as in
    /// [`SseEvent::lossy`](crate::sse::SseEvent::lossy). Such a call is rejected.
    pub lossy: bool,
}

pub(super) struct Call {
    /// The call's number in the response, from 1.
    pub(super) ordinal: u64,
    pub(super) index: Option<u64>,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) after_arguments: AfterArguments,
    /// Of the string that held its arguments, if one did.
    pub(super) encoded: Digest,
    /// Whether its item ended before its arguments began.
    pub(super) is_item_ended: bool,
    pub(super) state: State,
    /// Whether its beginning was yielded.
    pub(super) is_announced: bool,
    /// How much of its arguments was yielded, as they are delivered.
    pub(super) published: usize,
    /// What of its arguments stays as it is, if the tools convert values.
    pub(super) certain: Option<Box<CertainArguments>>,
}

pub(super) enum State {
    /// The arguments are not balanced yet.
    Open(Box<Arguments>),
    /// They are balanced, but there is no evidence yet that they are complete.
    Balanced(Box<Arguments>),
    /// They were delivered; the digest recognizes them if the call comes again.
    Released(Digest),
    Rejected,
}

/// Characters of a tool's name that a message shows.
const SHOWN_NAME: usize = 64;

impl CallDelta<'_> {
    /// Whether its arguments can be the start of a call's arguments: an object, or a string that holds one.
    pub(super) fn is_start(&self) -> bool {
        trim_start(self.arguments).starts_with(['{', '"'])
    }

    /// Whether this part of the fragment may differ from what was sent.
    pub(super) fn is_corrupted(&self, text: &str) -> bool {
        self.lossy && text.contains(char::REPLACEMENT_CHARACTER)
    }

    /// Whether its id or its name may differ from what was sent.
    pub(super) fn is_header_corrupted(&self) -> bool {
        [self.id, self.name].into_iter().flatten().any(|text| self.is_corrupted(text))
    }

    /// The same without an empty id and an empty name.
    #[inline(always)]
    pub(super) fn without_empty_header(self) -> Self {
        let filled = |text: &&str| !text.is_empty();
        Self { id: self.id.filter(filled), name: self.name.filter(filled), ..self }
    }

    /// Whether it carries nothing.
    pub(super) fn is_blank(&self) -> bool {
        self.id.is_none() && self.name.is_none() && trim_start(self.arguments).is_empty()
    }
}

impl Call {
    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, State::Open(_))
    }

    /// Whether its arguments come as values.
    pub(super) fn has_partial_args(&self) -> bool {
        matches!(&self.state, State::Open(arguments) if arguments.partial.is_some())
    }

    pub(super) fn is_balanced(&self) -> bool {
        matches!(self.state, State::Balanced(_))
    }

    /// Whether its arguments are balanced and have no members, so that others may replace them.
    pub(super) fn is_placeholder(&self) -> bool {
        matches!(&self.state, State::Balanced(arguments) if arguments.is_placeholder())
    }

    pub(super) fn has_ended(&self) -> bool {
        matches!(self.state, State::Released(_) | State::Rejected)
    }

    /// Whether this fragment opens another call although it follows this one, or has its index or its id.
    pub(super) fn is_superseded_by(&self, delta: &CallDelta<'_>) -> bool {
        if delta.is_whole && delta.index.is_some() {
            // A call that is repeated at its end may have another id there.
            return delta.name.is_some_and(|name| self.name.as_deref().is_some_and(|own| own != name));
        }
        let Some(name) = delta.name else {
            // An id alone opens a call only if there is no index.
            return delta.index.is_none()
                && delta.id.is_some_and(|new| self.id.as_deref().is_some_and(|old| old != new));
        };
        let is_other_id = delta.id.is_some_and(|new| match &self.id {
            Some(old) => old != new,
            None => !self.text().is_empty() || self.has_ended(),
        });
        let has_ended = self.has_ended() || self.is_malformed();
        match &self.name {
            None => {
                let is_other = delta.id.is_some_and(|new| self.id.as_deref().is_some_and(|old| old != new));
                has_ended || is_other || (self.is_balanced() && delta.is_start())
            }
            Some(own) => {
                let is_open = self.is_open() && !has_ended;
                let is_new = || !is_open && delta.is_start() && !self.is_named_by(delta);
                own != name || is_other_id || is_new()
            }
        }
    }

    pub(super) fn header_len(&self) -> usize {
        self.id.as_ref().map_or(0, String::len) + self.name.as_ref().map_or(0, String::len)
    }

    /// The arguments so far; empty once the call has ended.
    pub(super) fn text(&self) -> &str {
        match &self.state {
            State::Open(arguments) | State::Balanced(arguments) => &arguments.text,
            State::Released(_) | State::Rejected => "",
        }
    }

    /// The call with these arguments, if the tools accept them.
    pub(super) fn read(
        &self,
        arguments: Value<'_>,
        tools: Option<&dyn ValidateCall>,
        completion: CompletedBy,
    ) -> Result<ToolCall, Box<Violation>> {
        let Some(name) = &self.name else {
            return Err(Box::new(Violation::new(Code::MissingField, 0, "the name of the tool is missing")));
        };
        let validated = validate_call(tools, name, arguments)?;
        let call = ToolCall::new(name, validated.parameters, completion);
        Ok(ToolCall { coerced: validated.coerced, ..call })
    }

    /// The diagnostic for a violation, with its position in the arguments' text.
    pub(super) fn diagnose(&self, mut violation: Violation) -> Diagnostic {
        let further = mem::take(&mut violation.further);
        self.diagnose_one(violation)
            .with_further(further.into_iter().map(|one| self.diagnose_one(one)).collect())
    }

    fn diagnose_one(&self, violation: Violation) -> Diagnostic {
        let text = self.text().as_bytes();
        let before = &text[..violation.offset.min(text.len())];
        let line = 1 + memchr_iter(b'\n', before).count();
        let column = before.len() - memrchr(b'\n', before).map_or(0, |at| at + 1) + 1;
        let message = format!("call {}{}: {}", self.ordinal, self.shown_name(), violation.message);
        let is_rule = !(violation.instance_path.is_empty() && violation.schema_path.is_empty());
        let path = match violation.code {
            Code::UnknownTool => "/name".to_owned(),
            _ => format!("/parameters{}", violation.instance_path),
        };
        let span = Span::new(0, text.len() as u64);
        Diagnostic {
            origin: Origin::Arguments,
            instance_path: (is_rule || violation.code == Code::UnknownTool).then_some(path),
            schema_path: Some(violation.schema_path).filter(|path| !path.is_empty()),
            ..Diagnostic::new(violation.code, line as u64, span, column as u64, message)
        }
    }

    /// Rejects the call, with what was received of it.
    pub(super) fn reject(&mut self, violation: Violation) -> RejectedCall {
        let diagnostic = self.diagnose(violation);
        let arguments = match &mut self.state {
            State::Open(arguments) | State::Balanced(arguments) => match &arguments.partial {
                Some(partial) => {
                    arguments.text.clear();
                    partial.to_json()
                }
                None => mem::take(&mut arguments.text),
            },
            State::Released(_) | State::Rejected => String::new(),
        };
        let (name, call_id) = (self.name.clone(), self.id.clone());
        RejectedCall { name, call_id, is_synthetic_id: false, received: arguments, diagnostic }
    }

    fn shown_name(&self) -> String {
        self.name.as_ref().map_or_else(String::new, |name| {
            let shown: String = name.chars().take(SHOWN_NAME).flat_map(char::escape_debug).collect();
            format!(" (`{shown}`)")
        })
    }
}

pub(super) fn trim_start(text: &str) -> &str {
    text.trim_start_matches([' ', '\t', '\r', '\n'])
}

pub(super) fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\r', '\n'])
}

/// Whether two texts, the first of which is JSON, mean the same value.
pub(super) fn is_same_json(text: &str, other: &str) -> bool {
    if trim(text) == trim(other) {
        return true;
    }
    let (mut parser, mut other_parser) = (Parser::new(), Parser::new());
    let read = |parsed: Result<_, _>| parsed.ok().filter(|value: &Value<'_>| value.is_convertible());
    match (read(parser.parse(text)), read(other_parser.parse(other))) {
        (Some(one), Some(other)) => one.is_equal(other),
        (one, other) => one.is_none() && other.is_none(),
    }
}
