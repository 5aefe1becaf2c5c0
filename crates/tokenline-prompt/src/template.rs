//! A compiled template.

mod limits;
mod shared_values;

use std::sync::{Arc, LazyLock};

use minijinja::value::Kwargs;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, State, UndefinedBehavior, Value};
use serde::Serialize as _;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};

use crate::terms::Terms;
use limits::{Limited, Shallow};

/// The name of the only template in an environment.
const NAME: &str = "template";

/// The environment shared by all templates.
static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    // Only debug mode keeps the names of undefined values.
    environment.set_debug(true);
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    environment.set_fuel(Some(limits::MAX_STEPS));
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    shared_values::guard(&mut environment);
    environment.set_formatter(|out, state, value| {
        limits::check_depth(state, value)?;
        minijinja::escape_formatter(out, state, value)
    });
    environment.add_filter("string", string);
    environment.add_filter("pprint", pprint);
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
        limits::check(source)?;
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
        let render = || {
            let mut output = Limited::default();
            let rendered = template.render_captured_to(terms.value(), &mut output).map(drop);
            rendered.map_err(|error| Fault::new(template.source(), &error))?;
            Ok(output.into_string().expect("templates write text"))
        };
        if limits::may_build_deep_values(template.source()) {
            limits::on_deep_stack(render)
        } else {
            render()
        }
    }
}

impl Fault {
    fn new(source: &str, error: &Error) -> Self {
        let reason = limits::reason(error)
            .unwrap_or_else(|| error.detail().map_or_else(|| error.kind().to_string(), str::to_owned));
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

/// The filter of the engine, for values that are not too deep.
fn string(state: &State<'_, '_>, value: &Value) -> Result<Value, Error> {
    limits::check_depth(state, value)?;
    minijinja::filters::string(state, value)
}

/// The filter of the engine, for values that are not too deep.
fn pprint(state: &State<'_, '_>, value: &Value) -> Result<String, Error> {
    limits::check_depth(state, value)?;
    Ok(minijinja::filters::pprint(value))
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
    limits::check_depth(state, value)?;
    json(value, indent, CompactFormatter)
}

/// A value as JSON: indented by this many spaces, or on one line.
pub(crate) fn json(
    value: &Value,
    indent: Option<usize>,
    on_one_line: impl Formatter,
) -> Result<String, Error> {
    let mut json = Limited::default();
    let written = match indent {
        None => value.serialize(&mut Serializer::with_formatter(&mut json, Shallow::new(on_one_line))),
        Some(width) => {
            let indent = " ".repeat(width.min(16));
            let formatter = PrettyFormatter::with_indent(indent.as_bytes());
            value.serialize(&mut Serializer::with_formatter(&mut json, Shallow::new(formatter)))
        }
    };
    let failed = |reason: String| Error::new(ErrorKind::BadSerialization, reason);
    written.map_err(|error| failed(error.to_string()))?;
    json.into_string().map_err(|error| failed(error.to_string()))
}
