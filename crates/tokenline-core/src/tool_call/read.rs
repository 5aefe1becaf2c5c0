//! Reads a JSON object as a call, whichever keys it uses.

use std::borrow::Cow;

use super::ToolCall;
use super::name::is_tool_name;
use super::validate::validate_call;
use crate::json::{Kind, Parser, Value};
use crate::{Code, CompletedBy, Recovered, ValidateCall, Violation};

/// Keys for the name of the tool, in order of precedence.
const NAMES: [&str; 4] = ["name", "tool", "function", "tool_name"];
/// Keys for its parameters.
const ARGUMENTS: [&str; 4] = ["parameters", "arguments", "args", "input"];
/// Keys for the id of the call.
const IDS: [&str; 3] = ["call_id", "id", "tool_call_id"];
/// Other keys that a call without arguments may have: under any that is not known, they may stand.
const OTHERS: [&str; 2] = ["type", "index"];

/// Whether calls, or lists of calls, have a member of this name.
pub(super) fn is_key(name: &str) -> bool {
    [&NAMES[..], &ARGUMENTS, &IDS, &OTHERS, &["error", "tool_calls"]].iter().any(|keys| keys.contains(&name))
}

/// The members of an object that make up a call. `null` counts as missing.
#[derive(Clone, Copy)]
pub(super) struct Members<'a> {
    outer: Value<'a>,
    /// Where name and arguments are: in the object itself, or in its `function`.
    inner: Value<'a>,
    is_nested: bool,
    name: Option<(&'static str, Value<'a>)>,
}

impl<'a> Members<'a> {
    pub(super) fn new(outer: Value<'a>) -> Self {
        let name = first(outer, &NAMES);
        match name {
            Some(("function", inner)) if inner.kind() == Kind::Object => {
                let name = first(inner, &NAMES);
                Self { outer, inner, is_nested: true, name }
            }
            _ => Self { outer, inner: outer, is_nested: false, name },
        }
    }

    pub(super) fn name(self) -> Option<Cow<'a, str>> {
        self.name?.1.as_str().filter(|name| !name.is_empty())
    }

    /// The name, if all of it is there.
    pub(super) fn complete_name(self) -> Option<Cow<'a, str>> {
        self.name().filter(|_| self.name.is_some_and(|(_, name)| !name.is_open()))
    }

    /// The text so far of the arguments, if they are an object.
    pub(super) fn open_arguments(self) -> Option<&'a str> {
        let (_, arguments) = first(self.inner, &ARGUMENTS)?;
        (arguments.kind() == Kind::Object).then(|| arguments.raw())
    }

    pub(super) fn has_no_name(self) -> bool {
        self.name.is_none()
    }

    pub(super) fn has_arguments(self) -> bool {
        first(self.inner, &ARGUMENTS).is_some()
    }

    /// Also accepts a number as an id.
    pub(super) fn call_id(self) -> Option<Cow<'a, str>> {
        let (_, id) = first(self.outer, &IDS).or_else(|| first(self.inner, &IDS))?;
        Some(id.as_str().unwrap_or(Cow::Borrowed(id.raw())))
    }

    fn error(self) -> Option<Value<'a>> {
        let error = [self.outer, self.inner].into_iter().find_map(|value| first(value, &["error"]));
        error.map(|(_, error)| error)
    }

    fn path(self, key: &str) -> String {
        if self.is_nested { format!("/function/{key}") } else { format!("/{key}") }
    }

    /// Reads the call. Offsets count from the start of the object's document, paths from the object. `is_marked`:
    /// it stands between the markers of calls.
    pub(super) fn read(
        self,
        tools: Option<&dyn ValidateCall>,
        is_marked: bool,
        completion: CompletedBy,
    ) -> Result<ToolCall, Box<Violation>> {
        let name = self.read_name()?;
        if tools.is_none() && !is_tool_name(&name) {
            let (key, value) = self.name.unwrap_or(("name", self.inner));
            let message = "no tool has such a name: it must begin with a letter and have at most 128 letters, \
                           digits and `_ . : / -`";
            return Err(violation_at(Code::UnknownTool, value, &self.path(key), message.to_owned()));
        }
        let is_call = is_marked || tools.is_some_and(|tools| tools.has_tool(&name));
        let none = if is_call { self.without_arguments() } else { None };
        let (key, arguments) = none.map_or_else(|| self.read_arguments(), Ok)?;
        let path = self.path(key);
        let text;
        let mut parser;
        let written = if none.is_some() { Some(Cow::Borrowed("{}")) } else { arguments.as_str() };
        let (parameters, is_text) = match written {
            None => (arguments, false),
            Some(unescaped) => {
                text = unescaped;
                parser = Parser::new();
                let value = parser.parse(&text).map_err(|error| {
                    let message =
                        format!("the `{key}` are a string that is not JSON: {}", error.description());
                    violation_at(Code::InvalidParameters, arguments, &path, message)
                })?;
                (value, true)
            }
        };
        if parameters.kind() != Kind::Object {
            let found = parameters.kind().as_str();
            let message = if is_text {
                format!("the `{key}` are a string that must hold an object, found {found}")
            } else {
                format!("the `{key}` must be an object, found {found}")
            };
            return Err(violation_at(Code::InvalidParameters, arguments, &path, message));
        }
        if self.inner.get("description").is_some() && is_schema(parameters) {
            let message = format!("the `{key}` are a schema: this defines a tool, and does not call it");
            return Err(violation_at(Code::InvalidParameters, arguments, &path, message));
        }
        let validated =
            validate_call(tools, &name, parameters).map_err(|violation| match violation.code {
                Code::UnknownTool => {
                    let (key, name) = self.name.unwrap_or(("name", self.inner));
                    violation_at(violation.code, name, &self.path(key), violation.message)
                }
                _ => {
                    let mut violation = violation.under(&path);
                    if is_text {
                        // A position inside a string has no offset in the document.
                        let start = arguments.range().start;
                        violation.offset = start;
                        violation.further.iter_mut().for_each(|further| further.offset = start);
                    }
                    Box::new(violation)
                }
            })?;
        Ok(ToolCall {
            name: name.into_owned(),
            parameters: validated.parameters,
            coerced: validated.coerced,
            call_id: self.call_id().map(Cow::into_owned),
            is_synthetic_id: false,
            error: self.error().map(Into::into),
            completion,
            recovered: Recovered::NONE,
        })
    }

    fn read_name(self) -> Result<Cow<'a, str>, Box<Violation>> {
        // A key that is present, even as `null`, shows what was meant.
        let any = || NAMES.iter().find_map(|key| Some((*key, self.inner.get(key)?)));
        let Some((key, name)) = self.name.or_else(any) else {
            let message = match self.inner.kind() {
                Kind::Object => "a tool call needs a `name`".to_owned(),
                other => format!("a tool call must be an object, found {}", other.as_str()),
            };
            let path = if self.is_nested { "/function" } else { "" };
            return Err(violation_at(Code::MissingField, self.inner, path, message));
        };
        name.as_str().filter(|name| !name.is_empty()).ok_or_else(|| {
            let message = match name.kind() {
                Kind::String => format!("the `{key}` must not be empty"),
                other => format!("the `{key}` must be a string, found {}", other.as_str()),
            };
            violation_at(Code::MissingField, name, &self.path(key), message)
        })
    }

    /// The key and the place of arguments that are not there, `null` or empty, in an object where they cannot stand
    /// under another key.
    fn without_arguments(self) -> Option<(&'static str, Value<'a>)> {
        let is_known =
            |key: &str| [&NAMES[..], &ARGUMENTS, &IDS, &OTHERS].iter().any(|keys| keys.contains(&key));
        let mut written = ("parameters", self.inner);
        for (key, value) in self.inner.as_object()?.iter() {
            let Some(known) = ARGUMENTS.iter().find(|known| **known == key) else {
                if is_known(key) {
                    continue;
                }
                return None;
            };
            let is_empty = value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty());
            if !is_empty {
                return None;
            }
            written = (known, value);
        }
        Some(written)
    }

    fn read_arguments(self) -> Result<(&'static str, Value<'a>), Box<Violation>> {
        let mut present = all(self.inner, &ARGUMENTS);
        let Some((key, arguments)) = present.next() else {
            return Err(match ARGUMENTS.iter().find_map(|key| Some((*key, self.inner.get(key)?))) {
                Some((key, null)) => {
                    let message = format!("the `{key}` must be an object, found null");
                    violation_at(Code::InvalidParameters, null, &self.path(key), message)
                }
                None => {
                    let path = if self.is_nested { "/function" } else { "" };
                    let message = "a tool call needs `parameters`".to_owned();
                    violation_at(Code::InvalidParameters, self.inner, path, message)
                }
            });
        };
        match present.find(|(_, other)| !is_same(arguments, *other)) {
            None => Ok((key, arguments)),
            Some((other_key, other)) => {
                let message =
                    format!("the `{other_key}` differ from the `{key}`: which are meant is not clear");
                Err(violation_at(Code::InvalidParameters, other, &self.path(other_key), message))
            }
        }
    }
}

/// The members under these keys that are not `null`.
fn all<'a>(
    object: Value<'a>,
    keys: &'static [&'static str],
) -> impl Iterator<Item = (&'static str, Value<'a>)> {
    let present = move |key: &&'static str| Some((*key, object.get(key)?));
    keys.iter().filter_map(present).filter(|(_, value)| !value.is_null())
}

fn first<'a>(object: Value<'a>, keys: &'static [&'static str]) -> Option<(&'static str, Value<'a>)> {
    all(object, keys).next()
}

/// Whether the parameters are a JSON Schema, as in a tool definition.
fn is_schema(parameters: Value<'_>) -> bool {
    parameters.get("type").is_some_and(|kind| kind.as_str().as_deref() == Some("object"))
        && parameters.get("properties").is_some_and(|properties| properties.kind() == Kind::Object)
}

/// Whether two values mean the same arguments; either may be a string that holds the other.
fn is_same(one: Value<'_>, other: Value<'_>) -> bool {
    if one.raw() == other.raw() {
        return true;
    }
    let (mut parser, mut other_parser) = (Parser::new(), Parser::new());
    let (text, other_text) = (one.as_str(), other.as_str());
    let one = text.as_ref().map_or(Ok(one), |text| parser.parse(text));
    let other = other_text.as_ref().map_or(Ok(other), |text| other_parser.parse(text));
    let (Ok(one), Ok(other)) = (one, other) else { return false };
    one.is_convertible() && other.is_convertible() && one.is_equal(other)
}

#[cold]
fn violation_at(code: Code, at: Value<'_>, path: &str, message: String) -> Box<Violation> {
    Box::new(Violation::new(code, at.range().start, message).with_instance_path(path))
}
