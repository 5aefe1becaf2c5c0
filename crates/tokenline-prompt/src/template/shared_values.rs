//! Filters, tests and methods that read all of a value.
//!
//! Values share their parts: `[[x, x], [x, x]]` takes the memory of one list and of one `x`. What makes a text of it, or
//! compares it, visits every part each time, and does not count that as steps. So the parts are counted before.
//!
//! The engine lets nobody count them before its operators (`~`, `==`, `<`, `in`), the keys of dicts, and the filters
//! `dictsort`, `groupby`, `indent` and `replace`, whose own limits would be lost.

use minijinja::value::Rest;
use minijinja::{Environment, Error, State, Value, filters, tests};

use super::limits;

/// Wraps the engine's filters and tests in the count of parts.
pub(super) fn guard(environment: &mut Environment<'_>) {
    macro_rules! filters {
        ($($name:literal: $function:path),* $(,)?) => {
            $(
                let engine = Value::from_function($function);
                environment.add_filter($name, move |state: &mut State<'_, '_>, args: Rest<Value>| call(&engine, state, &args));
            )*
        };
    }
    macro_rules! tests {
        ($($($name:literal)|+: $function:path),* $(,)?) => {
            $($(
                let engine = Value::from_function($function);
                environment.add_test($name, move |state: &mut State<'_, '_>, args: Rest<Value>| {
                    call(&engine, state, &args).map(|holds| holds.is_true())
                });
            )+)*
        };
    }
    filters! {
        "capitalize": filters::capitalize,
        "e": filters::escape,
        "escape": filters::escape,
        "format": filters::format,
        "join": filters::join,
        "lines": filters::lines,
        "lower": filters::lower,
        "max": filters::max,
        "min": filters::min,
        "sort": filters::sort,
        "split": filters::split,
        "title": filters::title,
        "trim": filters::trim,
        "unique": filters::unique,
        "upper": filters::upper,
    }
    tests! {
        "==" | "eq" | "equalto": tests::is_eq,
        "!=" | "ne": tests::is_ne,
        "<" | "lt" | "lessthan": tests::is_lt,
        "<=" | "le": tests::is_le,
        ">" | "gt" | "greaterthan": tests::is_gt,
        ">=" | "ge": tests::is_ge,
        "in": tests::is_in,
        "startingwith": tests::is_startingwith,
        "endingwith": tests::is_endingwith,
        "lower": tests::is_lower,
        "upper": tests::is_upper,
    }
    // Prints all variables.
    environment.remove_global("debug");
    environment.set_unknown_method_callback(|state, value, method, args| {
        count(state, args)?;
        minijinja_contrib::pycompat::unknown_method_callback(state, value, method, args)
    });
}

fn call(engine: &Value, state: &mut State<'_, '_>, args: &[Value]) -> Result<Value, Error> {
    count(state, args)?;
    engine.call(state, args)
}

fn count(state: &State<'_, '_>, args: &[Value]) -> Result<(), Error> {
    args.iter().try_for_each(|arg| limits::check_depth(state, arg))
}
