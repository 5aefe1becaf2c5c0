//! Compiled schemas and tools, by number.

use std::cell::RefCell;

use tokenline_core::json::{Parser, Raw, Value};
use tokenline_core::{ValidateCall, Violation};
use tokenline_schema::{SchemaError, SchemaOptions, SchemaValidator, ToolSet};

use crate::tools::{check_form, names};

enum Compiled {
    Schema(SchemaValidator),
    Tools(Tools),
}

thread_local! {
    /// Numbered from 1.
    static COMPILED: RefCell<Vec<Option<Compiled>>> = const { RefCell::new(Vec::new()) };
}

fn keep(compiled: Compiled) -> u32 {
    COMPILED.with_borrow_mut(|all| {
        all.push(Some(compiled));
        all.len() as u32
    })
}

pub(crate) fn compile(text: &str) -> Result<u32, String> {
    let schema: SchemaValidator = text.parse().map_err(|error: SchemaError| error.to_string())?;
    Ok(keep(Compiled::Schema(schema)))
}

/// Compiles an array of the tools' definitions, and of the names of those that something else judges.
pub(crate) fn compile_tools(text: &str) -> Result<u32, String> {
    let mut parser = Parser::new();
    let root = parser.parse(text).map_err(|error| error.to_string())?;
    let mut parts = root.as_array().into_iter().flatten();
    let definitions = parts.next().map_or("", |definitions| &text[definitions.range()]);
    let judged_elsewhere = parts.next().map(names).unwrap_or_default();
    let options = SchemaOptions::new().ignore_unsupported(true);
    let tools =
        ToolSet::from_json_str_with_options(definitions, options).map_err(|error| error.to_string())?;
    let tools = Tools { tools, judged_elsewhere };
    match tools.unsupported() {
        Some(reason) => Err(reason),
        None => Ok(keep(Compiled::Tools(tools))),
    }
}

/// Tools with the schemas of their parameters.
#[derive(Clone)]
pub(crate) struct Tools {
    tools: ToolSet,
    /// Their schemas only say how parameters are typed that were written as text.
    judged_elsewhere: Vec<String>,
}

impl Tools {
    fn is_judged_elsewhere(&self, name: &str) -> bool {
        self.judged_elsewhere.iter().any(|judged| judged == name)
    }

    /// The first error, or unsupported keyword, of a tool that is judged here.
    fn unsupported(&self) -> Option<String> {
        let is_judged_here = |name: &&str| !self.is_judged_elsewhere(name);
        let keywords = self.tools.ignored_keywords();
        let ignored = keywords.map(|(name, ignored)| {
            (name, [&*ignored.path, ": the keyword `", &ignored.keyword, "` is not supported"].concat())
        });
        let errors = self.tools.unsupported().map(|(name, error)| (name, error.to_string()));
        let (name, reason) = errors.chain(ignored).find(|(name, _)| is_judged_here(name))?;
        Some(["tool \"", name, "\": ", &reason].concat())
    }
}

impl ValidateCall for Tools {
    fn validate_call(&self, name: &str, parameters: Value<'_>) -> Result<(), Box<Violation>> {
        if self.is_judged_elsewhere(name) {
            return check_form(parameters);
        }
        self.tools.validate_call(name, parameters)
    }

    fn has_tool(&self, name: &str) -> bool {
        self.tools.has_tool(name)
    }

    fn type_text(&self, name: &str, parameters: Value<'_>) -> Option<Raw> {
        self.tools.type_text(name, parameters)
    }

    fn is_text(&self, name: &str, parameter: &str) -> bool {
        self.tools.is_text(name, parameter)
    }
}

fn get<T>(number: u32, of: impl FnOnce(&Compiled) -> Option<T>) -> Option<T> {
    COMPILED.with_borrow(|all| all.get((number as usize).wrapping_sub(1))?.as_ref().and_then(of))
}

pub(crate) fn validator(number: u32) -> Option<SchemaValidator> {
    get(number, |compiled| match compiled {
        Compiled::Schema(schema) => Some(schema.clone()),
        Compiled::Tools(_) => None,
    })
}

pub(crate) fn tools(number: u32) -> Option<Tools> {
    get(number, |compiled| match compiled {
        Compiled::Tools(tools) => Some(tools.clone()),
        Compiled::Schema(_) => None,
    })
}

pub(crate) fn free(number: u32) {
    COMPILED.with_borrow_mut(|all| {
        if let Some(slot) = all.get_mut((number as usize).wrapping_sub(1)) {
            *slot = None;
        }
    });
}
