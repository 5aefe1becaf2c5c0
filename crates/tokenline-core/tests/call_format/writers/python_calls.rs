//! Calls as in Python.

use super::*;

pub(crate) const PYTHON: &[Syntax] = &[
    syntax(&["pythonic"], "pythonic", Values::Typed, python_list),
    syntax(&["pythonic"], "pythonic", Values::Typed, |calls| {
        format!("<|python_start|>{}<|python_end|>", python_list(calls))
    }),
    syntax(&["olmo3"], "olmo3", Values::Typed, |calls| {
        format!("<function_calls>{}</function_calls>", join(calls, "\n", python_call))
    }),
    syntax(&["lfm2"], "lfm2", Values::Typed, |calls| {
        format!("<|tool_call_start|>{}<|tool_call_end|>", python_list(calls))
    }),
    syntax(&["gemma3_tool_code"], "gemma3", Values::Typed, |calls| {
        format!("```tool_code\n{}\n```", python_list(calls))
    }),
    syntax(&["sarashina"], "sarashina", Values::Typed, |calls| {
        let call = |(name, it): &Call| {
            let it = python(&Value::Object(it.clone()));
            format!("{{'name': {}, 'arguments': {it}}}", python_string(name))
        };
        format!("<|tool_calls|>[{}]", join(calls, ", ", call))
    })
    .without_text_after(),
];
