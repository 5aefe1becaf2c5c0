//! Templates and their terms.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Value, json};
use tokenline_prompt::{Format, Prompt, PromptError, PromptManager};

fn rendered(template: &str, terms: &Value) -> String {
    let manager = PromptManager::new().with_prompt("p", Prompt::text(template)).unwrap();
    manager.render("p", terms).map_or_else(|error| format!("error: {error}"), |asked| asked.prompt)
}

#[test]
fn input_overrides_prompt_and_global_terms() {
    let config = r#"
        system = "{{ a }}{{ b }}{{ c }}"
        terms = { a = "global", b = "global", c = "global" }
        [prompts.p]
        prompt = "{{ a }}-{{ b }}-{{ c }}"
        terms = { b = "prompt", c = "prompt" }
        [prompts.q]
        prompt = "{{ a }}-{{ b }}"
    "#;
    let manager = PromptManager::parse(config, Format::Toml).unwrap();
    let asked = manager.render("p", json!({"c": "input"})).unwrap();
    assert_eq!((asked.system.as_str(), asked.prompt.as_str()), ("globalpromptinput", "global-prompt-input"));
    assert_eq!(manager.render("q", ()).unwrap().prompt, "global-global");

    let manager = manager.with_terms(json!({"a": "later"})).unwrap();
    assert_eq!(manager.render("q", ()).unwrap().prompt, "later-global");
}

#[test]
fn input_may_be_anything_with_names() {
    #[derive(Serialize)]
    struct Input<'a> {
        text: &'a str,
    }
    let manager = PromptManager::new().with_prompt("p", Prompt::text("[{{ text }}]")).unwrap();
    assert_eq!(manager.render("p", Input { text: "a" }).unwrap().prompt, "[a]");
    assert_eq!(manager.render("p", HashMap::from([("text", "b")])).unwrap().prompt, "[b]");
    assert_eq!(manager.render("p", Some(json!({"text": "c"}))).unwrap().prompt, "[c]");
    for (input, found) in [(json!("text"), "a string"), (json!([1]), "a sequence"), (json!(7), "a number")] {
        let error = manager.render("p", input).unwrap_err().to_string();
        assert_eq!(error, format!("input: expected a map of terms, found {found}"));
    }
}

#[test]
fn templates_follow_jinja() {
    let terms = json!({
        "text": "<b> & 'c' \u{e9}",
        "fields": [{"name": "id"}, {"name": "title"}],
        "classes": {"fo/Recipe": {"comment": "A dish"}},
        "code": "{{ text }} {% if %}",
    });
    for (template, expected) in [
        ("{{text}}", "<b> & 'c' \u{e9}"),
        ("{{ text | tojson }}", "\"<b> & 'c' \u{e9}\""),
        ("{{ text | json }}", "\"<b> & 'c' \u{e9}\""),
        ("{{ fields[0] | tojson(indent=2) }}", "{\n  \"name\": \"id\"\n}"),
        ("{{ fields[0] | tojson(1) }}", "{\n \"name\": \"id\"\n}"),
        ("{% for field in fields %}{{ loop.index }}. {{ field.name }}\n{% endfor %}", "1. id\n2. title\n"),
        (
            "{% for id, class in classes.items() %}{{ id }}: {{ class.comment }}{% endfor %}",
            "fo/Recipe: A dish",
        ),
        (
            "{% for id, class in classes | items %}{{ id }}: {{ class.comment }}{% endfor %}",
            "fo/Recipe: A dish",
        ),
        ("{% if context %}{{ context }}{% else %}none{% endif %}", "none"),
        ("{{ context | default(\"none\") }}", "none"),
        ("{\"entity\": \"<name>\"}", "{\"entity\": \"<name>\"}"),
        // Terms are not templates.
        ("{{ code }}", "{{ text }} {% if %}"),
        ("{# a comment #}{% raw %}{{ text }}{% endraw %}", "{{ text }}"),
    ] {
        assert_eq!(rendered(template, &terms), expected, "{template}");
    }
    // Nothing is escaped, whatever the id.
    let manager = PromptManager::new().with_prompt("page.html", Prompt::text("{{ text }}")).unwrap();
    assert_eq!(manager.render("page.html", json!({"text": "<&>"})).unwrap().prompt, "<&>");
}

#[test]
fn the_order_of_members_stays() {
    let config = r#"{"terms": {"t": {"z": 1, "a": 2}}, "prompts": {"p": {"prompt": "{{ t | tojson }} {{ u | tojson }}", "terms": {"u": {"y": 1, "b": 0.5}}}}}"#;
    let manager = PromptManager::parse(config, Format::Json).unwrap();
    assert_eq!(manager.render("p", ()).unwrap().prompt, "{\"z\":1,\"a\":2} {\"y\":1,\"b\":0.5}");
    let config = "[terms.t]\nz = 1\na = 2\nd = 2026-01-02\n[prompts.p]\nprompt = '{{ t | tojson }}'";
    let manager = PromptManager::parse(config, Format::Toml).unwrap();
    assert_eq!(manager.render("p", ()).unwrap().prompt, "{\"z\":1,\"a\":2,\"d\":\"2026-01-02\"}");
}

#[test]
fn an_undefined_term_is_named() {
    let terms = json!({"m": {}, "n": 1});
    for (template, expected) in [
        ("Text:\n  {{ text }}", "`text` is undefined at line 2, column 6"),
        ("{{ text | tojson }}", "`text` is undefined at line 1, column 11"),
        ("{{ text | upper }}", "`text` is undefined at line 1, column 11"),
        ("{% for x in xs %}{{ x }}{% endfor %}", "`xs` is undefined at line 1, column 13"),
        ("{{ m.name }}", "`m.name` is undefined at line 1, column 4"),
        ("\u{e9} {{ schema.name }}", "`schema` is undefined at line 1, column 7"),
    ] {
        let expected = format!("error: prompts.p: {expected} of the template");
        assert_eq!(rendered(template, &terms), expected, "{template}");
    }
    assert_eq!(
        rendered("{{ n + m }}", &terms),
        "error: prompts.p: tried to use + operator on unsupported types number and map at line 1, column 4 of the template"
    );

    let manager = PromptManager::from_config([
        ("system", "You know {{ domain }}."),
        ("template-index", r#"["p"]"#),
        ("template.p", r#"{"prompt": "a\n{{ text }}"}"#),
    ]);
    let manager = manager.unwrap();
    let PromptError::Render(error) = manager.render("p", json!({"text": "t"})).unwrap_err() else { panic!() };
    assert_eq!((error.key(), error.term(), error.position()), ("system", Some("domain"), Some((1, 13))));
    let PromptError::Render(error) = manager.render("p", json!({"domain": "d"})).unwrap_err() else {
        panic!()
    };
    assert_eq!((error.key(), error.term(), error.position()), ("template.p", Some("text"), Some((2, 4))));
    assert_eq!(error.to_string(), "template.p: `text` is undefined at line 2, column 4 of the template");
}

#[test]
fn an_unknown_prompt_is_reported_with_a_similar_one() {
    let manager = PromptManager::built_in();
    for (id, expected) in [
        ("extract-defintions", "unknown prompt \"extract-defintions\"; is it \"extract-definitions\"?"),
        ("ontology-extact", "unknown prompt \"ontology-extact\"; is it \"ontology-extract\"?"),
        ("x", "unknown prompt \"x\""),
    ] {
        assert_eq!(manager.render(id, ()).unwrap_err().to_string(), expected);
        assert_eq!(manager.apply(id, "").unwrap_err().to_string(), expected);
    }
}
