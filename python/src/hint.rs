//! Hints that a source is not what the caller takes it for.
//!
//! Nothing is read ahead, and nothing waits: the bytes are looked at as they pass. However they are cut, the hint is the
//! same.

use std::cell::RefCell;

use pyo3::intern;
use pyo3::prelude::*;
use tokenline_core::json::{Kind, Parser, Value};
use tokenline_core::{Code, Report};
use tokenline_llm::Provider;

use crate::machine::Progress;

/// The longest document that is looked at as a whole.
const DOCUMENT_BYTES: usize = 64 * 1024;
/// Binary messages have no lines: they are looked at after each so many bytes.
const STRIDE: usize = 256;
/// Where the name of the first member of a document ends at the latest.
const NAME_BYTES: usize = 256;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The first bytes of compressed data, and of other files that are not text.
const SIGNATURES: &[(&[u8], Binary)] = &[
    (&[0x1f, 0x8b, 8], Binary::Compressed("gzip")),
    (&[0x28, 0xb5, 0x2f, 0xfd], Binary::Compressed("zstd")),
    (b"\xfd7zXZ\0", Binary::Compressed("xz")),
    (&[0x78, 0x9c], Binary::Compressed("zlib")),
    (b"PK\x03\x04", Binary::Compressed("zip")),
    (&[0xff, 0xfe], Binary::Utf16),
    (&[0xfe, 0xff], Binary::Utf16),
];

/// The first members of complete responses and of errors.
#[rustfmt::skip]
const IN_BODIES: &[&[u8]] = &[
    b"candidates", b"choices", b"code", b"content", b"created", b"created_at", b"done", b"error", b"finish_reason", b"id",
    b"message", b"metrics", b"model", b"modelVersion", b"object", b"output", b"request_id", b"responseId", b"role",
    b"service_tier", b"status", b"stopReason", b"stop_reason", b"system_fingerprint", b"type", b"usage", b"usageMetadata",
];
/// The first members of the objects in arrays, which Gemini sends.
const IN_ARRAYS: &[&[u8]] =
    &[b"candidates", b"error", b"modelVersion", b"promptFeedback", b"responseId", b"usageMetadata"];

/// What the source seems to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hint {
    Binary(Binary),
    /// A provider's stream, which is read as text.
    Stream(Option<Provider>),
    /// The stream of another provider.
    Other(Provider),
    /// No response of a provider.
    NoResponse(Provider),
    /// Objects that are no events of a provider.
    NoEvents(Provider),
    /// A complete response, which is read as text.
    Body(Provider),
    ErrorBody,
    /// The provider reported an error, and delivered nothing.
    ProviderError,
    Html,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Compressed(&'static str),
    Utf16,
}

impl Hint {
    fn message(self) -> String {
        match self {
            Self::Binary(Binary::Compressed(with)) => format!(
                "`stream` is compressed with {with}, and nothing in it can be read: decompress it first, or take the \
                 decoded body of an HTTP response"
            ),
            Self::Binary(Binary::Utf16) => "`stream` is UTF-16, and UTF-8 is read: decode it first, as with \
                                            open(path, encoding='utf-16')"
                .to_owned(),
            Self::Stream(Some(provider)) => {
                let name = provider.as_str();
                format!(
                    "`stream` looks like a response of {name}, and is read as text: pass provider='{name}'"
                )
            }
            Self::Stream(None) => {
                "`stream` looks like a provider's event stream, and is read as text: pass its \
                                   `provider`, such as provider='openai-chat'"
                    .to_owned()
            }
            Self::Other(provider) => {
                format!("`stream` looks like a response of {0}: pass provider='{0}'", provider.as_str())
            }
            Self::NoResponse(provider) => format!(
                "`stream` is not a response of {}, and nothing in it was read: leave out `provider` to read a text",
                provider.as_str()
            ),
            Self::NoEvents(provider) => format!(
                "`stream` has no events of {}, and nothing in it was read: pass the `provider` whose events they are",
                provider.as_str()
            ),
            Self::Body(provider) => {
                let name = provider.as_str();
                format!(
                    "`stream` looks like a complete response of {name}, and is read as text: pass provider='{name}'"
                )
            }
            Self::ErrorBody => {
                "`stream` looks like the error of a provider, not like a model's response: check the \
                 status of the HTTP response"
                    .to_owned()
            }
            Self::ProviderError => {
                "the provider reported an error, and nothing was delivered: `report.rejects` of \
                 the stream has it"
                    .to_owned()
            }
            Self::Html => {
                "`stream` is an HTML page, such as the error page of a proxy: check the status and the \
                 address of the HTTP response"
                    .to_owned()
            }
        }
    }

    /// Warns the caller of the package. With warnings as errors, this raises.
    pub(crate) fn warn(self, py: Python<'_>) -> PyResult<()> {
        let module = py.import(intern!(py, "tokenline._warnings"))?;
        module.call_method1(intern!(py, "warn"), (self.message(),)).map(|_| ())
    }
}

/// What a source can be by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opening {
    /// The first bytes do not decide yet.
    Undecided,
    /// Fields of an event stream, if it is one.
    Fields,
    /// Messages of an Amazon event stream.
    Messages,
    /// An object: a complete response, an error, or a record.
    Object,
    /// An array of a provider's objects, or of records.
    Array,
    Html,
    /// Text, as it should be.
    Text,
}

/// What came of a source.
#[derive(Clone, Copy)]
pub(crate) struct Outcome<'r> {
    pub(crate) report: &'r Report,
    pub(crate) progress: Progress,
    /// Errors are only counted.
    pub(crate) is_silent: bool,
}

impl Outcome<'_> {
    fn is_empty(self) -> bool {
        self.report.records() + self.report.tool_calls() == 0
    }
}

/// Looks at the bytes of a source as they pass.
pub(crate) struct SourceWatch {
    provider: Option<Provider>,
    /// Records must fit a schema or a type: if one does, the source is what it should be.
    has_rules: bool,
    opening: Opening,
    beginning: Vec<u8>,
    /// How far the beginning was looked at.
    checked: usize,
    /// The first line has ended.
    has_line: bool,
    /// Events of an SDK were passed.
    has_events: bool,
    /// What is said unless a record fits the rules.
    deferred: Option<Hint>,
    is_done: bool,
}

impl SourceWatch {
    pub(crate) fn new(provider: Option<Provider>, has_rules: bool) -> Self {
        Self {
            provider,
            has_rules,
            opening: Opening::Undecided,
            beginning: Vec::new(),
            checked: 0,
            has_line: false,
            has_events: false,
            deferred: None,
            is_done: false,
        }
    }

    /// Says nothing: the caller was warned.
    pub(crate) fn silence(&mut self) {
        self.deferred = None;
        self.stop();
    }

    /// Whether it looks at the next event of an SDK.
    pub(crate) fn wants_event(&self) -> bool {
        !self.is_done && self.provider.is_some() && self.beginning.len() < Provider::DETECT_BYTES
    }

    /// Looks at the next event of an SDK: its type, and its bytes. It has none if the provider's responses have no such
    /// event.
    pub(crate) fn push_event(&mut self, kind: Option<&str>, bytes: &[u8]) {
        self.has_events = true;
        if let Some(kind) = kind {
            // As the markers of providers have it.
            self.push(format!("data: {{\"type\":\"{kind}\"}}\n\n").as_bytes());
        }
        self.push(bytes);
    }

    /// The hint that waits for a record, once there is a record or a reject.
    pub(crate) fn decide(&mut self, report: &Report) -> Option<Hint> {
        if report.records() > 0 {
            self.deferred = None;
        }
        if report.rejected() > 0 { self.deferred.take() } else { None }
    }

    pub(crate) fn has_deferred(&self) -> bool {
        self.deferred.is_some()
    }

    /// Looks at the next bytes.
    #[inline]
    pub(crate) fn push(&mut self, chunk: &[u8]) -> Option<Hint> {
        if self.is_done || chunk.is_empty() { None } else { self.look(chunk) }
    }

    /// Whether nothing is left to say.
    pub(crate) fn is_done(&self) -> bool {
        self.is_done && self.deferred.is_none()
    }

    fn look(&mut self, chunk: &[u8]) -> Option<Hint> {
        let mut rest = chunk;
        if self.provider.is_none() && self.beginning.is_empty() && is_text(chunk) {
            // Most sources are, at no cost.
            self.is_done = true;
            return None;
        }
        if self.opening == Opening::Undecided {
            rest = self.take(rest, Provider::DETECT_BYTES);
            if let Some(binary) = signature(&self.beginning) {
                return self.say(Hint::Binary(binary));
            }
            self.opening = opening(&self.beginning);
            if self.opening == Opening::Undecided && self.beginning.len() < Provider::DETECT_BYTES {
                return None;
            }
            if self.beginning.starts_with(BYTE_ORDER_MARK) {
                self.beginning.drain(..BYTE_ORDER_MARK.len());
            }
        }
        match (self.opening, self.provider) {
            (Opening::Undecided, _) | (Opening::Text, None) => {
                self.stop();
                None
            }
            (Opening::Text, Some(_)) => None,
            // Only its end shows whether it was another's.
            (Opening::Object, Some(provider)) if provider != Provider::Ollama => {
                self.take(rest, DOCUMENT_BYTES);
                None
            }
            (_, Some(_)) | (Opening::Html, None) => {
                self.take(rest, Provider::DETECT_BYTES);
                None
            }
            (Opening::Object, None) => {
                let left = self.take(rest, DOCUMENT_BYTES);
                self.look_at_object(!left.is_empty())
            }
            (Opening::Fields | Opening::Messages | Opening::Array, None) => {
                self.take(rest, Provider::DETECT_BYTES);
                if self.opening == Opening::Array && !may_begin_with(&self.beginning, IN_ARRAYS) {
                    self.stop();
                }
                self.look_at_stream()
            }
        }
    }

    /// Keeps bytes up to a limit, and returns the others.
    fn take<'c>(&mut self, chunk: &'c [u8], limit: usize) -> &'c [u8] {
        let room = limit.saturating_sub(self.beginning.len()).min(chunk.len());
        let (kept, left) = chunk.split_at(room);
        self.beginning.extend_from_slice(kept);
        left
    }

    /// Looks at what may be a provider's stream after each line, so that the cuts do not matter.
    fn look_at_stream(&mut self) -> Option<Hint> {
        while !self.is_done {
            let (from, end) = (self.checked, self.beginning.len());
            let point = match self.opening {
                Opening::Messages => Some(from + STRIDE).filter(|point| *point <= end),
                _ => {
                    let line = self.beginning[from..].iter().position(|byte| *byte == b'\n');
                    line.map(|at| from + at + 1)
                }
            };
            let is_full = end == Provider::DETECT_BYTES;
            let point = point.or(is_full.then_some(end))?;
            self.checked = point;
            if let Some(provider) = Provider::detect(&self.beginning[..point]) {
                return self.say(Hint::Stream(Some(provider)));
            }
            if point == Provider::DETECT_BYTES {
                let hint = self.undetected();
                self.stop();
                return hint.and_then(|hint| self.say(hint));
            }
        }
        None
    }

    /// The hint about the stream of an unknown provider.
    fn undetected(&self) -> Option<Hint> {
        let is_stream = self.opening == Opening::Fields && has_json_event(&self.beginning);
        is_stream.then_some(Hint::Stream(None))
    }

    /// Looks at the first line, and gives up an object that another follows, as most records are.
    fn look_at_object(&mut self, is_long: bool) -> Option<Hint> {
        let name = &self.beginning[..self.beginning.len().min(NAME_BYTES)];
        if self.checked < NAME_BYTES && !may_begin_with(name, IN_BODIES) {
            self.stop();
            return None;
        }
        // Each byte is looked at once, however many chunks there are.
        let news = &self.beginning[self.checked.saturating_sub(1)..];
        let has_first_line = !self.has_line && news.contains(&b'\n');
        self.has_line |= has_first_line;
        let goes_on = news.windows(2).any(|pair| pair == b"\n{");
        self.checked = self.beginning.len();
        if has_first_line && may_begin_with(&self.beginning, &[b"model"]) {
            let line = self.beginning.split(|byte| *byte == b'\n').next().unwrap_or_default();
            if Provider::detect(line) == Some(Provider::Ollama) {
                return self.say(Hint::Stream(Some(Provider::Ollama)));
            }
        }
        if is_long || goes_on {
            self.stop();
        }
        None
    }

    /// Looks at the source as a whole, once it was read to its end, with what came of it.
    pub(crate) fn end(&mut self, outcome: Outcome<'_>) -> Option<Hint> {
        let deferred = self.deferred.take();
        let is_fit = self.has_rules && outcome.report.records() > 0;
        if self.is_done {
            return deferred.filter(|_| !is_fit);
        }
        if outcome.report.ended_by().is_some() {
            return None;
        }
        let hint = match (self.opening, self.provider) {
            (Opening::Html, _) => Some(Hint::Html).filter(|_| outcome.is_empty()),
            (_, Some(_)) if outcome.report.is_complete() => None,
            (_, Some(provider)) => self.unlike(provider, outcome),
            (_, None) if is_fit => None,
            (Opening::Object, None) => document(&self.beginning),
            (Opening::Fields | Opening::Messages | Opening::Array, None) => {
                match Provider::detect(&self.beginning) {
                    Some(provider) => Some(Hint::Stream(Some(provider))),
                    None if self.opening == Opening::Array => document(&self.beginning),
                    None => self.undetected(),
                }
            }
            (Opening::Undecided | Opening::Text, None) => None,
        };
        self.stop();
        hint
    }

    /// The hint about a source that is not a complete response of the provider.
    fn unlike(&self, provider: Provider, outcome: Outcome<'_>) -> Option<Hint> {
        let is_document = matches!(self.opening, Opening::Object | Opening::Array);
        let of_body = || match document(&self.beginning) {
            Some(Hint::Body(provider)) => Some(provider),
            _ => None,
        };
        let detected = Provider::detect(&self.beginning).or_else(|| is_document.then(of_body).flatten());
        if let Some(other) = detected.filter(|other| *other != provider) {
            return Some(Hint::Other(other));
        }
        if !outcome.is_empty() || !outcome.is_silent {
            return None;
        }
        if self.opening != Opening::Text && outcome.report.by_code().contains_key(&Code::ProviderError) {
            return Some(Hint::ProviderError);
        }
        if detected.is_some() || outcome.progress.is_understood {
            return None;
        }
        let none = if self.has_events { Hint::NoEvents(provider) } else { Hint::NoResponse(provider) };
        let is_none = match self.opening {
            // Objects are never cut.
            _ if self.has_events => true,
            Opening::Text => true,
            // The beginning of a response may be all there is.
            Opening::Object => has_object(&self.beginning) || !may_begin_with(&self.beginning, IN_BODIES),
            Opening::Array => {
                let is_whole = provider != Provider::Gemini && has_object(&self.beginning);
                is_whole || !may_begin_with(&self.beginning, IN_ARRAYS)
            }
            Opening::Fields => outcome.progress.has_unknown,
            Opening::Undecided | Opening::Messages | Opening::Html => false,
        };
        is_none.then_some(none)
    }

    /// Says what a source without a provider is, or later, if a record may show that it is what it should be.
    fn say(&mut self, hint: Hint) -> Option<Hint> {
        self.stop();
        if self.has_rules && matches!(hint, Hint::Stream(_)) {
            self.deferred = Some(hint);
            return None;
        }
        Some(hint)
    }

    fn stop(&mut self) {
        (self.is_done, self.beginning) = (true, Vec::new());
    }
}

/// The kind of a file that is not text.
fn signature(beginning: &[u8]) -> Option<Binary> {
    match beginning {
        // A frame that zstd skips, as pzstd writes it.
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => return Some(Binary::Compressed("zstd")),
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..] => {
            return Some(Binary::Compressed("bzip2"));
        }
        _ => {}
    }
    SIGNATURES.iter().find(|(bytes, _)| beginning.starts_with(bytes)).map(|(_, binary)| *binary)
}

fn may_become_binary(beginning: &[u8]) -> bool {
    let is_varied = match beginning {
        [0x50..=0x5f, rest @ ..] => [0x2a, 0x4d, 0x18].starts_with(rest),
        [b'B', b'Z', b'h', b'1'..=b'9', rest @ ..] => b"1AY&SY".starts_with(rest),
        _ => b"BZh".starts_with(beginning),
    };
    is_varied || SIGNATURES.iter().any(|(bytes, _)| bytes.starts_with(beginning))
}

/// Whether it begins as a text.
fn is_text(beginning: &[u8]) -> bool {
    let beginning = &beginning[..beginning.len().min(Provider::DETECT_BYTES)];
    signature(beginning).is_none() && opening(beginning) == Opening::Text
}

fn opening(beginning: &[u8]) -> Opening {
    if may_become_binary(beginning) {
        return Opening::Undecided;
    }
    let text = beginning.strip_prefix(BYTE_ORDER_MARK).unwrap_or(beginning).trim_ascii_start();
    match text {
        [] | b"\xef" | b"\xef\xbb" => return Opening::Undecided,
        [b'{', ..] => return Opening::Object,
        [0, ..] => return Opening::Messages,
        [b'[', rest @ ..] => {
            // Records in an array are most of what begins so.
            return match rest.trim_ascii_start() {
                [] => Opening::Undecided,
                [b'{', ..] => Opening::Array,
                _ => Opening::Text,
            };
        }
        _ => {}
    }
    let begins = |names: &[&[u8]], opening| {
        let found = names.iter().find_map(|name| {
            let shared = text.len().min(name.len());
            let is_same = text[..shared].eq_ignore_ascii_case(&name[..shared]);
            is_same.then_some(if shared == name.len() { opening } else { Opening::Undecided })
        });
        found.unwrap_or(Opening::Text)
    };
    match text[0] {
        b'<' => begins(&[b"<!doctype html", b"<html"], Opening::Html),
        _ => begins(&[b"data:", b"event:", b"id:", b"retry:", b":"], Opening::Fields),
    }
}

/// Whether the first event has JSON as its data.
fn has_json_event(beginning: &[u8]) -> bool {
    for line in beginning.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii_start();
        if let Some(data) = line.strip_prefix(b"data:") {
            return matches!(data.trim_ascii_start().first(), Some(b'{' | b'['));
        }
        let is_field = [&b"event:"[..], b"id:", b"retry:", b":"].iter().any(|name| line.starts_with(name));
        if !is_field && !line.is_empty() {
            return false;
        }
    }
    false
}

/// Whether the first member of an object, or of the first object of an array, has one of these names.
fn may_begin_with(beginning: &[u8], names: &[&[u8]]) -> bool {
    let text = beginning.trim_ascii_start();
    let text = text.strip_prefix(b"[").unwrap_or(text).trim_ascii_start();
    let name = text.strip_prefix(b"{").unwrap_or(text).trim_ascii_start();
    let Some(name) = name.strip_prefix(b"\"") else { return name.is_empty() };
    match name.iter().position(|byte| *byte == b'"') {
        Some(end) => names.contains(&&name[..end]),
        None => names.iter().any(|known| known.starts_with(name)),
    }
}

/// Whether an object that begins here also ends here.
fn has_object(beginning: &[u8]) -> bool {
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    for byte in beginning.trim_ascii_start() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b'{' if !in_string => depth += 1,
            b'}' if !in_string => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

/// The hint about a source that is one JSON document.
fn document(text: &[u8]) -> Option<Hint> {
    let text = std::str::from_utf8(text).ok()?;
    thread_local! {
        static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
    }
    PARSER.with_borrow_mut(|parser| {
        let value = parser.parse(text.trim_ascii()).ok()?;
        // Gemini sends an array.
        let value = value.as_array().and_then(|elements| elements.iter().next()).unwrap_or(value);
        if is_error(value) { Some(Hint::ErrorBody) } else { body(value).map(Hint::Body) }
    })
}

/// Whether it is the error that a provider sends in place of a response, and nothing else.
fn is_error(value: Value<'_>) -> bool {
    const BESIDE: &[&str] = &["error", "type", "status", "code", "request_id", "message", "success"];
    let has = |value: Value<'_>, name: &str| value.get(name).is_some();
    let Some(members) = value.as_object() else { return false };
    if has_text(value, "object", "error") {
        // Of vLLM and of its like.
        return has(value, "message") && has(value, "type");
    }
    let is_alone = members.into_iter().all(|(name, _)| BESIDE.contains(&name));
    let Some(error) = value.get("error").filter(|error| error.kind() == Kind::Object) else { return false };
    let is_described = ["type", "code", "status", "param"].into_iter().any(|name| has(error, name));
    is_alone && is_described && error.get("message").is_some_and(|message| message.kind() == Kind::String)
}

/// The provider of a complete response, by the members that only responses have.
fn body(value: Value<'_>) -> Option<Provider> {
    let has = |names: &[&str]| names.iter().all(|name| value.get(name).is_some());
    let has_any = |names: &[&str]| names.iter().any(|name| value.get(name).is_some());
    let choice = || value.get("choices")?.as_array()?.iter().next();
    let is_object = |name: &str| value.get(name).is_some_and(|member| member.kind() == Kind::Object);
    if choice().is_some_and(|choice| choice.get("message").is_some())
        && has_any(&["model", "object", "usage"])
    {
        Some(Provider::OpenAiChat)
    } else if has_text(value, "object", "response") && has(&["output"]) {
        Some(Provider::OpenAiResponses)
    } else if has_text(value, "type", "message") && has(&["role", "content", "stop_reason"]) {
        Some(Provider::Anthropic)
    } else if has(&["candidates"]) && has_any(&["usageMetadata", "modelVersion", "responseId"]) {
        Some(Provider::Gemini)
    } else if has_text(value, "object", "interaction") && has(&["status"]) {
        Some(Provider::GeminiInteractions)
    } else if is_object("message") && has(&["finish_reason", "id"]) {
        Some(Provider::Cohere)
    } else if value.pointer("/output/message").is_some() && has(&["stopReason"]) {
        Some(Provider::Bedrock)
    } else if has(&["model", "created_at", "done"]) && has_any(&["message", "response"]) {
        Some(Provider::Ollama)
    } else {
        None
    }
}

fn has_text(value: Value<'_>, name: &str, text: &str) -> bool {
    value.get(name).and_then(Value::as_str).as_deref() == Some(text)
}
