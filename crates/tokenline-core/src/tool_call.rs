//! Tool calls: what is always whole, and how a record is read as one.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde::ser::{SerializeMap, Serializer};

use crate::json::{DeserializeError, Kind, Raw, Value};
use crate::{Code, Completion, Diagnostic, Record, Recovered, ValidateCall, Violation};

/// A call of a tool, always complete: there is evidence that the model had finished it.
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
    /// The model's or the provider's id of the call. A native call has one in any case.
    pub call_id: Option<String>,
    /// Whether the id was made up here, because the provider gives its calls none. It is one of a kind
    /// within its answer, not within a conversation.
    pub has_minted_id: bool,
    /// What the model itself says is wrong with the call, where it does; mostly a string.
    pub error: Option<Raw>,
    /// Why it counts as complete.
    pub completion: Completion,
    /// What was done to it before it could be delivered; nothing for one that is as it was written.
    pub recovered: Recovered,
}

impl ToolCall {
    /// A call without an id.
    #[must_use]
    pub fn new(name: impl Into<String>, parameters: Raw, completion: Completion) -> Self {
        Self {
            name: name.into(),
            parameters,
            call_id: None,
            has_minted_id: false,
            error: None,
            completion,
            recovered: Recovered::default(),
        }
    }

    /// Reads a record as a call: `{"name", "parameters", "call_id"?, "error"?}`. With `tools`, the
    /// call is held against their definitions.
    ///
    /// # Errors
    ///
    /// If the record has no name or no parameters of the right kind, or breaks the tools' rules.
    pub fn from_record(
        record: &Record<Value<'_>>,
        tools: Option<&dyn ValidateCall>,
    ) -> Result<Self, Box<RejectedCall>> {
        let read = |value| -> Result<Self, Box<Violation>> {
            let call = CallView::new(value)?;
            if let Some(tools) = tools {
                // Of the whole record, which the tools' rules do not see.
                if let Some(violation) = Violation::duplicate_key(value) {
                    return Err(violation);
                }
                let judged = tools.validate_call(&call.name, call.parameters);
                judged.map_err(|violation| Box::new(in_record(*violation, value)))?;
            }
            Ok(call.to_tool_call(record))
        };
        read(record.value).map_err(|violation| Box::new(RejectedCall::from_record(record, *violation)))
    }

    /// Reads the parameters into a type.
    ///
    /// # Errors
    ///
    /// If they do not fit the type.
    pub fn parse_parameters<T: DeserializeOwned>(&self) -> Result<T, DeserializeError> {
        self.parameters.deserialize()
    }
}

/// A call's violation is placed from its parameters; in a record they have a place of their own.
fn in_record(violation: Violation, record: Value<'_>) -> Violation {
    match violation.code {
        Code::UnknownTool => {
            let name = record.get("name").unwrap_or(record);
            Violation { offset: name.range().start, ..violation }.with_instance_path("/name")
        }
        _ => {
            let path = format!("/parameters{}", violation.instance_path);
            violation.with_instance_path(path)
        }
    }
}

impl Serialize for ToolCall {
    /// `{"name", "parameters"}`, then `call_id` and `error` where the model or the provider gave them.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.name)?;
        map.serialize_entry("parameters", &self.parameters)?;
        if let Some(call_id) = self.call_id.as_ref().filter(|_| !self.has_minted_id) {
            map.serialize_entry("call_id", call_id)?;
        }
        if let Some(error) = &self.error {
            map.serialize_entry("error", error)?;
        }
        map.end()
    }
}

/// A tool call that began and was not delivered: cut off, malformed, or against its tool's rules.
///
/// It has what an agent needs to answer the model: which call, and why not. The diagnostic tells
/// nothing of the values; what was [received](Self::received) is here, and may be private.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RejectedCall {
    /// The tool's name, if it came.
    pub name: Option<String>,
    /// The call's id, as for a [`ToolCall`].
    pub call_id: Option<String>,
    /// Whether the id was made up here.
    pub has_minted_id: bool,
    /// What was received: of a native call the arguments' text, up to where it was given up; of a call
    /// in a text its record.
    pub received: String,
    /// Why it was not delivered.
    pub diagnostic: Diagnostic,
}

impl RejectedCall {
    /// A call of which this was received, without a name or an id.
    #[must_use]
    pub fn new(diagnostic: Diagnostic, received: impl Into<String>) -> Self {
        let (name, call_id, has_minted_id) = (None, None, false);
        Self { name, call_id, has_minted_id, received: received.into(), diagnostic }
    }

    fn from_record(record: &Record<Value<'_>>, violation: Violation) -> Self {
        let text = |name| record.value.get(name).and_then(Value::as_str).map(Cow::into_owned);
        Self {
            name: text("name"),
            call_id: text("call_id"),
            has_minted_id: false,
            received: record.value.raw().to_owned(),
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

/// A record read as a call, borrowed.
struct CallView<'a> {
    name: Cow<'a, str>,
    parameters: Value<'a>,
    call_id: Option<Cow<'a, str>>,
    error: Option<Value<'a>>,
}

impl<'a> CallView<'a> {
    fn new(value: Value<'a>) -> Result<Self, Box<Violation>> {
        let at = |value: Value<'_>| value.range().start;
        let refuse = |code, offset, path: &str, message: String| {
            Box::new(Violation::new(code, offset, message).with_instance_path(path))
        };
        let name = match value.get("name") {
            None => {
                let message = "a tool call needs a `name`".to_owned();
                return Err(refuse(Code::MissingField, at(value), "", message));
            }
            Some(name) => name.as_str().filter(|name| !name.is_empty()).ok_or_else(|| {
                let message = match name.kind() {
                    Kind::String => "the `name` must not be empty".to_owned(),
                    other => format!("the `name` must be a string, found {}", other.as_str()),
                };
                refuse(Code::MissingField, at(name), "/name", message)
            })?,
        };
        let parameters = match value.get("parameters") {
            None => {
                let message = "a tool call needs `parameters`".to_owned();
                return Err(refuse(Code::InvalidParameters, at(value), "", message));
            }
            Some(parameters) if parameters.as_object().is_none() => {
                let message =
                    format!("the `parameters` must be an object, found {}", parameters.kind().as_str());
                return Err(refuse(Code::InvalidParameters, at(parameters), "/parameters", message));
            }
            Some(parameters) => parameters,
        };
        let present = |name| value.get(name).filter(|value| !value.is_null());
        // An id that is a number is an id all the same.
        let call_id = present("call_id").map(|id| id.as_str().unwrap_or(Cow::Borrowed(id.raw())));
        Ok(Self { name, parameters, call_id, error: present("error") })
    }

    fn to_tool_call(&self, record: &Record<Value<'_>>) -> ToolCall {
        ToolCall {
            name: self.name.clone().into_owned(),
            parameters: Raw::from(self.parameters),
            call_id: self.call_id.clone().map(Cow::into_owned),
            has_minted_id: false,
            error: self.error.map(Raw::from),
            completion: record.completion,
            recovered: record.recovered,
        }
    }
}
