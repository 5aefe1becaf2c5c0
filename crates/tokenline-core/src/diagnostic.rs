//! Diagnostics: what is wrong with the input, where, and by which rule.

use std::fmt;

use serde::ser::{Serialize, SerializeMap, Serializer};

/// A range of the decoded text, in bytes from the start of the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u64,
    /// Offset after the last byte.
    pub end: u64,
}

impl Span {
    /// The span from `start` up to, not including, `end`.
    #[must_use]
    pub const fn new(start: u64, end: u64) -> Self {
        Self { start, end }
    }

    /// Length in bytes.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.end - self.start
    }

    /// Whether the span covers no byte.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.start == self.end
    }
}

/// The text that the positions of a [`Diagnostic`] refer to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Origin {
    /// The decoded text.
    #[default]
    Text,
    /// The arguments of a native tool call.
    Arguments,
    /// The bytes of the wire: server-sent events, or what else a provider streams.
    Wire,
}

impl Origin {
    /// The name used in reports: `text`, `arguments` or `wire`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Arguments => "arguments",
            Self::Wire => "wire",
        }
    }
}

/// The severity of a [`Diagnostic`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Severity {
    /// Worth knowing, but nothing was rejected: prose around a model's records.
    Info,
    /// Nothing was rejected, but something may be missing: a response that ended at its token limit.
    Warning,
    /// Something that looked like data was not delivered.
    Error,
}

impl Severity {
    /// The name used in reports: `info`, `warning` or `error`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Declares an enum of names that `tokenline explain` explains: for each variant a row with its name, its explanation and
/// an example. The rows of codes have a severity as well.
macro_rules! explained {
    ($(#[$meta:meta])* pub enum $Enum:ident;
        $($(#[$doc:meta])* $Variant:ident: $Severity:ident = $name:literal, $explanation:literal, $example:expr;)+) => {
        explained! {
            $(#[$meta])* pub enum $Enum;
            $($(#[$doc])* $Variant = $name, $explanation, $example;)+
        }

        impl $Enum {
            /// The severity of diagnostics of this code.
            #[must_use]
            pub const fn severity(self) -> Severity {
                match self { $(Self::$Variant => Severity::$Severity,)+ }
            }
        }
    };
    ($(#[$meta:meta])* pub enum $Enum:ident;
        $($(#[$doc:meta])* $Variant:ident = $name:literal, $explanation:literal, $example:expr;)+) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $Enum { $($(#[$doc])* $Variant,)+ }

        impl $Enum {
            /// All variants, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$Variant,)+];

            /// The stable name in events and reports, in snake case.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$Variant => $name,)+ }
            }

            /// The variant of this name, if there is one.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|variant| variant.as_str() == name)
            }

            /// The meaning of the name, and for a code what happens to the input, in a few sentences.
            #[must_use]
            pub const fn explanation(self) -> &'static str {
                match self { $(Self::$Variant => $explanation,)+ }
            }

            /// An input that leads to this variant.
            #[must_use]
            pub const fn example(self) -> Example {
                match self { $(Self::$Variant => $example,)+ }
            }
        }

        impl std::fmt::Display for $Enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub(crate) use explained;

/// An input that triggers a [`Code`], a [`Recovery`](crate::Recovery) or a [`CompletedBy`](crate::CompletedBy), with the
/// setup it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Example {
    /// A line of text, read in the default lenient mode.
    Text(&'static str),
    /// A line of text, checked against a JSON Schema.
    Schema {
        /// The schema.
        schema: &'static str,
        /// The line.
        text: &'static str,
    },
    /// A line of text, read as a tool call with these tools defined.
    Tools {
        /// The tool definitions, a JSON array.
        tools: &'static str,
        /// The line.
        text: &'static str,
    },
    /// A stream of OpenAI chat completion events, read for its tool calls.
    OpenAiChat(&'static str),
    /// A text, read with these options of the program's command `parse`.
    Options {
        /// The options, such as `--eager`.
        options: &'static str,
        /// The text.
        text: &'static str,
    },
    /// A description of an input that is too long to print.
    Described(&'static str),
}

pub(crate) const WEATHER_TOOL: &str = r#"[{"name":"weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}]"#;

explained! {
    /// The fault or the note that a [`Diagnostic`] reports. The names are stable.
    #[derive(PartialOrd, Ord)]
    pub enum Code;

    /// Text without a record.
    Prose: Info = "prose",
        "A line of text in which neither a record nor an attempt at one begins. Models write such \
         lines around their records, with LaTeX, links, templates and code in them. \
         It is information and never counts as a reject. If the calls of a text are known to be in \
         another format, such a line may hold an object. Brackets that are open at the end of the line and prove \
         not to be JSON, where no record was meant or in a code fence of another language, make one note of \
         several lines: objects in them are not records, unless they begin a line at or left of the first line's \
         column.",
        Example::Text("Here are the definitions:");
    /// A tool call in a text whose calls are not read.
    CallInText: Info = "call_in_text",
        "A text holds a tool call that is not taken: it is quoted, in inline code or in a block of code; the \
         tools were sent with the request, so that calls are native; or nothing shows that it was meant. It \
         stays text, and is information, not a reject. Where tools were sent, `--call-format auto` reads calls \
         in the text too, in the library `TextMode::ToolCalls`: for a server without a parser for its model. \
         The name of a format or of a model family instead of `auto` reads quoted calls as well.",
        Example::Tools {
            tools: WEATHER_TOOL,
            text: r#"Never run `<tool_call>{"name":"weather","arguments":{"city":"Paris"}}</tool_call>`, please."#,
        };
    /// Not JSON.
    MalformedJson: Error = "malformed_json",
        "A JSON value breaks the grammar of RFC 8259. Its line or lines are rejected; objects \
         inside it are not delivered in its place, and valid lines around it are not affected.",
        Example::Text(r#"{"a":NaN,"b":{"c":1}}"#);
    /// The input ended inside a value.
    Truncated: Error = "truncated",
        "The input ended inside a value. Records completed before it are delivered; the truncated \
         value is not completed by guessing.",
        Example::Text(r#"{"entity":"photosyn"#);
    /// JSON, but not an object.
    NotAnObject: Error = "not_an_object",
        "A value, or an element of an array of records, is valid JSON but not an object. Records \
         are objects.",
        Example::Text(r#"["a","b"]"#);
    /// More JSON after the object's closing brace.
    TrailingData: Error = "trailing_data",
        "After a balanced object the line goes on as if the object were still open. The object \
         is withheld, because a closing brace alone does not prove that it is complete.",
        Example::Text(r#"{"query":"x"},"limit":10}"#);
    /// More of a tool call that was already released.
    LateFragment: Error = "late_fragment",
        "A provider sent a fragment of a tool call after the call was released, because the next call \
         had begun. The response does not count as complete: the released call may not be what the model \
         wrote. `Release::AtFinish` holds parallel calls until the response ends.",
        Example::OpenAiChat(concat!(
            r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]}}]}"#,
            "\n\n",
            r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}]}}]}"#,
            "\n\n",
            r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":",1"}}]}}]}"#,
            "\n\n",
        ));
    /// An object names a member twice.
    DuplicateKey: Error = "duplicate_key",
        "An object has two members of the same name, and a schema or tool definitions are given. \
         Readers disagree on which of them counts, so one could bypass the check.",
        Example::Schema { schema: r#"{"type":"object"}"#, text: r#"{"role":"user","role":"admin"}"# };
    /// Bytes that are not UTF-8.
    InvalidUtf8: Error = "invalid_utf8",
        "The line holds bytes that are not UTF-8. It is rejected; the lines around it are not.",
        Example::Described("a line with a byte such as 0xFF in it: printf '{\"a\":\"\\377\"}\\n'");
    /// A line beyond the limit.
    LineTooLong: Error = "line_too_long",
        "The line is longer than the limit (8 MiB unless set otherwise). It was discarded as it \
         arrived, and decoding went on with the next line.",
        Example::Described("a line of more than 8 MiB without a newline");
    /// Nesting beyond the limit.
    TooDeep: Error = "too_deep",
        "Containers are nested deeper than the limit (127 unless set otherwise, as in serde_json).",
        Example::Described("128 opening brackets in a row");
    /// An open record beyond the limit.
    RecordTooLarge: Error = "record_too_large",
        "A record on several lines or in an array, or a server-sent event, is larger than the limit. It was discarded.",
        Example::Described("a server-sent event with more than 16 MiB of data");
    /// Breaks the schema or does not fit the type.
    SchemaViolation: Error = "schema_violation",
        "The record is JSON but breaks the schema, or does not fit the requested type. \
         The paths name the position in the record and the rule in the schema.",
        Example::Schema { schema: r#"{"properties":{"a":{"type":"string"}}}"#, text: r#"{"a":1}"# };
    /// A tool call without a name, or a value without the requested items.
    MissingField: Error = "missing_field",
        "A tool call has no `name`, or a name that is not a string; or a value has no array at the \
         pointer given for the items (`--items`).",
        Example::Tools { tools: WEATHER_TOOL, text: r#"{"parameters":{"city":"Paris"}}"# };
    /// A tool that is not defined.
    UnknownTool: Error = "unknown_tool",
        "A tool call names a tool that is not among the definitions.",
        Example::Tools { tools: WEATHER_TOOL, text: r#"{"name":"wether","parameters":{"city":"Paris"}}"# };
    /// Parameters missing or of the wrong kind.
    InvalidParameters: Error = "invalid_parameters",
        "A tool call's parameters are missing, are not an object, or break the tool's schema.",
        Example::Tools { tools: WEATHER_TOOL, text: r#"{"name":"weather","parameters":{"town":"Paris"}}"# };
    /// A balanced tool call without evidence that it is complete.
    Unsealed: Error = "unsealed",
        "A tool call is balanced, but the stream ended without evidence that the model had \
         finished it: at a token limit, in an error or without its terminator. It is withheld, because \
         its arguments may be truncated.",
        Example::OpenAiChat(concat!(
            r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"weather","arguments":"{}"}}]}}]}"#, "\n\n",
            r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#, "\n\n",
        ));
    /// The provider sent an error.
    ProviderError: Error = "provider_error",
        "The provider sent an error inside the stream. Records and calls completed before it are delivered.",
        Example::OpenAiChat(concat!(r#"data: {"error":{"message":"overloaded"}}"#, "\n\n"));
    /// The stream closed without its terminator.
    StreamIncomplete: Error = "stream_incomplete",
        "The connection closed without an error, but without the provider's end-of-stream marker. \
         The response may be truncated anywhere.",
        Example::OpenAiChat(concat!(r#"data: {"choices":[{"index":0,"delta":{"content":"{\"a\":1}"}}]}"#, "\n\n"));
    /// Lines among server-sent events that are not part of the protocol.
    StrayLines: Warning = "stray_lines",
        "Lines among the server-sent events are not part of the protocol: HTML, plain text, a field with another \
         spelling. They were skipped, so a part of the response may be missing. The place is that of the first. \
         An error object on such lines is a `provider_error`.",
        Example::OpenAiChat(concat!(
            "DATA: {\"choices\":[]}\n\n",
            r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#, "\n\n",
        ));
    /// A response that ended to call tools, without a call.
    CallsMissing: Warning = "calls_missing",
        "The provider says that the model ended its turn to call tools, and the response has no call: it was lost \
         on the way, or the model stopped before it wrote one. Asking again often helps.",
        Example::OpenAiChat(concat!(
            r#"data: {"choices":[{"index":0,"delta":{"content":"I check."},"finish_reason":"tool_calls"}]}"#, "\n\n",
        ));
    /// A response that a filter ended.
    ContentFilter: Warning = "content_filter",
        "A content filter of the provider ended the response. What was delivered before it stays, and the rest of \
         the response does not exist.",
        Example::OpenAiChat(concat!(
            r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}"#, "\n\n",
        ));
    /// A response in which the model refuses.
    Refused: Warning = "refused",
        "The model refused to answer. Its reason, if it gave one, is in the events as `refusal`.",
        Example::OpenAiChat(concat!(
            r#"data: {"choices":[{"index":0,"delta":{"refusal":"I cannot help with that."},"finish_reason":"stop"}]}"#,
            "\n\n",
        ));
    /// A response that ended at its token limit, between two records.
    TokenLimit: Warning = "token_limit",
        "The response ended at its token limit. Nothing was open, so nothing is truncated; but the model had more to \
         write. A larger limit, or a continuation, gives the rest.",
        Example::OpenAiChat(concat!(
            r#"data: {"choices":[{"index":0,"delta":{"content":"{\"n\":1}\n"},"finish_reason":"length"}]}"#, "\n\n",
        ));
    /// The model repeats itself.
    Repetition: Warning = "repetition",
        "The model repeats itself. The server ended the response for that reason, or `--stop-on-repetition` did and \
         closed the connection. What was complete is delivered.",
        Example::OpenAiChat(concat!(
            r#"data: {"choices":[{"index":0,"delta":{"content":"No, no, no, no."},"finish_reason":"repetition"}]}"#,
            "\n\n",
        ));
}

impl Code {
    /// Whether diagnostics of this code are notes: nothing was rejected.
    #[must_use]
    pub const fn is_note(self) -> bool {
        !matches!(self.severity(), Severity::Error)
    }
}

/// The message of notes on text.
pub(crate) const NO_RECORD: &str = "text without a record";

/// A diagnostic, with its position.
///
/// Private by design: messages name positions, kinds and rules, never values of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The fault or the note.
    pub code: Code,
    /// The text that the line, the span and the column refer to.
    pub origin: Origin,
    /// The line, counted from 1.
    pub line: u64,
    /// The bytes concerned, from the start of the origin.
    pub span: Span,
    /// The column of the fault: bytes from the line's start, from 1.
    pub column: u64,
    /// JSON Pointer into the record, if the diagnostic is about a value inside it.
    pub instance_path: Option<String>,
    /// JSON Pointer into the schema, if a rule of the schema was broken.
    pub schema_path: Option<String>,
    /// One sentence for the user.
    pub message: String,
    /// Boxed: few have any, and events of a decoder are as large as this.
    pub(crate) more: Option<Box<More>>,
}

/// The members that few diagnostics have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct More {
    further: Vec<Diagnostic>,
    attempts: Vec<String>,
    error_code: Option<Box<str>>,
}

impl Diagnostic {
    /// A diagnostic without paths.
    #[must_use]
    pub fn new(code: Code, line: u64, span: Span, column: u64, message: impl Into<String>) -> Self {
        let (instance_path, schema_path) = (None, None);
        Self {
            code,
            origin: Origin::Text,
            line,
            span,
            column,
            instance_path,
            schema_path,
            message: message.into(),
            more: None,
        }
    }

    /// The same with the other rules that the same record or call breaks.
    #[must_use]
    pub fn with_further(mut self, further: Vec<Self>) -> Self {
        if !further.is_empty() || self.more.is_some() {
            self.more.get_or_insert_default().further = further;
        }
        self
    }

    /// The same with the provider's own code of the error.
    #[must_use]
    pub fn with_error_code(mut self, code: Option<impl Into<Box<str>>>) -> Self {
        if let Some(code) = code {
            self.more.get_or_insert_default().error_code = Some(code.into());
        }
        self
    }

    /// The provider's own code of the error, such as `overloaded_error`; only for [`Code::ProviderError`].
    #[must_use]
    pub fn error_code(&self) -> Option<&str> {
        self.more.as_ref()?.error_code.as_deref()
    }

    /// The same with the outcome of each further request in which the model was asked again.
    #[must_use]
    pub fn with_attempts(mut self, attempts: Vec<String>) -> Self {
        if !attempts.is_empty() || self.more.is_some() {
            self.more.get_or_insert_default().attempts = attempts;
        }
        self
    }

    /// The outcome of each further request, if the model was asked again: the reason for the new reject. The last may say why
    /// there was no other request.
    #[must_use]
    pub fn attempts(&self) -> &[String] {
        self.more.as_deref().map_or(&[], |more| &more.attempts)
    }

    /// The other rules that the same record or call breaks, if its [validator](crate::Validate) looks for all. They do
    /// not count as rejects.
    #[must_use]
    pub fn further(&self) -> &[Self] {
        self.more.as_deref().map_or(&[], |more| &more.further)
    }

    /// The reason, worded for a model that is asked again: each rule that was broken, with its place in the record or the
    /// call. At most [20](ForModel::MAX_FAULTS) of them. It quotes no values, except those that a schema or a rule of your own
    /// names.
    ///
    /// ```
    /// use tokenline_core::{Code, Diagnostic, Span};
    ///
    /// let fault = |path: &str, message: &str| {
    ///     let mut fault = Diagnostic::new(Code::SchemaViolation, 1, Span::default(), 1, message);
    ///     fault.instance_path = Some(path.to_owned());
    ///     fault
    /// };
    /// let one = fault("/net", "expected type number, found a string");
    /// assert_eq!(one.for_model().to_string(), "expected type number, found a string (at /net)");
    /// let both = one.with_further(vec![fault("", "missing required member `tax`")]);
    /// assert_eq!(
    ///     both.for_model().to_string(),
    ///     "2 faults:\n- /net: expected type number, found a string\n- missing required member `tax`",
    /// );
    /// ```
    #[must_use]
    pub fn for_model(&self) -> ForModel<'_> {
        ForModel(self)
    }

    /// Its message, and those of the further ones.
    pub fn messages_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let further = self.more.as_deref_mut().into_iter().flat_map(|more| &mut more.further);
        [&mut self.message].into_iter().chain(further.map(|diagnostic| &mut diagnostic.message))
    }

    /// The note on text without a record.
    pub(crate) fn prose(line: u64, column: u64, span: Span) -> Self {
        Self::new(Code::Prose, line, span, column, NO_RECORD)
    }

    /// The same diagnostic with another origin.
    #[must_use]
    pub fn with_origin(self, origin: Origin) -> Self {
        Self { origin, ..self }
    }

    /// Its severity.
    #[must_use]
    pub const fn severity(&self) -> Severity {
        self.code.severity()
    }
}

/// `2:7: code: message (at /path)`, and its [attempts](Diagnostic::attempts); with `{:#}`, without the position.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            write!(f, "{}:{}", self.line, self.column)?;
            match self.origin {
                Origin::Text => {}
                origin => write!(f, " of the {}", origin.as_str())?,
            }
            f.write_str(": ")?;
        }
        write!(f, "{}: {}", self.code, self.message)?;
        if let Some(path) = self.instance_path.as_deref().filter(|path| !path.is_empty()) {
            write!(f, " (at {path})")?;
        }
        match self.attempts() {
            [] => Ok(()),
            attempts => write!(f, "; asked again: {}", attempts.join("; ")),
        }
    }
}

impl std::error::Error for Diagnostic {}

impl Serialize for Diagnostic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("code", self.code.as_str())?;
        if self.origin != Origin::Text {
            map.serialize_entry("origin", self.origin.as_str())?;
        }
        map.serialize_entry("line", &self.line)?;
        map.serialize_entry("start", &self.span.start)?;
        map.serialize_entry("end", &self.span.end)?;
        map.serialize_entry("column", &self.column)?;
        if let Some(path) = &self.instance_path {
            map.serialize_entry("instance_path", path)?;
        }
        if let Some(path) = &self.schema_path {
            map.serialize_entry("schema_path", path)?;
        }
        map.serialize_entry("message", &self.message)?;
        if !self.further().is_empty() {
            let further: Vec<_> = self.further().iter().map(Further).collect();
            map.serialize_entry("further", &further)?;
        }
        if !self.attempts().is_empty() {
            map.serialize_entry("attempts", self.attempts())?;
        }
        map.end()
    }
}

/// Displays a [`Diagnostic`] for a model; see [`Diagnostic::for_model`].
#[derive(Clone, Copy, Debug)]
pub struct ForModel<'a>(&'a Diagnostic);

impl ForModel<'_> {
    /// The most faults that are listed.
    pub const MAX_FAULTS: usize = 20;
}

/// The message without the name of the call that it begins with. The model sees the call itself.
fn words(fault: &Diagnostic) -> &str {
    let of_call = fault.message.split_once(": ").filter(|(call, _)| call.starts_with("call "));
    match of_call {
        Some((_, words)) if fault.origin == Origin::Arguments => words,
        _ => &fault.message,
    }
}

impl fmt::Display for ForModel<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(first) = *self;
        let path = |fault: &'_ Diagnostic| fault.instance_path.clone().filter(|path| !path.is_empty());
        if first.further().is_empty() {
            f.write_str(words(first))?;
            return path(first).map_or(Ok(()), |path| write!(f, " (at {path})"));
        }
        let count = 1 + first.further().len();
        write!(f, "{count} faults:")?;
        for fault in [first].into_iter().chain(first.further()).take(Self::MAX_FAULTS) {
            f.write_str("\n- ")?;
            if let Some(path) = path(fault) {
                write!(f, "{path}: ")?;
            }
            f.write_str(words(fault))?;
        }
        match count.saturating_sub(Self::MAX_FAULTS) {
            0 => Ok(()),
            more => write!(f, "\n- and {more} more"),
        }
    }
}

/// Another rule that the same record breaks: without the members that are those of the first.
struct Further<'a>(&'a Diagnostic);

impl Serialize for Further<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Diagnostic { code, line, column, instance_path, schema_path, message, .. } = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("code", code.as_str())?;
        map.serialize_entry("line", line)?;
        map.serialize_entry("column", column)?;
        if let Some(path) = instance_path {
            map.serialize_entry("instance_path", path)?;
        }
        if let Some(path) = schema_path {
            map.serialize_entry("schema_path", path)?;
        }
        map.serialize_entry("message", message)?;
        map.end()
    }
}
