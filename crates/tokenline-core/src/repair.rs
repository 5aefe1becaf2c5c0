//! Repair hooks: what a hook receives, and how its replacement is read.

use std::borrow::Cow;

use memchr::memrchr;

use crate::json::{self, Value};
use crate::records::STILL_THINKING;
use crate::{Code, CompletedBy, Diagnostic, Limits, Record, RecordDecoder, Recovered, Recovery, Span};

/// A rejected record or call, as a repair hook receives it.
///
/// Unlike the diagnostic, the text holds what the model wrote, and may be private.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rejected {
    /// The rejected text: the bytes of the diagnostic's span. For a record that breaks a rule, the record;
    /// for a truncated one, as much as arrived; for a line that is not UTF-8, the line with U+FFFD in place
    /// of invalid [bytes](Self::bytes).
    pub text: String,
    /// Why it was rejected.
    pub diagnostic: Diagnostic,
    /// The tool's name, if this is a native call. Then the text and its replacement are those of the call's
    /// arguments.
    pub tool: Option<String>,
    /// The bytes, if they differ from the text.
    raw: Option<Vec<u8>>,
}

impl Rejected {
    /// A rejected text.
    #[must_use]
    pub fn new(text: impl Into<String>, diagnostic: Diagnostic) -> Self {
        Self { text: text.into(), diagnostic, tool: None, raw: None }
    }

    /// The same, from bytes that need not be UTF-8.
    #[must_use]
    pub fn from_bytes(bytes: &[u8], diagnostic: Diagnostic) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let raw = matches!(text, Cow::Owned(_)).then(|| bytes.to_owned());
        Self { text: text.into_owned(), diagnostic, tool: None, raw }
    }

    /// The same, for the arguments of a native call.
    #[must_use]
    pub fn with_tool(self, name: impl Into<String>) -> Self {
        Self { tool: Some(name.into()), ..self }
    }

    /// The rejected bytes, unchanged.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.raw.as_deref().unwrap_or(self.text.as_bytes())
    }
}

impl Code {
    /// Whether a repair hook is asked about diagnostics of this code: whether a replacement could take the
    /// place of what was rejected. False for prose, for text too long to be kept, for complete records
    /// without proof, and for diagnostics that are not about a record.
    #[must_use]
    pub const fn is_repairable(self) -> bool {
        !matches!(
            self,
            Self::Prose
                | Self::LineTooLong
                | Self::RecordTooLarge
                | Self::Unsealed
                | Self::ProviderError
                | Self::StreamIncomplete
        )
    }
}

impl Record<()> {
    /// Reads the replacement for a record rejected at this place, and returns it borrowed, marked as
    /// [repaired](Recovery::Repaired). `None` if it is not exactly one JSON object, apart from white space,
    /// or exceeds the limits.
    pub fn repaired<R>(
        self,
        replacement: &str,
        limits: &Limits,
        read: impl FnOnce(&Record<Value<'_>>) -> R,
    ) -> Option<R> {
        if replacement.len() > limits.line_bytes {
            return None;
        }
        let mut parser = json::Parser::new().with_limits(limits);
        let value = parser.parse(replacement).ok()?;
        value.as_object()?;
        let recovered = self.recovered.with(Recovery::Repaired);
        Some(read(&Record { recovered, ..self }.map(|()| value)))
    }
}

/// The lines of a malformed value before that of its fault, which the diagnostic names.
fn lines_before_fault(diagnostic: &Diagnostic, bytes: &[u8], limits: &Limits) -> u64 {
    if diagnostic.code != Code::MalformedJson || memchr::memchr(b'\n', bytes).is_none() {
        return 0;
    }
    let text = String::from_utf8_lossy(bytes);
    let fault = json::Parser::new().with_limits(limits).parse(&text).map_or_else(|error| error.offset, |_| 0);
    let lines = memchr::memchr_iter(b'\n', &text.as_bytes()[..fault.min(text.len())]).count() as u64;
    lines.min(diagnostic.line - 1)
}

/// A repair hook: gets what was rejected, and may return a [replacement](Record::repaired).
pub type RepairHook = Box<dyn FnMut(Rejected) -> Option<String> + Send + Sync>;

/// A buffer of the bytes that may still be rejected, to hand them to a repair hook.
///
/// For authors of stream adapters: a [`RecordDecoder`] does not keep the text of what it rejects. Holds at
/// most [`Limits::line_bytes`], and nothing of a longer text.
#[derive(Debug)]
pub struct RejectBuffer {
    kept: Vec<u8>,
    /// Offset in the text of the first byte kept.
    base: u64,
    limits: Limits,
    /// The span released last.
    released: Span,
    /// From the start of the last reject's line to the reject: a line may hold a million of them.
    line: Span,
    /// Offset of the last gap.
    gap: Option<u64>,
}

/// The capacity kept when the buffer is emptied: one long line must not pin memory.
const KEEP: usize = 64 * 1024;
/// The longest line ending.
const LINE_END: usize = 2;

impl RejectBuffer {
    /// An empty buffer, at the start of a text.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            kept: Vec::new(),
            base: 0,
            limits: *limits,
            released: Span::default(),
            line: Span::default(),
            gap: None,
        }
    }

    /// Starts over with the next text. Keeps some memory.
    pub fn reset(&mut self) {
        self.forget(0);
        (self.released, self.line, self.gap) = (Span::default(), Span::default(), None);
    }

    /// Notes a released record: a reject that overlaps it is not repairable.
    #[inline]
    pub fn release(&mut self, span: Span) {
        self.released = span;
    }

    /// Notes that text is missing or was replaced at this offset.
    pub fn gap(&mut self, offset: u64) {
        self.gap = Some(offset);
    }

    /// Whether the text of a reject is all that the model wrote from the start of its first line.
    pub(crate) fn is_whole(&self, rejected: &Rejected, place: &Record<()>) -> bool {
        let line = place.span.start - (place.column - 1);
        rejected.raw.is_none() && self.gap.is_none_or(|gap| gap < line || gap > place.span.end)
    }

    /// The text of a reject, and where it stands. `input` is the chunk being decoded, `start` the offset of
    /// its first byte.
    ///
    /// `None` if the code is [not repairable](Code::is_repairable), if the value has no array of
    /// [items](crate::Options::items), if it is a thought that the text ends in, if only white space and commas are rejected, if the bytes belong to a record
    /// that was released ([`Release::OnBalance`](crate::Release::OnBalance)), or if they were too many to keep.
    #[must_use]
    pub fn rejected(
        &mut self,
        diagnostic: &Diagnostic,
        completion: CompletedBy,
        input: &[u8],
        start: u64,
    ) -> Option<(Rejected, Record<()>)> {
        let Span { start: from, end } = diagnostic.span;
        let is_released = from < self.released.end && self.released.start < end;
        // Of a value without the array of items the text is not kept: it may be as long as all of them.
        let is_around = diagnostic.code == Code::MissingField;
        let is_thought = diagnostic.code == Code::Truncated && diagnostic.message == STILL_THINKING;
        if !diagnostic.code.is_repairable() || is_released || is_around || is_thought || from == end {
            return None;
        }
        let column = self.column(from, input, start)?;
        let bytes = self.bytes(Span::new(from, end), input, start)?;
        if bytes.iter().all(|byte| byte.is_ascii_whitespace() || *byte == b',') {
            // Between elements: there is no record to repair.
            return None;
        }
        let place = Record {
            value: (),
            line: diagnostic.line - lines_before_fault(diagnostic, &bytes, &self.limits),
            column,
            span: diagnostic.span,
            completion,
            recovered: Recovered::default(),
        };
        Some((Rejected::from_bytes(&bytes, diagnostic.clone()), place))
    }

    /// Keeps what may still be rejected of the bytes just decoded.
    pub fn keep(&mut self, decoder: &RecordDecoder, input: &[u8]) {
        let from = decoder.undecided_from();
        let start = decoder.position() - input.len() as u64;
        if self.base + self.kept.len() as u64 != start {
            // Bytes are missing: a hook has panicked.
            self.forget(start);
        }
        if let Some(index) = from.checked_sub(start) {
            // The open record began in these bytes, or begins after them.
            let index = usize::try_from(index).unwrap_or(usize::MAX).min(input.len());
            self.forget(start + index as u64);
            self.push(&input[index..], 0);
        } else {
            let decided = usize::try_from(from.saturating_sub(self.base)).unwrap_or(usize::MAX);
            let mut decided = decided.min(self.kept.len());
            // Moved rarely enough to keep the work linear.
            if decided > self.kept.len() / 2 {
                self.kept.drain(..decided);
                self.base += decided as u64;
                decided = 0;
            }
            self.push(input, decided);
        }
    }

    /// Keeps these bytes too, if they fit; the first `decided` of the kept bytes do not count.
    fn push(&mut self, bytes: &[u8], decided: usize) {
        if self.kept.len() - decided + bytes.len() <= self.limits.line_bytes.saturating_add(LINE_END) {
            self.kept.extend_from_slice(bytes);
        } else {
            self.forget(self.base + (self.kept.len() + bytes.len()) as u64);
        }
    }

    fn forget(&mut self, base: u64) {
        self.kept.clear();
        self.kept.shrink_to(KEEP);
        self.base = base;
    }

    /// The bytes of the span, if all of them are here.
    fn bytes<'a>(&'a self, span: Span, input: &'a [u8], start: u64) -> Option<Cow<'a, [u8]>> {
        let input_index = |offset: u64| usize::try_from(offset.checked_sub(start)?).ok();
        let end = input_index(span.end.max(start))?;
        if let Some(from) = input_index(span.start) {
            return Some(Cow::Borrowed(input.get(from..end)?));
        }
        let from = usize::try_from(span.start.checked_sub(self.base)?).ok()?;
        let kept = usize::try_from(span.end.min(start).checked_sub(self.base)?).ok()?;
        let kept = self.kept.get(from..kept)?;
        Some(match end {
            0 => Cow::Borrowed(kept),
            end => Cow::Owned([kept, input.get(..end)?].concat()),
        })
    }

    /// The column of an offset: bytes, from 1.
    fn column(&mut self, offset: u64, input: &[u8], start: u64) -> Option<u64> {
        // The kept bytes begin at the start of a line.
        let first = self.base.min(start);
        if offset < first {
            return None;
        }
        if self.line.start < first || self.line.end > offset {
            self.line = Span::new(first, first);
        }
        for (bytes, base) in [(input, start), (&self.kept, self.base)] {
            let index = |offset: u64| usize::try_from(offset.saturating_sub(base)).unwrap_or(usize::MAX);
            let from = index(self.line.end);
            let part = bytes.get(from..index(offset).min(bytes.len())).unwrap_or_default();
            if let Some(at) = memrchr(b'\n', part) {
                self.line.start = base + (from + at) as u64 + 1;
                break;
            }
        }
        self.line.end = offset;
        let mark = "\u{feff}".as_bytes();
        let text = self.bytes(Span::new(0, mark.len() as u64), input, start);
        // A byte order mark does not count as part of the line.
        let is_marked = self.line.start == 0 && text.is_some_and(|text| *text == *mark);
        Some(offset - self.line.start + 1 - if is_marked { mark.len() as u64 } else { 0 })
    }
}
