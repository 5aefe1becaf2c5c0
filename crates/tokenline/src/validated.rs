//! Validation of records against the JSON Schema of their type.

use futures_core::TryStream;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use tokenline_codec::{JsonlCodec, JsonlStreamParser, Partials};
use tokenline_core::partial::Partial;
#[cfg(feature = "llm")]
use tokenline_llm::ResponseParser;
#[cfg(feature = "client")]
use tokenline_llm::client::{ContinuedRequest, Extraction, StreamRequest};
use tokenline_schema::{SchemaError, SchemaValidator};

/// Validates the records of a stream, codec or response against the JSON Schema of their type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be validated against the schema of its type",
    note = "the records need a type that implements `JsonSchema`; for a request, call `validated` before `send`"
)]
pub trait Validated: Sized {
    /// Rejects records that break the schema derived from their type, with the position and the rule, before they are
    /// deserialized.
    ///
    /// ```
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    /// use tokenline::{JsonlStreamParser, Validated};
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Definition {
    ///     #[schemars(length(min = 1))]
    ///     entity: String,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let body = futures_util::stream::iter(["{\"entity\":\"DNA\"}\n{\"ent", "ity\":\"\"}\n"].map(Ok::<_, std::io::Error>));
    /// let mut records = JsonlStreamParser::<_, Definition>::new(body).validated()?.records();
    /// while let Some(record) = records.next().await {
    ///     println!("{}, {} rejected so far", record?.value.entity, records.report().rejected());
    /// }
    /// let rejected = &records.report().diagnostics()[0];
    /// assert_eq!((rejected.line, rejected.instance_path.as_deref()), (2, Some("/entity")));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If the type's schema is invalid.
    fn validated(self) -> Result<Self, SchemaError>;
}

impl<S: TryStream, T: JsonSchema> Validated for JsonlStreamParser<S, T> {
    fn validated(self) -> Result<Self, SchemaError> {
        Ok(self.with_validator(SchemaValidator::for_type::<T>()?))
    }
}

impl<T: JsonSchema> Validated for JsonlCodec<T> {
    fn validated(self) -> Result<Self, SchemaError> {
        Ok(self.with_validator(SchemaValidator::for_type::<T>()?))
    }
}

/// Complete records only: a partial is not held against the schema.
impl<S: TryStream<Ok: AsRef<[u8]>>, T: Partial + DeserializeOwned + JsonSchema> Validated for Partials<S, T> {
    fn validated(self) -> Result<Self, SchemaError> {
        Ok(self.with_validator(SchemaValidator::for_type::<T>()?))
    }
}

#[cfg(feature = "client")]
impl<T: JsonSchema> Validated for StreamRequest<T> {
    fn validated(self) -> Result<Self, SchemaError> {
        let validator = SchemaValidator::for_type::<T>()?;
        Ok(self.with_options(|options| options.validator(validator)))
    }
}

/// Collects up to 20 violations of a record, because a further request lists all of them.
#[cfg(feature = "client")]
impl<T: JsonSchema> Validated for Extraction<T> {
    fn validated(self) -> Result<Self, SchemaError> {
        let validator = SchemaValidator::for_type::<T>()?.all_violations(20);
        Ok(self.with_options(|options| options.validator(validator)))
    }
}

#[cfg(feature = "client")]
impl<T: JsonSchema> Validated for ContinuedRequest<T> {
    fn validated(self) -> Result<Self, SchemaError> {
        Ok(self.with_validator(SchemaValidator::for_type::<T>()?))
    }
}

#[cfg(feature = "llm")]
impl<T: JsonSchema> Validated for ResponseParser<T> {
    fn validated(self) -> Result<Self, SchemaError> {
        let validator = SchemaValidator::for_type::<T>()?;
        Ok(self.with_options(|options| options.validator(validator)))
    }
}
