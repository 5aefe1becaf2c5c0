//! Writers of calls, one for each way in which models write them.
//!
//! What a syntax cannot carry is beside its writer: there are no escapes in tagged values and in strings between
//! delimiters, so that a value never holds the markers of its own syntax, and white space around it may belong to
//! the syntax ([`Values`]).

use std::fmt::Write as _;

use serde_json::{Map, Value};

pub(crate) type Call = (String, Map<String, Value>);

/// Which values of parameters a syntax carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    /// Any.
    Json,
    /// Any, with the type beside it or seen from the literal; the keys are names.
    Typed,
    /// Strings, as written.
    Text,
    /// Strings, without newlines around them, which belong to the syntax.
    Inner,
    /// Strings, without any white space around them.
    Trimmed,
    /// Strings, and arrays and objects that are not empty.
    Elements,
}

/// A way to write calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Syntax {
    /// The labels of `cases.jsonl` that write calls in this way.
    pub(crate) labels: &'static [&'static str],
    /// The row of the table, or the name of a format.
    pub(crate) format: &'static str,
    pub(crate) values: Values,
    /// What values do not hold, besides the markers of the row if each parameter has tags.
    pub(crate) never: &'static [&'static str],
    pub(crate) write: fn(&[Call]) -> String,
    /// Reasoning before the calls.
    pub(crate) reasoning: (&'static str, &'static str),
    pub(crate) has_text_before: bool,
    pub(crate) has_text_after: bool,
    pub(crate) max_calls: usize,
    /// Whether only calls of defined tools are read.
    pub(crate) needs_tools: bool,
    /// Whether each parameter has tags of its own.
    pub(crate) has_tags: bool,
}

const THINK: (&str, &str) = ("<think>\n", "\n</think>\n\n");

const fn syntax(
    labels: &'static [&'static str],
    format: &'static str,
    values: Values,
    write: fn(&[Call]) -> String,
) -> Syntax {
    Syntax {
        labels,
        format,
        values,
        never: &[],
        write,
        reasoning: THINK,
        has_text_before: true,
        has_text_after: true,
        max_calls: 5,
        needs_tools: false,
        has_tags: false,
    }
}

const fn tagged_syntax(
    labels: &'static [&'static str],
    format: &'static str,
    values: Values,
    write: fn(&[Call]) -> String,
) -> Syntax {
    Syntax { has_tags: true, ..syntax(labels, format, values, write) }
}

impl Syntax {
    const fn never(self, never: &'static [&'static str]) -> Self {
        Self { never, ..self }
    }

    const fn reasoning(self, open: &'static str, close: &'static str) -> Self {
        Self { reasoning: (open, close), ..self }
    }

    const fn without_text(self) -> Self {
        Self { has_text_before: false, has_text_after: false, ..self }
    }

    const fn without_text_after(self) -> Self {
        Self { has_text_after: false, ..self }
    }

    const fn one_call(self) -> Self {
        Self { max_calls: 1, ..self }
    }

    const fn needs_tools(self) -> Self {
        Self { needs_tools: true, ..self }
    }
}

/// JSON, as chat templates write it.
pub(crate) fn json(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", join(items, ", ", json)),
        Value::Object(members) => object(members),
        _ => value.to_string(),
    }
}

fn object(members: &Map<String, Value>) -> String {
    format!("{{{}}}", join(members, ", ", |(key, value)| format!("{}: {}", string(key), json(value))))
}

fn string(text: &str) -> String {
    serde_json::to_string(text).expect("a string is JSON")
}

fn join<T>(items: impl IntoIterator<Item = T>, between: &str, write: impl FnMut(T) -> String) -> String {
    items.into_iter().map(write).collect::<Vec<_>>().join(between)
}

/// The text of a value without quotes.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| json(value), str::to_owned)
}

fn named(call: &Call, arguments: &str) -> String {
    format!("{{\"name\": {}, \"{arguments}\": {}}}", string(&call.0), object(&call.1))
}

fn arguments(call: &Call) -> String {
    named(call, "arguments")
}

fn parameters(call: &Call) -> String {
    named(call, "parameters")
}

/// Each parameter with tags of its own.
fn tagged(call: &Call, between: &str, write: impl Fn(&str, &Value) -> String) -> String {
    call.1.iter().fold(String::new(), |out, (key, value)| out + &write(key, value) + between)
}

fn python(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => python_string(text),
        Value::Array(items) => format!("[{}]", join(items, ", ", python)),
        Value::Object(members) => {
            let member =
                |(key, value): (&String, &Value)| format!("{}: {}", python_string(key), python(value));
            format!("{{{}}}", join(members, ", ", member))
        }
    }
}

fn python_string(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::from(quote);
    for char in text.chars() {
        match char {
            '\\' => out += "\\\\",
            '\n' => out += "\\n",
            '\r' => out += "\\r",
            '\t' => out += "\\t",
            _ if char == quote => out.extend(['\\', char]),
            _ if char.is_ascii_control() => drop(write!(out, "\\x{:02x}", u32::from(char))),
            _ => out.push(char),
        }
    }
    out.push(quote);
    out
}

fn python_call((name, arguments): &Call) -> String {
    format!("{name}({})", join(arguments, ", ", |(key, value)| format!("{key}={}", python(value))))
}

fn python_list(calls: &[Call]) -> String {
    format!("[{}]", join(calls, ", ", python_call))
}

/// `{key:value}`, with this delimiter around strings.
fn key_values(members: &Map<String, Value>, quote: &str) -> String {
    fn write(value: &Value, quote: &str) -> String {
        match value {
            Value::String(text) => format!("{quote}{text}{quote}"),
            Value::Array(items) => format!("[{}]", join(items, ",", |item| write(item, quote))),
            Value::Object(members) => key_values(members, quote),
            _ => value.to_string(),
        }
    }
    format!("{{{}}}", join(members, ",", |(key, value)| format!("{key}:{}", write(value, quote))))
}

fn dsml(calls: &[Call], bar: &str, block: &str) -> String {
    let call = |call: &Call| {
        let parameters = tagged(call, "\n", |key, value| {
            let (is_string, text) = (value.is_string(), text(value));
            format!("<{bar}parameter name=\"{key}\" string=\"{is_string}\">{text}</{bar}parameter>")
        });
        format!("<{bar}invoke name=\"{}\">\n{parameters}</{bar}invoke>\n", call.0)
    };
    format!("<{bar}{block}>\n{}</{bar}{block}>", join(calls, "", call))
}

fn invoke(call: &Call, newline: &str) -> String {
    let parameter =
        |key: &str, value: &Value| format!("<parameter name=\"{key}\">{}</parameter>", text(value));
    format!("<invoke name=\"{}\">{newline}{}</invoke>", call.0, tagged(call, newline, parameter))
}

fn function_tag(call: &Call, newline: &str, around_value: &str) -> String {
    let parameter = |key: &str, value: &Value| {
        format!("<parameter={key}>{around_value}{}{around_value}</parameter>", text(value))
    };
    format!("<function={}>{newline}{}</function>", call.0, tagged(call, newline, parameter))
}

fn glm(call: &Call, suffix: &str, after_name: &str, newline: &str) -> String {
    let parameters = tagged(call, newline, |key, value| {
        let value = text(value);
        format!(
            "<arg_key{suffix}>{key}</arg_key{suffix}>{newline}<arg_value{suffix}>{value}</arg_value{suffix}>"
        )
    });
    format!("<tool_call{suffix}>{}{after_name}{parameters}</tool_call{suffix}>", call.0)
}

fn elements(members: &Map<String, Value>) -> String {
    fn write(name: &str, value: &Value) -> String {
        let inner = match value {
            Value::Array(items) => join(items, "", |item| write("item", item)),
            Value::Object(members) => elements(members),
            _ => text(value),
        };
        format!("]<]minimax[>[<{name}>{inner}]<]minimax[>[</{name}>")
    }
    join(members, "", |(key, value)| write(key, value))
}

/// A value of Muse: JSON, unless it is a string that is not.
fn muse_value(value: &Value) -> String {
    match value {
        Value::String(text) if serde_json::from_str::<Value>(text).is_err() => text.clone(),
        _ => json(value),
    }
}

fn atem(call: &Call) -> String {
    let parameters = tagged(call, "\n", |key, value| {
        format!("<atem:parameter name=\"{key}\">{}</atem:parameter>", muse_value(value))
    });
    format!(
        "<atem:function_calls>\n<atem:invoke name=\"{}\">\n{parameters}</atem:invoke>\n</atem:function_calls>",
        call.0
    )
}

fn cdata(value: &Value) -> String {
    let text = text(value);
    if text.contains(['<', '&']) { format!("<![CDATA[{text}]]>") } else { text }
}

fn cohere(calls: &[Call]) -> String {
    let call = |(index, (name, arguments)): (usize, &Call)| {
        let (name, arguments) = (string(name), object(arguments));
        format!("    {{\"tool_call_id\": \"{index}\", \"tool_name\": {name}, \"parameters\": {arguments}}}")
    };
    format!("<|START_ACTION|>[\n{}\n]<|END_ACTION|>", join(calls.iter().enumerate(), ",\n", call))
}

/// All ways, by how they are read.
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
];

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
    tagged_syntax(&["step3"], "step3", Values::Trimmed, |calls| {
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
];

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
