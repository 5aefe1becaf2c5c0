//! Writers of calls, one for each way in which models write them.
//!
//! The limits of a syntax are beside its writer: there are no escapes in tagged values and in strings between
//! delimiters, so that a value never holds the markers of its own syntax, and white space around it may belong to
//! the syntax ([`Values`]).

mod named;
mod objects;
mod python_calls;
mod tagged;

use std::fmt::Write as _;

use serde_json::{Map, Value};

pub(crate) type Call = (String, Map<String, Value>);

pub(crate) use named::NAMED;
pub(crate) use objects::OBJECTS;
pub(crate) use python_calls::PYTHON;
pub(crate) use tagged::TAGGED;

/// Which values of parameters a syntax carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    /// Any.
    Json,
    /// Any, with the type beside it or seen from the literal; the keys are names.
    Typed,
    /// Strings, as written.
    Text,
    /// Strings, without newlines around them, which belong to the syntax.
    Inner,
    /// Strings, and arrays and objects that are not empty.
    Elements,
}

/// A way to write calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Syntax {
    /// The labels of `cases.jsonl` that write calls in this way.
    pub(crate) labels: &'static [&'static str],
    /// The row of the table, or the name of a format.
    pub(crate) format: &'static str,
    pub(crate) values: Values,
    /// Texts that values must not contain, besides the markers of the row if each parameter has tags.
    pub(crate) never: &'static [&'static str],
    pub(crate) write: fn(&[Call]) -> String,
    /// Reasoning before the calls.
    pub(crate) reasoning: (&'static str, &'static str),
    pub(crate) has_text_before: bool,
    pub(crate) has_text_after: bool,
    pub(crate) max_calls: usize,
    /// Whether only calls of defined tools are read.
    pub(crate) needs_tools: bool,
    /// Whether each parameter has tags of its own.
    pub(crate) has_tags: bool,
}

const THINK: (&str, &str) = ("<think>\n", "\n</think>\n\n");

const fn syntax(
    labels: &'static [&'static str],
    format: &'static str,
    values: Values,
    write: fn(&[Call]) -> String,
) -> Syntax {
    Syntax {
        labels,
        format,
        values,
        never: &[],
        write,
        reasoning: THINK,
        has_text_before: true,
        has_text_after: true,
        max_calls: 5,
        needs_tools: false,
        has_tags: false,
    }
}

const fn tagged_syntax(
    labels: &'static [&'static str],
    format: &'static str,
    values: Values,
    write: fn(&[Call]) -> String,
) -> Syntax {
    Syntax { has_tags: true, ..syntax(labels, format, values, write) }
}

impl Syntax {
    const fn never(self, never: &'static [&'static str]) -> Self {
        Self { never, ..self }
    }

    const fn reasoning(self, open: &'static str, close: &'static str) -> Self {
        Self { reasoning: (open, close), ..self }
    }

    const fn without_text(self) -> Self {
        Self { has_text_before: false, has_text_after: false, ..self }
    }

    const fn without_text_after(self) -> Self {
        Self { has_text_after: false, ..self }
    }

    const fn one_call(self) -> Self {
        Self { max_calls: 1, ..self }
    }

    const fn needs_tools(self) -> Self {
        Self { needs_tools: true, ..self }
    }
}

/// JSON, as chat templates write it.
pub(crate) fn json(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", join(items, ", ", json)),
        Value::Object(members) => object(members),
        _ => value.to_string(),
    }
}

fn object(members: &Map<String, Value>) -> String {
    format!("{{{}}}", join(members, ", ", |(key, value)| format!("{}: {}", string(key), json(value))))
}

fn string(text: &str) -> String {
    serde_json::to_string(text).expect("a string is JSON")
}

fn join<T>(items: impl IntoIterator<Item = T>, between: &str, write: impl FnMut(T) -> String) -> String {
    items.into_iter().map(write).collect::<Vec<_>>().join(between)
}

/// The text of a value without quotes.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| json(value), str::to_owned)
}

fn named(call: &Call, arguments: &str) -> String {
    format!("{{\"name\": {}, \"{arguments}\": {}}}", string(&call.0), object(&call.1))
}

fn arguments(call: &Call) -> String {
    named(call, "arguments")
}

fn parameters(call: &Call) -> String {
    named(call, "parameters")
}

/// Each parameter with tags of its own.
fn tagged(call: &Call, between: &str, write: impl Fn(&str, &Value) -> String) -> String {
    call.1.iter().fold(String::new(), |out, (key, value)| out + &write(key, value) + between)
}

fn python(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => python_string(text),
        Value::Array(items) => format!("[{}]", join(items, ", ", python)),
        Value::Object(members) => {
            let member =
                |(key, value): (&String, &Value)| format!("{}: {}", python_string(key), python(value));
            format!("{{{}}}", join(members, ", ", member))
        }
    }
}

fn python_string(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::from(quote);
    for char in text.chars() {
        match char {
            '\\' => out += "\\\\",
            '\n' => out += "\\n",
            '\r' => out += "\\r",
            '\t' => out += "\\t",
            _ if char == quote => out.extend(['\\', char]),
            _ if char.is_ascii_control() => drop(write!(out, "\\x{:02x}", u32::from(char))),
            _ => out.push(char),
        }
    }
    out.push(quote);
    out
}

fn python_call((name, arguments): &Call) -> String {
    format!("{name}({})", join(arguments, ", ", |(key, value)| format!("{key}={}", python(value))))
}

fn python_list(calls: &[Call]) -> String {
    format!("[{}]", join(calls, ", ", python_call))
}

/// `{key:value}`, with this delimiter around strings.
fn key_values(members: &Map<String, Value>, quote: &str) -> String {
    fn write(value: &Value, quote: &str) -> String {
        match value {
            Value::String(text) => format!("{quote}{text}{quote}"),
            Value::Array(items) => format!("[{}]", join(items, ",", |item| write(item, quote))),
            Value::Object(members) => key_values(members, quote),
            _ => value.to_string(),
        }
    }
    format!("{{{}}}", join(members, ",", |(key, value)| format!("{key}:{}", write(value, quote))))
}

fn dsml(calls: &[Call], bar: &str, block: &str) -> String {
    let call = |call: &Call| {
        let parameters = tagged(call, "\n", |key, value| {
            let (is_string, text) = (value.is_string(), text(value));
            format!("<{bar}parameter name=\"{key}\" string=\"{is_string}\">{text}</{bar}parameter>")
        });
        format!("<{bar}invoke name=\"{}\">\n{parameters}</{bar}invoke>\n", call.0)
    };
    format!("<{bar}{block}>\n{}</{bar}{block}>", join(calls, "", call))
}

fn invoke(call: &Call, newline: &str) -> String {
    let parameter =
        |key: &str, value: &Value| format!("<parameter name=\"{key}\">{}</parameter>", text(value));
    format!("<invoke name=\"{}\">{newline}{}</invoke>", call.0, tagged(call, newline, parameter))
}

fn function_tag(call: &Call, newline: &str, around_value: &str) -> String {
    let parameter = |key: &str, value: &Value| {
        format!("<parameter={key}>{around_value}{}{around_value}</parameter>", text(value))
    };
    format!("<function={}>{newline}{}</function>", call.0, tagged(call, newline, parameter))
}

fn glm(call: &Call, suffix: &str, after_name: &str, newline: &str) -> String {
    let parameters = tagged(call, newline, |key, value| {
        let value = text(value);
        format!(
            "<arg_key{suffix}>{key}</arg_key{suffix}>{newline}<arg_value{suffix}>{value}</arg_value{suffix}>"
        )
    });
    format!("<tool_call{suffix}>{}{after_name}{parameters}</tool_call{suffix}>", call.0)
}

fn elements(members: &Map<String, Value>) -> String {
    fn write(name: &str, value: &Value) -> String {
        let inner = match value {
            Value::Array(items) => join(items, "", |item| write("item", item)),
            Value::Object(members) => elements(members),
            _ => text(value),
        };
        format!("]<]minimax[>[<{name}>{inner}]<]minimax[>[</{name}>")
    }
    join(members, "", |(key, value)| write(key, value))
}

/// A value of Muse: JSON, unless it is a string that is not.
fn muse_value(value: &Value) -> String {
    match value {
        Value::String(text) if serde_json::from_str::<Value>(text).is_err() => text.clone(),
        _ => json(value),
    }
}

fn atem(call: &Call) -> String {
    let parameters = tagged(call, "\n", |key, value| {
        format!("<atem:parameter name=\"{key}\">{}</atem:parameter>", muse_value(value))
    });
    format!(
        "<atem:function_calls>\n<atem:invoke name=\"{}\">\n{parameters}</atem:invoke>\n</atem:function_calls>",
        call.0
    )
}

fn cdata(value: &Value) -> String {
    let text = text(value);
    if text.contains(['<', '&']) { format!("<![CDATA[{text}]]>") } else { text }
}

fn cohere(calls: &[Call]) -> String {
    let call = |(index, (name, arguments)): (usize, &Call)| {
        let (name, arguments) = (string(name), object(arguments));
        format!("    {{\"tool_call_id\": \"{index}\", \"tool_name\": {name}, \"parameters\": {arguments}}}")
    };
    format!("<|START_ACTION|>[\n{}\n]<|END_ACTION|>", join(calls.iter().enumerate(), ",\n", call))
}
