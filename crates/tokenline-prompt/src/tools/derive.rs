//! Tools from Rust types.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use tokenline_core::ToolDefinition;
use tokenline_core::json::Raw;

/// The tool whose parameters are the members of a type, by its `JsonSchema`.
///
/// Its name is the type's, or what `#[schemars(rename = "...")]` says; its description is the type's
/// documentation. The parameters are the schema of the type as it is deserialized: types within stand where
/// they are used, but for recursive ones, which stay in `$defs`. Members are in the order of the alphabet,
/// unless `schemars/preserve_order` is on.
///
/// Parameters are an object, so the type is a struct with named members;
/// [`ToolSet::new`](tokenline_schema::ToolSet::new) refuses others.
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use tokenline_prompt::tools::tool_for_type;
///
/// /// The weather of a city.
/// #[derive(Deserialize, JsonSchema)]
/// #[schemars(rename = "weather")]
/// struct Weather {
///     city: String,
///     /// How far ahead.
///     days: Option<u8>,
/// }
///
/// let tool = tool_for_type::<Weather>();
/// assert_eq!((tool.name.as_str(), tool.description.as_deref()), ("weather", Some("The weather of a city.")));
/// let schema = tool.parameters.to_value()?;
/// assert_eq!(schema["properties"]["city"]["type"], "string");
/// assert_eq!(schema["properties"]["days"]["description"], "How far ahead.");
/// assert_eq!(schema["required"], serde_json::json!(["city"]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn tool_for_type<T: JsonSchema>() -> ToolDefinition {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    let name = T::schema_name().into_owned();
    // They are said of the tool.
    let description = schema.remove("description").and_then(|text| text.as_str().map(str::to_owned));
    if schema.get("title").is_some_and(|title| *title == *name) {
        schema.remove("title");
    }
    let tool = ToolDefinition::new(name).with_parameters(Raw::from(schema.to_value()));
    match description {
        Some(description) => tool.with_description(description),
        None => tool,
    }
}
