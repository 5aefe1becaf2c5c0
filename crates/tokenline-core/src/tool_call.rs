//! Tool calls, and how a record is read as one.

mod name;
mod read;
mod so_far;
mod validate;

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde::ser::{SerializeMap, Serializer};

use crate::json::{Array, DeserializeError, Object, Parser, Raw, Value};
use crate::{Code, Coercion, CompletedBy, Diagnostic, Record, Recovered, Recovery, ValidateCall, Violation};

use read::{Members, is_key};
pub use so_far::CallSoFar;
pub(crate) use validate::validate_call;

/// A tool call, always complete: there is evidence that the model finished it.
///
/// ```
/// # use tokenline_core::{Event, JsonlParser, Options, ToolCall};
/// let mut parser = JsonlParser::new(Options::lenient());
/// parser.push("{\"name\":\"weather\",\"parameters\":{\"city\":\"Paris\",\"days\":3}}\n");
/// let Some(Event::Record(record)) = parser.next_event() else { panic!() };
/// let call = ToolCall::from_record(&record, None)?;
///
/// #[derive(serde::Deserialize)]
/// struct Weather { city: String, days: u8 }
/// let weather: Weather = call.parse_parameters()?;
/// assert_eq!((call.name.as_str(), weather.city.as_str(), weather.days), ("weather", "Paris", 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolCall {
    /// The tool's name.
    pub name: String,
    /// The parameters as the model wrote them; always an object.
    pub parameters: Raw,
    /// Values whose kind was changed to fit the tool's definition. Empty unless coercion was asked for.
    pub coerced: Vec<Coercion>,
    /// The call's id from the model or the provider. A native call always has one.
    pub call_id: Option<String>,
    /// Whether the library made up the id, because the provider does not give one. It is unique within its
    /// response, not within a conversation.
    pub is_synthetic_id: bool,
    /// The error that the model itself reports in the call, if any; usually a string.
    pub error: Option<Raw>,
    /// Why it counts as complete.
    pub completion: CompletedBy,
    /// The recoveries that it took to deliver it; empty for a call that is as written.
    pub recovered: Recovered,
}

impl ToolCall {
    /// The call as one line of JSON: what it [serializes](Serialize) to, with the literals of its parameters as written.
    ///
    /// ```
    /// use tokenline_core::{CompletedBy, ToolCall, json::Raw};
    ///
    /// let parameters: Raw = serde_json::from_str(r#"{"size":1e2}"#)?;
    /// let mut call = ToolCall::new("resize", parameters, CompletedBy::Newline);
    /// call.call_id = Some("c1".to_owned());
    /// assert!(call.to_json().starts_with(r#"{"name":"resize","parameters":{"size":"#));
    /// assert!(call.to_json().ends_with(r#"},"call_id":"c1"}"#));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn to_json(&self) -> String {
        let string = |text: &str| serde_json::to_string(text).expect("a string is JSON");
        let (name, parameters) = (string(&self.name), self.parameters.to_single_line());
        let mut json = format!(r#"{{"name":{name},"parameters":{parameters}"#);
        if let Some(call_id) = self.given_id() {
            json += &format!(r#","call_id":{}"#, string(call_id));
        }
        if let Some(error) = &self.error {
            json += &format!(r#","error":{}"#, error.to_single_line());
        }
        json.push('}');
        json
    }

    /// The id that the model or the provider gave the call.
    fn given_id(&self) -> Option<&String> {
        self.call_id.as_ref().filter(|_| !self.is_synthetic_id)
    }

    /// A call without an id.
    #[must_use]
    pub fn new(name: impl Into<String>, parameters: Raw, completion: CompletedBy) -> Self {
        let (coerced, call_id, is_synthetic_id, error) = (Vec::new(), None, false, None);
        let recovered = Recovered::NONE;
        Self {
            name: name.into(),
            parameters,
            coerced,
            call_id,
            is_synthetic_id,
            error,
            completion,
            recovered,
        }
    }

    /// Reads a record as a call: `{"name", "parameters", "call_id"?, "error"?}`. With `tools`, also validates
    /// it against their definitions.
    ///
    /// Models use other keys as well. The first of these that is present and not `null` counts:
    ///
    /// - `name`, `tool`, `function` or `tool_name`; a `function` that is an object holds name and arguments
    ///   itself, as in OpenAI's `{"type":"function","function":{"name","arguments"}}`;
    /// - `parameters`, `arguments`, `args` or `input`: an object, or a string that holds one. If several are
    ///   present and differ, the call is rejected;
    /// - `call_id`, `id` or `tool_call_id`.
    ///
    /// Between the markers of calls, or for a defined tool, none at all, `null` or an empty string stand for `{}`.
    /// Elsewhere, and beside an unknown key, such a call is rejected even if its tool takes none: they may stand
    /// under that key, and dropping them could change the call's meaning.
    ///
    /// # Errors
    ///
    /// If the record has no name or no parameters of the right kind, breaks the tools' rules, or holds
    /// several calls. For these, use [`all_from_record`](Self::all_from_record).
    pub fn from_record(
        record: &Record<Value<'_>>,
        tools: Option<&dyn ValidateCall>,
    ) -> Result<Self, Box<RejectedCall>> {
        let mut calls = Self::all_from_record(record, tools);
        match (calls.next(), calls.next()) {
            (Some(call), None) => call,
            _ => {
                let message = "the record is a list of calls, not one call";
                let violation = Violation::new(Code::MissingField, record.value.range().start, message);
                Err(Box::new(RejectedCall::from_record(record, record.value, violation)))
            }
        }
    }

    /// Reads all calls of a record: the record itself, or each element of its `tool_calls` on its own. An
    /// empty list yields none.
    ///
    /// ```
    /// # use tokenline_core::{Event, JsonlParser, Options, ToolCall};
    /// let mut parser = JsonlParser::new(Options::lenient());
    /// parser.push(concat!(
    ///     r#"{"tool_calls":[{"function":{"name":"weather","arguments":"{\"city\":\"Paris\"}"}},"#,
    ///     r#"{"function":{"name":"weather","arguments":"{\"city\":"}},{"tool":"now","args":{}}]}"#,
    ///     "\n",
    /// ));
    /// let Some(Event::Record(record)) = parser.next_event() else { panic!() };
    /// let log: Vec<_> = ToolCall::all_from_record(&record, None)
    ///     .map(|call| match call {
    ///         Ok(call) => format!("{} {}", call.name, call.parameters),
    ///         Err(call) => format!("{} at {}", call.diagnostic.code, call.diagnostic.instance_path.unwrap()),
    ///     })
    ///     .collect();
    /// assert_eq!(log, [
    ///     r#"weather {"city":"Paris"}"#,
    ///     "invalid_parameters at /tool_calls/1/function/arguments",
    ///     "now {}",
    /// ]);
    /// ```
    pub fn all_from_record<'a>(
        record: &'a Record<Value<'a>>,
        tools: Option<&'a dyn ValidateCall>,
    ) -> impl Iterator<Item = Result<Self, Box<RejectedCall>>> + 'a {
        let list = list_of_calls(record.value);
        // Readers disagree on which of two lists counts.
        let is_doubtful = tools.is_some()
            && list.is_some()
            && record.value.as_object().is_some_and(Object::has_repeated_name);
        let (single, list) = match list {
            Some(list) if !is_doubtful => (None, Some(list)),
            _ => (Some(record.value), None),
        };
        let is_marked = record.recovered.contains(Recovery::CallFormat);
        let single = single.into_iter().map(move |value| {
            let read = match duplicate_key(value, tools) {
                Some(violation) => Err(violation),
                None => Members::new(value).read(tools, is_marked, record.completion),
            };
            read.map(|call| Self { recovered: record.recovered, ..call })
                .map_err(|violation| Box::new(RejectedCall::from_record(record, value, *violation)))
        });
        let elements = list.into_iter().flatten().enumerate().map(move |(at, value)| {
            let read = read_element(value, tools, is_marked, record.completion);
            read.map(|call| Self { recovered: record.recovered, ..call }).map_err(|violation| {
                let violation = violation.under(&format!("/tool_calls/{at}"));
                Box::new(RejectedCall::from_record(record, value, violation))
            })
        });
        single.chain(elements)
    }

    /// Whether an object looks like a call, or like a list with a call: it has a name and arguments under any
    /// known keys, or the name of one of the tools.
    #[must_use]
    pub fn is_in(object: Value<'_>, tools: Option<&dyn ValidateCall>) -> bool {
        let is_call = |value| {
            let members = Members::new(value);
            members.name().is_some_and(|name| {
                members.has_arguments() || tools.is_some_and(|tools| tools.has_tool(&name))
            })
        };
        match list_of_calls(object) {
            Some(list) => list.iter().any(is_call),
            None => is_call(object),
        }
    }

    /// Whether the object is a call of a defined tool, or a list with one.
    pub(crate) fn is_of_defined(object: Value<'_>, tools: Option<&dyn ValidateCall>) -> bool {
        tools.is_some_and(|tools| Self::has_call_of(object, tools, false))
    }

    /// Whether the object is a call of a defined tool with arguments, or a list with one: among records, nothing
    /// else without markers is.
    #[must_use]
    pub fn is_among_records(object: Value<'_>, tools: Option<&dyn ValidateCall>) -> bool {
        tools.is_some_and(|tools| Self::has_call_of(object, tools, true))
    }

    /// Whether an open object has arguments or a list of calls, and its name may follow.
    pub(crate) fn may_be_unnamed(object: Value<'_>) -> bool {
        let members = Members::new(object);
        members.name().is_none() && (members.has_arguments() || object.get("tool_calls").is_some())
    }

    fn has_call_of(object: Value<'_>, tools: &dyn ValidateCall, needs_arguments: bool) -> bool {
        let is_call = |value| {
            let members = Members::new(value);
            let is_named = members.name().is_some_and(|name| tools.has_tool(&name));
            is_named && (!needs_arguments || members.has_arguments())
        };
        match list_of_calls(object) {
            Some(list) => list.iter().any(is_call),
            None => is_call(object),
        }
    }

    /// The call in an open object so far, once its name is known. Without arguments, it may
    /// be something else.
    pub(crate) fn so_far(object: Value<'_>, start: usize) -> Option<CallSoFar<'_>> {
        let members = Members::new(object);
        let (name, arguments) = (members.complete_name()?, members.open_arguments());
        let call_id = members.call_id();
        Some(CallSoFar {
            call_id,
            is_as_written: true,
            ..CallSoFar::new(start, name, arguments.unwrap_or_default())
        })
    }

    /// Deserializes the parameters.
    ///
    /// # Errors
    ///
    /// If they do not fit the type.
    pub fn parse_parameters<T: DeserializeOwned>(&self) -> Result<T, DeserializeError> {
        self.parameters.deserialize()
    }
}

/// The elements of `tool_calls`, if the object is a list of calls.
fn list_of_calls(value: Value<'_>) -> Option<Array<'_>> {
    let list = value.get("tool_calls")?.as_array()?;
    Members::new(value).has_no_name().then_some(list)
}

/// A name that an object of the record repeats, which the tools' rules may not see. Unless the tools show all names, the
/// path ends at the arguments, and a member that calls do not have is `*`: the model chose its name, which may be private.
fn duplicate_key(value: Value<'_>, tools: Option<&dyn ValidateCall>) -> Option<Box<Violation>> {
    let tools = tools?;
    let mut violation = Violation::duplicate_key(value)?;
    let path = &mut violation.instance_path;
    if tools.shows_names() || path.is_empty() {
        return Some(violation);
    }
    if let Some((end, _)) = path.match_indices('/').nth(1) {
        path.truncate(end);
    }
    if !is_key(&path[1..]) {
        "/*".clone_into(path);
    }
    Some(violation)
}

/// Reads an element of a list of calls, independently of its neighbours.
fn read_element(
    value: Value<'_>,
    tools: Option<&dyn ValidateCall>,
    is_marked: bool,
    completion: CompletedBy,
) -> Result<ToolCall, Violation> {
    if value.as_object().is_none() {
        let message = format!("a tool call must be an object, found {}", value.kind().as_str());
        return Err(Violation::new(Code::NotAnObject, value.range().start, message));
    }
    if tools.is_none() || value.repeated_name().is_none() {
        return Members::new(value).read(tools, is_marked, completion).map_err(|violation| *violation);
    }
    // A name is repeated somewhere in the record: parsed alone, only the element's own names count.
    let mut parser = Parser::new().unlimited_depth();
    let alone = match parser.parse(value.raw()) {
        Ok(alone) => alone,
        Err(error) => unreachable!("this text is part of a parsed document: {error}"),
    };
    let read = match duplicate_key(alone, tools) {
        Some(violation) => Err(violation),
        None => Members::new(alone).read(tools, is_marked, completion),
    };
    read.map_err(|violation| Violation { offset: violation.offset + value.range().start, ..*violation })
}

impl Serialize for ToolCall {
    /// `{"name", "parameters"}`, then `call_id` and `error` where the model or the provider gave them.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.name)?;
        map.serialize_entry("parameters", &self.parameters)?;
        if let Some(call_id) = self.given_id() {
            map.serialize_entry("call_id", call_id)?;
        }
        if let Some(error) = &self.error {
            map.serialize_entry("error", error)?;
        }
        map.end()
    }
}

/// A tool call that began and was not delivered: truncated, malformed, or against its tool's rules.
///
/// Holds what an agent needs to respond to the model: which call, and why it was rejected. The diagnostic
/// contains no values; [`received`](Self::received) does, and may be private.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RejectedCall {
    /// The tool's name, if it arrived.
    pub name: Option<String>,
    /// The call's id, as for a [`ToolCall`].
    pub call_id: Option<String>,
    /// Whether the library made up the id.
    pub is_synthetic_id: bool,
    /// The received text: the arguments of a native call up to where it was rejected, or the record of a call
    /// in text.
    pub received: String,
    /// Why it was not delivered.
    pub diagnostic: Diagnostic,
}

impl RejectedCall {
    /// A rejected call without a name or an id.
    #[must_use]
    pub fn new(diagnostic: Diagnostic, received: impl Into<String>) -> Self {
        let (name, call_id, is_synthetic_id) = (None, None, false);
        Self { name, call_id, is_synthetic_id, received: received.into(), diagnostic }
    }

    /// The rejected call that is, or should be, this value of a record.
    fn from_record(record: &Record<Value<'_>>, value: Value<'_>, violation: Violation) -> Self {
        let members = Members::new(value);
        Self {
            name: members.name().map(Cow::into_owned),
            call_id: members.call_id().map(Cow::into_owned),
            is_synthetic_id: false,
            received: value.raw().to_owned(),
            diagnostic: record.diagnose(violation),
        }
    }
}

impl fmt::Display for RejectedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.diagnostic.fmt(f)
    }
}

impl std::error::Error for RejectedCall {}
