//! A compiled template.

use std::sync::{Arc, LazyLock};

use minijinja::value::Kwargs;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, State, UndefinedBehavior, Value};
use serde::Serialize as _;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};

use crate::terms::Terms;

/// The name of the only template in an environment.
const NAME: &str = "template";

/// The environment shared by all templates.
static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    // Only debug mode keeps the names of undefined values.
    environment.set_debug(true);
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment.add_filter("tojson", to_json);
    environment.add_filter("json", to_json);
    environment
});

/// A compiled template. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Template(Arc<Environment<'static>>);

/// An error in a template or its terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The undefined term, if that is the error.
    pub(crate) term: Option<String>,
    /// The line and column (bytes) in the template, both counted from 1.
    pub(crate) position: Option<(usize, usize)>,
    pub(crate) reason: String,
}

impl Template {
    pub(crate) fn compile(source: &str) -> Result<Self, Fault> {
        let mut environment = ENVIRONMENT.clone();
        match environment.add_template_owned(NAME, source.to_owned()) {
            Ok(()) => Ok(Self(Arc::new(environment))),
            Err(error) => Err(Fault::new(source, &error)),
        }
    }

    pub(crate) fn render(&self, terms: &Terms) -> Result<String, Fault> {
        let template = match self.0.get_template(NAME) {
            Ok(template) => template,
            Err(error) => unreachable!("added when it was made: {error}"),
        };
        template.render(terms.value()).map_err(|error| Fault::new(template.source(), &error))
    }
}

impl Fault {
    fn new(source: &str, error: &Error) -> Self {
        let reason = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
        let term = match error.kind() {
            ErrorKind::UndefinedError => reason.split('`').nth(1).map(str::to_owned),
            _ => None,
        };
        let position = match error.range().and_then(|range| source.get(..range.start)) {
            Some(before) => Some(end_of(before)),
            None => error.line().map(|line| (line, 1)),
        };
        Self { term, position, reason }
    }
}

/// The position after a text: line and column (bytes), both counted from 1.
pub(crate) fn end_of(text: &str) -> (usize, usize) {
    let line_start = text.rfind('\n').map_or(0, |at| at + 1);
    (1 + text.matches('\n').count(), 1 + text.len() - line_start)
}

/// Prints a value as JSON, indented by this many spaces if given. Unlike the usual filter for web pages, it adds no
/// HTML escapes: the output is for a model.
#[expect(clippy::needless_pass_by_value, reason = "the signature that the engine requires")]
fn to_json(
    state: &mut State<'_, '_>,
    value: &Value,
    indent: Option<usize>,
    named: Kwargs,
) -> Result<String, Error> {
    if value.is_undefined() {
        // This filter rejects undefined values with an error that names the term.
        state.apply_filter("upper", std::slice::from_ref(value))?;
    }
    let indent = match indent {
        Some(indent) => Some(indent),
        None => named.get("indent")?,
    };
    named.assert_all_used()?;
    json(value, indent, CompactFormatter)
}

/// A value as JSON: indented by this many spaces, or on one line.
pub(crate) fn json(
    value: &Value,
    indent: Option<usize>,
    on_one_line: impl Formatter,
) -> Result<String, Error> {
    let mut json = Vec::new();
    let written = match indent {
        None => value.serialize(&mut Serializer::with_formatter(&mut json, on_one_line)),
        Some(width) => {
            let indent = " ".repeat(width.min(16));
            let formatter = PrettyFormatter::with_indent(indent.as_bytes());
            value.serialize(&mut Serializer::with_formatter(&mut json, formatter))
        }
    };
    let failed = |reason: String| Error::new(ErrorKind::BadSerialization, reason);
    written.map_err(|error| failed(error.to_string()))?;
    String::from_utf8(json).map_err(|error| failed(error.to_string()))
}
