//! The prompts of model families.

use std::collections::BTreeSet;

use crate::common::{parser, streamed_alike};
use tokenline_core::call_format::CallSyntax;
use tokenline_core::json::Raw;
use tokenline_core::{CallFormat, CompletedBy, ToolCall, ToolDefinition};
use tokenline_llm::request::{ChatRequest, Message, ToolChoice};
use tokenline_schema::ToolSet;

use tokenline_prompt::tools::{ToolCallParser, ToolCalling, ToolPromptError, ToolPrompter};

/// All formats and families, with the prompt that describes these tools; `None` if there is none.
fn prompts(tools: &[ToolDefinition]) -> Vec<(&'static str, Option<String>)> {
    let rows = CallSyntax::built_in().iter();
    let names: BTreeSet<&str> =
        rows.flat_map(|row| row.models.iter().chain([&row.name])).map(String::as_str).collect();
    let prompt = |name| match ToolPrompter::new().prompt(&calling(name), tools) {
        Ok(prompt) => Some(prompt.text().expect("a text").to_owned()),
        Err(ToolPromptError::NoTemplate { .. }) => None,
        Err(error) => panic!("{name}: {error}"),
    };
    names.into_iter().map(|name| (name, prompt(name))).collect()
}

fn calling(name: &str) -> ToolCalling {
    ToolCalling::from_name(name).expect("a name of the table")
}

/// Tools and a conversation that ends with their results.
fn weather() -> (Vec<ToolDefinition>, Vec<Message>) {
    let tools = serde_json::from_str(include_str!("families/tools.json")).expect("tools");
    (tools, serde_json::from_str(include_str!("families/messages.json")).expect("messages"))
}

/// Whether a text has this one as it is, or as a string of JSON.
fn find(text: &str, part: &str) -> Option<usize> {
    let json = serde_json::to_string(part).expect("a string");
    text.find(part).or_else(|| text.find(json.trim_matches('"')))
}

/// The families that are trained to call tools, so that their chat templates do not say how.
const WITHOUT_EXAMPLE: &[&str] =
    &["gemma4", "granite", "harmony", "kimi-k2", "kimi-k3", "lfm2", "functiongemma", "mistral"];

#[test]
fn a_prompt_shows_a_call_that_its_reader_reads() {
    let mut without_example = BTreeSet::new();
    for (name, prompt) in prompts(&weather().0) {
        let Some(prompt) = prompt else { continue };
        let parsed = ToolCallParser::new(calling(name)).parse(&prompt);
        // A definition in JSON looks like a call of its tool.
        let is_definition = |message: &str| message.contains("this defines a tool");
        let mut rejected = parsed.rejected.iter();
        assert!(
            rejected.all(|call| is_definition(&call.diagnostic.message)),
            "{name}: {:?}",
            parsed.rejected
        );
        let calls = parsed.calls.iter().filter(|call| call.name == "example_function");
        let parameters: Vec<_> = calls.map(|call| call.parameters.to_compact()).collect();
        if parameters.is_empty() {
            assert!(!prompt.contains("example"), "{name}: {prompt}");
            without_example.extend(CallSyntax::named(name).map(|row| row.name.as_str()));
        } else {
            assert_eq!(parameters, [r#"{"example_parameter":"value"}"#], "{name}: {prompt}");
        }
    }
    assert_eq!(without_example, WITHOUT_EXAMPLE.iter().copied().collect());
}

#[test]
fn tools_are_written_unchanged() {
    let description = "Say \"hi\" <b>&amp;</b> {{ x }} {% y %} \\ na\u{ef}ve 日本 ☃";
    let parameter = "The <i>\"one\"</i> & only, 1\u{2044}2";
    let schema = serde_json::json!({
        "type": "object",
        "properties": {"words": {"type": "string", "description": parameter, "enum": ["a<b>", "c&d"]}},
        "required": ["words"],
    });
    let tool = ToolDefinition::new("say_it").with_description(description).with_parameters(schema);
    let prompts = prompts(&[tool, ToolDefinition::new("now")]);
    let mut count = 0;
    for (name, prompt) in prompts {
        let Some(prompt) = prompt else { continue };
        for part in ["say_it", description, "words", parameter, "a<b>", "c&d", "now"] {
            assert!(find(&prompt, part).is_some(), "{name}, {part}: {prompt}");
        }
        assert!(!prompt.contains("\\u") && !prompt.contains("&lt;"), "{name}: {prompt}");
        count += 1;
    }
    assert!(count > 40, "{count}");
}

#[test]
fn a_prompt_without_tools_or_with_any_schema_is_written() {
    let schema = r##"{"type": ["object"], "properties": {
        "a": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "b": {"$ref": "#/$defs/b"}, "c": true,
        "d": {"type": "object", "properties": {"e": {"type": ["integer", "null"], "default": 1}}, "required": ["e"]},
        "f": {"type": "array", "items": {"type": "object", "properties": {"g": {"type": "array"}}}},
        "h": {"oneOf": [{"const": 1}, {"type": "number", "nullable": true}], "title": "H", "examples": ["x"]}
    }, "additionalProperties": false, "$defs": {"b": {"enum": [null, 1.50]}}}"##;
    let tool = ToolDefinition::new("t").with_parameters(Raw::new(schema).expect("JSON"));
    for (name, prompt) in prompts(&[tool]) {
        for part in ["\"a\"", "\"c\""] {
            let bare = part.trim_matches('"');
            let is_written = |prompt: &str| {
                [part, &format!(">{bare}<"), &format!("{bare}:"), &format!("{bare}?:")]
                    .iter()
                    .any(|part| prompt.contains(*part))
            };
            assert!(prompt.as_deref().is_none_or(is_written), "{name}: {prompt:?}");
        }
    }
    // The helper fails if a template cannot be rendered.
    let _ = prompts(&[]);
    let _ = prompts(&[ToolDefinition::new("t").with_parameters(Raw::new("true").expect("JSON"))]);
}

#[test]
fn results_are_written_unchanged_and_in_order() {
    let (_, mut messages) = weather();
    let contents = ["21 °C, \"mild\" <b>&", "{\"sunny\":true}", "", "a\n\nb \\"];
    for (index, content) in contents.iter().enumerate() {
        // The results of an earlier turn have been written already.
        if index == 0 {
            messages.push(Message::user("And tomorrow?"));
        }
        let mut call =
            ToolCall::new(format!("tool_{index}"), Raw::new("{}").expect("JSON"), CompletedBy::ItemStop);
        call.call_id = Some(format!("functions.tool_{index}:{index}"));
        messages.push(Message::tool_result(&call, *content));
    }
    for (name, prompt) in prompts(&[]) {
        let results = ToolPrompter::new().results(&calling(name), &messages);
        let Some(results) = prompt.map(|_| results.expect("results")) else { continue };
        let mut at = 0;
        for content in contents {
            // Some families write JSON in their own form.
            let content = if content.contains("sunny") { "sunny" } else { content };
            at += find(&results[at..], content).unwrap_or_else(|| panic!("{name}, {content}: {results}"));
        }
        assert!(!results.contains("San Francisco"), "{name}: {results}");
    }
}

/// A call of each type, to a tool that declares them.
fn typed_call(number: usize) -> (ToolDefinition, ToolCall) {
    let schema = serde_json::json!({"type": "object", "properties": {
        "text": {"type": "string"}, "count": {"type": "integer"}, "near": {"type": "boolean"},
        "list": {"type": "array", "items": {"type": "string"}}, "map": {"type": "object"}, "none": {"type": "null"},
    }});
    let tool = ToolDefinition::new("do_it").with_parameters(schema);
    let text = ["Paris", "a \"b\" c", "two\nlines", "é"][number % 4];
    let arguments = serde_json::json!({
        "text": text, "count": 3 + number, "near": number.is_multiple_of(2), "list": ["a", "b"], "map": {"a": [1, null]},
        "none": null,
    });
    let mut call = ToolCall::new("do_it", Raw::from(arguments), CompletedBy::ItemStop);
    call.call_id = Some(format!("functions.do_it:{number}"));
    (tool, call)
}

/// Calls are written in the model's own syntax: its reader reads them.
#[test]
fn calls_are_read_as_they_are_written() {
    let mut names = 0;
    let with_template = prompts(&[]).into_iter().filter_map(|(name, prompt)| prompt.map(|_| name));
    for name in with_template.chain(["jsonl", "single_json", "auto"]) {
        for numbers in [&[0][..], &[1], &[2, 3]] {
            // Llama's has one call only.
            let one = ["llama-3.1", "single_json"].contains(&name) && numbers.len() > 1;
            if one {
                continue;
            }
            let (tools, calls): (Vec<_>, Vec<_>) = numbers.iter().map(|number| typed_call(*number)).unzip();
            let prompter = ToolPrompter::new();
            let written = prompter.calls(&calling(name), &calls).expect("calls");
            let parser = prompter.parser(&calling(name), &tools[..1]).expect("a parser");
            let parsed = parser.parse(&written);
            let values = |calls: &[ToolCall]| -> Vec<serde_json::Value> {
                calls.iter().map(|call| call.parameters.to_value().expect("JSON")).collect()
            };
            assert_eq!(values(&parsed.calls), values(&calls), "{name}: {written}\n{:?}", parsed.rejected);
        }
        names += 1;
    }
    assert!(names > 40, "{names}");
}

/// Results in a message of the user have no markers of roles.
#[test]
fn results_of_the_user_have_no_turns() {
    let (tools, messages) = weather();
    for (name, prompt) in prompts(&[]) {
        if prompt.is_none() {
            continue;
        }
        let mut request = ChatRequest::new("m").messages(messages.clone()).tools(&tools);
        request.tool_choice = ToolChoice::Required;
        let request = ToolPrompter::new().tools_in_prompt(&calling(name), request).expect("a request");
        assert!(request.tools.is_empty() && request.tool_choice == ToolChoice::Auto, "{name}");
        let texts: Vec<_> = request.messages.iter().map(|message| message.text().into_owned()).collect();
        assert!(request.messages.iter().all(|message| message.tool_calls().next().is_none()), "{name}");
        assert!(
            matches!(request.messages[0], Message::System(_)) && texts[0].contains("must call"),
            "{name}"
        );
        let last = texts.last().expect("results");
        assert!(matches!(request.messages.last(), Some(Message::User(_))), "{name}");
        for marker in
            ["<|im_", "<|start_header", "<|start_of_role", "ipython", "]~b]", "<|User", "<|observation"]
        {
            assert!(!last.contains(marker), "{name}: {last}");
        }
        assert!(last.contains("San Francisco") && last.trim() == last, "{name}: {last}");
    }
}

#[test]
fn prompts_and_results_verbatim() {
    let (tools, messages) = weather();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tools/families");
    let mut count = 0;
    for file in std::fs::read_dir(folder).expect("a folder") {
        let path = file.expect("a file").path();
        let Some(name) = path.to_str().and_then(|path| path.rsplit('/').next()?.strip_suffix(".txt")) else {
            continue;
        };
        let prompter = ToolPrompter::new();
        let prompt = prompter.prompt(&calling(name), &tools).expect("a prompt");
        let results = prompter.results(&calling(name), &messages).expect("results");
        let written = format!("{}\n%% results\n{results}\n%% end\n", prompt.text().expect("a text"));
        assert_eq!(written, std::fs::read_to_string(&path).expect("a text"), "{name}");
        count += 1;
    }
    assert_eq!(count, 6);
}

#[test]
fn a_family_has_the_template_of_its_own_or_of_its_syntax() {
    let (tools, messages) = weather();
    let prompter = ToolPrompter::new();
    let role = |name| prompter.results(&calling(name), &messages).expect("results")[..17].to_owned();
    assert_eq!((&*role("qwen3"), &*role("hermes-3")), ("<|im_start|>user\n", "<|im_start|>tool\n"));
    let text = |prompter: &ToolPrompter, name: &str| {
        prompter.prompt(&calling(name), &tools).expect("a prompt").text().expect("a text").to_owned()
    };
    assert_eq!(text(&prompter, "function_tag"), text(&prompter, "qwen3-coder"));
    assert_ne!(text(&prompter, "llama-3.1"), text(&prompter, "qwen3-coder"));
    assert!(text(&prompter, "functiongemma-270m").starts_with("<start_function_declaration>declaration:"));

    // A template of one's own is for the families of its syntax, unless they have one.
    let own = prompter.with_template(&CallFormat::Hermes, "{{ tools|length }} for {{ format }}");
    assert_eq!(text(&own, "qwen3"), "2 for qwen3");
    let own = own
        .with_template(&CallFormat::from_name("qwen3").expect("a family"), "{{ tools[0].function|tojson }}");
    assert_eq!(
        text(&own, "qwen3"),
        r#"{"name": "get_location", "description": "Gets the location of the user.", "parameters": {"type": "object"}}"#
    );
    assert_eq!(text(&own, "hermes"), "2 for hermes");
}

#[test]
fn what_has_no_text_is_an_error() {
    let (tools, messages) = weather();
    let prompter = ToolPrompter::new();
    for name in ["cwm", "plamo-3"] {
        let error = prompter.prompt(&calling(name), &tools).expect_err("no template").to_string();
        assert!(
            error.starts_with(&format!("there is no built-in tool prompt for the format `{name}`: ")),
            "{error}"
        );
        for name in ["jsonl", "qwen3-coder", "gpt-oss", "llama-3.3"] {
            assert!(error.split([' ', ',']).any(|word| word == name), "{error}");
        }
        assert!(!error.contains("jamba"), "{error}");
        let error = prompter.results(&calling(name), &messages).expect_err("no template");
        assert!(matches!(error, ToolPromptError::NoTemplate { .. }), "{error}");
    }
    for name in ["jsonl", "auto", "single_json", "function_calling"] {
        let error = prompter.results(&calling(name), &messages).expect_err("no results");
        let expected = format!(
            "results have a text only for a model family, such as `qwen3-coder`; with `{name}`, send each in a message of \
             the request"
        );
        assert_eq!(error.to_string(), expected);
    }
    let unknown = [Message::tool("c1", "12:00")];
    let error = prompter.results(&calling("gpt-oss"), &unknown).expect_err("no name");
    assert_eq!(
        error.to_string(),
        "a result lacks the tool's name or the call's id, which the chat template of `gpt-oss` needs, and no earlier call \
         tells it"
    );
    assert!(prompter.results(&calling("qwen3"), &unknown).is_ok());
    // An error of the template itself is not taken for one of the results.
    let own = prompter.with_template(&CallFormat::Hermes, "{{ tools }}{{ results }}{{ resultz }}");
    let error = own.results(&calling("hermes"), &messages).expect_err("a misspelled name");
    assert!(matches!(error, ToolPromptError::Template { .. }), "{error}");
}
#[test]
fn llama_calls_with_and_without_its_marker() {
    let parser = parser("llama3");
    let call = r#"{"name": "weather", "parameters": {"city": "Paris"}}"#;
    for text in
        [format!("{call}<|eot_id|>"), format!("<|python_tag|>{call}<|eom_id|>"), format!("{call}; {call}")]
    {
        let parsed = streamed_alike(&parser, &text);
        assert_eq!(parsed.calls[0].name, "weather", "{text}");
        assert!(parsed.rejected.is_empty(), "{text}: {:?}", parsed.rejected);
    }
    let parsed = streamed_alike(&parser, r#"{"city": "Paris", "days": 2}"#);
    assert!(parsed.calls.is_empty(), "{parsed:?}");
}

#[test]
fn gemma_gets_the_type_that_is_not_null() {
    let tools = ToolSet::from_json_str(
        r#"[{"name": "f", "parameters": {"type": "object", "properties": {
            "a": {"anyOf": [{"type": "integer"}, {"type": "null"}], "description": "A."},
            "b": {"type": ["null", "number"]}, "c": {"type": "string"},
            "d": {"oneOf": [{"type": "null"}, {"type": "array", "items": {"type": "string"}}]}}}}]"#,
    )
    .unwrap();
    let prompt = ToolPrompter::new().prompt(&calling("gemma4"), tools.definitions()).unwrap();
    let prompt = prompt.text().unwrap().replace("<|\"|>", "'");
    for expected in [
        "a:{description:'A.',nullable:true,type:'INTEGER'}",
        "b:{nullable:true,type:'NUMBER'}",
        "c:{type:'STRING'}",
        "d:{items:{type:'STRING'},nullable:true,type:'ARRAY'}",
    ] {
        assert!(prompt.contains(expected), "{expected}: {prompt}");
    }
}
