//! What the lenient mode had to understand to find a record.

use std::fmt;

use serde::ser::{Serialize, Serializer};

/// Something that was to be understood, or done, before a record could be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Recovery {
    /// It stands in a code fence, or on the line of one.
    Fence,
    /// A thinking block ends before it on its line.
    Think,
    /// Text stands before it on its line, or directly after it.
    Prose,
    /// A bullet or a number stands before it on its line.
    ListMarker,
    /// Another record stands before it on its line, or directly after it.
    SameLine,
    /// A comma follows it.
    Comma,
    /// It is an element of an array.
    ArrayElement,
    /// It is an element of the array that was [asked for](crate::Options::items), inside another value.
    Item,
    /// It stands on several lines.
    SeveralLines,
    /// It is a tool call in a [format](crate::CallFormat) with markup of its own.
    CallFormat,
    /// It was rejected, and a repair hook gave a replacement.
    Repaired,
    /// It stands behind a tag for thinking that nothing closes and that did not open the response, such as
    /// `<think>`: what follows that is read as text at the end of the input.
    ThinkUnclosed,
}

impl Recovery {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Fence,
        Self::Think,
        Self::Prose,
        Self::ListMarker,
        Self::SameLine,
        Self::Comma,
        Self::ArrayElement,
        Self::Item,
        Self::SeveralLines,
        Self::CallFormat,
        Self::Repaired,
        Self::ThinkUnclosed,
    ];

    /// The name used in events, such as `array_element`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fence => "fence",
            Self::Think => "think",
            Self::Prose => "prose",
            Self::ListMarker => "list_marker",
            Self::SameLine => "same_line",
            Self::Comma => "comma",
            Self::ArrayElement => "array_element",
            Self::Item => "item",
            Self::SeveralLines => "several_lines",
            Self::CallFormat => "call_format",
            Self::Repaired => "repaired",
            Self::ThinkUnclosed => "think_unclosed",
        }
    }

    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a record was recovered: what about it the strict mode would have refused. Empty for one that
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
pub struct Recovered(u16);

impl Recovered {
    /// Nothing: the strict mode accepts it as it stands.
    pub const NONE: Self = Self(0);

    /// Whether there was nothing to recover.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether this is among it.
    #[must_use]
    pub const fn contains(self, recovery: Recovery) -> bool {
        self.0 & recovery.bit() != 0
    }

    /// The same and this.
    #[must_use]
    pub const fn with(self, recovery: Recovery) -> Self {
        Self(self.0 | recovery.bit())
    }

    /// All of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The same, and this if it is so.
    #[inline]
    pub(crate) const fn with_if(self, is_so: bool, recovery: Recovery) -> Self {
        if is_so { self.with(recovery) } else { self }
    }

    /// What it is, in the order of [`Recovery::ALL`].
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
