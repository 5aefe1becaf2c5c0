//! Options of a record parser.

use std::sync::Arc;

use crate::json::InvalidPointer;
use crate::{CallFormat, Limits, Mode, Release};

/// How a [`JsonlParser`](crate::JsonlParser) reads.
///
/// ```
/// use tokenline_core::{Release, Options};
///
/// let options = Options::lenient().release(Release::OnBalance);
/// # let _ = options;
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// How tolerant the parser is.
    pub mode: Mode,
    /// When a record is released.
    pub release: Release,
    /// Caps on memory.
    pub limits: Limits,
    /// Emit the changes to the open record as they arrive.
    pub partials: bool,
    /// Emit the text between records.
    pub text: bool,
    /// Whether a root array, or a scalar that stands alone, is a record.
    pub(crate) whole_values: bool,
    /// Whether the text begins inside the model's reasoning.
    pub(crate) in_reasoning: bool,
    /// Whether the syntax of malformed records is repaired where the text proves the edit.
    pub(crate) repairs_syntax: bool,
    /// The format of tool calls to look for in text.
    pub(crate) calls: Option<Box<CallFormat>>,
    /// Whether an object that is not a call of a defined tool is a record.
    pub(crate) records_beside_calls: bool,
    /// The names and indices that lead from a root value to the array whose elements are the records.
    pub(crate) items: Option<Arc<[Box<str>]>>,
}

impl Options {
    /// Reads what models write in place of JSON Lines: code fences, prose, lists, commas, arrays, objects on
    /// several lines and several on one line. The default.
    #[must_use]
    pub fn lenient() -> Self {
        Self::default()
    }

    /// Reads JSON Lines and nothing else: each line that is not blank is one object.
    #[must_use]
    pub fn strict() -> Self {
        Self { mode: Mode::Strict, ..Self::default() }
    }

    /// Sets when a record is released.
    #[must_use]
    pub fn release(mut self, release: Release) -> Self {
        self.release = release;
        self
    }

    /// Sets the caps on memory.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Looks for tool calls of this format in the text, and yields each as a record `{"name", "parameters"}`,
    /// as if it were written so. [`CallFormat::Auto`] means the format of the first complete call. Until it
    /// is known that the calls are in another format, JSON objects are records as well; after that they are
    /// text.
    ///
    /// For the lenient mode. Machines that read tool calls from text set it themselves.
    ///
    /// ```
    /// use tokenline_core::{CallFormat, Event, JsonlParser, Options, ToolCall};
    ///
    /// let mut parser = JsonlParser::new(Options::lenient().calls(CallFormat::Auto));
    /// parser.push("I look it up. [weather(city='Paris', days=3)]\n");
    /// let Some(Event::Record(record)) = parser.next_event() else { panic!() };
    /// let call = ToolCall::from_record(&record, None)?;
    /// assert_eq!((&*call.name, call.parameters.as_str()), ("weather", r#"{"city":"Paris","days":3}"#));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn calls(mut self, format: CallFormat) -> Self {
        self.calls = Some(Box::new(format));
        self
    }

    /// With [calls](Self::calls), takes every object for a record that is neither between the markers of calls nor a call
    /// of a defined tool, with its name and a member for its arguments. Otherwise it is text once calls are written in
    /// another way.
    ///
    /// For the lenient mode. Machines that read records and tool calls from one text set it themselves.
    ///
    /// ```
    /// use tokenline_core::{CallFormat, Event, JsonlParser, Options, ToolCall};
    ///
    /// let options = Options::lenient().calls(CallFormat::Auto).records_beside_calls(true);
    /// let mut parser = JsonlParser::new(options);
    /// parser.push("<tool_call>{\"name\":\"now\",\"arguments\":{}}</tool_call>\n{\"name\":\"Bob\",\"age\":7}\n");
    /// let mut values = Vec::new();
    /// while let Some(event) = parser.next_event() {
    ///     values.extend(event.into_record().map(|record| record.value.raw().to_owned()));
    /// }
    /// assert_eq!(values, ["{\"name\":\"now\",\"arguments\":{}}", "{\"name\":\"Bob\",\"age\":7}"]);
    /// ```
    #[must_use]
    pub fn records_beside_calls(mut self, yes: bool) -> Self {
        self.records_beside_calls = yes;
        self
    }

    /// Whether every object is a record that is not a call of a defined tool.
    #[must_use]
    pub(crate) fn keeps_records_beside_calls(&self) -> bool {
        self.records_beside_calls
    }

    /// Looks for calls of any format, unless one was chosen.
    pub(crate) fn or_any_calls(self) -> Self {
        if self.looks_for_calls() { self } else { self.calls(CallFormat::Auto) }
    }

    /// Whether to look for tool calls.
    #[must_use]
    pub fn looks_for_calls(&self) -> bool {
        self.calls.is_some()
    }

    /// Takes the elements of one array within each root value as records, each as soon as it is complete.
    /// `pointer` is the JSON Pointer (RFC 6901) of the array. The rest of the root value is skipped, and an
    /// object without the array is [reported](crate::Code::MissingField). The empty pointer is the root
    /// array, whose elements are records by default; a root object then is still a record.
    ///
    /// For the lenient mode; the strict mode ignores it.
    ///
    /// ```
    /// use tokenline_core::{Event, JsonlParser, Options};
    ///
    /// let mut parser = JsonlParser::new(Options::lenient().items("/definitions")?);
    /// parser.push("{\"status\": {\"ok\": true}, \"definitions\": [{\"entity\": \"DNA\"}, {\"enti");
    /// let Some(Event::Record(record)) = parser.next_event() else { panic!() };
    /// assert_eq!(record.value.raw(), "{\"entity\": \"DNA\"}");
    /// # Ok::<(), tokenline_core::json::InvalidPointer>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If `pointer` is not a JSON Pointer: it is not empty and does not begin with `/`, or has a `~` that is
    /// not followed by `0` or `1`.
    pub fn items(mut self, pointer: &str) -> Result<Self, InvalidPointer> {
        let tokens = match pointer.strip_prefix('/') {
            None if pointer.is_empty() => None,
            None => return Err(InvalidPointer(())),
            Some(tokens) => Some(tokens),
        };
        let unescape = |token: &str| -> Option<Box<str>> {
            let is_escaped_well = token.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
            is_escaped_well.then(|| token.replace("~1", "/").replace("~0", "~").into())
        };
        let tokens: Option<Arc<[Box<str>]>> =
            tokens.into_iter().flat_map(|tokens| tokens.split('/')).map(unescape).collect();
        self.items = Some(tokens.ok_or(InvalidPointer(()))?);
        Ok(self)
    }

    /// Whether to look for records inside other values.
    #[must_use]
    pub fn looks_for_items(&self) -> bool {
        self.items.as_ref().is_some_and(|tokens| !tokens.is_empty())
    }

    /// Yields an [`Event::Partial`](crate::Event::Partial) for each step by which the open record grows, up
    /// to the end of each chunk. Off by default.
    ///
    /// ```
    /// use tokenline_core::json::Change;
    /// use tokenline_core::{Event, JsonlParser, Options};
    ///
    /// let mut parser = JsonlParser::new(Options::lenient().partials(true));
    /// let mut screen = String::new();
    /// for piece in ["{\"answer\":\"Forty", "-two, they s", "ay.\",\"sure\":tr", "ue}\n"] {
    ///     parser.push(piece);
    ///     while let Some(event) = parser.next_event() {
    ///         match event {
    ///             Event::Partial(partial) if partial.value.is_at("/answer") => match partial.value.change {
    ///                 Change::Append(text) => screen += text,
    ///                 Change::Close => screen += " [whole]",
    ///                 _ => {}
    ///             },
    ///             Event::Record(record) => assert_eq!(record.value.get("sure").unwrap().as_bool(), Some(true)),
    ///             _ => {}
    ///         }
    ///     }
    ///     screen.push('|');
    /// }
    /// assert_eq!(screen, "Forty|-two, they s|ay. [whole]||");
    /// ```
    ///
    /// For parsers of text and of responses. Streams have typed [partials](crate::partial) instead.
    #[must_use]
    pub fn partials(mut self, partials: bool) -> Self {
        self.partials = partials;
        self
    }

    /// Also yields the text for people and the markup around records, in input order: with the records and
    /// rejects, every byte once. A code fence around records is markup, a fence around text is text; white
    /// space, list markers and commas next to a record are markup, other text is text. Streams and codecs leave
    /// it out, as they do partials.
    ///
    /// ```
    /// use tokenline_core::{Event, Options, RecordDecoder};
    ///
    /// let mut decoder = RecordDecoder::new(Options::lenient().text(true));
    /// let mut rest: &[u8] = b"Sure:\n```json\n{\"a\":1}\n```\nAnything else?\n";
    /// let mut shown = String::new();
    /// loop {
    ///     let decoded = decoder.decode(rest);
    ///     rest = &rest[decoded.consumed..];
    ///     match decoded.event {
    ///         Some(Event::Text(span)) => shown.push_str(decoder.text(span)),
    ///         Some(_) => {}
    ///         None => break,
    ///     }
    /// }
    /// assert_eq!(shown, "Sure:\nAnything else?\n");
    /// ```
    #[must_use]
    pub fn text(mut self, text: bool) -> Self {
        self.text = text;
        self
    }

    /// Takes any JSON value as a record, not only objects: a root array is one record instead of its
    /// elements, and a string, number or literal is one if it stands alone, as the whole text or on a line of
    /// a code fence. The rules for data and prose do not change: `[1]` in a sentence is a citation.
    ///
    /// For callers that look for one value rather than for records. For the lenient mode; not together with
    /// [items](Self::items) or [calls](Self::calls).
    ///
    /// ```
    /// use tokenline_core::{Event, JsonlParser, Options};
    ///
    /// let mut parser = JsonlParser::new(Options::lenient().whole_values(true));
    /// parser.push("As in [1]:\n```json\n[{\"a\": 1}, 2]\n```\n");
    /// let records = std::iter::from_fn(|| match parser.next_event()? {
    ///     Event::Record(record) => Some(record.value.raw().to_owned()),
    ///     _ => Some(String::new()),
    /// });
    /// assert_eq!(records.filter(|raw| !raw.is_empty()).collect::<Vec<_>>(), ["[{\"a\": 1}, 2]"]);
    /// ```
    #[must_use]
    pub fn whole_values(mut self, whole_values: bool) -> Self {
        self.whole_values = whole_values;
        self
    }

    /// The prompt has opened the model's reasoning, as the chat templates of many models do: the text begins
    /// inside it, and has only the closing tag, `</think>`. Nothing before the tag is a record, a call, or text.
    /// An opening tag at the beginning of the text does no harm. Has no effect in [strict
    /// mode](Self::strict).
    ///
    /// ```
    /// use tokenline_core::{Event, JsonlParser, Options};
    ///
    /// let mut parser = JsonlParser::new(Options::lenient().in_reasoning(true));
    /// parser.push("I could answer {\"a\":1}.\n</think>\n\n{\"a\":2}\n");
    /// let Some(Event::Record(record)) = parser.next_event() else { panic!() };
    /// assert_eq!(record.value.raw(), "{\"a\":2}");
    /// ```
    #[must_use]
    pub fn in_reasoning(mut self, in_reasoning: bool) -> Self {
        self.in_reasoning = in_reasoning;
        self
    }

    /// Repairs a malformed record or call where the text proves the edit: a trailing comma, a raw tab or line feed in a
    /// string, single quotes and the rest of a [closed list](crate::syntax_repair). It is delivered if it passes the
    /// validators, and [marked](crate::Recovery::SyntaxRepaired). What has two readings stays a reject, whose message names
    /// them. Without a validator, only edits that cannot change a value are made. Closers are added only where the model ended its response
    /// by itself, and never to a call; of a native call only tokens are repaired, not the structure. A record that lost a
    /// part on the way is not repaired. Off by default.
    ///
    /// A [continued list](https://docs.rs/tokenline-continuation) is repaired before its validators are asked: only by edits
    /// that cannot change a value.
    ///
    /// For streams, codecs and parsers of responses; a [`RecordDecoder`](crate::RecordDecoder) and a
    /// [`JsonlParser`](crate::JsonlParser) repair nothing.
    #[must_use]
    pub fn repair_syntax(mut self, repair_syntax: bool) -> Self {
        self.repairs_syntax = repair_syntax && cfg!(feature = "repair");
        self
    }

    /// Whether the syntax of malformed records is [repaired](Self::repair_syntax).
    #[must_use]
    pub fn repairs_syntax(&self) -> bool {
        self.repairs_syntax
    }

    /// Whether the text begins inside the model's reasoning.
    #[must_use]
    pub fn begins_in_reasoning(&self) -> bool {
        self.in_reasoning && self.mode == Mode::Lenient
    }
}
