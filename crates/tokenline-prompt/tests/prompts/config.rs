//! Configurations, and the errors of invalid ones.

use std::error::Error;
use std::io::Write as _;

use serde_json::json;
use tokenline_prompt::{ConfigErrorKind, Format, Prompt, PromptManager, ResponseType, Within};

use ConfigErrorKind::{
    MissingPrompt, MissingTemplate, Schema, Shape, Syntax, Template, Terms, UnknownKey, UnknownResponseType,
};

const DEFINE: &str =
    r#"{"prompt": "Define: {{text}}", "response-type": "jsonl", "object-schema": {"required": ["entity"]}}"#;

/// The content of a configuration, for comparison.
fn summary(manager: &PromptManager) -> Vec<String> {
    let prompt = |id| {
        let prompt = manager.prompt(id).unwrap();
        let schema = prompt.schema().map(ToString::to_string).unwrap_or_default();
        format!("{id} {} {:?} {schema}", prompt.response_type(), prompt.template())
    };
    std::iter::once(manager.system().to_owned()).chain(manager.ids().map(prompt)).collect()
}

#[test]
fn all_forms_are_equivalent() {
    let expected = [
        "Be {{ tone }}.",
        "define jsonl \"Define: {{text}}\" {\"required\":[\"entity\"]}",
        "chat text \"{{text}}\" ",
        "rate json \"Rate: {{text}}\" {\"type\":\"object\"}",
    ];
    let strings = [
        ("system", r#""Be {{ tone }}.""#),
        ("template-index", r#"["define", "chat", "rate"]"#),
        ("template.define", DEFINE),
        ("template.chat", r#"{"prompt": "{{text}}", "id": "chat"}"#),
        (
            "template.rate",
            r#"{"prompt": "Rate: {{text}}", "response-type": "json", "schema": {"type": "object"}, "object-schema": null}"#,
        ),
        ("template.unlisted", "not even JSON"),
        ("other", "7"),
    ];
    let manager = PromptManager::from_config(strings).unwrap();
    assert_eq!(summary(&manager), expected);

    let values =
        strings.map(|(key, value)| (key, serde_json::from_str(value).unwrap_or_else(|_| json!(value))));
    assert_eq!(summary(&PromptManager::from_config(values.clone()).unwrap()), expected);

    for file in [
        json!(strings.into_iter().collect::<std::collections::HashMap<_, _>>()),
        json!(values.into_iter().collect::<std::collections::HashMap<_, _>>()),
    ] {
        assert_eq!(summary(&PromptManager::parse(&file.to_string(), Format::Json).unwrap()), expected);
    }

    let natural = r#"{
        "system": "Be {{ tone }}.",
        "terms": {"tone": "kind"},
        "prompts": {
            "define": {"prompt": "Define: {{text}}", "response-type": "jsonl", "object-schema": {"required": ["entity"]}},
            "chat": {"prompt": "{{text}}"},
            "rate": {"prompt": "Rate: {{text}}", "response-type": "json", "schema": {"type": "object"}}
        }
    }"#;
    assert_eq!(summary(&PromptManager::parse(natural, Format::Json).unwrap()), expected);

    let natural = r#"
        system = "Be {{ tone }}."
        [terms]
        tone = "kind"
        [prompts.define]
        prompt = "Define: {{text}}"
        response-type = "jsonl"
        object-schema = { required = ["entity"] }
        [prompts.chat]
        prompt = "{{text}}"
        [prompts.rate]
        prompt = "Rate: {{text}}"
        response-type = "json"
        schema.type = "object"
    "#;
    let manager = PromptManager::parse(natural, Format::Toml).unwrap();
    assert_eq!(summary(&manager), expected);
    assert_eq!(manager.render("chat", json!({"text": "t"})).unwrap().system, "Be kind.");
}

#[test]
fn missing_members_have_defaults() {
    let manager = PromptManager::from_config([("template-index", "[]")]).unwrap();
    assert_eq!((manager.system(), manager.ids().count()), ("", 0));
    let manager = PromptManager::from_config([("template.a", r#"{"prompt": "p"}"#)]).unwrap();
    assert_eq!(manager.prompt("a").unwrap().response_type(), ResponseType::Text);
    assert_eq!(manager.render("a", ()).unwrap().system, "");
    assert_eq!(PromptManager::parse("", Format::Toml).unwrap().ids().len(), 0);
    assert_eq!(PromptManager::from_config([("", ""); 0]).unwrap().ids().len(), 0);
}

#[test]
fn a_system_prompt_that_is_not_a_json_string_is_plain_text() {
    for (value, expected) in [
        (r#""Be \"helpful\".""#, "Be \"helpful\"."),
        ("Be helpful.", "Be helpful."),
        ("7", "7"),
        ("{\"a\": 1}", "{\"a\": 1}"),
        ("\"open", "\"open"),
        ("", ""),
    ] {
        assert_eq!(PromptManager::from_config([("system", value)]).unwrap().system(), expected);
    }
}

#[test]
fn errors_in_the_flat_form_have_key_and_position() {
    let template = |value| vec![("template-index", r#"["a"]"#), ("template.a", value)];
    let cases = [
        (
            vec![("template-index", r#"["a","#)],
            Syntax,
            "template-index: not JSON: expected a value, found the end of the input at line 1, column 6 of the value",
        ),
        (
            vec![("template-index", r#"{"a": 1}"#)],
            Shape,
            "template-index: expected an array of strings, found an object at line 1, column 1 of the value",
        ),
        (
            vec![("template-index", "[\"a\",\n 7]"), ("template.a", DEFINE)],
            Shape,
            "template-index: expected a string, found a number at line 2, column 2 of the value",
        ),
        (
            vec![("template-index", r#"["a", "b"]"#), ("template.a", DEFINE)],
            MissingTemplate,
            "template-index: `template.b` is missing, but the index lists it at line 1, column 7 of the value",
        ),
        (
            template(r#"{"prompt": "p""#),
            Syntax,
            "template.a: not JSON: expected `,` or `}`, found the end of the input at line 1, column 15 of the value",
        ),
        (
            template("{\"prompt\": \"p\",\n \"schema\": NaN}"),
            Syntax,
            "template.a: not JSON: expected a value, found a letter at line 2, column 12 of the value",
        ),
        (
            template("[]"),
            Shape,
            "template.a: expected an object, found an array at line 1, column 1 of the value",
        ),
        (
            template("{}"),
            MissingPrompt,
            "template.a: `prompt`, the template, is missing at line 1, column 1 of the value",
        ),
        (
            template(r#"{"prompt": null}"#),
            MissingPrompt,
            "template.a: `prompt`, the template, is missing at line 1, column 1 of the value",
        ),
        (
            template(r#"{"prompt": 7}"#),
            Shape,
            "template.a: prompt: expected a string, found a number at line 1, column 12 of the value",
        ),
        (
            template(r#"{"prompt": "p", "response-type": "jsnl"}"#),
            UnknownResponseType,
            "template.a: response-type: unknown response type \"jsnl\"; use \"text\", \"json\" or \"jsonl\" at line 1, column 34 of the value",
        ),
        (
            template(r#"{"prompt": "p", "response-type": ["json"]}"#),
            Shape,
            "template.a: response-type: expected a string, found an array at line 1, column 34 of the value",
        ),
        (
            template(
                "{\"prompt\": \"p\", \"response-type\": \"json\",\n\"schema\": {\"properties\": {\"a\": {\"type\": \"strin\"}}}}",
            ),
            Schema,
            "template.a: schema: /properties/a/type: \"strin\" is not one of \"array\", \"boolean\", \"integer\", \"null\", \"number\", \"object\", \"string\" at line 2, column 41 of the value",
        ),
        (
            template(r#"{"prompt": "p", "response-type": "jsonl", "object-schema": {"$ref": "http://a/b"}}"#),
            Schema,
            "template.a: object-schema: /$ref: refers to \"http://a/b\", but nothing outside the schema is read at line 1, column 69 of the value",
        ),
        (
            template(r#"{"prompt": "p", "response-type": "jsonl", "schema": 7}"#),
            Schema,
            "template.a: schema: 7 is not of types \"boolean\", \"object\" at line 1, column 53 of the value",
        ),
        (
            template("{\"prompt\": \"Text:\\n\u{e9} {{ text\"}"),
            Template,
            "template.a: prompt: unexpected end of input, expected end of variable block at line 2, column 7 of the template",
        ),
        (
            template(r#"{"prompt": "{% include 'b' %}"}"#),
            Template,
            "template.a: prompt: unknown statement include at line 1, column 4 of the template",
        ),
        (
            template(r#"{"prompt": "p", "terms": [1]}"#),
            Shape,
            "template.a: terms: expected an object of terms, found an array at line 1, column 26 of the value",
        ),
        (
            template(r#"{"prompt": "p", "aliases": "b"}"#),
            Shape,
            "template.a: aliases: expected an array of strings, found a string at line 1, column 28 of the value",
        ),
        (
            vec![("system", "a {% if %}")],
            Template,
            "system: unexpected end of block at line 1, column 9 of the template",
        ),
    ];
    for (config, kind, expected) in cases {
        let error = PromptManager::from_config(config).unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.kind(), kind, "{error}");
        assert_eq!(error.source().is_some(), matches!(kind, Syntax | Schema), "{error}");
    }
    let error = PromptManager::from_config([("system", json!(7))]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "system: expected a string, found a number at line 1, column 1 of the value"
    );
}

#[test]
fn errors_in_a_file_have_key_and_position() {
    use Format::{Json, Toml};
    let cases = [
        (
            "{\n  \"prompts\": [",
            Json,
            Syntax,
            "not JSON: expected a value or `]`, found the end of the input at line 2, column 15 of the file",
        ),
        ("[]", Json, Shape, "expected an object, found an array at line 1, column 1 of the file"),
        (
            "{\n  \"promts\": {}}",
            Json,
            UnknownKey,
            "unknown key \"promts\"; is it \"prompts\"? at line 2, column 13 of the file",
        ),
        (
            "{\"x\": {}}",
            Json,
            UnknownKey,
            "unknown key \"x\"; use one of system, terms, prompts at line 1, column 7 of the file",
        ),
        (
            "{\"prompts\": {\"a\": {\"prompt\": \"p\",\n \"response_type\": \"json\"}}}",
            Json,
            UnknownKey,
            "prompts.a: unknown key \"response_type\"; is it \"response-type\"? at line 2, column 19 of the file",
        ),
        (
            "{\"prompts\": {\"a\":\n {}}}",
            Json,
            MissingPrompt,
            "prompts.a: `prompt`, the template, is missing at line 2, column 2 of the file",
        ),
        (
            "{\"prompts\": {\"a\": {\"prompt\": \"p\", \"response-type\": \"xml\"}}}",
            Json,
            UnknownResponseType,
            "prompts.a: response-type: unknown response type \"xml\"; use \"text\", \"json\" or \"jsonl\" at line 1, column 52 of the file",
        ),
        (
            "{\"prompts\": {\"a\": {\"prompt\": \"p\", \"response-type\": \"json\", \"schema\": {\n\"type\": 7}}}}",
            Json,
            Schema,
            "prompts.a: schema: /type: 7 is not one of \"array\", \"boolean\", \"integer\", \"null\", \"number\", \"object\", \"string\" at line 2, column 9 of the file",
        ),
        (
            "{\"prompts\": {\"a\": {\"prompt\": \"{{\"}}}",
            Json,
            Template,
            "prompts.a: prompt: unexpected end of input, expected expression at line 1, column 1 of the template",
        ),
        (
            "{\"system\": 7}",
            Json,
            Shape,
            "system: expected a string, found a number at line 1, column 12 of the file",
        ),
        (
            "{\"terms\": []}",
            Json,
            Shape,
            "terms: expected an object of terms, found an array at line 1, column 11 of the file",
        ),
        (
            "{\"template.a\": {\"prompt\": \"p\"},\n\"prompts\": {}}",
            Json,
            UnknownKey,
            "`prompts` cannot be combined with `template-index` and `template.<id>` at line 2, column 12 of the file",
        ),
        (
            "{\"template-index\": [\"a\"]}",
            Json,
            MissingTemplate,
            "template-index: `template.a` is missing, but the index lists it at line 1, column 21 of the file",
        ),
        (
            "{\n\"template.a\": \"{\\\"prompt\\\": 7}\"}",
            Json,
            Shape,
            "template.a: prompt: expected a string, found a number at line 1, column 12 of the value",
        ),
        (
            "{\n\"template.a\": {\"prompt\": 7}}",
            Json,
            Shape,
            "template.a: prompt: expected a string, found a number at line 2, column 26 of the file",
        ),
        ("system = \"a\"\nprompts = [", Toml, Syntax, "not TOML: "),
        (
            "[template.a]\nprompt = 'p'",
            Toml,
            UnknownKey,
            "unknown key \"template\"; use one of system, terms, prompts",
        ),
        (
            "[prompts.a]\nresponse-type = 'json'",
            Toml,
            MissingPrompt,
            "prompts.a: `prompt`, the template, is missing",
        ),
        (
            "[prompts.a]\nprompt = '''\nx\n{{ y'''",
            Toml,
            Template,
            "prompts.a: prompt: unexpected end of input, expected end of variable block at line 2, column 4 of the template",
        ),
        (
            "[prompts.a]\nprompt = 'p'\nresponse-type = 'yaml'",
            Toml,
            UnknownResponseType,
            "prompts.a: response-type: unknown response type \"yaml\"; use \"text\", \"json\" or \"jsonl\"",
        ),
        (
            "[prompts.a]\nprompt = 'p'\nresponse-type = 'json'\nschema = { type = 'strin' }",
            Toml,
            Schema,
            "prompts.a: schema: /type: \"strin\" is not one of \"array\", \"boolean\", \"integer\", \"null\", \"number\", \"object\", \"string\"",
        ),
    ];
    for (text, format, kind, expected) in cases {
        let error = PromptManager::parse(text, format).unwrap_err();
        // Syntax errors of TOML have the message of its parser.
        if expected.ends_with(": ") {
            assert!(error.to_string().starts_with(expected) && error.place().is_some(), "{error}");
        } else {
            assert_eq!(error.to_string(), expected);
        }
        assert_eq!(error.kind(), kind, "{error}");
        assert!(!error.to_string().contains('\n'));
    }
}

#[test]
fn errors_in_code_have_the_key() {
    let with = |prompt| PromptManager::new().with_prompt("a", prompt).unwrap_err();
    assert_eq!(
        with(Prompt::text("{{")).to_string(),
        "prompts.a: prompt: unexpected end of input, expected expression at line 1, column 1 of the template"
    );
    let error = with(Prompt::json("p").with_schema(json!({"type": "strin"})));
    assert_eq!(
        error.to_string(),
        "prompts.a: schema: /type: \"strin\" is not one of \"array\", \"boolean\", \"integer\", \"null\", \"number\", \"object\", \"string\""
    );
    assert_eq!((error.key(), error.member(), error.place()), ("prompts.a", Some("schema"), None));
    let error = with(Prompt::text("p").with_terms("text"));
    assert_eq!(error.to_string(), "prompts.a: terms: expected a map of terms, found a string");
    assert_eq!(error.kind(), Terms);
    let error = PromptManager::new().with_terms(7).unwrap_err();
    assert_eq!(error.to_string(), "terms: expected a map of terms, found a number");
    // Unused schemas are not checked.
    let unused = Prompt::text("p").with_schema(json!(7)).with_object_schema(json!("x"));
    assert_eq!(PromptManager::new().with_prompt("a", unused).unwrap().prompt("a").unwrap().schema(), None);
}

#[test]
fn files_are_read_by_extension_or_content() {
    let folder = std::env::temp_dir().join(format!("tokenline-prompt-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let json = r#"{"prompts": {"a": {"prompt": "p"}}}"#;
    let toml = "[prompts.a]\nprompt = 'p'";
    for (name, text) in [
        ("a.json", json),
        ("a.JSON", json),
        ("a.toml", toml),
        ("a.conf", json),
        ("b.conf", toml),
        ("prompts", toml),
    ] {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        assert_eq!(PromptManager::load(&path).unwrap().ids().collect::<Vec<_>>(), ["a"], "{name}");
    }

    let path = folder.join("bad.toml");
    std::fs::write(&path, "[prompts.a]\nprompt = '{{'\n").unwrap();
    let error = PromptManager::load(&path).unwrap_err();
    let expected =
        "prompts.a: prompt: unexpected end of input, expected expression at line 1, column 1 of the template";
    assert_eq!(error.to_string(), format!("{}: {expected}", path.display()));
    assert_eq!((error.file(), error.place().unwrap().within), (Some(path.as_path()), Within::Template));

    let path = folder.join("none.toml");
    let error = PromptManager::load(&path).unwrap_err();
    assert!(error.to_string().starts_with(&format!("{}: cannot read the file: ", path.display())), "{error}");
    assert_eq!((error.kind(), error.key()), (ConfigErrorKind::File, ""));

    let path = folder.join("large.toml");
    std::fs::write(&path, "#".repeat((16 << 20) - 1) + "\n").unwrap();
    assert!(PromptManager::load(&path).is_ok());
    std::fs::File::options().append(true).open(&path).unwrap().write_all(b"\n").unwrap();
    let error = PromptManager::load(&path).unwrap_err();
    let reason = "cannot read the file: the configuration exceeds the limit of 16 MiB; shorten or split it";
    assert_eq!(error.to_string(), format!("{}: {reason}", path.display()));
    assert_eq!(error.kind(), ConfigErrorKind::File);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_later_prompt_replaces_an_earlier_one() {
    let own = PromptManager::new().with_system("Be kind.").unwrap();
    let own = own.with_prompt("extract-with-ontologies", Prompt::text("mine")).unwrap();
    let own = own.with_prompt("new", Prompt::text("new").with_alias("extract-topics")).unwrap();
    let own = own.with_prompt("new", Prompt::text("newer")).unwrap();
    let manager = PromptManager::built_in().extend(own);
    assert_eq!(manager.system(), "Be kind.");
    assert_eq!(manager.ids().len(), 7);
    assert_eq!(manager.ids().last(), Some("new"));
    assert_eq!(manager.prompt("ontology-extract").unwrap().template(), "mine");
    assert_eq!(manager.prompt("new").unwrap().template(), "newer");
    assert_eq!(manager.prompt("extract-topics").unwrap().response_type(), ResponseType::Jsonl);
}

#[test]
fn an_alias_belongs_to_one_prompt() {
    for (prompts, alias) in [
        (r#"{"a":{"prompt":"A","aliases":["b"]},"b":{"prompt":"B"}}"#, "b"),
        (r#"{"a":{"prompt":"A","aliases":["z"]},"b":{"prompt":"B","aliases":["z"]}}"#, "z"),
        (r#"{"a":{"prompt":"A","aliases":["a"]}}"#, "a"),
    ] {
        let error = PromptManager::parse(&format!("{{\"prompts\":{prompts}}}"), Format::Json).unwrap_err();
        assert_eq!(error.kind(), ConfigErrorKind::Alias, "{prompts}");
        let message = format!("aliases: \"{alias}\" is repeated, or is the id or alias of another prompt");
        assert!(error.to_string().ends_with(&message), "{error}");
    }
}
