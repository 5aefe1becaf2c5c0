//! Bounds on templates: each is an error that says which.

use serde_json::json;
use tokenline_prompt::{Prompt, PromptManager};

/// The error of a template: of its syntax, or of rendering it.
fn fault(template: &str) -> String {
    let manager = match PromptManager::new().with_prompt("p", Prompt::text(template)) {
        Ok(manager) => manager,
        Err(error) => return error.to_string(),
    };
    match manager.render("p", json!({"x": [1, 2]})) {
        Ok(rendered) => format!("{} bytes", rendered.prompt.len()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn work_and_output_are_bounded() {
    const STEPS: &str = "the template takes more than 2000000 steps, the limit";
    const OUTPUT: &str = "more than 64 MiB, the limit";
    let shared = |end: &str| {
        "{% set n = namespace(s=[1]) %}{% for a in range(60) %}{% set n.s = [n.s, n.s] %}{% endfor %}"
            .to_owned()
            + end
    };
    let pad = "x".repeat(1_000_000);
    let cases = [
        ("{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}".to_owned(), STEPS),
        (
            "{% set n = namespace(s='xxxxxxxx') %}{% for a in range(60) %}{% set n.s = n.s ~ n.s %}{% endfor %}"
                .to_owned(),
            STEPS,
        ),
        ("{{ 'x' * 10000000000 }}".to_owned(), STEPS),
        (format!("{{% for a in range(100) %}}{pad}{{% endfor %}}"), OUTPUT),
        // Little memory as a value, which shares its parts, and much as text.
        (shared("{{ n.s|tojson }}"), STEPS),
        (shared("{{ n.s }}"), STEPS),
        (shared("{{ n.s[0:] }}"), STEPS),
        (shared("{{ {'a': n.s}.items() }}"), STEPS),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}".to_owned(), "recursion limit"),
    ];
    for (template, reason) in cases {
        let fault = fault(&template);
        assert!(fault.contains(reason), "{fault}");
    }
}

/// Methods and filters that read all of a value as text.
#[test]
fn reading_shared_values_as_text_is_bounded() {
    reading_is_bounded(&[
        "[n.s]|join",
        "n.s[0:]|join",
        "[1, 2]|join(n.s)",
        "','.join([n.s])",
        "'x'.replace('x', n.s)",
        "'%s'|format(n.s)",
        "n.s|upper",
        "n.s|split(',')",
    ]);
}

/// Filters, tests and methods that compare all of a value, however they get it.
#[test]
fn comparing_shared_values_is_bounded() {
    reading_is_bounded(&[
        "[n.s, n.t]|sort",
        "[n.s, n.t]|unique|list",
        "[n.s]|map('upper')|list",
        "[n.s]|select('eq', n.t)|list",
        "n.s is eq(n.t)",
        "n.s is in([n.t])",
        "n.s is startingwith('a')",
        "[n.s].count(n.t)",
    ]);
}

fn reading_is_bounded(expressions: &[&str]) {
    for reads in expressions {
        let fault = fault(&format!(
            "{{% set n = namespace(s=[1], t=[1]) %}}{{% for a in range(60) %}}\
             {{% set n.s = [n.s, n.s] %}}{{% set n.t = [n.t, n.t] %}}{{% endfor %}}{{{{ ({reads})|length }}}}"
        ));
        assert!(fault.contains("the template takes more than 2000000 steps, the limit"), "{reads}: {fault}");
    }
}

#[test]
fn nesting_is_bounded() {
    const OPERATORS: &str = "an expression has more than 500 operators, the limit";
    const NESTING: &str = "the template is nested deeper than 150 levels, the limit";
    let times = |part: &str, count: usize| part.repeat(count);
    let many = 200_000;
    let cases = [
        (format!("{{{{ {} x }}}}", times("not ", many)), OPERATORS),
        (format!("{{{{ {}1 }}}}", times("-", many)), OPERATORS),
        (format!("{{{{ {}1 }}}}", times("1+", many)), OPERATORS),
        (format!("{{{{ x{} }}}}", times("|string", many)), OPERATORS),
        (format!("{{{{ x{} }}}}", times(".a", many)), OPERATORS),
        (format!("{{{{ 1 {} }}}}", times("if x else 2 ", many)), OPERATORS),
        (format!("{{{{ {}{} }}}}", times("(", many), times(")", many)), OPERATORS),
        (format!("{{{{ {{'}}}}': {{}}}} {}x }}}}", times("not ", many)), OPERATORS),
        (format!("{{% raw %}}}}}}{{% endraw %}}{{{{ {}x }}}}", times("not ", many)), OPERATORS),
        (format!("{{{{ {}1{} }}}}", times("[", 300), times("]", 300)), NESTING),
        (format!("{}{}", times("{% if x %}", many), times("{% endif %}", many)), NESTING),
        (
            format!("{{% if x %}}{}{{% endif %}}", times("{% elif x %}", many)),
            "the template has more than 500 `elif`, the limit",
        ),
    ];
    for (template, reason) in cases {
        let fault = fault(&template);
        assert!(fault.contains(reason), "{}: {fault}", &template[..40]);
    }
    // What is within the bounds fits on the stack of a thread.
    for template in [
        format!("{{{{ {}x }}}}", times("not ", 500)),
        format!("{{{{ {}1 }}}}", times("1+", 500)),
        format!("{{{{ x{} }}}}", times("|string", 500)),
        format!("{{% if x %}}{}{{% endif %}}", times("{% elif x %}", 500)),
        // Text is not an expression.
        format!("{{% raw %}}{{{{{}{{% endraw %}}{{# {{{{ {} #}}", times("not ", many), times("not ", many)),
        format!("{{{{ '{}' }}}}", times("not ", many)),
        format!("{{{{ [{}] }}}}", times("x,", many)),
    ] {
        let fault = fault(&template);
        assert!(fault.ends_with(" bytes"), "{}: {fault}", &template[..40]);
    }
}

/// A loop can nest a value as deeply as it likes: to free it must not end the process, and to show it is an error.
#[test]
fn deep_values_are_bounded() {
    const DEEP: &str = "a value nested deeper than 150 levels, the limit";
    for (value, end, expected) in [
        ("[n.s]", "x", "1 bytes"),
        ("{'a': n.s}", "{{ n.s|length }}", "1 bytes"),
        ("[n.s]", "{{ n.s }}", DEEP),
        ("(n.s, 1)", "{{ n.s|tojson }}", DEEP),
        ("{'a': n.s}", "{{ n.s|string }}", DEEP),
        ("[n.s]", "{{ n.s|pprint }}", DEEP),
        ("n", "{{ n }}", DEEP),
    ] {
        let fault = fault(&format!(
            "{{% set n = namespace(s=[]) %}}{{% for a in range(50000) %}}{{% set n.s = {value} %}}{{% endfor %}}{end}"
        ));
        assert!(fault.contains(expected), "{value} {end}: {fault}");
    }
}
