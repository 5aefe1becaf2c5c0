//! Access to the members of a received body, shared by the readers of all formats.

use std::borrow::Cow;
use std::collections::HashSet;

use tokenline_core::json::{Array, Number, Raw, Value};
use tokenline_core::{CompletedBy, ToolCall, ToolDefinition};

use super::InvalidRequest;
use crate::request::{AssistantPart, ChatRequest, JsonFormat, KeptMessage, Message, UserPart};

pub(crate) type Read<T> = Result<T, InvalidRequest>;

/// A value of the body, and its place.
#[derive(Clone, Debug)]
pub(crate) struct Member<'v> {
    pub(crate) value: Value<'v>,
    pub(crate) pointer: String,
}

/// The content of a message.
pub(crate) enum Content<'v> {
    Text(Cow<'v, str>),
    Parts(Vec<Member<'v>>),
}

impl<'v> Member<'v> {
    pub(crate) fn root(value: Value<'v>) -> Self {
        Self { value, pointer: String::new() }
    }

    pub(crate) fn error(&self, reason: impl Into<String>) -> InvalidRequest {
        InvalidRequest::new(&*self.pointer, reason)
    }

    /// The member with this name; `None` if it is missing or null.
    pub(crate) fn get(&self, name: &str) -> Option<Self> {
        let value = self.value.get(name).filter(|value| !value.is_null())?;
        Some(Self { value, pointer: format!("{}/{name}", self.pointer) })
    }

    pub(crate) fn require(&self, name: &str) -> Read<Self> {
        if self.value.as_object().is_none() {
            return Err(self.error("must be an object"));
        }
        self.get(name)
            .ok_or_else(|| InvalidRequest::new(format!("{}/{name}", self.pointer), "must not be missing"))
    }

    pub(crate) fn text(&self) -> Read<Cow<'v, str>> {
        self.value.as_str().ok_or_else(|| self.error("must be a string"))
    }

    pub(crate) fn get_text(&self, name: &str) -> Read<Option<String>> {
        self.get(name).map(|member| member.text().map(Cow::into_owned)).transpose()
    }

    pub(crate) fn require_text(&self, name: &str) -> Read<String> {
        self.require(name)?.text().map(Cow::into_owned)
    }

    pub(crate) fn get_bool(&self, name: &str) -> Read<Option<bool>> {
        let of = |member: Self| member.value.as_bool().ok_or_else(|| member.error("must be true or false"));
        self.get(name).map(of).transpose()
    }

    pub(crate) fn get_f64(&self, name: &str) -> Read<Option<f64>> {
        let of = |member: Self| {
            let number = member.value.as_number().and_then(Number::as_f64);
            number.filter(|number| number.is_finite()).ok_or_else(|| member.error("must be a number"))
        };
        self.get(name).map(of).transpose()
    }

    pub(crate) fn get_u32(&self, name: &str) -> Read<Option<u32>> {
        let of = |member: Self| {
            let number = member.value.as_number().and_then(Number::as_u64);
            number
                .and_then(|number| number.try_into().ok())
                .ok_or_else(|| member.error("must be a whole number up to 4294967295"))
        };
        self.get(name).map(of).transpose()
    }

    pub(crate) fn elements(&self) -> Read<Vec<Self>> {
        let array = self.value.as_array().ok_or_else(|| self.error("must be an array"))?;
        Ok(self.of_array(array))
    }

    fn of_array(&self, array: Array<'v>) -> Vec<Self> {
        let at = |(index, value)| Self { value, pointer: format!("{}/{index}", self.pointer) };
        array.iter().enumerate().map(at).collect()
    }

    /// The elements of a member; none if it is missing.
    pub(crate) fn list(&self, name: &str) -> Read<Vec<Self>> {
        self.get(name).map_or(Ok(Vec::new()), |member| member.elements())
    }

    /// Its `type`; empty if it has none.
    pub(crate) fn kind(&self) -> Cow<'v, str> {
        self.value.get("type").and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn raw(&self) -> Raw {
        Raw::from(self.value)
    }

    pub(crate) fn content(&self) -> Read<Content<'v>> {
        match (self.value.as_str(), self.value.as_array()) {
            (Some(text), _) => Ok(Content::Text(text)),
            (None, Some(parts)) => {
                let parts = self.of_array(parts);
                match parts.iter().find(|part| part.value.get("type").and_then(Value::as_str).is_none()) {
                    Some(part) => Err(part.error("must be an object with a type")),
                    None => Ok(Content::Parts(parts)),
                }
            }
            (None, None) => Err(self.error("must be a string or a list of parts")),
        }
    }

    /// The text of a part; `None` if it is of another type.
    pub(crate) fn part_text(&self) -> Read<Option<String>> {
        match &*self.kind() {
            "refusal" => self.require_text("refusal").map(Some),
            kind if kind.ends_with("text") => self.require_text("text").map(Some),
            _ => Ok(None),
        }
    }

    /// The texts of the content, joined. Other parts are left out.
    pub(crate) fn texts(&self, separator: &str) -> Read<String> {
        match self.content()? {
            Content::Text(text) => Ok(text.into_owned()),
            Content::Parts(parts) => {
                let texts = parts.iter().filter_map(|part| part.part_text().transpose());
                Ok(texts.collect::<Read<Vec<_>>>()?.join(separator))
            }
        }
    }

    /// The parts of a user message in one of OpenAI's formats. Parts of an unknown type are left out.
    pub(crate) fn user_parts(&self) -> Read<Vec<UserPart>> {
        let parts = match self.content()? {
            Content::Text(text) => return Ok(vec![UserPart::Text(text.into_owned())]),
            Content::Parts(parts) => parts,
        };
        let part = |part: &Self| match part.part_text() {
            Ok(None) => Ok(UserPart::of_value(part.value)).transpose(),
            text => text.map(|text| text.map(UserPart::Text)).transpose(),
        };
        parts.iter().filter_map(part).collect()
    }

    /// A JSON Schema; any object if it is missing.
    pub(crate) fn schema(&self, name: &str) -> Read<Raw> {
        match self.get(name) {
            None => Ok(ToolDefinition::new("").parameters),
            Some(schema) if schema.value.as_object().is_some() => Ok(schema.raw()),
            Some(schema) => Err(schema.error("must be a JSON Schema, an object")),
        }
    }

    /// A tool of which this object has the members.
    pub(crate) fn tool(&self, schema: &str) -> Read<ToolDefinition> {
        let mut tool = ToolDefinition::new(self.require_text("name")?)
            .with_parameters(self.schema(schema)?)
            .with_strict(self.get_bool("strict")?.unwrap_or_default());
        tool.description = self.get_text("description")?;
        Ok(tool)
    }

    /// A schema for the response, in one of OpenAI's formats: not strict by default.
    pub(crate) fn json_format(&self) -> Read<JsonFormat> {
        let mut format = JsonFormat::new(self.require_text("name")?, self.schema("schema")?);
        format.strict = Some(self.get_bool("strict")?.unwrap_or_default());
        Ok(format)
    }

    /// The parts of the response that a gateway kept here, if it did.
    pub(crate) fn kept_parts(&self, name: &str) -> Read<Option<Vec<AssistantPart>>> {
        let Some(member) = self.get(name) else { return Ok(None) };
        let text = member.value.as_str().unwrap_or_default();
        let Some(parts) = KeptMessage::parts(&text) else { return Ok(None) };
        let parts =
            parts.map_err(|error| member.error(format!("does not hold the parts of a message: {error}")))?;
        let is_call = |part: &AssistantPart| match part {
            AssistantPart::ToolCall { call, .. } => call.parameters.as_str().starts_with('{'),
            AssistantPart::Text { .. } | AssistantPart::Reasoning { .. } => true,
        };
        if !parts.iter().all(is_call) {
            return Err(member.error("holds a tool call whose parameters are not an object"));
        }
        Ok(Some(parts))
    }
}

/// An image or a document in the result of a tool, which only some providers take there.
#[derive(Clone, Debug)]
pub(crate) struct ResultMedia {
    /// The index of the result among the messages.
    pub(crate) result: usize,
    pub(crate) pointer: String,
    pub(crate) part: UserPart,
}

/// A body as far as it is read.
pub(crate) struct Reading {
    pub(crate) request: ChatRequest,
    pub(crate) include_usage: bool,
    /// Pointers to members that the request has in another form, which is written in their place.
    pub(crate) replaced: HashSet<String>,
    /// Pointers to members that the request has, although a writer may omit them.
    pub(crate) understood: Vec<String>,
    /// Pointers to members that only this provider understands, although the request has them.
    pub(crate) foreign: Vec<String>,
    /// Pointers to the marks of tools' results that are errors.
    pub(crate) errors: Vec<String>,
    /// Messages that only this provider understands, in place of those of the request.
    pub(crate) substitutes: Vec<(usize, Message)>,
    /// Images and documents in the results of tools.
    pub(crate) media: Vec<ResultMedia>,
    /// Members of the body that are already known to be needed.
    pub(crate) placed: Vec<(String, serde_json::Value)>,
}

impl Reading {
    /// Reads the members that have the same names in all formats.
    pub(crate) fn of(body: &Member<'_>) -> Read<Self> {
        let mut request = ChatRequest::new(body.require_text("model")?);
        request.stream = body.get_bool("stream")?.unwrap_or_default();
        request.temperature = body.get_f64("temperature")?;
        request.top_p = body.get_f64("top_p")?;
        Ok(Self {
            request,
            include_usage: true,
            replaced: HashSet::from(["/stream".to_owned()]),
            understood: Vec::new(),
            foreign: Vec::new(),
            errors: Vec::new(),
            substitutes: Vec::new(),
            media: Vec::new(),
            placed: Vec::new(),
        })
    }

    /// A complete call. Arguments that are not an object are reported, and the call has none.
    pub(crate) fn call(&mut self, id: String, name: String, arguments: Option<Member<'_>>) -> ToolCall {
        let parameters = arguments.and_then(|arguments| {
            let object = match arguments.value.as_str() {
                Some(text) if text.trim().is_empty() => return None,
                Some(text) => Raw::new(&text).ok(),
                None => Some(arguments.raw()),
            };
            let object = object.filter(|object| object.as_str().starts_with('{'));
            if object.is_none() {
                self.foreign.push(arguments.pointer);
            }
            object
        });
        let parameters = parameters.unwrap_or_else(|| Raw::from(serde_json::json!({})));
        let mut call = ToolCall::new(name, parameters, CompletedBy::ItemStop);
        call.call_id = Some(id);
        call
    }

    /// Stop sequences: a text or a list of texts.
    pub(crate) fn stop(&mut self, stop: &Member<'_>) -> Read<()> {
        self.request.stop = match stop.value.as_str() {
            Some(text) => vec![text.into_owned()],
            None => {
                let texts = stop.elements()?;
                texts.iter().map(|text| text.text().map(Cow::into_owned)).collect::<Read<_>>()?
            }
        };
        Ok(())
    }

    /// Notes that the parts kept at `pointer` are in the request, in place of what the client sends of them, or that they cannot
    /// be.
    pub(crate) fn restore(&mut self, is_restored: bool, place: &str, pointer: &str) {
        if !is_restored {
            self.foreign.push(pointer.to_owned());
        }
        self.replace(if is_restored { place } else { pointer });
    }

    /// Notes the images and documents in the content of the result that was pushed last.
    pub(crate) fn take_media(
        &mut self,
        content: &Member<'_>,
        part: impl Fn(&Member<'_>) -> Read<Option<UserPart>>,
    ) -> Read<()> {
        let Content::Parts(parts) = content.content()? else { return Ok(()) };
        for member in parts {
            if let Some(part @ (UserPart::Image(_) | UserPart::Document { .. })) = part(&member)? {
                let result = self.request.messages.len() - 1;
                self.media.push(ResultMedia { result, pointer: member.pointer, part });
            }
        }
        Ok(())
    }

    pub(crate) fn understand(&mut self, pointer: &str) {
        self.understood.push(pointer.to_owned());
    }

    pub(crate) fn replace(&mut self, pointer: impl Into<String>) {
        self.replaced.insert(pointer.into());
    }
}
