//! The faults that the lenient mode recovered a record from.

use std::fmt;

use serde::ser::{Serialize, Serializer};

use crate::Example;
use crate::diagnostic::{WEATHER_TOOL, explained};
use crate::syntax_repair::RepairedSyntax;

explained! {
    /// Something that was recovered from, or repaired, to deliver a record.
    #[repr(u8)]
    pub enum Recovery;

    /// It is in a code fence, or on the line of one.
    Fence = "fence",
        "The record is in a code fence, or on the line of one.", Example::Text("```json\n{\"a\":1}\n```");
    /// A thinking block ends before it on the same line.
    Think = "think",
        "A thinking block ends before the record on the same line.", Example::Text("<think>One.</think>{\"a\":1}");
    /// Text is before it on the same line, or directly after it.
    Prose = "prose",
        "Text is before the record on the same line, or directly after it.",
        Example::Text("Here it is: {\"a\":1}");
    /// A bullet or a number is before it on the same line.
    ListMarker = "list_marker",
        "A bullet or a number is before the record on the same line.", Example::Text("- {\"a\":1}");
    /// Another record is before it on the same line, or directly after it.
    SameLine = "same_line",
        "Another record is before this one on the same line, or directly after it.",
        Example::Text("{\"a\":1} {\"a\":2}");
    /// A comma follows it.
    Comma = "comma",
        "A comma follows the record.", Example::Text("{\"a\":1},");
    /// It is an element of an array.
    ArrayElement = "array_element",
        "The record is an element of an array.", Example::Text("[{\"a\":1},{\"a\":2}]");
    /// It is an element of the array [asked for](crate::Options::items), inside another value.
    Item = "item",
        "The record is an element of the array that `--items` points to, inside another value.",
        Example::Options { options: "--items /rows", text: "{\"rows\":[{\"a\":1}]}" };
    /// It spans several lines.
    SeveralLines = "several_lines",
        "The record spans several lines.", Example::Text("{\n  \"a\": 1\n}");
    /// It is a tool call in a [format](crate::CallFormat) with its own markup.
    CallFormat = "call_format",
        "The tool call is in a syntax with its own markup; `tokenline tools formats` lists these.",
        Example::Tools { tools: WEATHER_TOOL, text: "[weather(city=\"Paris\")]" };
    /// It is a tool call in such a format, and the marker after it is missing.
    CallEndMissing = "call_end_missing",
        "The input ended before the marker that closes the tool call. The call is delivered, \
         because its arguments are complete.",
        Example::Tools { tools: WEATHER_TOOL, text: "<function=weather>{\"city\":\"Paris\"}" };
    /// It is a tool call in such a format, whose parameters were written as text, and have the types of the
    /// tool's definition.
    ParametersTyped = "parameters_typed",
        "The syntax of the tool call writes values as text, without types. They have the types of \
         the tool's definition.",
        Example::Tools {
            tools: r#"[{"name":"wait","parameters":{"properties":{"seconds":{"type":"integer"}}}}]"#,
            text: "<function=wait><parameter=seconds>3</parameter></function>",
        };
    /// It was rejected, and a repair hook replaced it.
    Repaired = "repaired",
        "The record was rejected, and a repair hook replaced it. Only a program of your own sets one.",
        Example::Described("`JsonlStreamParser::with_repair` with a function that repairs the text");
    /// It was malformed, and its [syntax was repaired](crate::Options::repair_syntax).
    SyntaxRepaired = "syntax_repaired",
        "The record was malformed, and one kind of edit of a closed list made it JSON. The member `repaired` of an event \
         says which.",
        Example::Options { options: "--repair", text: "{\"a\":1,}" };
    /// It was rejected, and the model [was asked again](Recovered::attempts).
    Reasked = "reasked",
        "The record was rejected, and the model wrote it again when it was asked. The member `attempts` of an event says how \
         many requests that took.",
        Example::Described("`extract --reask 2`, with a model whose first record breaks the schema");
    /// It follows an opening tag such as `<think>` that did not open the response and is never closed:
    /// at the end of the input, what follows the tag is read as text.
    ThinkUnclosed = "think_unclosed",
        "The record follows a tag such as `<think>` that did not open the response and is never closed. \
         At the end of the input, what follows the tag is read as text.",
        Example::Text("So:\n<think>\n{\"a\":1}");
}

impl Recovery {
    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// How a record was recovered: what the strict mode would have rejected about it. Empty for a record that
/// stands alone on its line.
///
/// ```
/// use tokenline_core::{Event, JsonlParser, Options, Recovery};
///
/// let mut parser = JsonlParser::new(Options::lenient());
/// parser.push("```json\n[\n  {\"a\": 1},\n");
/// let Some(Event::Record(record)) = parser.next_event() else { panic!() };
/// assert!(record.recovered.contains(Recovery::Fence));
/// assert_eq!(record.recovered.to_string(), "fence, array_element");
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Recovered {
    recoveries: Recoveries,
    /// Of a record that the model was asked for again.
    attempts: u8,
    syntax: Option<RepairedSyntax>,
}

impl Recovered {
    /// Nothing: the strict mode accepts the record.
    pub const NONE: Self = Self { recoveries: Recoveries::NONE, attempts: 0, syntax: None };

    /// Whether nothing was recovered.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.recoveries.0 == 0
    }

    /// Whether `recovery` is included.
    #[must_use]
    pub const fn contains(self, recovery: Recovery) -> bool {
        self.recoveries.contains(recovery)
    }

    /// Adds `recovery`.
    #[must_use]
    pub const fn with(self, recovery: Recovery) -> Self {
        Self { recoveries: self.recoveries.with(recovery), ..self }
    }

    /// The union of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        let syntax = if self.syntax.is_some() { self.syntax } else { other.syntax };
        let attempts = if self.attempts > other.attempts { self.attempts } else { other.attempts };
        Self { recoveries: self.recoveries.and(other.recoveries), attempts, syntax }
    }

    /// The edits that made it JSON, if its [syntax was repaired](Recovery::SyntaxRepaired).
    #[must_use]
    pub const fn syntax(self) -> Option<RepairedSyntax> {
        self.syntax
    }

    /// The further requests that it took, if the model [was asked again](Recovery::Reasked); 0 if not. At most 255.
    #[must_use]
    pub const fn attempts(self) -> u32 {
        self.attempts as u32
    }

    /// Adds that the model was asked again, in this many requests.
    #[must_use]
    pub const fn with_attempts(self, attempts: u32) -> Self {
        let attempts = if attempts < u8::MAX as u32 { attempts as u8 } else { u8::MAX };
        Self { attempts, ..self.with(Recovery::Reasked) }
    }

    /// Adds a repair of the syntax.
    pub(crate) fn with_syntax(self, syntax: Option<RepairedSyntax>) -> Self {
        Self { syntax, ..self.with(Recovery::SyntaxRepaired) }
    }

    /// The recoveries, in the order of [`Recovery::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Recovery> {
        Recovery::ALL.iter().copied().filter(move |recovery| self.contains(*recovery))
    }
}

impl fmt::Display for Recovered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, recovery) in self.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{}", recovery.as_str())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Recovered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{self}]")
    }
}

impl Serialize for Recovered {
    /// A list of names.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(Recovery::as_str))
    }
}

/// The recoveries of a record in two bytes, for the state of the decoder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Recoveries(u16);

const _: () = assert!(Recovery::ALL.len() <= u16::BITS as usize, "each recovery has a bit");

impl Recoveries {
    pub(crate) const NONE: Self = Self(0);

    pub(crate) const fn contains(self, recovery: Recovery) -> bool {
        self.0 & recovery.bit() != 0
    }

    pub(crate) const fn with(self, recovery: Recovery) -> Self {
        Self(self.0 | recovery.bit())
    }

    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[inline]
    pub(crate) const fn with_if(self, condition: bool, recovery: Recovery) -> Self {
        if condition { self.with(recovery) } else { self }
    }
}

impl From<Recoveries> for Recovered {
    #[inline]
    fn from(recoveries: Recoveries) -> Self {
        Self { recoveries, attempts: 0, syntax: None }
    }
}
