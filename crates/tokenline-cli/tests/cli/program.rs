//! Usage, explanations, the demo, the server.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::common::{file, fixture, folder, tokenline};

/// Bad usage prints one line with the position, and nothing else.
#[test]
fn bad_usage_is_reported_in_one_line() {
    let folder = folder();
    let schema = file(&folder, "schema.json", r#"{"type":"object"}"#);
    let unknown_type = file(&folder, "unknown_type.json", r#"{"properties":{"a":{"type":"strin"}}}"#);
    let not_json = file(&folder, "not_json.json", "{\"type\":\n object}");
    let not_utf8 = file(&folder, "not_utf8.json", b"{\"title\":\"\xFF\"}");
    let remote = file(&folder, "remote.json", r#"{"$ref":"https://example.com/x.json"}"#);
    let broken_tools = file(&folder, "tools.json", r#"[{"name":"a"},{"nam":"b"}]"#);
    let bad_tool = file(&folder, "bad_tool.json", r#"[{"name":"a","parameters":{"type":"objekt"}}]"#);
    let missing = folder.path().join("missing").to_str().expect("UTF-8").to_owned();
    let a_folder = folder.path().to_str().expect("UTF-8").to_owned();
    for (args, code, says) in [
        (&["--schema", &unknown_type][..], 2, "/properties/a/type"),
        (&["--schema", &not_json], 2, "line 2"),
        (&["--schema", &not_utf8], 2, "offset 10"),
        (&["--schema", &remote], 2, "$ref"),
        (&["--schema", &missing], 3, "missing"),
        (&["--tools", &broken_tools], 2, "tools.json"),
        (&["--tools", &bad_tool], 2, "/type"),
        (&["--schema", &schema, "--tools", &broken_tools], 2, "tools.json"),
        (&[&missing], 3, "missing"),
        (&[&a_folder], 3, "directory"),
        (&["--from", "nothing"], 2, "openai-chat"),
        (&["--chunk-size", "0"], 2, "--chunk-size"),
        (&["--chunk-size", "18446744073709551615"], 2, "--chunk-size"),
        (&["--report-json", "-"], 2, "standard output"),
        (&["--report-json", &schema, &schema], 2, "the input"),
        (&["--report-json", &a_folder], 3, "directory"),
        (&["--nonsense"], 2, "--nonsense"),
    ] {
        let run = tokenline(&[&["parse"], args].concat(), "{\"a\":1}\n");
        assert_eq!(run.code, code, "{args:?}: {}", run.err);
        assert_eq!(run.out, "", "{args:?}");
        assert!(run.err.contains(says), "{args:?}: {}", run.err);
        let is_ours = run.err.starts_with("tokenline: ");
        assert!(!is_ours || run.err.lines().count() == 1, "{args:?}: {}", run.err);
    }
}

/// Runs the example in an explanation, and returns its events. `None` if there is only a description.
#[cfg(unix)]
fn events_of(example: tokenline::Example, explained: &str) -> Option<String> {
    use tokenline::Example;
    let folder = folder();
    let mut args: Vec<String> = ["parse", "--emit", "events"].map(String::from).into();
    let mut rules = |option: &str, rules: &str| {
        args.extend([option.to_owned(), file(&folder, "rules.json", rules)]);
    };
    let input = match example {
        Example::Text(text) => text,
        Example::Schema { schema, text } => {
            rules("--schema", schema);
            text
        }
        Example::Tools { tools, text } => {
            rules("--tools", tools);
            text
        }
        Example::OpenAiChat(events) => {
            args.extend(["--from", "openai-chat"].map(String::from));
            events
        }
        Example::Options { options, text } => {
            assert!(explained.contains(&format!("with {options} ")), "{explained}");
            args.extend(options.split(' ').map(String::from));
            text
        }
        _ => return None,
    };
    assert!(input.trim_end().lines().all(|line| explained.contains(line)), "{explained}");
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    Some(tokenline(&args, input).out)
}

#[cfg(unix)]
#[test]
fn every_code_is_explained_with_an_input_that_triggers_it() {
    use tokenline::conversations::ErrorCode;
    use tokenline::syntax_repair::EditKind;
    use tokenline::{Code, CompletedBy, Recovery};
    use tokenline_import::ImportCode;
    let explain = |name: &str| {
        let run = tokenline(&["explain", name], "");
        assert_eq!(run.code, 0, "{name}: {}", run.err);
        run.out
    };
    for &code in Code::ALL {
        if let Some(events) = events_of(code.example(), &explain(code.as_str())) {
            assert!(events.contains(&format!("\"code\":\"{code}\"")), "{code}: {events}");
        }
    }
    let mut own_line_codes = 0;
    for code in ErrorCode::ALL {
        let explained = explain(code.as_str());
        if !matches!(code, ErrorCode::Record(_)) {
            own_line_codes += 1;
            assert!(code.example().lines().all(|line| explained.contains(line)), "{explained}");
        }
    }
    for (old, codes) in ErrorCode::OLD_NAMES {
        let explained = explain(old);
        assert!(codes.iter().all(|code| explained.contains(code.as_str())), "{explained}");
    }
    assert!(explain("non_object_line").contains("\nnot_an_object (error)\n"));
    for code in ImportCode::ALL {
        let explained = explain(code.as_str());
        let (options, rows) = code.example();
        assert!(rows.lines().all(|line| explained.contains(line)), "{explained}");
        let args: Vec<_> = ["import"].into_iter().chain(options.split_whitespace()).collect();
        let run = tokenline(&args, rows);
        assert!(rows.is_empty() || run.err.contains(&format!(": {code}: ")), "{code}: {}", run.err);
    }
    for &recovery in Recovery::ALL {
        let explained = explain(recovery.as_str());
        assert!(explained.contains(&format!("{recovery} (in the `recovered` of an event)")), "{explained}");
        if let Some(events) = events_of(recovery.example(), &explained) {
            let recovered = events.lines().find_map(|line| {
                let event: serde_json::Value = serde_json::from_str(line).expect("JSON");
                event["recovered"].as_array().cloned()
            });
            let is_among = recovered.is_some_and(|codes| codes.contains(&recovery.as_str().into()));
            assert!(is_among, "{recovery}: {events}");
        }
    }
    for &completion in CompletedBy::ALL {
        let explained = explain(completion.as_str());
        assert!(
            explained.contains(&format!("{completion} (in the `completion` of an event)")),
            "{explained}"
        );
        let events = events_of(completion.example(), &explained).expect("an example");
        assert!(events.contains(&format!("\"completion\":\"{completion}\"")), "{completion}: {events}");
    }
    for &edit in EditKind::ALL {
        let explained = explain(edit.as_str());
        assert!(explained.contains(&format!("{edit} (in the `repaired` of an event)")), "{explained}");
        if let Some(events) = events_of(edit.example(), &explained) {
            assert!(events.contains(&format!("\"edit\":\"{edit}\"")), "{edit}: {events}");
        }
    }
    let prose = explain("prose");
    assert!(prose.starts_with("prose (info)\n") && prose.contains("\n\nprose (in the "), "{prose}");
    let unknown = tokenline(&["explain", "no_such_code"], "");
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("trailing_data") && unknown.err.contains("call_end_missing"));
    let codes = Code::ALL.len() + own_line_codes + ImportCode::ALL.len();
    let count = codes + Recovery::ALL.len() + CompletedBy::ALL.len() + EditKind::ALL.len();
    assert_eq!(tokenline(&["explain"], "").lines().len(), count);
}

#[test]
fn the_demo_prints_records_and_calls_as_they_complete() {
    let run = tokenline(&["demo", "--delay-ms", "0", "--chunk-size", "100"], "");
    assert_eq!(run.code, 0, "{}", run.err);
    let lines = run.lines();
    assert!(lines.len() >= 10, "{}", run.out);
    for line in &lines {
        assert!(serde_json::from_str::<serde_json::Value>(line).expect("JSON").is_object());
    }
    assert!(lines.iter().any(|line| line.starts_with("{\"name\":")), "calls are among them");
}

#[test]
fn replay_serves_the_given_recording() {
    use std::io::{BufRead as _, BufReader};
    let folder = folder();
    let recording: PathBuf = folder.path().join("mine.sse");
    std::fs::copy(fixture("definitions.sse"), &recording).expect("copied");
    let mut child = Command::new(env!("CARGO_BIN_EXE_tokenline"))
        .args(["replay", "--listen", "127.0.0.1:0", "--chunk-size", "7"])
        .arg(&recording)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut url = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut url).expect("a URL");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let body = runtime.block_on(async {
        let url = format!("{}/v1/chat/completions", url.trim());
        let response = tokenline::llm::client::reqwest::Client::new()
            .post(url)
            .body("{\"stream\":true}")
            .send()
            .await
            .expect("a response");
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        response.bytes().await.expect("a body")
    });
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    assert_eq!(body, std::fs::read(&recording).expect("readable"));

    let run = tokenline(&["replay", "--listen", "0.0.0.0:0"], "");
    assert_eq!(run.code, 2, "{}", run.err);
    let run = tokenline(&["replay", "no-such-file"], "");
    assert_eq!(run.code, 3, "{}", run.err);
}

#[test]
fn tips_name_only_what_the_help_shows() {
    for (args, tip) in [
        (&["snapsho"][..], None),
        (&["structure"], None),
        (&["conversations", "validate", "--inptu", "x"], None),
        (&["parse", "--formt", "x"], None),
        (&["pars"], Some("'parse'")),
        (&["conversations", "snapsho"], Some("'snapshot'")),
        (&["parse", "--max-error", "1"], Some("'--max-errors'")),
        (&["parse", "--qiet"], Some("'--quiet'")),
    ] {
        let run = tokenline(args, "");
        assert_eq!((run.code, run.err.contains("tip:")), (2, tip.is_some()), "{args:?}: {}", run.err);
        assert!(run.err.contains(tip.unwrap_or_default()), "{args:?}: {}", run.err);
    }
}

#[test]
fn a_missing_key_is_noticed_before_the_provider_is_contacted() {
    let extract = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tokenline"));
        command.args([
            "extract",
            "--provider",
            "anthropic",
            "--model",
            "x",
            "--prompt",
            "Hi",
            "--retries",
            "0",
        ]);
        command.args(args).env_remove("ANTHROPIC_API_KEY").env_remove("ANTHROPIC_BASE_URL");
        let output = command.output().expect("it runs");
        (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8"))
    };
    let (code, err) = extract(&[]);
    let says = "set ANTHROPIC_API_KEY, or name the variable that has it with --api-key-env\n";
    assert_eq!((code, err.starts_with("tokenline: "), err.ends_with(says)), (Some(2), true, true), "{err}");
    // A server of one's own needs none.
    let (code, err) = extract(&["--base-url", "http://127.0.0.1:1"]);
    assert_eq!((code, err.contains("cannot connect")), (Some(3), true), "{err}");
}
