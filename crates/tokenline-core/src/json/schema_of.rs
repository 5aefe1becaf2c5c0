//! JSON Schemas from Rust types.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::transform::transform_subschemas;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::Raw;

impl Raw {
    /// The JSON Schema (draft 2020-12) of a type as it is deserialized, for a model to read: members in the
    /// order of the type, other types where they are used (recursive ones in `$defs`), without `$schema` and
    /// `title`.
    ///
    /// ```
    /// use schemars::JsonSchema;
    /// use tokenline_core::json::Raw;
    ///
    /// #[derive(JsonSchema)]
    /// struct Answer {
    ///     /// Step by step.
    ///     reasoning: String,
    ///     is_true: bool,
    /// }
    ///
    /// assert_eq!(
    ///     Raw::schema_of::<Answer>(),
    ///     r#"{"type":"object","properties":{"reasoning":{"type":"string","description":"Step by step."},"is_true":{"type":"boolean"}},"required":["reasoning","is_true"]}"#
    /// );
    /// ```
    #[must_use]
    pub fn schema_of<T: JsonSchema>() -> Self {
        Self::from(schema_of::<T>())
    }
}

pub(crate) fn schema_of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.with_transform(without_title).into_generator().into_root_schema_for::<T>()
}

/// Removes the title, which is only the name of the Rust type.
fn without_title(schema: &mut Schema) {
    schema.remove("title");
    transform_subschemas(&mut without_title, schema);
}

/// Any value.
impl JsonSchema for Raw {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "AnyValue".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        true.into()
    }
}

impl From<Schema> for Raw {
    fn from(schema: Schema) -> Self {
        Self::from(schema.to_value())
    }
}

impl From<&Schema> for Raw {
    fn from(schema: &Schema) -> Self {
        Self::from(schema.as_value().clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema counts")]
    struct Call {
        parameters: Raw,
        result: Option<Raw>,
    }

    #[test]
    fn a_raw_value_may_be_any() {
        assert_eq!(Raw::schema_of::<Raw>(), "{}");
        let schema =
            r#"{"type":"object","properties":{"parameters":true,"result":true},"required":["parameters"]}"#;
        assert_eq!(Raw::schema_of::<Call>(), schema);
    }
}
