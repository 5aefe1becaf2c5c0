//! Detects the format of the calls in a text.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, LazyLock};

use super::choice::Formats;
use super::{CallFormat, CallReader, CallSoFar, Opener, Openers, ToolCallFormat, python_literal, write};
use crate::json::{Kind, Parser, Value};
use crate::{Limits, ToolCall, ValidateCall};

/// Decides what counts as a tool call in a text.
///
/// With a chosen format, only what is written in it; everything else is text. With
/// [`Auto`](CallFormat::Auto), all built-in formats are candidates. A marker that no other text has, a special
/// token or a tag, opens a call in any syntax at any time. What is uncertain (an object without a marker, a
/// Python list, a line) is settled by the first complete call: what is written in another way is then a call
/// only of a defined tool, and text without definitions. An opener alone settles nothing, nor does a call that is
/// truncated, malformed, quoted, or of a tool that is not defined.
///
/// A call counts if it is
///
/// - written in tags or brackets and accepted by its [reader](CallReader);
/// - [pythonic](CallFormat::Pythonic), and names a defined tool, if tools are defined; a single line only if
///   they are, because many a line of code looks the same;
/// - a JSON object with a name and arguments under keys that a [`ToolCall`] is read from; or, if tools are
///   defined, the name of one of them. Any other object is data.
///
/// # Quoted calls
///
/// A text may quote a call: in inline code, or in a block of code. [`Auto`](CallFormat::Auto) takes no call out of
/// inline code, nor out of a fenced block unless it has no language, or `json`, `jsonl`, or one in which models
/// write calls of the syntax ([`CallSyntax::fences`](super::CallSyntax::fences)). A chosen format is read
/// wherever it stands, as the servers of its models do.
///
/// ```
/// use tokenline_core::call_format::{CallDetector, ObjectRole};
/// use tokenline_core::{CallFormat, json::Parser};
///
/// let mut detector = CallDetector::new(&CallFormat::Auto);
/// let mut parser = Parser::new();
/// assert_eq!(detector.admit_object(parser.parse(r#"{"name":"Paris","population":2}"#)?), ObjectRole::Data);
/// assert_eq!(detector.committed(), None);
/// let call = parser.parse(r#"{"name":"weather","args":{"city":"Paris"}}"#)?;
/// assert_eq!(detector.admit_object(call), ObjectRole::Call);
/// assert_eq!(detector.committed(), Some("jsonl"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct CallDetector {
    is_auto: bool,
    reads_objects: bool,
    /// Whether every object is meant as a call.
    reads_only_objects: bool,
    /// Whether an object that is not a call of a defined tool is data.
    keeps_records: bool,
    table: Arc<Table>,
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

/// The languages of fenced code blocks in which calls are read whatever their syntax.
const JSON_FENCES: [&str; 2] = ["json", "jsonl"];

/// The others in which detection takes an object for a call.
const OBJECT_FENCES: [&str; 3] = ["tool_call", "tool_code", "xml"];

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
            keeps_records: false,
            table: Table::of(format),
            tools: None,
            committed: None,
            markup: None,
        }
    }

    /// Sets the defined tools.
    #[must_use]
    pub fn with_tools(mut self, tools: impl ValidateCall + Send + Sync + 'static) -> Self {
        self.tools = Some(Arc::new(tools));
        self
    }

    /// Takes every object for data that is not a call of a defined tool.
    #[must_use]
    pub(crate) fn keeping_records(mut self, yes: bool) -> Self {
        self.keeps_records = yes;
        self
    }

    /// Forgets the detected format, for the next text.
    pub fn reset(&mut self) {
        (self.committed, self.markup) = (None, None);
    }

    /// The openers to look for in text outside records.
    #[must_use]
    pub fn openers(&self) -> &Openers {
        if self.is_auto && self.tools.is_none() {
            &self.table.openers_without_tools
        } else {
            &self.table.openers
        }
    }

    /// The formats to try at an opener that begins `rest`, in this order. `is_text_start`: nothing but white
    /// space is before it in the text.
    #[must_use]
    pub fn formats_at(&self, rest: &str, is_line_start: bool, is_text_start: bool) -> Vec<usize> {
        let mut formats =
            self.openers().formats_of(rest, is_line_start, |index, name| self.opens(index, name));
        formats.retain(|index| !self.is_markup(*index) || is_text_start || self.is_markup_of_text(*index));
        formats.dedup();
        formats
    }

    /// Whether the format with this index only removes markup.
    fn is_markup(&self, index: usize) -> bool {
        index >= self.table.first_markup
    }

    /// Whether a line that begins with this name may be a call of the format with this index.
    fn opens(&self, index: usize, name: &str) -> bool {
        let needs_tool = self.table.formats[index].needs_known_tool();
        !needs_tool || self.has_tool(name) || (!self.is_auto && self.tools.is_none())
    }

    /// Whether the text is known to have the markup of the format with this index.
    fn is_markup_of_text(&self, index: usize) -> bool {
        let is_same = |other: usize| self.is_same_syntax(other, index);
        !self.is_auto || self.is_committed_to(index) || self.markup.is_some_and(is_same)
    }

    fn is_same_syntax(&self, one: usize, other: usize) -> bool {
        self.table.formats[one].name() == self.table.formats[other].name()
    }

    fn is_committed_to(&self, index: usize) -> bool {
        matches!(self.committed, Some(Committed::Format(committed)) if self.is_same_syntax(committed, index))
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
        self.reads_objects
    }

    /// Classifies a complete JSON object in the text. A call is evidence of the format.
    pub fn admit_object(&mut self, object: Value<'_>) -> ObjectRole {
        if self.keeps_records {
            if !ToolCall::is_among_records(object, self.tools()) {
                return ObjectRole::Data;
            }
            if self.is_auto {
                self.commit(Committed::Objects);
            }
            return ObjectRole::Call;
        }
        if !self.reads_objects {
            return ObjectRole::Text;
        }
        if self.reads_only_objects {
            return ObjectRole::Call;
        }
        let is_call = ToolCall::is_in(object, self.tools());
        let is_of_tool = is_call && ToolCall::is_of_defined(object, self.tools());
        match self.committed {
            Some(Committed::Format(_)) if is_of_tool => ObjectRole::Call,
            Some(Committed::Format(_)) if is_call && self.tools.is_none() => ObjectRole::Unsettled,
            Some(Committed::Format(_)) => ObjectRole::Text,
            None | Some(Committed::Objects) if is_call => {
                if self.is_auto && (is_of_tool || self.tools.is_none()) {
                    self.commit(Committed::Objects);
                }
                ObjectRole::Call
            }
            None | Some(Committed::Objects) => ObjectRole::Data,
        }
    }

    /// Classifies a complete JSON object that the text quotes, which is not a call.
    pub(crate) fn admit_quoted(&self, object: Value<'_>) -> ObjectRole {
        let is_record = self.keeps_records && !ToolCall::is_among_records(object, self.tools());
        if is_record { ObjectRole::Data } else { ObjectRole::Text }
    }

    /// Whether a complete call of the format with this index counts as one. If so, it is evidence of the
    /// format. `call` is the JSON object that the reader found or made.
    pub fn admit_call(&mut self, index: usize, call: Value<'_>) -> bool {
        if !self.is_auto {
            return true;
        }
        let name = call.get("name").and_then(Value::as_str);
        let is_call = self.admits(index, || name.clone()) && !self.is_above_call(index, call);
        if is_call && (self.tools.is_none() || name.is_some_and(|name| self.has_tool(&name))) {
            self.commit(Committed::Format(index));
        }
        is_call
    }

    /// Whether the line with a tool's name is above an object that is itself a call of a defined tool.
    fn is_above_call(&self, index: usize, call: Value<'_>) -> bool {
        let is_line = || self.table.formats[index].openers().contains(&Opener::NameAboveObject);
        call.get("parameters").is_some_and(|object| ToolCall::is_of_defined(object, self.tools()))
            && is_line()
    }

    /// Whether a call that does not count ends the reading of its run, which is then read as text: there is no
    /// other call in the run.
    pub(crate) fn is_single(&self, index: usize) -> bool {
        self.table.formats[index].name() != CallFormat::Pythonic.as_str()
    }

    fn admits<'n>(&self, index: usize, name: impl FnOnce() -> Option<Cow<'n, str>>) -> bool {
        let Some(format) = self.table.formats.get(index) else { return false };
        let is_settled = self.is_committed_to(index);
        // Code has brackets and names as well.
        let is_code_like = format.name() == CallFormat::Pythonic.as_str() && !is_settled;
        let needs_tool = format.needs_known_tool()
            || (is_code_like && self.tools.is_some())
            || (self.committed.is_some() && !is_settled && !format.is_certain());
        !needs_tool || name().is_some_and(|name| self.has_tool(&name))
    }

    /// Whether an open call counts as one so far: of the format with this index, or a JSON object.
    pub(crate) fn admits_open(&self, index: Option<usize>, call: &CallSoFar<'_>) -> bool {
        match index {
            Some(index) => !self.is_auto || self.admits(index, || Some(call.name.as_ref().into())),
            None => {
                let is_settled = !self.keeps_records && !matches!(self.committed, Some(Committed::Format(_)));
                (self.reads_objects || self.keeps_records)
                    && ((is_settled && !call.parameters.is_empty()) || self.has_tool(&call.name))
            }
        }
    }

    /// Whether calls of the format with this index, or JSON objects, are read in a fenced code block whose
    /// language is this. Automatic detection takes blocks in other languages for code.
    pub(crate) fn reads_fence(&self, index: Option<usize>, is_language: impl Fn(&str) -> bool) -> bool {
        !self.is_auto
            || JSON_FENCES.iter().any(|fence| is_language(fence))
            || match index {
                None => OBJECT_FENCES.iter().any(|fence| is_language(fence)),
                Some(index) => self.table.formats[index].fences().iter().any(|fence| is_language(fence)),
            }
    }

    /// Whether calls in any syntax are looked for. Quoted calls are then text.
    pub(crate) fn is_auto(&self) -> bool {
        self.is_auto
    }

    /// Whether a call that is not read is worth a note: it is of a defined tool, or no tools are defined.
    pub(crate) fn may_have_tool(&self, call: Value<'_>) -> bool {
        self.tools.is_none() || ToolCall::is_of_defined(call, self.tools())
    }

    /// Whether an object that is not taken is a call of a defined tool, or without definitions, of any.
    pub(crate) fn is_call_of_tool(&self, object: Value<'_>) -> bool {
        ToolCall::is_in(object, self.tools()) && self.may_have_tool(object)
    }

    /// Whether a defined tool has this name.
    pub(crate) fn has_tool(&self, name: &str) -> bool {
        self.tools.as_ref().is_some_and(|tools| tools.has_tool(name))
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
        self.committed.get_or_insert(to);
    }
}

/// The role of a JSON object outside markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ObjectRole {
    /// A call, or several.
    Call,
    /// No call, but data where calls may be objects.
    Data,
    /// It looks like a call, but the calls of the text are written in another way, and no tool definitions show
    /// that it is one. It is text.
    Unsettled,
    /// Text: calls are not written so.
    Text,
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
