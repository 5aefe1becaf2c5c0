//! Options of an extractor.

use std::sync::Arc;

use arrow_schema::Fields;
use tokenline_core::{CallFormat, Limits, Mode, Options, Release};
use tokenline_llm::Provider;
use tokenline_llm::batch::BatchFormat;
use tokenline_schema::{SchemaValidator, ToolSet};

use crate::ExtractError;

/// The format of the texts in the input column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// The text of a response.
    #[default]
    Text,
    /// A response in a provider's wire format: a whole body, or a recorded stream. Found out for each row.
    Provider(Provider),
    /// A line of a batch result file.
    Batch(BatchFormat),
}

impl Format {
    /// The name: `text`, or that of the provider or the batch format.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Provider(provider) => provider.as_str(),
            Self::Batch(format) => format.as_str(),
        }
    }

    /// Looks up a format by its name.
    ///
    /// ```
    /// use tokenline_arrow::Format;
    /// assert_eq!(Format::from_name("anthropic-batch").map(Format::as_str), Some("anthropic-batch"));
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|format| format.as_str() == name)
    }

    /// All formats.
    pub fn all() -> impl Iterator<Item = Self> {
        let providers = Provider::ALL.iter().copied().map(Self::Provider);
        let batches = BatchFormat::ALL.iter().copied().map(Self::Batch);
        std::iter::once(Self::Text).chain(providers).chain(batches)
    }
}

/// How records are written to the output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Columns {
    /// As their JSON text, on one line.
    #[default]
    Json,
    /// As typed columns, derived from the schema.
    Typed,
    /// As these columns, with or without a schema. Members that are not among them are left out. A record with a value
    /// that its column cannot hold exactly, or with none for a column that is not nullable, is rejected.
    ///
    /// ```
    /// use arrow_schema::{DataType, Field};
    /// use tokenline_arrow::Columns;
    ///
    /// let price = Field::new("price", DataType::Decimal128(10, 2), false);
    /// let columns = Columns::Fields([price, Field::new("day", DataType::Date32, true)].into_iter().collect());
    /// # let _ = columns;
    /// ```
    Fields(Fields),
}

/// Options of an [`Extractor`](crate::Extractor).
///
/// ```
/// use tokenline_arrow::{Columns, ExtractOptions};
///
/// let schema = r#"{"properties":{"entity":{"type":"string"}},"required":["entity"]}"#.parse()?;
/// let options = ExtractOptions::new().schema(schema).columns(Columns::Typed);
/// # let _ = options;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ExtractOptions {
    options: Options,
    items: Option<String>,
    schema: Option<SchemaValidator>,
    tools: Option<Arc<ToolSet>>,
    format: Format,
    call_format: Option<CallFormat>,
    columns: Columns,
    column_bytes: Option<usize>,
}

impl ExtractOptions {
    /// Text in lenient mode, without a schema, to JSON.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Rejects the records that break this schema.
    #[must_use]
    pub fn schema(self, schema: SchemaValidator) -> Self {
        Self { schema: Some(schema), ..self }
    }

    /// Reads tool calls instead of records, and rejects those that do not fit the definitions.
    #[must_use]
    pub fn tools(self, tools: impl Into<Arc<ToolSet>>) -> Self {
        Self { tools: Some(tools.into()), ..self }
    }

    /// Sets what the texts are; the default is [`Format::Text`].
    #[must_use]
    pub fn format(self, format: Format) -> Self {
        Self { format, ..self }
    }

    /// Sets the options of the parser, with the items and the limits among them. Partials and text are not emitted.
    #[must_use]
    pub fn options(self, options: Options) -> Self {
        Self { options: options.partials(false).text(false), ..self }
    }

    /// Sets how tolerant the parser is; the default is lenient.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.options.mode = mode;
        self
    }

    /// Reads the elements of the array at this JSON Pointer as the records.
    #[must_use]
    pub fn items(self, pointer: impl Into<String>) -> Self {
        Self { items: Some(pointer.into()), ..self }
    }

    /// Sets when a record is released.
    #[must_use]
    pub fn release(mut self, release: Release) -> Self {
        self.options.release = release;
        self
    }

    /// Sets the caps on the memory for one text.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.options.limits = limits;
        self
    }

    /// Reads tool calls in this format instead of records. With tools, the default is [`CallFormat::Auto`].
    #[must_use]
    pub fn call_format(self, format: CallFormat) -> Self {
        Self { call_format: Some(format), ..self }
    }

    /// Sets how records are written; the default is [`Columns::Json`].
    #[must_use]
    pub fn columns(self, columns: Columns) -> Self {
        Self { columns, ..self }
    }

    /// Sets the most bytes of text in one output column. The default, which is also the maximum, is 2 GiB less one
    /// byte: the offsets of the columns are 32 bits wide.
    #[must_use]
    pub fn column_bytes(self, limit: usize) -> Self {
        Self { column_bytes: Some(limit), ..self }
    }
}

/// The options, checked.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) options: Options,
    pub(crate) schema: Option<SchemaValidator>,
    pub(crate) tools: Option<Arc<ToolSet>>,
    pub(crate) format: Format,
    /// Whether texts are read as tool calls instead of records.
    pub(crate) wants_calls: bool,
    pub(crate) columns: Columns,
    pub(crate) column_bytes: usize,
}

impl Rules {
    pub(crate) fn new(given: ExtractOptions) -> Result<Self, ExtractError> {
        let ExtractOptions { mut options, items, schema, tools, format, call_format, columns, column_bytes } =
            given;
        let is_strict = options.mode == Mode::Strict;
        if is_strict && (items.is_some() || options.looks_for_items()) {
            return Err(ExtractError::NotInStrictMode { option: "items" });
        }
        if let Some(pointer) = items {
            options = options.items(&pointer).map_err(ExtractError::InvalidItems)?;
        }
        if is_strict && !call_format.as_ref().is_none_or(CallFormat::reads_plain_json) {
            return Err(ExtractError::NotInStrictMode { option: "call_format" });
        }
        let wants_calls = tools.is_some() || call_format.is_some();
        if wants_calls {
            options = options.calls(call_format.unwrap_or_default());
        }
        if columns == Columns::Typed && schema.is_none() {
            return Err(ExtractError::TypedWithoutSchema);
        }
        let most = i32::MAX as usize;
        let column_bytes = column_bytes.map_or(most, |limit| limit.min(most));
        Ok(Self { options, schema, tools, format, wants_calls, columns, column_bytes })
    }

    pub(crate) fn is_batch(&self) -> bool {
        matches!(self.format, Format::Batch(_))
    }

    /// Whether the output has a column for tool calls.
    pub(crate) fn has_calls(&self) -> bool {
        self.wants_calls || self.format != Format::Text
    }
}
