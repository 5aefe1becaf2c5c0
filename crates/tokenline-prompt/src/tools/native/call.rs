//! One native call, as it stands in a response.

use std::borrow::Cow;

use tokenline_core::Completion;
use tokenline_core::json::{Kind, Raw, Value};

/// A call, before it is read.
pub(super) struct NativeCall<'a> {
    /// Where it stands.
    pub(super) element: Value<'a>,
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) name: Option<Cow<'a, str>>,
    /// The JSON text of the arguments; empty if there are none.
    pub(super) arguments: Cow<'a, str>,
    /// What is said to be wrong with it.
    pub(super) error: Option<Raw>,
    pub(super) seal: Seal,
}

/// Whether a call is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seal {
    /// The end of the response decides.
    Undecided,
    /// For this reason.
    Whole(Completion),
    /// It was cut off.
    Cut,
}

impl<'a> NativeCall<'a> {
    /// Reads a call of any shape: they differ in what name, arguments and id are called.
    pub(super) fn new(element: Value<'a>, seal: Seal) -> Self {
        let object = |name| element.get(name).filter(|value| value.kind() == Kind::Object);
        // A tool that takes a text instead of parameters.
        let custom = object("custom");
        let inner = object("function").or(custom).unwrap_or(element);
        let is_custom = custom.is_some()
            || element.get("type").and_then(Value::as_str).as_deref() == Some("custom_tool_call");
        let arguments = first(inner, &["arguments", "input", "args", "parameters"]);
        let arguments = match arguments.map(|value| (value.as_str(), value)) {
            None => Cow::Borrowed(""),
            Some((Some(text), _)) if is_custom => {
                format!(r#"{{"input":{}}}"#, serde_json::Value::from(&*text)).into()
            }
            Some((Some(text), _)) => text,
            Some((None, value)) => Cow::Borrowed(value.raw()),
        };
        let ids = ["call_id", "id", "tool_call_id"];
        let id = first(element, &ids).or_else(|| first(inner, &ids));
        Self {
            element,
            id: id.map(|id| id.as_str().unwrap_or(Cow::Borrowed(id.raw()))),
            name: first(inner, &["name"]).and_then(Value::as_str),
            arguments,
            error: first(element, &["error"]).or_else(|| first(inner, &["error"])).map(Raw::from),
            seal,
        }
    }
}

/// The first of these members that is there and not `null`.
fn first<'a>(object: Value<'a>, names: &[&str]) -> Option<Value<'a>> {
    names.iter().filter_map(|name| object.get(name)).find(|value| !value.is_null())
}
