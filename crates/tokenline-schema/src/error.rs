//! Errors of schemas and tool definitions.

use std::fmt;

use tokenline_core::json::SyntaxError;

use crate::text::debug;

/// The kind of fault in a schema or a set of tool definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaErrorKind {
    /// The text is not JSON: `{"type":`.
    Syntax,
    /// The schema breaks the rules for schemas: `{"type":"strin"}`.
    Invalid,
    /// A reference leads nowhere, or out of the schema. The latter are never followed:
    /// `{"$ref":"https://example.com/a.json"}`.
    Reference,
    /// A regular expression is malformed, not supported or too large, or all together are: `{"pattern":"("}`.
    Pattern,
    /// A [keyword](SchemaError::keyword) needs the feature `jsonschema`, which is off: `{"unevaluatedProperties":false}`.
    Unsupported,
    /// `$schema` is not a draft from 4 to 2020-12: `{"$schema":"https://example.com/mine"}`.
    Draft,
    /// References and combinators multiply, so that one value could be validated on more than
    /// [`SchemaOptions::max_paths`](crate::SchemaOptions::max_paths) paths: thirty `anyOf` of two references
    /// each, every one to the next. Or the pointers of the schema's parts take too much memory, because a
    /// long name has many parts below it.
    Cost,
    /// A tool definition is malformed, or two have the same name: `[{"parameters":{}}]`.
    Tool,
}

/// The reason why a schema or a tool definition cannot be used, and where, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    kind: SchemaErrorKind,
    reason: String,
    path: String,
    keyword: Option<String>,
    tool: Option<String>,
    position: Option<(usize, usize)>,
    source: Option<SyntaxError>,
}

impl SchemaError {
    pub(crate) fn new(kind: SchemaErrorKind, path: impl Into<String>, reason: impl Into<String>) -> Self {
        let path = path.into();
        // One line, whatever the schema contains.
        let reason = reason.into().split(['\n', '\r']).collect::<Vec<_>>().join(" ");
        Self(Box::new(Inner { kind, reason, path, keyword: None, tool: None, position: None, source: None }))
    }

    /// For a keyword that needs the feature `jsonschema`.
    #[cfg(not(feature = "jsonschema"))]
    pub(crate) fn unsupported(keyword: &str, path: impl Into<String>) -> Self {
        let reason = format!("the keyword {} needs the feature `jsonschema`", crate::text::quoted(keyword));
        let mut error = Self::new(SchemaErrorKind::Unsupported, path, reason);
        error.0.keyword = Some(keyword.to_owned());
        error
    }

    pub(crate) fn in_tool(mut self, name: &str) -> Self {
        self.0.tool = Some(name.to_owned());
        self
    }

    pub(crate) fn at(mut self, line: usize, column: usize) -> Self {
        self.0.position = Some((line, column));
        self
    }

    /// The kind of fault.
    #[must_use]
    pub fn kind(&self) -> SchemaErrorKind {
        self.0.kind
    }

    /// JSON Pointer to the fault, from the schema's root; in a tool definition, from the root of its
    /// parameters' schema.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// The keyword that is [unsupported](SchemaErrorKind::Unsupported). Its place is the [path](Self::path).
    #[must_use]
    pub fn keyword(&self) -> Option<&str> {
        self.0.keyword.as_deref()
    }

    /// The name of the tool with the faulty definition.
    #[must_use]
    pub fn tool(&self) -> Option<&str> {
        self.0.tool.as_deref()
    }

    /// The line and column (in bytes) of the fault, both from 1, if the schema was read from text.
    #[must_use]
    pub fn position(&self) -> Option<(usize, usize)> {
        self.0.position
    }
}

impl From<SyntaxError> for SchemaError {
    fn from(error: SyntaxError) -> Self {
        let mut own =
            Self::new(SchemaErrorKind::Syntax, "", error.description()).at(error.line, error.column);
        own.0.source = Some(error);
        own
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { reason, path, tool, position, .. } = &*self.0;
        if let Some(tool) = tool {
            write!(f, "tool {}: ", debug(tool))?;
        }
        if !path.is_empty() {
            write!(f, "{path}: ")?;
        }
        f.write_str(reason)?;
        if let Some((line, column)) = position {
            write!(f, " at line {line} column {column}")?;
        }
        Ok(())
    }
}

impl std::error::Error for SchemaError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| source as _)
    }
}
