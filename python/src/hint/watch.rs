//! Looks at a source as it passes.

use tokenline_core::{Code, Report};
use tokenline_llm::Provider;

use super::document::{IN_ARRAYS, IN_BODIES, document, has_json_event, has_object, may_begin_with};
use super::message::Hint;
use super::opening::{BYTE_ORDER_MARK, Opening, is_text, opening, signature};
use crate::machine::Progress;

/// The longest document that is looked at as a whole.
const DOCUMENT_BYTES: usize = 64 * 1024;
/// Binary messages have no lines: they are looked at after each so many bytes.
const STRIDE: usize = 256;
/// Where the name of the first member of a document ends at the latest.
const NAME_BYTES: usize = 256;

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
