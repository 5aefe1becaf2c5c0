//! A name, then the arguments as JSON or as keys and values.

use super::*;

pub(crate) const NAMED: &[Syntax] = &[
    syntax(&["mistral_v11"], "mistral", Values::Json, |calls| {
        join(calls, "", |(name, it)| format!("[TOOL_CALLS]{name}[ARGS]{}", object(it)))
    })
    .reasoning("[THINK]", "[/THINK]"),
    syntax(&["mistral_v11"], "mistral", Values::Json, |calls| {
        join(calls, "", |(name, it)| format!("[TOOL_CALLS]{name}{}", object(it)))
    }),
    syntax(&["mistral_v11"], "mistral", Values::Json, |calls| {
        join(calls, "", |(name, it)| format!("[TOOL_CALLS]{name}[CALL_ID]a1B2c3D4e[ARGS]{}", object(it)))
    }),
    syntax(&["functionary_v31"], "function_tag", Values::Json, |calls| {
        join(calls, "", |(name, it)| format!("<function={name}>{}</function>", object(it)))
    }),
    syntax(&["functionary_v32"], "functionary-v3.2", Values::Json, |calls| {
        join(calls, "\n>>>", |(name, it)| format!("{name}\n{}", object(it)))
    })
    .without_text()
    .needs_tools(),
    syntax(&["deepseek_v3"], "deepseek-v3", Values::Json, |calls| {
        let call = |(name, it): &Call| {
            let it = object(it);
            format!(
                "<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{it}\n```<｜tool▁call▁end｜>"
            )
        };
        format!("<｜tool▁calls▁begin｜>{}<｜tool▁calls▁end｜>", join(calls, "\n", call))
    }),
    syntax(&["deepseek_v31"], "deepseek-v3.1", Values::Json, |calls| {
        let call = |(name, it): &Call| {
            format!("<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{}<｜tool▁call▁end｜>", object(it))
        };
        format!("<｜tool▁calls▁begin｜>{}<｜tool▁calls▁end｜>", join(calls, "", call))
    }),
    syntax(&["kimi_k2"], "kimi-k2", Values::Json, |calls| {
        let call = |(index, (name, it)): (usize, &Call)| {
            let it = object(it);
            format!(
                "<|tool_call_begin|>functions.{name}:{index}<|tool_call_argument_begin|>{it}<|tool_call_end|>"
            )
        };
        let calls = join(calls.iter().enumerate(), "", call);
        format!("<|tool_calls_section_begin|>{calls}<|tool_calls_section_end|>")
    }),
    syntax(&["plamo3"], "plamo3", Values::Json, |calls| {
        let tag = |tag: &str| format!("<|plamo:{tag}:plamo|>");
        let call = |(name, it): &Call| {
            [
                &tag("begin_tool_request"),
                &tag("begin_tool_name"),
                name,
                &tag("end_tool_name"),
                &tag("begin_tool_arguments"),
                "<|plamo:constrain|>json<|plamo:msg|>",
                &object(it),
                &tag("end_tool_arguments"),
                &tag("end_tool_request"),
            ]
            .concat()
        };
        format!("{}{}{}", tag("begin_tool_requests"), join(calls, "", call), tag("end_tool_requests"))
    })
    .reasoning("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"),
    syntax(&["cwm"], "cwm", Values::Json, |calls| {
        join(calls, "\n", |(name, it)| format!("<tool: function>\n{name} {}\n</tool>", object(it)))
    }),
    syntax(&["harmony"], "harmony", Values::Json, |calls| {
        join(calls, "<|start|>assistant", |(name, it)| {
            let it = object(it);
            format!("<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{it}<|call|>")
        })
    })
    .reasoning("<|channel|>analysis<|message|>", "<|end|><|start|>assistant")
    .without_text(),
    syntax(&["harmony"], "harmony", Values::Json, |calls| {
        join(calls, "", |(name, it)| {
            let it = object(it);
            format!("<|start|>assistant to=functions.{name}<|channel|>commentary json<|message|>{it}<|call|>")
        })
    })
    .reasoning("<|start|>assistant<|channel|>analysis<|message|>", "<|end|>")
    .without_text(),
    // A string between delimiters has no escapes.
    syntax(&["gemma4"], "gemma4", Values::Typed, |calls| {
        let call =
            |(name, it): &Call| format!("<|tool_call>call:{name}{}<tool_call|>", key_values(it, "<|\"|>"));
        join(calls, "", call)
    })
    .never(&["<|\"|>", "<tool_call|>"])
    .reasoning("<|channel>thought\n", "<channel|>"),
    syntax(&["functiongemma"], "functiongemma", Values::Typed, |calls| {
        let call = |(name, it): &Call| {
            format!("<start_function_call>call:{name}{}<end_function_call>", key_values(it, "<escape>"))
        };
        join(calls, "", call)
    })
    .never(&["<escape>", "<end_function_call>"]),
    syntax(&["react"], "react", Values::Json, |calls| {
        join(calls, "\n", |(name, it)| format!("Action: {name}\nAction Input: {}", object(it)))
    }),
    syntax(&["qwen_agent"], "qwen-agent", Values::Json, |calls| {
        join(calls, "\n", |(name, it)| format!("✿FUNCTION✿: {name}\n✿ARGS✿: {}", object(it)))
    }),
    syntax(&["calling_tool"], "calling_tool", Values::Json, |calls| {
        join(calls, "\n", |(name, it)| format!("[Calling tool: {name}({})]", object(it)))
    }),
    syntax(&["name_in_tags"], "glm", Values::Json, |calls| {
        join(calls, "\n", |(name, it)| format!("<tool_call>{name}({})</tool_call>", object(it)))
    }),
];
