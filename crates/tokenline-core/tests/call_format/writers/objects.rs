//! Calls as JSON objects.

use super::*;

pub(crate) const OBJECTS: &[Syntax] = &[
    syntax(&["hermes", "granite4", "ernie45"], "hermes", Values::Json, |calls| {
        join(calls, "\n", |call| format!("<tool_call>\n{}\n</tool_call>", arguments(call)))
    }),
    syntax(&["longcat"], "hermes", Values::Json, |calls| {
        join(calls, "\n", |call| format!("<longcat_tool_call>{}</longcat_tool_call>", arguments(call)))
    }),
    syntax(&["mistral_array"], "mistral", Values::Json, |calls| {
        format!("[TOOL_CALLS] [{}]", join(calls, ", ", arguments))
    })
    .reasoning("[THINK]", "[/THINK]"),
    syntax(&["llama3_json"], "llama3", Values::Json, |calls| {
        format!("<|python_tag|>{}", join(calls, "; ", parameters))
    }),
    syntax(&["llama3_json"], "jsonl", Values::Json, |calls| join(calls, "\n", parameters)),
    syntax(&["bare_json_array"], "jsonl", Values::Json, |calls| {
        format!("[{}]", join(calls, ", ", parameters))
    }),
    syntax(&["xlam"], "jsonl", Values::Json, |calls| {
        format!("```json\n[{}]\n```", join(calls, ", ", arguments))
    }),
    syntax(&["openai_shape"], "single_json", Values::Json, |calls| {
        let call = |(index, (name, arguments)): (usize, &Call)| {
            let (name, arguments) = (string(name), string(&object(arguments)));
            format!(
                "{{\"id\": \"call_{index}\", \"type\": \"function\", \"function\": {{\"name\": {name}, \
                 \"arguments\": {arguments}}}}}"
            )
        };
        format!("{{\"tool_calls\": [{}]}}", join(calls.iter().enumerate(), ", ", call))
    }),
    syntax(&["granite"], "granite", Values::Json, |calls| {
        format!("<|tool_call|>[{}]", join(calls, ", ", arguments))
    }),
    syntax(&["granite_20b_fc"], "granite-20b", Values::Json, |calls| {
        join(calls, "\n", |call| format!("<function_call> {}", arguments(call)))
    }),
    syntax(&["phi4_functools", "firefunction_v2"], "functools", Values::Json, |calls| {
        format!("functools[{}]", join(calls, ", ", arguments))
    }),
    syntax(&["nemotron_toolcall"], "toolcall", Values::Json, |calls| {
        format!("<TOOLCALL>[{}]</TOOLCALL>", join(calls, ", ", arguments))
    }),
    syntax(&["hunyuan_a13b", "apriel"], "tool_calls", Values::Json, |calls| {
        format!("<tool_calls>[{}]</tool_calls>", join(calls, ", ", arguments))
    }),
    syntax(&["jamba"], "tool_calls", Values::Json, |calls| {
        format!(
            "<tool_calls>[\n{}\n]</tool_calls>",
            join(calls, ",\n", |call| format!("    {}", arguments(call)))
        )
    }),
    syntax(&["minimax_m1"], "tool_calls", Values::Json, |calls| {
        format!("<tool_calls>\n{}\n</tool_calls>", join(calls, "\n", arguments))
    }),
    syntax(&["internlm2"], "internlm", Values::Json, |calls| {
        join(calls, "", |call| format!("<|action_start|><|plugin|>\n{}<|action_end|>", parameters(call)))
    })
    .one_call(),
    syntax(&["internlm2"], "internlm", Values::Json, |calls| {
        join(calls, "", |call| format!("<|action_start|> <|plugin|>\n{}<|action_end|>", parameters(call)))
    })
    .one_call(),
    syntax(&["gigachat3"], "gigachat", Values::Json, |calls| {
        join(calls, "", |call| format!("<|function_call|>{}", arguments(call)))
    })
    .one_call(),
    syntax(&["apertus"], "apertus", Values::Json, |calls| {
        let call = |(name, arguments): &Call| format!("{{{}: {}}}", string(name), object(arguments));
        format!("<|tools_prefix|>[{}]<|tools_suffix|>", join(calls, ", ", call))
    })
    .reasoning("<|inner_prefix|>", "<|inner_suffix|>"),
    syntax(&["cohere_cmd3", "cohere_cmd4"], "cohere", Values::Json, cohere)
        .reasoning("<|START_THINKING|>", "<|END_THINKING|>"),
    syntax(&["cohere_r_plus"], "cohere", Values::Json, |calls| {
        let call = |(name, arguments): &Call| {
            format!("{{\"tool_name\": {}, \"parameters\": {}}}", string(name), object(arguments))
        };
        format!("Action:\n```json\n[\n{}\n]\n```", join(calls, ",\n", call))
    }),
    syntax(&["inkling"], "inkling", Values::Json, |calls| {
        let invoke = "<|message_model|><|content_invoke_tool_json|>";
        join(calls, "", |call| format!("{invoke}{}<|end_message|>", named(call, "args")))
    })
    .reasoning("<|content_thinking|>", "<|end_message|>"),
    syntax(&["k2_horizon"], "k2-horizon", Values::Json, |calls| {
        let call = |call: &Call| format!("<ifm|tool_call>{}</ifm|tool_call>", arguments(call));
        format!("<ifm|tool_calls>{}</ifm|tool_calls>", join(calls, "", call))
    }),
];
