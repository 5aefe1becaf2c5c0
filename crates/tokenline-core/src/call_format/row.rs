//! Reads rows of the table from JSON.

mod check;

use std::borrow::Cow;

use super::{CallSyntax, ParameterTags, Reads, Trim};
use crate::json::{Array, Kind, Value};

/// A fault in a row: the key, the value found, and the values accepted.
pub(crate) type Fault = String;

/// The keys of a row.
const KEYS: [&str; 24] = [
    "name",
    "models",
    "reads",
    "block",
    "call",
    "needs_block",
    "between",
    "name_end",
    "id",
    "header_is_id",
    "before",
    "after",
    "parameter",
    "quote",
    "namespace",
    "key_is_name",
    "plain",
    "needs_known_tool",
    "markup",
    "special_tokens",
    "fences",
    "note",
    "example",
    "source",
];

/// The keys of `parameter`.
const PARAMETER_KEYS: [&str; 7] = ["tags", "key_end", "value", "type_tags", "type_attribute", "trim", "json"];

/// The readers by their names.
const READERS: [(&str, Reads); 8] = [
    ("objects", Reads::Objects),
    ("named", Reads::Named),
    ("named_line", Reads::NamedLine),
    ("python", Reads::Python),
    ("python_line", Reads::PythonLine),
    ("elements", Reads::Elements),
    ("tool_tag", Reads::ToolTag),
    ("messages", Reads::Messages),
];

/// The values of `trim`.
const TRIMS: [(&str, Trim); 3] =
    [("nothing", Trim::Nothing), ("newline", Trim::Newline), ("everything", Trim::Everything)];

impl CallSyntax {
    /// Reads a row, but not its example.
    pub(crate) fn from_row(row: Value<'_>) -> Result<Self, Fault> {
        let syntax = Self::from_unchecked_row(row)?;
        syntax.check()?;
        Ok(syntax)
    }

    /// Reads a row that need not be checked.
    pub(super) fn from_unchecked_row(row: Value<'_>) -> Result<Self, Fault> {
        let mut syntax = Self::default();
        let found = |row| format!("expected one syntax, an object, found {}", kind(row));
        for (key, value) in row.as_object().ok_or_else(|| found(row))? {
            let member = Member { key, value, parent: "", index: None };
            match key {
                "name" => syntax.name = member.text()?,
                "models" => syntax.models = member.texts()?,
                "reads" => syntax.reads = member.readers()?,
                "block" => syntax.block = member.pairs()?,
                "call" => syntax.call = member.pairs()?,
                "needs_block" => syntax.needs_block = member.flag()?,
                "between" => syntax.between = member.texts()?,
                "name_end" => syntax.name_end = member.texts()?,
                "id" => syntax.id = Some(member.text()?),
                "header_is_id" => syntax.header_is_id = member.flag()?,
                "before" => syntax.before = member.texts()?,
                "after" => syntax.after = member.texts()?,
                "parameter" => syntax.parameter = Some(ParameterTags::from_row(member)?),
                "quote" => syntax.quote = Some(member.text()?),
                "namespace" => syntax.namespace = member.flag()?,
                "key_is_name" => syntax.key_is_name = member.flag()?,
                "plain" => syntax.plain = member.flag()?,
                "needs_known_tool" => syntax.needs_known_tool = member.flag()?,
                "markup" => syntax.markup = member.texts()?,
                "special_tokens" => syntax.special_tokens = member.texts()?,
                "fences" => syntax.fences = member.texts()?,
                "note" => syntax.note = member.text()?,
                "example" => syntax.example = member.text()?,
                "source" => syntax.source = member.text()?,
                _ => return Err(member.unknown(&KEYS)),
            }
        }
        Ok(syntax)
    }
}

impl ParameterTags {
    fn from_row(row: Member<'_>) -> Result<Self, Fault> {
        let mut tags = Self::default();
        let members = row.value.as_object().ok_or_else(|| row.fault("an object"))?;
        for (key, value) in members {
            let member = Member { key, value, parent: "parameter.", index: None };
            match key {
                "tags" => tags.tags = member.pairs()?,
                "key_end" => tags.key_end = member.texts()?,
                "value" => tags.value = Some(member.text()?),
                "type_tags" => tags.type_tags = Some(member.pair()?),
                "type_attribute" => tags.type_attribute = Some(member.text()?),
                "trim" => tags.trim = member.choice("value", &TRIMS)?,
                "json" => tags.json = member.flag()?,
                _ => return Err(member.unknown(&PARAMETER_KEYS)),
            }
        }
        Ok(tags)
    }
}

/// A member of a row, or an element of one.
#[derive(Clone, Copy)]
struct Member<'r> {
    key: &'r str,
    value: Value<'r>,
    /// The path before the key in messages.
    parent: &'static str,
    index: Option<usize>,
}

impl<'r> Member<'r> {
    fn fault(self, expected: &str) -> Fault {
        format!("{}: expected {expected}, found {}", self.place(), kind(self.value))
    }

    fn place(self) -> String {
        let element = self.index.map(|index| format!(", element {}", index + 1)).unwrap_or_default();
        format!("`{}{}`{element}", self.parent, self.key)
    }

    fn unknown(self, known: &[&str]) -> Fault {
        let is_row = |value: Value<'_>| value.kind() == Kind::Object;
        let holds_rows =
            is_row(self.value) || self.value.as_array().is_some_and(|elements| elements.iter().any(is_row));
        let hint = if holds_rows { "expected one syntax, without a key around it; " } else { "" };
        format!("unknown key {}; {hint}the keys are {}", self.place(), known.join(", "))
    }

    fn text(self) -> Result<String, Fault> {
        self.value.as_str().map(Cow::into_owned).ok_or_else(|| self.fault("a string"))
    }

    fn flag(self) -> Result<bool, Fault> {
        self.value.as_bool().ok_or_else(|| self.fault("true or false"))
    }

    fn elements(self, expected: &str) -> Result<impl Iterator<Item = Self> + use<'r>, Fault> {
        let elements = self.value.as_array().ok_or_else(|| self.fault(expected))?;
        Ok(elements.iter().enumerate().map(move |(index, value)| Self { value, index: Some(index), ..self }))
    }

    fn texts(self) -> Result<Vec<String>, Fault> {
        self.elements("an array of strings")?.map(Self::text).collect()
    }

    fn pairs(self) -> Result<Vec<(String, String)>, Fault> {
        self.elements("an array of pairs [opening marker, closing marker]")?.map(Self::pair).collect()
    }

    fn pair(self) -> Result<(String, String), Fault> {
        let mut elements = self.value.as_array().into_iter().flatten();
        let mut text = || elements.next().map(|element| element.as_str().map(Cow::into_owned));
        match (text(), text(), text()) {
            (Some(Some(open)), Some(Some(close)), None) => Ok((open, close)),
            (Some(Some(_)), None, _) => Err(format!(
                "{}: the closing marker is missing; it is \"\" if nothing closes the call",
                self.place()
            )),
            _ => Err(self.fault("a pair of strings, [opening marker, closing marker]")),
        }
    }

    fn readers(self) -> Result<Vec<Reads>, Fault> {
        self.elements("an array of readers")?.map(|element| element.choice("reader", &READERS)).collect()
    }

    /// One of these values, by its name.
    fn choice<T: Copy>(self, what: &str, choices: &[(&str, T)]) -> Result<T, Fault> {
        let name = self.text()?;
        let names = || choices.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let found = choices.iter().find(|(choice, _)| *choice == name);
        found
            .map(|(_, choice)| *choice)
            .ok_or_else(|| format!("{}: unknown {what} {name:?}; expected one of {}", self.place(), names()))
    }
}

/// The kind of a value, for messages.
fn kind(value: Value<'_>) -> String {
    match value.as_array().map(Array::len) {
        Some(1) => "an array of 1 element".to_owned(),
        Some(count) => format!("an array of {count} elements"),
        None if value.kind() == Kind::Bool => value.raw().to_owned(),
        None => value.kind().with_article().to_owned(),
    }
}
