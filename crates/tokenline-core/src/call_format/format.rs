//! The traits of call formats, built-in or the user's own.

use std::borrow::Cow;
use std::fmt;

use super::{CallSoFar, CallStep};
use crate::Limits;

/// A syntax in which models write tool calls into their text.
///
/// It describes the syntax and is shared. The state of reading a text is in the
/// [`CallReader`](crate::call_format::CallReader) that it starts at each of its openers.
///
/// ```
/// use tokenline_core::call_format::{CallReader, CallStep, CallText, Opener};
/// use tokenline_core::{CallFormat, Event, JsonlParser, Limits, Options};
/// use tokenline_core::call_format::ToolCallFormat;
///
/// /// `@weather {"city":"Paris"}`: a call is a line of its own.
/// #[derive(Debug)]
/// struct AtSign;
///
/// impl ToolCallFormat for AtSign {
///     fn name(&self) -> &str {
///         "at_sign"
///     }
///     fn openers(&self) -> Vec<Opener> {
///         vec!["@".into()]
///     }
///     fn start(&self, _: &Limits) -> Box<dyn CallReader> {
///         Box::new(AtSignReader { searched: 0, is_over: false })
///     }
/// }
///
/// #[derive(Debug)]
/// struct AtSignReader {
///     searched: usize,
///     is_over: bool,
/// }
///
/// impl CallReader for AtSignReader {
///     fn read(&mut self, text: &str, is_end: bool) -> CallStep {
///         if self.is_over {
///             return CallStep::Done { end: 0 };
///         }
///         // Search only the new part.
///         let new = self.searched;
///         self.searched = text.len();
///         let end = match text[new..].find('\n') {
///             Some(found) => new + found,
///             None if is_end => text.len(),
///             None => return CallStep::NeedMore,
///         };
///         let Some((name, parameters)) = text[1..end].split_once(' ') else {
///             return CallStep::NotACall;
///         };
///         self.is_over = true;
///         match CallText::converted(0..end, name, parameters, None) {
///             Ok(call) => CallStep::Call(call),
///             Err(fault) => CallStep::Malformed(fault),
///         }
///     }
/// }
///
/// let mut reader = AtSign.start(&Limits::default());
/// assert_eq!(reader.read("@weather {\"city\"", false), CallStep::NeedMore);
/// let CallStep::Call(call) = reader.read("@weather {\"city\":\"Paris\"}\n", false) else { panic!() };
/// assert_eq!(call.json.as_deref(), Some(r#"{"name":"weather","parameters":{"city":"Paris"}}"#));
/// assert_eq!(reader.read("\n", false), CallStep::Done { end: 0 });
///
/// // Every parser with this option finds such calls, each as a record.
/// let mut parser = JsonlParser::new(Options::lenient().calls(CallFormat::custom(AtSign)));
/// parser.push("@weather {\"city\":\"Paris\"}\nThere.\n");
/// let Some(Event::Record(record)) = parser.next_event() else { panic!() };
/// assert_eq!(record.value.get("name").unwrap().as_str().as_deref(), Some("weather"));
/// ```
pub trait ToolCallFormat: fmt::Debug + Send + Sync {
    /// The name, unique among formats.
    fn name(&self) -> &str;

    /// The openers of a call, or of a run of calls. Called once.
    ///
    /// An opener may also begin other text: then the reader returns
    /// [`CallStep::NotACall`](crate::call_format::CallStep::NotACall).
    fn openers(&self) -> Vec<Opener>;

    /// A reader for the text from an opener on.
    fn start(&self, limits: &Limits) -> Box<dyn CallReader>;

    /// Whether its calls are easily confused with other text, so that detection accepts only calls of defined
    /// tools, and none without definitions.
    fn needs_known_tool(&self) -> bool {
        false
    }

    /// Whether no other text has its openers: special tokens or tags. Detection then accepts a call of it also
    /// after calls in another format.
    fn is_certain(&self) -> bool {
        false
    }

    /// Its openers that need a closing marker. Text between the two that no reader takes for a call is rejected;
    /// without any pairs it is ordinary text.
    fn pairs(&self) -> Vec<MarkerPair> {
        Vec::new()
    }

    /// The languages of fenced code blocks in which detection finds its calls, besides `json`, `jsonl` and
    /// none.
    fn fences(&self) -> &[String] {
        &[]
    }
}

/// Reads a call, or a run of calls, from a growing text.
///
/// # Contract
///
/// [`read`](Self::read) receives all text so far from the opener on. Call it again until it returns `NeedMore`,
/// `Done` or `NotACall`:
///
/// ```text
///        ┌─ NeedMore: with more text, or with is_end
/// read ──┼─ Call, Malformed: at once, with the text from its `end` on
///        └─ Done, NotACall: no more; the reader is dropped
/// ```
///
/// After a call, malformed or not, the text begins where the call ended: delivered text need not be kept. All
/// offsets count from the beginning of the text passed to `read`.
///
/// A reader must
///
/// - return the same however the text is split: if more text could change the step, it asks for more;
/// - remember its position, so that each byte is examined once;
/// - not end a call at a bracket, quote or tag inside a string, and never complete a truncated one;
/// - return `NotACall` only before the first call, for ordinary text.
///
/// The caller limits the length of the text, and drops the reader beyond the limit.
pub trait CallReader: fmt::Debug + Send + Sync {
    /// Reads on. `is_end` means that no further text follows: an open call is then truncated, also if the reader
    /// returns `NeedMore`.
    fn read(&mut self, text: &str, is_end: bool) -> CallStep;

    /// Whether it is inside arbitrary text, such as a parameter between tags. Elsewhere, a line that begins
    /// with an opener like its own ends an open call.
    fn is_in_text(&self) -> bool {
        false
    }

    /// The open call so far, once its name is known, for updates on how it grows. `text` is that of the last
    /// [`read`](Self::read), which asked for more. By default, a call is only seen when it is complete.
    fn call_so_far<'t>(&'t mut self, text: &'t str) -> Option<CallSoFar<'t>> {
        let _ = text;
        None
    }
}

/// The markers around a call, or a run of calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MarkerPair {
    /// The opening marker.
    pub open: String,
    /// The closing marker.
    pub close: String,
    /// Whether the opening one is a special token, which no ordinary text has.
    pub is_special: bool,
}

/// The beginning of a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Opener {
    /// This text, anywhere outside a record. It must not be empty or begin with a newline.
    Text(Cow<'static, str>),
    /// A name of at most 128 bytes (letters, digits, `_`, `-` and `.`), directly followed by `(`, with only
    /// white space before it on its line.
    NameAtLineStart,
    /// Such a name that takes a line, above a line that begins with `{`.
    NameAboveObject,
    /// Such a name between `<` and `>`. Only that of a defined tool.
    NameInTag,
}

impl From<&'static str> for Opener {
    fn from(text: &'static str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Opener {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

/// `Debug` of a reader: its name alone. The code that prints the state would be as large as much of the reader.
macro_rules! debug_by_name {
    ($Reader:ident) => {
        impl std::fmt::Debug for $Reader {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(stringify!($Reader))
            }
        }
    };
}
pub(super) use debug_by_name;
