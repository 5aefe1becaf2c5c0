//! What a format is, for the built-in ones and the user's own.

use std::borrow::Cow;
use std::fmt;

use super::CallStep;
use crate::Limits;

/// A syntax in which models write tool calls into their text.
///
/// It describes the syntax and is shared; what is remembered of a text is in the [`CallReader`](crate::call_format::CallReader) that it
/// starts for each place at which one of its openers stands.
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
///         // Only what is new is searched.
///         let new = self.searched;
///         self.searched = text.len();
///         let end = match text[new..].find('\n') {
///             Some(found) => new + found,
///             None if is_end => text.len(),
///             None => return CallStep::NeedMore,
///         };
///         let Some((name, parameters)) = text[1..end].split_once(' ') else {
///             return CallStep::NotThis;
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
/// // Whatever takes options finds such calls, each as a record.
/// let mut parser = JsonlParser::new(Options::lenient().calls(CallFormat::custom(AtSign)));
/// parser.push("@weather {\"city\":\"Paris\"}\nThere.\n");
/// let Some(Event::Record(record)) = parser.next_event() else { panic!() };
/// assert_eq!(record.value.get("name").unwrap().as_str().as_deref(), Some("weather"));
/// ```
pub trait ToolCallFormat: fmt::Debug + Send + Sync {
    /// The name by which it is told from other formats.
    fn name(&self) -> &str;

    /// What a call, or a run of calls, begins with. It is asked once.
    ///
    /// An opener may also begin what is no call: then the reader says so.
    fn openers(&self) -> Vec<Opener>;

    /// A reader for the text from an opener on.
    fn start(&self, limits: &Limits) -> Box<dyn CallReader>;

    /// Whether its calls look so much like something else that, where the format is not given but
    /// detected, only a call of a tool that is defined counts. Without definitions there is none.
    fn needs_known_tool(&self) -> bool {
        false
    }
}

/// Reads a call, or a run of calls, out of a text that grows.
///
/// # Contract
///
/// [`read`](Self::read) is given all of the text from the opener on that there is so far, and is called
/// again until it asks for more, says that the run is over, or that there is none:
///
/// ```text
///        ┌─ NeedMore: with more text, or with is_end
/// read ──┼─ Call, Malformed: at once, with the text from its `end` on
///        └─ Done, NotThis: no more; the reader is dropped
/// ```
///
/// After a call, and after a malformed one, the text begins where that ended: what was delivered need
/// not be held. All places are bytes from the beginning of the text that `read` was given.
///
/// A reader has to
///
/// - answer the same however the text was cut: a byte that decides is waited for;
/// - remember how far it has come, so that each byte is looked at once;
/// - not end a call at a bracket, quote or tag inside of a string, and never complete one that is cut;
/// - answer `NotThis` only before the first call, for what turns out to be ordinary text.
///
/// Whoever drives it caps the length of the text, and drops the reader past the cap.
pub trait CallReader: fmt::Debug + Send + Sync {
    /// Reads on. With `is_end` no more will come: a call that is open then is truncated. `NeedMore` is
    /// taken for that too.
    fn read(&mut self, text: &str, is_end: bool) -> CallStep;

    /// Whether it stands in text that may hold anything, such as a parameter between tags. Elsewhere a call that is
    /// open ends where a line begins with an opener like its own.
    fn is_in_text(&self) -> bool {
        false
    }
}

/// What a call begins with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Opener {
    /// This text, wherever it stands outside of a record. It must not be empty, nor hold a line feed.
    Text(Cow<'static, str>),
    /// A name of at most 128 bytes (letters, digits, `_`, `-` and `.`) with `(` right after it, where
    /// nothing but white space stands before it on its line.
    NameAtLineStart,
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
