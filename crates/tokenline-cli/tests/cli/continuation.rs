//! `tokenline continuation`.

use serde_json::{Value, json};
use tokenline::llm::replay::{Recording, ReplayServer};

use crate::common::{file, folder, ollama_body, tokenline};

#[test]
fn contexts_are_one_object_with_five_members() {
    let run =
        tokenline(&["continuation", "contexts", "--overlap", "10"], "{\"rows\":[{\"id\":1},{\"id\":2,\"no");
    assert_eq!((run.code, run.lines().len(), &*run.err), (0, 1, ""));
    let contexts: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(
        contexts,
        json!({
            "overlap_context": "\"id\":2,\"no",
            "hierarchy_context": "{\"rows\":[{\"id\":1},{\"id\":2,\"no",
            "hierarchy_context_for_prompt": "{\"rows\":[{\"id\":1},{\"id\":2,\"no",
            "complete_part": "{\"rows\":[{\"id\":1},{\"id\":2}]}",
            "json_parsing_success": true,
        })
    );
    let whole: Value =
        serde_json::from_str(&tokenline(&["continuation", "contexts"], "[1,2]\n").out).expect("JSON");
    assert_eq!((&whole["overlap_context"], &whole["complete_part"]), (&json!(""), &json!("[1,2]")));
    let fenced = tokenline(&["continuation", "contexts"], "~~~json\n{\"rows\":[1,\n~~~\nThat is all.");
    let fenced: Value = serde_json::from_str(&fenced.out).expect("JSON");
    assert_eq!(
        (&fenced["hierarchy_context"], &fenced["json_parsing_success"]),
        (&json!("{\"rows\":[1,"), &json!(true))
    );
    let none = tokenline(&["continuation", "contexts"], "I cannot.");
    assert_eq!((none.code, none.out.contains("\"json_parsing_success\":false")), (1, true));
    assert_eq!(none.err, "stdin: no JSON found\n");
    let err = |text: &str| tokenline(&["continuation", "contexts"], text).err;
    assert_eq!(err("tru"), "stdin: no value is complete yet\n");
    let malformed = "stdin: malformed JSON: expected a value, found `}` at line 1 column 10 of the JSON\n";
    assert_eq!(err("Here:\n[{\"a\":1},}"), malformed);
    let rows = format!("[{}", (0..1000).map(|at| format!("{{\"id\":{at}}},")).collect::<String>());
    let run = tokenline(&["continuation", "contexts", "--budget", "100"], &rows);
    let contexts: Value = serde_json::from_str(&run.out).expect("JSON");
    let shown = contexts["hierarchy_context_for_prompt"].as_str().expect("a text");
    assert!(shown.len() <= 100 && shown.ends_with("{\"id\":999},"), "{shown}");
}

#[test]
fn responses_are_merged() {
    let folder = folder();
    let base = file(&folder, "base.txt", "{\"rows\":[{\"id\":1},{\"id\":2");
    let merge = |args: &[&str], fragment: &str| {
        let run = tokenline(&[&["continuation", "merge"], args].concat(), fragment);
        (run.code, serde_json::from_str::<Value>(&run.out).unwrap_or_default(), run.err)
    };
    let (code, merged, err) = merge(&[&base, "-", "--requested-overlap", "8"], ",{\"id\":2},{\"id\":3}]}");
    assert_eq!((code, &*err), (0, ""));
    assert_eq!(
        merged,
        json!({"merged": "{\"rows\":[{\"id\":1},{\"id\":2},{\"id\":3}]}", "has_overlap": true, "join": "exact", "overlap": 8, "confidence": "certain"})
    );
    let (code, merged, _) = merge(&[&base, "-"], "},{\"id\":3}]}");
    assert_eq!((code, &merged["join"]), (0, &json!("none_but_grammatical")));
    assert_eq!(merged["merged"], "{\"rows\":[{\"id\":1},{\"id\":2},{\"id\":3}]}");
    // As `parse` reads them: a thought, a fence with attributes, the whole document.
    for fragment in [
        "<think>{\"id\":2} is open.</think>},{\"id\":3}]}",
        "~~~json {title=\"x\"}\n},{\"id\":3}]}\n~~~",
        "[THINK]x[/THINK]\n{\"rows\":[{\"id\":1},{\"id\":2},{\"id\":3}]}",
    ] {
        let (code, merged, err) = merge(&[&base, "-"], fragment);
        assert_eq!(merged["merged"], "{\"rows\":[{\"id\":1},{\"id\":2},{\"id\":3}]}", "{fragment}: {err}");
        assert_eq!(code, 0);
    }
    let (code, merged, err) = merge(&[&base, "-"], "I am done.");
    assert_eq!(
        (code, &merged["join"], &merged["merged"]),
        (1, &json!("failed"), &json!("{\"rows\":[{\"id\":1},{\"id\":2"))
    );
    assert_eq!(err, "stdin: the response does not continue what has arrived, wherever it is joined\n");
    let whole = file(&folder, "whole.json", "[1]");
    let (code, _, err) = merge(&[&whole, "-"], ",2]");
    assert_eq!((code, err), (1, format!("{whole}: the document is complete already\n")));
    let nothing = file(&folder, "nothing.txt", "I cannot.");
    let (code, merged, _) = merge(&[&nothing, "-"], "I am done.");
    assert_eq!((code, &merged["merged"]), (1, &json!("I cannot.")));
    assert_eq!(merge(&["-", "-"], "x").0, 2);
    assert_eq!(merge(&["no/such/file", "-"], "x").0, 3);
}

#[test]
fn the_missing_part_is_requested() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut crashing = ollama_body("[1, 2, 3", "");
    crashing.truncate(crashing.trim_end().rfind('\n').expect("two lines") + 1);
    crashing += "{\"error\":\"the model crashed\"}\n";
    let recordings = [
        Recording::new("whole", ollama_body("Here:\n```json\n[1, 2.50]\n```\n", "stop")),
        Recording::new("repeating", ollama_body("[{\"id\":1},{\"id\":2", "length")),
        Recording::new("none", ollama_body("I cannot.", "stop")),
        Recording::new("crashing", crashing),
    ];
    let server =
        runtime.block_on(ReplayServer::bind(([127, 0, 0, 1], 0).into(), recordings)).expect("a port");
    let url = server.url();
    let run = |model: &str| {
        let args = ["continuation", "run", "--provider", "ollama", "--base-url", &url, "--model", model];
        tokenline(&args, "List the rows.")
    };
    let whole = run("whole");
    assert_eq!((whole.code, &*whole.out, &*whole.err), (0, "[1, 2.50]\n", ""));
    let repeating = run("repeating");
    assert_eq!((repeating.code, &*repeating.out), (1, "[{\"id\":1},{}]\n"));
    assert_eq!(
        repeating.err,
        "repeating: the document is incomplete: 3 responses in a row added nothing; the last: the response has nothing \
         new\n"
    );
    let none = run("none");
    assert_eq!((none.code, &*none.out), (1, ""));
    assert_eq!(
        none.err,
        "none: no part of the document is complete: 3 responses in a row added nothing; the last: the response is not \
         one JSON value, or nothing of it is complete\n"
    );
    // What was paid for is printed.
    let crashing = run("crashing");
    assert_eq!((crashing.code, &*crashing.out), (3, "[1, 2]\n"));
    assert!(crashing.err.contains("the model crashed"), "{}", crashing.err);
    assert_eq!(server.traffic().requests, 1 + 4 + 3 + 1);
    assert_eq!(tokenline(&["continuation", "run", "--provider", "ollama", "--model", "m"], " ").code, 2);
}
