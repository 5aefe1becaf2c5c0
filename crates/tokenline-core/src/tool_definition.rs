//! Tool definitions: the name, description and parameters of a tool, as sent to a model.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::json::Raw;

/// A tool that a model may call.
///
/// Read from `{"name", "description"?, "parameters"?, "strict"?}` and the forms of providers: OpenAI's
/// `{"type":"function","function":{...}}`, the same with all members side by side, and `input_schema`,
/// `inputSchema` or `parametersJsonSchema` for `parameters`. Written in the first of these forms.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDefinition {
    /// Its name.
    pub name: String,
    /// Its purpose, for the model to read.
    pub description: Option<String>,
    /// JSON Schema of its parameters, an object, as written: models fill in parameters in the order of the
    /// schema. Without one, any object is accepted.
    pub parameters: Raw,
    /// Whether to ask for the provider's strict mode, in which the model cannot break the schema. If the
    /// provider has none, or its strict mode cannot express the schema, the tool is sent without it.
    pub strict: bool,
}

impl ToolDefinition {
    /// A tool without a description whose parameters may be any object.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), description: None, parameters: any_object(), strict: false }
    }

    /// Sets the description.
    #[must_use]
    pub fn with_description(self, description: impl Into<String>) -> Self {
        Self { description: Some(description.into()), ..self }
    }

    /// Sets the JSON Schema of the parameters: a [`Raw`], or a `serde_json::Value`, which may not preserve
    /// the order of members.
    #[must_use]
    pub fn with_parameters(self, parameters: impl Into<Raw>) -> Self {
        Self { parameters: parameters.into(), ..self }
    }

    /// Turns the provider's [strict mode](Self::strict) on or off.
    #[must_use]
    pub fn with_strict(self, strict: bool) -> Self {
        Self { strict, ..self }
    }
}

#[cfg(feature = "schemars")]
impl ToolDefinition {
    /// A tool whose parameters are the fields of a type, by its [schema](Raw::schema_of), in the provider's
    /// [strict mode](Self::strict). The type must be a struct with named fields, because parameters are an
    /// object.
    ///
    /// ```
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    /// use tokenline_core::ToolDefinition;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Weather {
    ///     city: String,
    ///     /// How far ahead.
    ///     days: Option<u8>,
    /// }
    ///
    /// let tool = ToolDefinition::of::<Weather>("weather", "The weather of a city.");
    /// let schema = tool.parameters.to_value()?;
    /// assert_eq!(schema["properties"]["days"]["description"], "How far ahead.");
    /// assert_eq!(schema["required"], serde_json::json!(["city"]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn of<Args: schemars::JsonSchema>(name: impl Into<String>, description: impl Into<String>) -> Self {
        let mut schema = crate::json::schema_of::<Args>();
        schema.remove("description");
        Self::new(name).with_description(description).with_parameters(schema).with_strict(true)
    }
}

fn any_object() -> Raw {
    Raw::from(serde_json::json!({"type": "object"}))
}

impl Serialize for ToolDefinition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.name)?;
        if let Some(description) = &self.description {
            map.serialize_entry("description", description)?;
        }
        map.serialize_entry("parameters", &self.parameters)?;
        if self.strict {
            map.serialize_entry("strict", &true)?;
        }
        map.end()
    }
}

/// The members of all forms. Written out, because a derive would make every user of the core compile serde's
/// macros.
#[derive(Default)]
struct Form {
    kind: Option<String>,
    function: Option<Box<Form>>,
    name: Option<String>,
    description: Option<String>,
    parameters: Option<Raw>,
    strict: Option<bool>,
}

impl<'de> Deserialize<'de> for Form {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FormVisitor)
    }
}

struct FormVisitor;

impl<'de> Visitor<'de> for FormVisitor {
    type Value = Form;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tool definition")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Form, A::Error> {
        const NAMES: [&str; 6] = ["type", "function", "name", "description", "parameters", "strict"];
        let mut form = Form::default();
        let mut seen = [false; NAMES.len()];
        while let Some(name) = members.next_key::<String>()? {
            let name = match name.as_str() {
                "input_schema" | "inputSchema" | "parametersJsonSchema" => "parameters",
                name => name,
            };
            let Some(at) = NAMES.iter().position(|known| *known == name) else {
                members.next_value::<IgnoredAny>()?;
                continue;
            };
            if std::mem::replace(&mut seen[at], true) {
                return Err(A::Error::duplicate_field(NAMES[at]));
            }
            match NAMES[at] {
                "type" => form.kind = members.next_value()?,
                "function" => form.function = members.next_value()?,
                "name" => form.name = members.next_value()?,
                "description" => form.description = members.next_value()?,
                "strict" => form.strict = members.next_value()?,
                _ => form.parameters = members.next_value()?,
            }
        }
        Ok(form)
    }
}

impl<'de> Deserialize<'de> for ToolDefinition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = Form::deserialize(deserializer)?;
        // Providers run their own tools, such as a web search; these have no parameters here.
        if form.kind.as_deref().is_some_and(|kind| kind != "function" && kind != "custom") {
            return Err(D::Error::custom("`type` of a tool must be `function`"));
        }
        let Form { name, description, parameters, strict, .. } = match form.function {
            Some(function) => *function,
            None => form,
        };
        let name = name.ok_or_else(|| D::Error::missing_field("name"))?;
        let parameters = parameters.unwrap_or_else(any_object);
        Ok(Self { name, description, parameters, strict: strict.unwrap_or_default() })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::json::Parser;

    fn read(text: &str) -> Result<ToolDefinition, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn every_form_reads_alike() {
        let schema = json!({"type": "object", "required": ["city"]});
        let expected =
            ToolDefinition::new("weather").with_description("of a city").with_parameters(schema.clone());
        for form in [
            json!({"name": "weather", "description": "of a city", "parameters": schema}),
            json!({"name": "weather", "description": "of a city", "input_schema": schema}),
            json!({"type": "function", "name": "weather", "description": "of a city", "parameters": schema, "strict": false}),
            json!({"type": "function", "function": {"name": "weather", "description": "of a city", "parameters": schema}}),
        ] {
            assert_eq!(read(&form.to_string()).unwrap(), expected, "{form}");
        }
        assert_eq!(read(&serde_json::to_string(&expected).unwrap()).unwrap(), expected);
        let strict = expected.with_strict(true);
        assert_eq!(read(&serde_json::to_string(&strict).unwrap()).unwrap(), strict);
    }

    #[test]
    fn the_order_of_a_schema_is_kept() {
        let schema = r#"{"type":"object","properties":{"reason":{},"answer":{}}}"#;
        let text = format!(r#"{{"name":"a","input_schema":{schema}}}"#);
        let mut parser = Parser::new();
        let definition: ToolDefinition = parser.parse(&text).unwrap().deserialize().unwrap();
        assert_eq!(definition.parameters, schema);
    }

    #[test]
    fn without_parameters_any_object_is_accepted() {
        for text in
            [r#"{"name":"now"}"#, r#"{"name":"now","parameters":null}"#, r#"{"function":{"name":"now"}}"#]
        {
            assert_eq!(read(text).unwrap(), ToolDefinition::new("now"), "{text}");
        }
    }

    #[test]
    fn invalid_definitions_are_rejected() {
        for (text, reason) in [
            ("{}", "missing field `name`"),
            (r#"{"type":"function","function":{}}"#, "missing field `name`"),
            (r#"{"type":"web_search"}"#, "`type` of a tool must be `function`"),
            (r#"{"name":1}"#, "invalid type: integer `1`, expected a string"),
            ("[]", "invalid type: sequence, expected a tool definition"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(reason), "{text}: {error}");
        }
    }
}
