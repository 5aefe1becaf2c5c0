//! Compiled schemas and tools, by number.

use std::cell::RefCell;

use tokenline_schema::{SchemaOptions, SchemaValidator, ToolSet};

enum Compiled {
    Schema(SchemaValidator),
    Tools(ToolSet),
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

fn options(ignores_unsupported: bool) -> SchemaOptions {
    SchemaOptions::new().ignore_unsupported(ignores_unsupported)
}

/// Compiles a schema. What is not supported may be ignored if something else judges the complete value.
pub(crate) fn compile(text: &str, ignores_unsupported: bool) -> Result<u32, String> {
    let schema = options(ignores_unsupported).build_str(text).map_err(|error| error.to_string())?;
    Ok(keep(Compiled::Schema(schema)))
}

/// Compiles tools; see [`compile`].
pub(crate) fn compile_tools(text: &str, ignores_unsupported: bool) -> Result<u32, String> {
    let tools = ToolSet::from_json_str_with_options(text, options(ignores_unsupported));
    let tools = tools.map_err(|error| error.to_string())?;
    if let Some((name, error)) = tools.unsupported().next() {
        return Err(["tool \"", name, "\": ", &error.to_string()].concat());
    }
    Ok(keep(Compiled::Tools(tools)))
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

pub(crate) fn tools(number: u32) -> Option<ToolSet> {
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
