//! The schema that a request sets for its response: what the model writes is validated against it.

use std::mem;

use serde_json::{Map, Value};
use tokenline::json::Raw;
use tokenline::llm::FinishReason;
use tokenline::llm::request::{ChatRequest, ResponseFormat};
use tokenline::llm::writer::Failure;
use tokenline::schema::SchemaValidator;
use tokenline::{Code, Diagnostic, Origin, ResponseEvent};

/// The most violations that a further request lists.
const MAX_VIOLATIONS: usize = 64;

/// The kind of value that a schema describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A list, or an object that has only a list. Its items are validated one by one.
    List {
        /// JSON Pointer (RFC 6901) to it.
        pointer: String,
        /// The JSON before the items, and after them.
        around: (String, &'static str),
    },
    /// Another object, validated as a whole.
    Document,
}

/// Sets the validator of the response's format, if it has a schema. `None` if it has none, or one that is left to the
/// upstream: that is not supported, or allows other values than objects and lists.
pub(super) fn validate(request: &mut ChatRequest) -> Option<Shape> {
    let ResponseFormat::JsonSchema(format) = &mut request.response_format else { return None };
    let schema = format.schema.to_value().ok()?;
    let compiled = |schema: &Value| Some(SchemaValidator::new(schema).ok()?.all_violations(MAX_VIOLATIONS));
    let list = list_of(&schema).and_then(|(shape, item)| Some((shape, compiled(&item)?)));
    let (shape, validator) = match list {
        Some(list) => list,
        None if is_of_type(target(&schema), "object") => (Shape::Document, compiled(&schema)?),
        None => return None,
    };
    if let Shape::List { pointer, .. } = &shape {
        format.items = Some(pointer.clone());
    }
    *format = format.clone().validated_by(validator);
    Some(shape)
}

/// The list that a schema consists of, and the schema of its items. An object that allows other members is none: they would
/// be lost when its text is written anew.
fn list_of(schema: &Value) -> Option<(Shape, Value)> {
    let root = target(schema);
    let (list, pointer, around) = if is_of_type(root, "array") {
        (root, String::new(), ("[".to_owned(), "]"))
    } else {
        let is_closed = root.get("additionalProperties") == Some(&Value::Bool(false));
        let properties = root.get("properties")?.as_object()?;
        let (name, list) = properties.iter().next().filter(|_| is_closed && properties.len() == 1)?;
        let pointer = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
        (list, pointer, (format!("{{{}:[", Value::from(name.as_str())), "]}"))
    };
    let is_plain = is_of_type(list, "array") && list.get("prefixItems").is_none();
    let items = list.get("items").filter(|_| is_plain)?;
    // References lead to the definitions of the whole schema.
    let shared = ["$schema", "$defs", "definitions"].into_iter();
    let shared = shared.filter_map(|name| Some((name.to_owned(), schema.get(name)?.clone())));
    let mut item: Map<String, Value> = shared.collect();
    item.insert("allOf".to_owned(), Value::from(vec![items.clone()]));
    Some((Shape::List { pointer, around }, Value::from(item)))
}

/// The schema that a schema refers to, which some generators write for the root.
fn target(schema: &Value) -> &Value {
    let reference = schema.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix('#'));
    reference.and_then(|pointer| schema.pointer(pointer)).unwrap_or(schema)
}

fn is_of_type(schema: &Value, name: &str) -> bool {
    schema.get("type").is_some_and(|kind| kind == name)
}

/// Whether a reject is one of a record: not of the response, and not its truncated end.
pub(super) fn is_of_record(diagnostic: &Diagnostic) -> bool {
    diagnostic.origin == Origin::Text && !matches!(diagnostic.code, Code::Truncated | Code::Unsealed)
}

/// The text of a response with a schema.
#[derive(Debug)]
pub(super) enum JsonText {
    /// As the model writes it.
    AsReceived,
    /// Of the records that are valid. Rejected ones are left out, or have been asked for again.
    OfRecords { shape: Shape, choices: Vec<Choice> },
}

/// The text of a choice.
#[derive(Debug, Default)]
pub(super) struct Choice {
    number: u64,
    records: u64,
    /// The text of the model.
    received: String,
    /// The first reject.
    rejected: Option<String>,
    reason: Option<FinishReason>,
}

impl JsonText {
    pub(super) fn of_records(shape: Shape) -> Self {
        Self::OfRecords { shape, choices: Vec::new() }
    }

    /// The event in the place of this one.
    pub(super) fn replace(&mut self, event: ResponseEvent<Raw>) -> Option<ResponseEvent<Raw>> {
        let Self::OfRecords { shape, choices } = self else {
            return match event {
                ResponseEvent::TextDelta { choice, block, text, .. } => {
                    Some(ResponseEvent::Text { choice, block, text })
                }
                // They are in the text.
                ResponseEvent::Text { .. } | ResponseEvent::Record { .. } => None,
                event => Some(event),
            };
        };
        match event {
            ResponseEvent::TextDelta { choice, text, .. } => {
                of_number(choices, choice).received += &text;
                None
            }
            ResponseEvent::Text { .. } => None,
            ResponseEvent::Record { choice: number, record, .. } => {
                let choice = of_number(choices, number);
                choice.records += 1;
                let text = record.value.as_str();
                let text = match shape {
                    Shape::List { around: (before, _), .. } if choice.records == 1 => {
                        format!("{before}{text}")
                    }
                    Shape::List { .. } => format!(",{text}"),
                    Shape::Document if choice.records == 1 => text.to_owned(),
                    // Two documents are no JSON.
                    Shape::Document => return None,
                };
                Some(ResponseEvent::Text { choice: number, block: 0, text })
            }
            ResponseEvent::Finish { choice, reason } => {
                // What was asked for again comes later.
                of_number(choices, choice).reason = Some(reason);
                None
            }
            event => {
                if let ResponseEvent::Rejected { choice: Some(choice), diagnostic, .. } = &event
                    && is_of_record(diagnostic)
                {
                    of_number(choices, *choice).rejected.get_or_insert_with(|| diagnostic.to_string());
                }
                Some(event)
            }
        }
    }

    /// The text of a response that was cut off at its limit, and its shape. `None` if several choices were requested.
    pub(super) fn cut_off(&self) -> Option<(&Shape, &str)> {
        let Self::OfRecords { shape, choices } = self else { return None };
        let [Choice { number: 0, received, reason: Some(FinishReason::Length), .. }] = choices.as_slice()
        else {
            return None;
        };
        Some((shape, received))
    }

    /// Takes a document in the place of what was received.
    pub(super) fn take_document(&mut self, document: &str) {
        if let Self::OfRecords { choices, .. } = self {
            document.clone_into(&mut of_number(choices, 0).received);
        }
    }

    /// The events at the end of the response. An error if everything was rejected.
    pub(super) fn finish(&mut self) -> Result<Vec<ResponseEvent<Raw>>, Failure> {
        let Self::OfRecords { shape, choices } = self else { return Ok(Vec::new()) };
        let mut events = Vec::new();
        for Choice { number, records, received, rejected, reason } in mem::take(choices) {
            let is_cut = reason.as_ref().is_some_and(|reason| !reason.is_clean());
            let text = match (&shape, rejected) {
                (_, Some(reason)) if records == 0 && !is_cut => {
                    return Err(Failure::new(502, format!("the model's JSON was rejected: {reason}")));
                }
                // An empty list, or no JSON: what the model wrote.
                _ if records == 0 => received,
                (Shape::List { around: (_, after), .. }, _) if !is_cut => (*after).to_owned(),
                _ => String::new(),
            };
            if !text.is_empty() {
                events.push(ResponseEvent::Text { choice: number, block: 0, text });
            }
            events.extend(reason.map(|reason| ResponseEvent::Finish { choice: number, reason }));
        }
        Ok(events)
    }
}

fn of_number(choices: &mut Vec<Choice>, number: u64) -> &mut Choice {
    let at = choices.iter().position(|choice| choice.number == number).unwrap_or_else(|| {
        choices.push(Choice { number, ..Choice::default() });
        choices.len() - 1
    });
    &mut choices[at]
}
