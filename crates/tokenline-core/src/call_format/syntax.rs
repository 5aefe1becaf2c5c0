//! A syntax as data: a row of the table.

use std::fmt;
use std::sync::{Arc, LazyLock};

use super::messages::Messages;
use super::named::Named;
use super::objects::Objects;
use super::pythonic::Pythonic;
use super::scan::{Literal, MAX_BLANKS, is_space, one_of};
use super::tool_tag::ToolTag;
use super::{CallReader, CallStep, MarkerPair, Opener, ToolCallFormat, table};
use crate::Limits;
use crate::json::{Parser, Value};

/// A syntax in which models write tool calls: the markers around calls, where the name is, and how the
/// arguments are written.
///
/// The built-in ones are the rows of `syntaxes.json`, beside this file. A row of your own is the same JSON
/// (or TOML, for the program):
///
/// ```
/// use tokenline_core::call_format::CallSyntax;
/// use tokenline_core::{CallFormat, Event, JsonlParser, Options};
///
/// let syntax: CallSyntax = serde_json::from_str(
///     r#"{
///         "name": "angle",
///         "reads": ["named"],
///         "call": [["<<", ">>"]],
///         "name_end": [":"],
///         "example": "<<weather: {\"city\": \"Paris\"}>>"
///     }"#,
/// )?;
/// let mut parser = JsonlParser::new(Options::lenient().calls(CallFormat::from(syntax)));
/// parser.push("<<weather: {\"city\": \"Paris\"}>>\n");
/// let Some(Event::Record(record)) = parser.next_event() else { panic!() };
/// assert_eq!(record.value.get("name").unwrap().as_str().as_deref(), Some("weather"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// If a row has an example, it is read with the row, which is refused unless that is a call.
///
/// White space between markers is insignificant. A list of markers holds the spellings of one marker. In a pair,
/// the second is empty if nothing closes the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallSyntax {
    /// The name, unique among syntaxes.
    pub name: String,
    /// Other names: the model families that write it.
    pub models: Vec<String>,
    /// How a call is read. Several readers are tried in this order.
    pub reads: Vec<Reads>,
    /// The markers around a run of calls.
    pub block: Vec<(String, String)>,
    /// The markers around each call. With [`Named`](Reads::Named), the name follows the opener directly.
    pub call: Vec<(String, String)>,
    /// Whether a call counts only inside a block.
    pub needs_block: bool,
    /// Markup that may stand between the block's marker and a call, or between calls, and is skipped.
    pub between: Vec<String>,
    /// The ends of the name, besides the markers that may follow it.
    pub name_end: Vec<String>,
    /// The marker before an id, which stands between name and arguments.
    pub id: Option<String>,
    /// Whether the text before the arguments is the id: `functions.weather:0`, for `weather`.
    pub header_is_id: bool,
    /// Markup that may stand between the name and the arguments, and is skipped.
    pub before: Vec<String>,
    /// Markup that may follow the arguments, and is skipped.
    pub after: Vec<String>,
    /// How parameters with tags of their own are written.
    pub parameter: Option<ParameterTags>,
    /// The delimiter of strings, where the arguments are `{key:value}` without quotes.
    pub quote: Option<String>,
    /// Whether the name may be given twice, as a namespace too: `weather.weather`, for `weather`.
    pub namespace: bool,
    /// Whether a key of an object is a name, and its value the arguments: `{"weather":{"city":"Paris"}}`.
    pub key_is_name: bool,
    /// Whether a call may also be a plain JSON object, without any marker.
    pub plain: bool,
    /// Whether calls are accepted only for defined tools, because much other text looks like them.
    pub needs_known_tool: bool,
    /// Markup that may stand anywhere outside calls, such as the tokens around messages. It is not text once it
    /// is known that the text has this syntax, or where it begins the text.
    pub markup: Vec<String>,
    /// The opening markers that are special tokens: no ordinary text has them. What stands between such a marker and
    /// its closer is rejected if it cannot be read, wherever on the line it begins.
    pub special_tokens: Vec<String>,
    /// The languages of fenced code blocks in which automatic detection finds its calls, besides `json`, `jsonl`
    /// and none.
    pub fences: Vec<String>,
    /// When models write this, if another syntax has the same name.
    pub note: String,
    /// A call.
    pub example: String,
    /// The source of this description.
    pub source: String,
}

/// How the calls of a syntax are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reads {
    /// A JSON object with name and arguments, several of them, or an array.
    Objects,
    /// A name, then the arguments as JSON, as tags for each parameter, or as `{key:value}`.
    Named,
    /// The same, but without any marker: the name takes a line, and the arguments follow. Only of a defined
    /// tool.
    NamedLine,
    /// Calls as in Python: a list of them, or between markers one or more.
    Python,
    /// A call as in Python that takes a line, of a defined tool.
    PythonLine,
    /// A name, then an element for each parameter, which is named like it; arrays and objects are nested elements.
    /// The first `before` stands in front of each tag.
    Elements,
    /// The name of a defined tool as a tag that begins a line, and a tag for each parameter.
    ToolTag,
    /// Messages with a header that has the channel and the recipient.
    Messages,
}

/// How a parameter with tags of its own is written: `open` key `key_end` value `close`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParameterTags {
    /// The markers before the key and after the value.
    pub tags: Vec<(String, String)>,
    /// The end of the key.
    pub key_end: Vec<String>,
    /// The marker between the end of the key and the value.
    pub value: Option<String>,
    /// The markers around a type between key and value.
    pub type_tags: Option<(String, String)>,
    /// The attribute with the value's type: `true` or `string` for a string, anything else for JSON.
    pub type_attribute: Option<String>,
    /// Which white space around a value does not belong to it.
    pub trim: Trim,
    /// Whether a value that is JSON is read as JSON, not as a string.
    pub json: bool,
}

/// Which white space around a value belongs to the syntax.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trim {
    /// None.
    #[default]
    Nothing,
    /// One newline at either end.
    Newline,
    /// All of it.
    Everything,
}

impl Trim {
    pub(super) fn of(self, value: &str) -> &str {
        match self {
            Self::Nothing => value,
            Self::Everything => value.trim(),
            Self::Newline => {
                let value = value.strip_prefix("\r\n").or(value.strip_prefix('\n')).unwrap_or(value);
                value.strip_suffix("\r\n").or(value.strip_suffix('\n')).unwrap_or(value)
            }
        }
    }

    /// The value before a line with the tag that follows its closing tag, which is missing.
    pub(super) fn before_line(self, value: &str) -> &str {
        match self {
            Self::Nothing => without_newline(value),
            Self::Newline | Self::Everything => value,
        }
    }

    /// The part of a value so far that stays, whatever follows.
    pub(super) fn of_open(self, value: &str) -> &str {
        match self {
            Self::Nothing => without_newline(value),
            Self::Everything => {
                // Much white space would be looked at again and again.
                let mut bytes = value.bytes();
                let is_blank = |bytes: &mut dyn Iterator<Item = u8>| bytes.take(MAX_BLANKS).all(is_space);
                if value.len() > MAX_BLANKS && (is_blank(&mut bytes) || is_blank(&mut value.bytes().rev())) {
                    return "";
                }
                value.trim()
            }
            Self::Newline if value == "\r" => "",
            Self::Newline => {
                without_newline(value.strip_prefix("\r\n").or(value.strip_prefix('\n')).unwrap_or(value))
            }
        }
    }
}

/// A text without the newline at its end, or the beginning of one.
fn without_newline(value: &str) -> &str {
    let value = value.strip_suffix('\n').unwrap_or(value);
    value.strip_suffix('\r').unwrap_or(value)
}

/// Whether two names differ at most in ASCII case, in white space around them, and in an owner before them.
pub(super) fn is_same_name(one: &str, other: &str) -> bool {
    fn bare(name: &str) -> &str {
        let name = name.trim();
        name.split_once('/').map_or(name, |(_, name)| name)
    }
    bare(one).eq_ignore_ascii_case(bare(other))
}

impl CallSyntax {
    /// The table of the built-in syntaxes: a JSON array of rows.
    #[must_use]
    pub fn built_in_json() -> &'static str {
        table::JSON
    }

    /// The built-in syntaxes, in the order in which they are tried. Without the feature `call-examples`, they have no example,
    /// note and source.
    #[must_use]
    pub fn built_in() -> &'static [Arc<Self>] {
        static TABLE: LazyLock<Vec<Arc<CallSyntax>>> = LazyLock::new(|| {
            let mut parser = Parser::new();
            let rows = parser.parse(table::READ).ok().and_then(Value::as_array);
            // A test checks them, and reads their examples.
            let row = |row| match CallSyntax::from_unchecked_row(row) {
                Ok(row) => Arc::new(row),
                Err(_) => unreachable!("a test reads it"),
            };
            rows.expect("a test reads it").iter().map(row).collect()
        });
        &TABLE
    }

    /// The built-in syntaxes of this [name](Self::is_named) or model family. A family may have changed its syntax.
    pub fn named(name: &str) -> impl Iterator<Item = &'static Arc<Self>> {
        Self::built_in().iter().filter(move |row| row.is_named(name))
    }

    /// Whether this is its name, or that of a model family that writes it. ASCII case, white space around the name
    /// and an owner before it do not matter: `Qwen/Qwen3-Coder` is `qwen3-coder`.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        self.spelling(name).is_some()
    }

    /// This name as the table writes it, if it is one of its names.
    pub(super) fn spelling(&self, name: &str) -> Option<&str> {
        let mut names = std::iter::once(&self.name).chain(&self.models).map(String::as_str);
        names.find(|own| is_same_name(own, name))
    }

    pub(super) fn block_openers(&self) -> impl Iterator<Item = &str> + Clone {
        self.block.iter().map(|(open, _)| open.as_str()).filter(|open| !open.is_empty())
    }

    pub(super) fn block_closers(&self) -> impl Iterator<Item = &str> + Clone {
        self.block.iter().map(|(_, close)| close.as_str()).filter(|close| !close.is_empty())
    }

    pub(super) fn call_openers(&self) -> impl Iterator<Item = &str> + Clone {
        self.call.iter().map(|(open, _)| open.as_str()).filter(|open| !open.is_empty())
    }

    pub(super) fn call_closers(&self) -> impl Iterator<Item = &str> + Clone {
        self.call.iter().map(|(_, close)| close.as_str()).filter(|close| !close.is_empty())
    }

    /// The marker before the key of a parameter.
    pub(super) fn parameter_openers(&self) -> impl Iterator<Item = &str> + Clone {
        self.parameter.iter().flat_map(|parameter| parameter.tags.iter().map(|(open, _)| open.as_str()))
    }

    /// The markers with this index around a call. A call that takes a line needs none.
    pub(super) fn call_markers(&self, index: usize) -> (&str, &str) {
        self.call.get(index).map_or(("", ""), |(open, close)| (open, close))
    }

    fn is_special(&self, opener: &str) -> bool {
        self.special_tokens.iter().any(|token| token == opener)
    }

    pub(crate) fn openers(&self) -> impl Iterator<Item = &str> + Clone {
        self.block_openers().chain(self.call_openers())
    }

    pub(super) fn closers(&self) -> impl Iterator<Item = &str> + Clone {
        self.block_closers().chain(self.call_closers())
    }

    /// The formats that read it, in the order in which they are tried.
    pub(super) fn formats(self: &Arc<Self>) -> impl Iterator<Item = Arc<dyn ToolCallFormat>> {
        self.reads.iter().map(|reads| Arc::new(SyntaxFormat { syntax: Arc::clone(self), reads: *reads }) as _)
    }

    /// The format that removes its markup.
    pub(super) fn markup_format(self: &Arc<Self>) -> Option<Arc<dyn ToolCallFormat>> {
        (!self.markup.is_empty()).then(|| Arc::new(MarkupFormat { syntax: Arc::clone(self) }) as _)
    }
}

/// The markup of a syntax outside its calls.
struct MarkupFormat {
    syntax: Arc<CallSyntax>,
}

impl fmt::Debug for MarkupFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.syntax.name)
    }
}

impl ToolCallFormat for MarkupFormat {
    fn name(&self) -> &str {
        &self.syntax.name
    }

    fn openers(&self) -> Vec<Opener> {
        self.syntax.markup.iter().map(|marker| Opener::from(marker.clone())).collect()
    }

    fn start(&self, _: &Limits) -> Box<dyn CallReader> {
        Box::new(Marker { syntax: Arc::clone(&self.syntax) })
    }
}

/// Passes one marker.
struct Marker {
    syntax: Arc<CallSyntax>,
}

impl fmt::Debug for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.syntax.name)
    }
}

impl CallReader for Marker {
    fn read(&mut self, text: &str, is_end: bool) -> CallStep {
        let markers = self.syntax.markup.iter().map(String::as_str);
        match one_of(text, 0, is_end, markers) {
            Literal::Found((), end) => CallStep::Done { end },
            Literal::NeedMore if !is_end => CallStep::NeedMore,
            _ => CallStep::NotACall,
        }
    }
}

/// One way to read a syntax.
struct SyntaxFormat {
    syntax: Arc<CallSyntax>,
    reads: Reads,
}

impl fmt::Debug for SyntaxFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.syntax.name)
    }
}

impl SyntaxFormat {
    /// Whether no marker begins its calls.
    fn is_line(&self) -> bool {
        matches!(self.reads, Reads::PythonLine | Reads::NamedLine | Reads::ToolTag)
    }
}

/// Whether a marker is more than a bracket or a code fence, which stand in any text.
fn is_distinct(marker: &str) -> bool {
    marker.len() > 3 && !marker.starts_with('`')
}

impl ToolCallFormat for SyntaxFormat {
    fn name(&self) -> &str {
        &self.syntax.name
    }

    fn openers(&self) -> Vec<Opener> {
        match self.reads {
            Reads::PythonLine => return vec![Opener::NameAtLineStart],
            Reads::NamedLine => return vec![Opener::NameAboveObject],
            Reads::ToolTag => return vec![Opener::NameInTag],
            _ if self.syntax.needs_block => {
                return self.syntax.block_openers().map(|opener| Opener::from(opener.to_owned())).collect();
            }
            _ => {}
        }
        self.syntax.openers().map(|opener| Opener::from(opener.to_owned())).collect()
    }

    fn start(&self, limits: &Limits) -> Box<dyn CallReader> {
        let syntax = Arc::clone(&self.syntax);
        match self.reads {
            Reads::Objects => Box::new(Objects::new(syntax, limits)),
            Reads::Named | Reads::Elements => Box::new(Named::new(syntax, self.reads, limits)),
            Reads::NamedLine => Box::new(Named::without_marker(syntax, limits)),
            Reads::Python => Box::new(Pythonic::new(syntax, false, limits)),
            Reads::PythonLine => Box::new(Pythonic::new(syntax, true, limits)),
            Reads::ToolTag => Box::new(ToolTag::new()),
            Reads::Messages => Box::new(Messages::new(syntax, limits)),
        }
    }

    fn needs_known_tool(&self) -> bool {
        self.syntax.needs_known_tool || self.is_line()
    }

    fn is_certain(&self) -> bool {
        let is_certain = |opener: &str| opener.starts_with('<') || self.syntax.is_special(opener);
        !self.is_line() && self.syntax.openers().all(is_certain)
    }

    fn pairs(&self) -> Vec<MarkerPair> {
        let pairs =
            self.syntax.block.iter().chain(self.syntax.call.iter().filter(|_| !self.syntax.needs_block));
        let pairs = pairs.filter(|(open, close)| !self.is_line() && is_distinct(open) && is_distinct(close));
        let pair = |(open, close): &(String, String)| MarkerPair {
            open: open.clone(),
            close: close.clone(),
            is_special: self.syntax.is_special(open),
        };
        pairs.map(pair).collect()
    }

    fn fences(&self) -> &[String] {
        &self.syntax.fences
    }
}
