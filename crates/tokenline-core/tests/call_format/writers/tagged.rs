//! A tag or an element for each parameter.

use super::*;

pub(crate) const TAGGED: &[Syntax] = &[
    tagged_syntax(&["qwen3_coder", "step3p5"], "function_tag", Values::Text, |calls| {
        join(calls, "\n", |call| format!("<tool_call>\n{}\n</tool_call>", function_tag(call, "\n", "\n")))
    }),
    tagged_syntax(&["mimo"], "function_tag", Values::Inner, |calls| {
        join(calls, "\n", |call| format!("<tool_call>{}</tool_call>", function_tag(call, "", "")))
    }),
    tagged_syntax(&["seed_oss"], "function_tag", Values::Inner, |calls| {
        join(calls, "\n", |call| {
            format!("<seed:tool_call>\n{}\n</seed:tool_call>", function_tag(call, "\n", ""))
        })
    })
    .reasoning("<seed:think>", "</seed:think>"),
    tagged_syntax(&["glm45", "ling3", "poolside_v1"], "glm", Values::Text, |calls| {
        join(calls, "\n", |call| glm(call, "", "\n", "\n"))
    }),
    tagged_syntax(&["glm47", "spark2_5"], "glm", Values::Text, |calls| {
        join(calls, "", |call| glm(call, "", "", ""))
    }),
    tagged_syntax(&["hy_v3"], "glm", Values::Text, |calls| {
        format!("<tool_calls>{}</tool_calls>", join(calls, "", |call| glm(call, "", "<tool_sep>", "")))
    }),
    tagged_syntax(&["hy_v4"], "hy-4", Values::Text, |calls| {
        let calls = join(calls, "", |call| glm(call, ":opensource", "\n", "\n"));
        format!("<tool_calls:opensource>{calls}</tool_calls:opensource>")
    })
    .reasoning("<think:opensource>", "</think:opensource>"),
    tagged_syntax(&["deepseek_v32"], "deepseek-v3.2", Values::Typed, |calls| {
        dsml(calls, "｜DSML｜", "function_calls")
    }),
    tagged_syntax(&["deepseek_v4"], "deepseek-v3.2", Values::Typed, |calls| {
        dsml(calls, "｜DSML｜", "tool_calls")
    }),
    tagged_syntax(&["deepseek_v41"], "deepseek-v3.2", Values::Typed, |calls| {
        dsml(calls, "｜DSML｜ ", "calls")
    }),
    tagged_syntax(&["kimi_k3"], "kimi-k3", Values::Typed, |calls| {
        let parameter = |key: &str, value: &Value| {
            let kind = match value {
                Value::Null => "null",
                Value::Bool(_) => "boolean",
                Value::Number(_) => "number",
                Value::String(_) => "string",
                Value::Array(_) => "array",
                Value::Object(_) => "object",
            };
            let text = text(value);
            format!("<|open|>argument key=\"{key}\" type=\"{kind}\"<|sep|>{text}<|close|>argument<|sep|>")
        };
        let call = |(index, call): (usize, &Call)| {
            let (name, index) = (&call.0, index + 1);
            let parameters = tagged(call, "", parameter);
            format!("<|open|>call tool=\"{name}\" index=\"{index}\"<|sep|>{parameters}<|close|>call<|sep|>")
        };
        let calls = join(calls.iter().enumerate(), "", call);
        format!("<|open|>tools<|sep|>{calls}<|close|>tools<|sep|>")
    }),
    tagged_syntax(&["minimax_m2"], "minimax-m2", Values::Text, |calls| {
        let calls = join(calls, "\n", |call| invoke(call, "\n"));
        format!("<minimax:tool_call>\n{calls}\n</minimax:tool_call>")
    }),
    tagged_syntax(&["dots"], "minimax-m2", Values::Text, |calls| {
        join(calls, "", |call| format!("<dots_function_call>{}</dots_function_call>", invoke(call, "")))
    }),
    // A string that is JSON is written as JSON.
    tagged_syntax(&["muse_atem"], "muse", Values::Typed, |calls| {
        join(calls, "", |call| format!("<|start|>assistant to={}<|message|>{}<|eom|>", call.0, atem(call)))
    })
    .reasoning("<|start|>assistant to=self<|message|>", "<|eom|>")
    .without_text(),
    tagged_syntax(&["minicpm5"], "minicpm5", Values::Text, |calls| {
        join(calls, "", |call| {
            let parameters =
                tagged(call, "", |key, value| format!("<param name=\"{key}\">{}</param>", cdata(value)));
            format!("<function name=\"{}\">{parameters}</function>", call.0)
        })
    })
    .never(&["]]>"]),
    tagged_syntax(&["step3"], "step3", Values::Text, |calls| {
        let call = |call: &Call| {
            let parameters = tagged(call, "\n", |key, value| {
                format!("<steptml:parameter name=\"{key}\">{}</steptml:parameter>", text(value))
            });
            format!(
                "<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"{}\">\n\
                 {parameters}</steptml:invoke><｜tool_call_end｜>\n",
                call.0
            )
        };
        format!("<｜tool_calls_begin｜>\n{}<｜tool_calls_end｜>", join(calls, "", call))
    }),
    tagged_syntax(&["solar_open2"], "solar", Values::Text, |calls| {
        join(calls, "\n", |call| {
            let parameters = tagged(call, "\n", |key, value| {
                let value = text(value);
                format!("<|tool_arg:start|>{key}<|tool_arg:value|>{value}<|tool_arg:end|>")
            });
            format!("<|tool_call:start|>{}\n{parameters}<|tool_call:end|>", call.0)
        })
    })
    .reasoning("<|think:start|>", "<|think:end|>"),
    tagged_syntax(&["k2_horizon"], "k2-horizon", Values::Text, |calls| {
        let call = |call: &Call| {
            let parameters = tagged(call, "\n", |key, value| {
                let value = text(value);
                format!("<ifm|arg_key>{key}</ifm|arg_key>\n<ifm|arg_value>{value}</ifm|arg_value>")
            });
            format!("<ifm|tool_call>{}\n{parameters}</ifm|tool_call>", call.0)
        };
        format!("<ifm|tool_calls>{}</ifm|tool_calls>", join(calls, "", call))
    }),
    // An element without content is an empty string.
    tagged_syntax(&["minimax_m3"], "minimax-m3", Values::Elements, |calls| {
        let call = |(name, it): &Call| {
            let it = elements(it);
            format!("]<]minimax[>[<invoke name=\"{name}\">{it}]<]minimax[>[</invoke>\n")
        };
        format!("]<]minimax[>[<tool_call>\n{}]<]minimax[>[</tool_call>", join(calls, "", call))
    })
    .reasoning("<mm:think>", "</mm:think>"),
    tagged_syntax(&["tool_tag"], "tool_tag", Values::Text, |calls| {
        join(calls, "\n", |call| {
            let parameters = tagged(call, "\n", |key, value| format!("<{key}>\n{}\n</{key}>", text(value)));
            format!("<{name}>\n{parameters}</{name}>", name = call.0)
        })
    })
    .needs_tools(),
];
