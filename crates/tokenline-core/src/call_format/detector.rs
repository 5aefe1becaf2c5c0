//! Detects the format of the calls in a text.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, LazyLock};

use super::choice::Formats;
use super::{CallFormat, CallReader, CallSoFar, Openers, ToolCallFormat, python_literal, write};
use crate::json::{Kind, Parser, Value};
use crate::{Limits, ToolCall, ValidateCall};

/// Decides what counts as a tool call in a text.
///
/// With a chosen format, only what is written in it; everything else is text. With
/// [`Auto`](CallFormat::Auto), all built-in formats are candidates until a complete call proves one of them;
/// from then on the others are text. An opener alone proves nothing, nor does a call that is truncated or
/// malformed.
///
/// A call counts as evidence if it is
///
/// - written in tags or brackets and accepted by its [reader](CallReader);
/// - [pythonic](CallFormat::Pythonic), and names a defined tool, if tools are defined; a single line only if
///   they are, because many a line of code looks the same;
/// - a JSON object with a name and arguments under keys that a [`ToolCall`] is read from; or, if tools are
///   defined, the name of one of them. Any other object is data.
///
/// ```
/// use tokenline_core::call_format::CallDetector;
/// use tokenline_core::{CallFormat, json::Parser};
///
/// let mut detector = CallDetector::new(&CallFormat::Auto);
/// let mut parser = Parser::new();
/// assert!(!detector.admit_object(parser.parse(r#"{"name":"Paris","population":2}"#)?));
/// assert_eq!(detector.committed(), None);
/// assert!(detector.admit_object(parser.parse(r#"{"name":"weather","args":{"city":"Paris"}}"#)?));
/// assert_eq!(detector.committed(), Some("jsonl"));
/// assert!(detector.openers().is_empty(), "text in tags is no longer a call");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct CallDetector {
    is_auto: bool,
    reads_objects: bool,
    /// Whether every object is meant as a call.
    reads_only_objects: bool,
    table: Arc<Table>,
    /// Those of the formats that have been settled on; until then, those of the table.
    openers: Option<Openers>,
    tools: Option<Arc<dyn ValidateCall + Send + Sync>>,
    committed: Option<Committed>,
    /// The format whose markup begins the text.
    markup: Option<usize>,
}

/// Formats to look for. All detectors share that of [`Auto`](CallFormat::Auto).
struct Table {
    formats: Formats,
    /// The formats from this index on remove markup.
    first_markup: usize,
    openers: Openers,
    /// Without those of the formats that need known tools.
    openers_without_tools: Openers,
}

impl Table {
    fn of(format: &CallFormat) -> Arc<Self> {
        static AUTO: LazyLock<Arc<Table>> = LazyLock::new(|| Arc::new(Table::new(&CallFormat::Auto)));
        if *format == CallFormat::Auto { Arc::clone(&AUTO) } else { Arc::new(Self::new(format)) }
    }

    fn new(format: &CallFormat) -> Self {
        let (formats, first_markup) = format.readers();
        let needs_none = |format: &Arc<dyn ToolCallFormat>| !format.needs_known_tool();
        let openers_without_tools =
            Openers::new(formats.iter().enumerate().filter(|(_, format)| needs_none(format)));
        Self {
            first_markup,
            openers: Openers::new(formats.iter().enumerate()),
            openers_without_tools,
            formats,
        }
    }
}

/// The format that [`Auto`](CallFormat::Auto) has settled on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Committed {
    Objects,
    /// The format with this index, and others of its name.
    Format(usize),
}

impl CallDetector {
    /// A detector for calls of this format.
    #[must_use]
    pub fn new(format: &CallFormat) -> Self {
        Self {
            is_auto: *format == CallFormat::Auto,
            reads_objects: format.reads_plain_json(),
            reads_only_objects: matches!(format, CallFormat::Jsonl | CallFormat::SingleJson),
            table: Table::of(format),
            openers: None,
            tools: None,
            committed: None,
            markup: None,
        }
    }

    /// Sets the defined tools.
    #[must_use]
    pub fn with_tools(mut self, tools: Arc<dyn ValidateCall + Send + Sync>) -> Self {
        self.tools = Some(tools);
        self
    }

    /// Forgets the detected format, for the next text.
    pub fn reset(&mut self) {
        (self.committed, self.markup, self.openers) = (None, None, None);
    }

    /// The openers to look for in text outside records. They change when a call is admitted; the indices of
    /// the formats do not.
    #[must_use]
    pub fn openers(&self) -> &Openers {
        match &self.openers {
            Some(openers) => openers,
            None if self.is_auto && self.tools.is_none() => &self.table.openers_without_tools,
            None => &self.table.openers,
        }
    }

    /// The formats to try at an opener that begins `rest`, in this order. `is_text_start`: nothing but white
    /// space is before it in the text.
    #[must_use]
    pub fn formats_at(&self, rest: &str, is_line_start: bool, is_text_start: bool) -> Vec<usize> {
        let mut formats = self.openers().formats_at(rest, is_line_start);
        formats.retain(|index| !self.is_markup(*index) || is_text_start || self.is_markup_of_text(*index));
        formats.dedup();
        formats
    }

    /// Whether the format with this index only removes markup.
    fn is_markup(&self, index: usize) -> bool {
        index >= self.table.first_markup
    }

    /// Whether the text is known to have the markup of the format with this index.
    fn is_markup_of_text(&self, index: usize) -> bool {
        let is_same = |other: usize| self.table.formats[other].name() == self.table.formats[index].name();
        !self.is_auto || self.committed.is_some() || self.markup.is_some_and(is_same)
    }

    /// Takes note that the run of the format with this index is over. Markup that begins a text shows whose
    /// markup it has.
    pub(crate) fn end_run(&mut self, index: usize) {
        if self.is_markup(index) {
            self.markup = Some(index);
        }
    }

    /// Finds out that the text is written in the format with this index, without a call, because a message of
    /// it began.
    pub fn admit_message(&mut self, index: usize) {
        if self.is_auto {
            self.commit(Committed::Format(index));
        }
    }

    /// A reader of the format with this index, for the text from its opener on.
    ///
    /// # Panics
    ///
    /// If there is no such format.
    #[must_use]
    pub fn start(&self, index: usize, limits: &Limits) -> Box<dyn CallReader> {
        self.table.formats[index].start(limits)
    }

    /// Whether a JSON object in the text, outside what a reader takes, may be a call.
    #[must_use]
    pub fn reads_objects(&self) -> bool {
        self.reads_objects && matches!(self.committed, None | Some(Committed::Objects))
    }

    /// Whether a complete JSON object counts as a call, or as several. If so, it is evidence of the format.
    pub fn admit_object(&mut self, object: Value<'_>) -> bool {
        if !self.reads_objects() {
            return false;
        }
        if self.reads_only_objects {
            return true;
        }
        let is_call = ToolCall::is_in(object, self.tools());
        if is_call && self.is_auto {
            self.commit(Committed::Objects);
        }
        is_call
    }

    /// Whether a complete call of the format with this index counts as one. If so, it is evidence of the
    /// format. `call` is the JSON object that the reader found or made.
    pub fn admit_call(&mut self, index: usize, call: Value<'_>) -> bool {
        if !self.is_auto {
            return true;
        }
        let is_call = self.admits(index, || call.get("name").and_then(Value::as_str));
        if is_call {
            self.commit(Committed::Format(index));
        }
        is_call
    }

    fn admits<'n>(&self, index: usize, name: impl FnOnce() -> Option<Cow<'n, str>>) -> bool {
        let Some(format) = self.table.formats.get(index).filter(|_| self.is_candidate(index)) else {
            return false;
        };
        // Code has brackets and names as well.
        let is_code_like = format.name() == CallFormat::Pythonic.as_str() && self.committed.is_none();
        let needs_tool = format.needs_known_tool() || (is_code_like && self.tools.is_some());
        !needs_tool || name().is_some_and(|name| self.has_tool(&name))
    }

    fn has_tool(&self, name: &str) -> bool {
        self.tools.as_ref().is_some_and(|tools| tools.has_tool(name))
    }

    /// Whether an open call counts as one so far: of the format with this index, or a JSON object.
    pub(crate) fn admits_open(&self, index: Option<usize>, call: &CallSoFar<'_>) -> bool {
        match index {
            Some(index) => !self.is_auto || self.admits(index, || Some(call.name.as_ref().into())),
            None => self.reads_objects() && (!call.parameters.is_empty() || self.has_tool(&call.name)),
        }
    }

    /// The defined tools.
    pub(crate) fn tools(&self) -> Option<&dyn ValidateCall> {
        self.tools.as_deref().map(|tools| tools as &dyn ValidateCall)
    }

    /// A call whose parameters were written as text: with the types of the tool's parameters, and without an
    /// object around all of them that the tool does not have. `None` if nothing changes.
    #[must_use]
    pub fn type_call(&self, call: Value<'_>) -> Option<String> {
        let name = call.get("name")?.as_str()?;
        let parameters = call.get("parameters")?;
        let typed = match &self.tools {
            None => unwrapped(parameters, false)?,
            Some(tools) => {
                let fits = |value: &str| {
                    Parser::new().parse(value).is_ok_and(|value| tools.validate_call(&name, value).is_ok())
                };
                let typed = tools.type_text(&name, parameters);
                let is_fitting =
                    typed.as_ref().map_or_else(|| fits(parameters.raw()), |typed| fits(typed.as_str()));
                let inner = if is_fitting { None } else { unwrapped(parameters, true) };
                let inner = inner.map(|inner| match Parser::new().parse(&inner) {
                    Ok(value) => {
                        tools.type_text(&name, value).map_or(inner.clone(), |typed| typed.as_str().to_owned())
                    }
                    Err(_) => inner,
                });
                inner.filter(|inner| fits(inner)).or_else(|| typed.map(|typed| typed.as_str().to_owned()))?
            }
        };
        let id = call.get("call_id").and_then(Value::as_str);
        Some(write::call(&name, &typed, id.as_deref()))
    }

    /// The name of the chosen or detected format, once it is known; `jsonl` for JSON objects.
    #[must_use]
    pub fn committed(&self) -> Option<&str> {
        match self.committed {
            Some(Committed::Format(index)) => Some(self.table.formats[index].name()),
            Some(Committed::Objects) => Some(CallFormat::Jsonl.as_str()),
            None if self.is_auto => None,
            None => {
                Some(self.table.formats.first().map_or(CallFormat::Jsonl.as_str(), |format| format.name()))
            }
        }
    }

    fn commit(&mut self, to: Committed) {
        if self.committed.is_none() {
            self.committed = Some(to);
            let formats = self.table.formats.iter().enumerate();
            self.openers = Some(Openers::new(formats.filter(|(index, _)| self.is_candidate(*index))));
        }
    }

    fn is_candidate(&self, index: usize) -> bool {
        let format = &self.table.formats[index];
        match self.committed {
            _ if self.is_auto && format.needs_known_tool() && self.tools.is_none() => false,
            None => true,
            Some(Committed::Objects) => false,
            Some(Committed::Format(committed)) => format.name() == self.table.formats[committed].name(),
        }
    }
}

/// The text of the only parameter, if it is an object and its name says that it holds the parameters. With
/// tools, which show what fits, also if it is a string that holds the object.
fn unwrapped(parameters: Value<'_>, has_tools: bool) -> Option<String> {
    let mut members = parameters.as_object()?.iter();
    let (name, value) = members.next()?;
    let is_wrapper = match name {
        "arguments" | "parameters" => true,
        "properties" => has_tools,
        _ => false,
    };
    match value.kind() {
        _ if !is_wrapper || members.next().is_some() => None,
        Kind::Object => Some(value.to_single_line().into_owned()),
        Kind::String if has_tools => {
            let text = value.as_str().filter(|text| text.trim_start().starts_with('{'))?;
            match Parser::new().parse(&text) {
                Ok(value) => Some(value.to_single_line().into_owned()),
                Err(_) => python_literal(&text),
            }
        }
        _ => None,
    }
}

impl fmt::Debug for CallDetector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallDetector")
            .field("formats", &self.table.formats)
            .field("committed", &self.committed())
            .finish_non_exhaustive()
    }
}
