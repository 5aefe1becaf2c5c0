//! Gemini `streamGenerateContent`, from the Gemini API, from Vertex AI and from Code Assist.
//!
//! The wire format: <https://ai.google.dev/api/generate-content>; streamed arguments are Vertex AI's:
//! <https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/Content#FunctionCall>.

use tokenline_core::adapter::{PartialArgument, PartialValue};
use tokenline_core::json::{Kind, Object, Value};
use tokenline_core::{CallDelta, CompletedBy};

use super::Api;
use crate::delta::{Delta, FinishReason, OpaqueTarget, Usage};
use crate::providers::api::{EventReader, ProviderApi, Sink};
use crate::providers::call_blocks::CallBlocks;
use crate::providers::values::{
    as_u64, error_delta, is_error, is_null_or_empty, read_text, text_of, unknown, unknown_event, unreadable,
};

/// The chunks of a stream: the events of `alt=sse`, or else the elements of a JSON array.
///
/// The text is block 0; calls have no numbers and get the blocks 1, 2 and so on, in order. More content may follow an
/// early `STOP`, and there is no last event, so [`finish`](EventReader::finish) emits the finish reasons.
#[derive(Debug, Default)]
pub(in crate::providers) struct Reader(Vec<Candidate>);

#[derive(Debug)]
struct Candidate {
    index: u64,
    /// The block of the latest call; 0 before the first one.
    block: u64,
    calls: CallBlocks,
    /// The latest call continues.
    is_open: bool,
    /// The finish reason so far.
    reason: Option<FinishReason>,
}

/// Limits a server that invents candidates. Later stages do not distinguish more either.
const MAX_CANDIDATES: usize = 128;

impl EventReader for Reader {
    fn event(&mut self, name: &str, event: Value<'_>, sink: &mut Sink<'_>) {
        unknown_event(name, sink);
        self.chunk(event, name == "error", sink);
    }

    /// Each chunk has the tokens so far, which always differ.
    fn is_repeatable(&self, _: &str, _: Value<'_>) -> bool {
        false
    }

    fn body(&mut self, body: Value<'_>, sink: &mut Sink<'_>) {
        match (body.as_array(), body.get("parts")) {
            (Some(chunks), _) => chunks.into_iter().for_each(|chunk| self.chunk(chunk, false, sink)),
            (None, Some(_)) => {
                sink(Delta::Start { choice: 0 });
                if let Some(candidate) = self.at(0) {
                    candidate.content(body, sink);
                }
            }
            (None, None) => self.chunk(body, false, sink),
        }
        self.finish(sink);
        if Api.has_body(body) {
            sink(Delta::Terminator);
        }
    }

    fn finish(&mut self, sink: &mut Sink<'_>) {
        for candidate in &mut self.0 {
            if let Some(reason) = candidate.reason.take() {
                sink(Delta::Finish { choice: candidate.index, reason });
            }
        }
    }
}

impl Reader {
    /// The candidate with this index, which may be new; `None` if there are too many.
    fn at(&mut self, index: u64) -> Option<&mut Candidate> {
        let at = self.0.iter().position(|candidate| candidate.index == index).or_else(|| {
            let is_room = self.0.len() < MAX_CANDIDATES;
            let calls = CallBlocks::default();
            is_room
                .then(|| self.0.push(Candidate { index, block: 0, calls, is_open: false, reason: None }))?;
            Some(self.0.len() - 1)
        })?;
        self.0.get_mut(at)
    }

    fn chunk(&mut self, chunk: Value<'_>, is_named_error: bool, sink: &mut Sink<'_>) {
        let (mut candidates, mut usage, mut feedback, mut error) = (None, None, None, None);
        let Some(members) = chunk.as_object() else { return unreadable("", "response", chunk, sink) };
        for (name, value) in members {
            match name {
                "candidates" => candidates = Some(value),
                "usageMetadata" => usage = read_usage(value),
                "promptFeedback" => feedback = Some(value),
                "error" => error = Some(value).filter(|error| is_error(*error)),
                // The envelope of Code Assist.
                "response" => self.chunk(value, false, sink),
                "modelVersion" | "responseId" | "createTime" | "modelStatus" | "traceId" => {}
                _ => sink(Delta::Unknown { parent: "", name: name.into() }),
            }
        }
        match candidates.map(|candidates| (candidates, candidates.as_array())) {
            Some((_, Some(candidates))) => {
                let places = 0..candidates.len() as u64;
                places.zip(candidates).for_each(|(place, value)| self.candidate(place, value, sink));
            }
            Some((candidates, None)) => unreadable("", "candidates", candidates, sink),
            None => {}
        }
        if let Some(feedback) = feedback {
            self.feedback(feedback, sink);
        }
        if let Some(usage) = usage {
            sink(Delta::Usage(usage));
        }
        if error.is_some() || is_named_error {
            sink(error_delta(error.unwrap_or(chunk)));
        }
    }

    /// Feedback on the prompt: if it was blocked, there is no candidate.
    fn feedback(&mut self, feedback: Value<'_>, sink: &mut Sink<'_>) {
        const PLACE: &str = "promptFeedback";
        let Some(members) = feedback.as_object() else { return unknown("", PLACE, feedback, sink) };
        let (mut reason, mut message) = (None, None);
        for (name, value) in members {
            match name {
                "blockReason" => reason = value.as_str(),
                "blockReasonMessage" => message = value.as_str(),
                "safetyRatings" => {}
                _ => sink(Delta::Unknown { parent: PLACE, name: name.into() }),
            }
        }
        if reason.is_none_or(|reason| matches!(&*reason, "" | "BLOCK_REASON_UNSPECIFIED")) {
            return;
        }
        sink(Delta::Start { choice: 0 });
        if let Some(text) = message.filter(|message| !message.is_empty()) {
            sink(Delta::Refusal { choice: 0, text: &text });
        }
        if let Some(candidate) = self.at(0) {
            candidate.ended(FinishReason::ContentFilter);
        }
    }

    fn candidate(&mut self, position: u64, value: Value<'_>, sink: &mut Sink<'_>) {
        const PLACE: &str = "candidates[]";
        let Some(members) = value.as_object() else { return unreadable("", PLACE, value, sink) };
        let (mut index, mut content, mut reason) = (None, None, None);
        for (name, value) in members {
            match name {
                "index" => index = as_u64(value),
                "content" => content = Some(value),
                "finishReason" => reason = value.as_str(),
                "finishMessage" | "tokenCount" | "score" | "safetyRatings" => {}
                "avgLogprobs" | "logprobsResult" | "citationMetadata" => {}
                "groundingMetadata" | "groundingAttributions" | "urlContextMetadata" => {}
                _ => sink(Delta::Unknown { parent: PLACE, name: name.into() }),
            }
        }
        let index = index.unwrap_or(position);
        sink(Delta::Start { choice: index });
        let Some(candidate) = self.at(index) else { return };
        if let Some(content) = content {
            candidate.content(content, sink);
        }
        if let Some(reason) = reason.and_then(|reason| finish_reason(&reason)) {
            candidate.ended(reason);
        }
    }
}

/// `None` if a server sends no counts, but only, for example, the traffic type.
fn read_usage(usage: Value<'_>) -> Option<Usage> {
    let tokens = |name| usage.get(name).and_then(as_u64);
    let sum = |name, other| match (tokens(name), tokens(other)) {
        (Some(tokens), Some(others)) => Some(tokens.saturating_add(others)),
        (tokens, others) => tokens.or(others),
    };
    let input_tokens = sum("promptTokenCount", "toolUsePromptTokenCount");
    let output_tokens = sum("candidatesTokenCount", "thoughtsTokenCount");
    let usage = Usage {
        input_tokens,
        output_tokens,
        total_tokens: tokens("totalTokenCount"),
        cached_input_tokens: tokens("cachedContentTokenCount"),
        reasoning_tokens: tokens("thoughtsTokenCount"),
        ..Usage::default()
    };
    usage.has_totals().then_some(usage)
}

fn finish_reason(name: &str) -> Option<FinishReason> {
    Some(match name {
        "" | "FINISH_REASON_UNSPECIFIED" => return None,
        "STOP" => FinishReason::Stop,
        // Compatible servers send this for calls.
        "FUNCTION_CALL" => FinishReason::ToolCalls,
        "MAX_TOKENS" => FinishReason::Length,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "MODEL_ARMOR" => {
            FinishReason::ContentFilter
        }
        "IMAGE_SAFETY" | "IMAGE_PROHIBITED_CONTENT" | "IMAGE_RECITATION" => FinishReason::ContentFilter,
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" => FinishReason::MalformedCall,
        other => FinishReason::other(other),
    })
}

impl Candidate {
    /// Keeps the finish reason. Some servers send `STOP` with every chunk, so any other takes precedence.
    fn ended(&mut self, reason: FinishReason) {
        if reason != FinishReason::Stop || self.reason.is_none() {
            self.reason = Some(reason);
        }
    }

    fn content(&mut self, content: Value<'_>, sink: &mut Sink<'_>) {
        const PLACE: &str = "candidates[].content";
        let Some(members) = content.as_object() else {
            return unreadable("candidates[]", "content", content, sink);
        };
        for (name, value) in members {
            match (name, value.as_array()) {
                ("parts", Some(parts)) => parts.into_iter().for_each(|part| self.part(part, sink)),
                ("parts", None) => unreadable(PLACE, name, value, sink),
                ("role", _) => {}
                _ => sink(Delta::Unknown { parent: PLACE, name: name.into() }),
            }
        }
    }

    fn part(&mut self, part: Value<'_>, sink: &mut Sink<'_>) {
        const PLACE: &str = "candidates[].content.parts[]";
        let Some(members) = part.as_object() else {
            return unreadable("candidates[].content", "parts[]", part, sink);
        };
        let choice = self.index;
        let (mut text, mut is_thought, mut call, mut signature) = (None, false, None, None);
        for (name, value) in members {
            match name {
                "text" => text = Some(value),
                "thought" => is_thought = value.as_bool() == Some(true),
                "functionCall" => call = Some(value),
                "thoughtSignature" => {
                    signature = Some(value).filter(|signature| !is_null_or_empty(*signature));
                }
                "partMetadata" | "mediaResolution" | "videoMetadata" => {}
                // Code and tools run by the server, and their results.
                "executableCode" | "codeExecutionResult" | "toolCall" | "toolResponse" => {}
                _ => sink(Delta::Unknown { parent: PLACE, name: name.into() }),
            }
        }
        match text.map(|text| (text, read_text(text, sink))) {
            Some((_, Some(text))) if text.is_empty() => {}
            Some((_, Some(text))) if is_thought => sink(Delta::Reasoning { choice, text: &text }),
            Some((_, Some(text))) => sink(Delta::Text { choice, block: 0, text: &text }),
            Some((text, None)) => unreadable(PLACE, "text", text, sink),
            None => {}
        }
        if let Some(call) = call {
            self.call(call, sink);
        }
        if let Some(signature) = signature {
            let target = match (call, is_thought) {
                (Some(_), _) => OpaqueTarget::ToolCall,
                (None, true) => OpaqueTarget::Reasoning,
                (None, false) => OpaqueTarget::Text,
            };
            let data = format!(r#"{{"thoughtSignature":{}}}"#, signature.raw());
            sink(Delta::Opaque { choice, target, data: data.into() });
        }
    }

    /// A complete call, or a step of one with streamed arguments: `{name, willContinue}` starts it, `{partialArgs,
    /// willContinue}` continues it, and a step without `willContinue`, such as `{}`, ends it.
    fn call(&mut self, call: Value<'_>, sink: &mut Sink<'_>) {
        const PLACE: &str = "candidates[].content.parts[].functionCall";
        let Some(members) = call.as_object() else {
            return unreadable("candidates[].content.parts[]", "functionCall", call, sink);
        };
        let (mut id, mut tool, mut arguments, mut parts, mut goes_on) = (None, None, None, None, false);
        for (name, value) in members {
            match name {
                "id" => id = text_of(value),
                "name" => tool = value.as_str().filter(|name| !name.is_empty()),
                "args" => arguments = Some(value).filter(|arguments| !arguments.is_null()),
                "partialArgs" => parts = Some(value).filter(|parts| !parts.is_null()),
                "willContinue" => goes_on = value.as_bool() == Some(true),
                _ => sink(Delta::Unknown { parent: PLACE, name: name.into() }),
            }
        }
        let choice = self.index;
        // With streamed arguments, an empty object means none.
        let is_blank = |value: Value<'_>| value.as_object().is_some_and(Object::is_empty);
        let arguments = arguments.filter(|value| !(is_blank(*value) && (goes_on || parts.is_some())));
        if tool.is_some() && self.is_open {
            self.stop(CompletedBy::NextItem, sink);
        }
        if !self.is_open {
            if tool.is_none() && arguments.is_none() && parts.is_none() {
                // The end of a call that has already ended.
                return;
            }
            // Arguments alone can only be more of the latest call.
            if tool.is_some() || id.is_some() || self.block == 0 {
                self.block = self.calls.begin(id.as_deref(), tool.as_deref());
            }
            self.is_open = true;
        }
        if id.is_some() || tool.is_some() || arguments.is_some() {
            let header = CallDelta { index: Some(self.block), id: id.as_deref(), ..CallDelta::default() };
            // The JSON array is printed over many lines.
            let text =
                arguments.map(|value| read_text(value, sink).unwrap_or_else(|| value.to_single_line()));
            let text = text.unwrap_or_default();
            let is_whole = arguments.is_some() && !goes_on;
            let call = CallDelta { name: tool.as_deref(), arguments: &text, is_whole, ..header };
            sink(Delta::ToolCall { choice, call });
        }
        match parts.map(|parts| (parts, parts.as_array())) {
            Some((_, Some(parts))) => parts.into_iter().for_each(|part| self.partial(part, sink)),
            Some((parts, None)) => {
                unreadable(PLACE, "partialArgs", parts, sink);
                self.leave_gap(sink);
            }
            None => {}
        }
        if !goes_on {
            self.stop(CompletedBy::ItemStop, sink);
        }
    }

    /// A value of streamed arguments. If one is not understood, the call is incomplete.
    fn partial(&mut self, part: Value<'_>, sink: &mut Sink<'_>) {
        const PLACE: &str = "candidates[].content.parts[].functionCall.partialArgs[]";
        let Some(members) = part.as_object() else {
            sink(Delta::Unknown {
                parent: "candidates[].content.parts[].functionCall",
                name: "partialArgs[]".into(),
            });
            return self.leave_gap(sink);
        };
        let (mut path, mut text, mut literal, mut goes_on) = (None, None, None, false);
        for (name, value) in members {
            match (name, value.kind()) {
                ("jsonPath", Kind::String) => path = value.as_str(),
                ("stringValue", Kind::String) => text = read_text(value, sink),
                ("numberValue", Kind::Number) | ("boolValue", Kind::Bool) => literal = Some(value.raw()),
                // The only value of an enumeration, by name or as JSON.
                ("nullValue", Kind::Null | Kind::String) => literal = Some("null"),
                ("willContinue", _) => goes_on = value.as_bool() == Some(true),
                _ => sink(Delta::Unknown { parent: PLACE, name: name.into() }),
            }
        }
        let value = match (&text, literal) {
            (Some(text), None) => Some(PartialValue::Text(text)),
            (None, Some(literal)) => Some(PartialValue::Literal(literal)),
            _ => None,
        };
        let (choice, block) = (self.index, self.block);
        match (&path, value) {
            (Some(path), Some(value)) => {
                let part = PartialArgument { path, value, has_more: goes_on };
                sink(Delta::PartialArgument { choice, block, part });
            }
            _ => self.leave_gap(sink),
        }
    }

    /// Records that a part of the open call is missing.
    fn leave_gap(&self, sink: &mut Sink<'_>) {
        sink(Delta::BlockStop { choice: self.index, block: self.block, completion: None });
    }

    /// Ends the open call.
    fn stop(&mut self, completion: CompletedBy, sink: &mut Sink<'_>) {
        self.is_open = false;
        sink(Delta::BlockStop { choice: self.index, block: self.block, completion: Some(completion) });
    }
}
