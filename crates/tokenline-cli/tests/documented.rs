//! Runs every command that the README and the help texts show, in a directory with the files that they name and against a
//! server that replays recorded responses. Finds every test that the guide names.
#![cfg(unix)]

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use common::{ollama_body, tokenline};
use serde_json::json;
use tokenline::llm::replay::{Recording, ReplayServer};
use tokio::task::spawn_blocking;

const FACTS: &str = "{\"entity\":\"Po\"}\n{\"entity\":\"Rhine\"}\n{\"entity\":\"Seine\"}\n";
const CALL: &str = r#"{"name":"weather","parameters":{"city":"Oslo"}}"#;
const SCHEMA: &str = r#"{"type":"object","properties":{"entity":{"type":"string"}},"required":["entity"]}"#;
/// Valid both as a conversation and as a fact.
const CONVERSATION: &str = r#"{"conversation_id":"c1","user_id":"u1","timestamp":"2026-02-10T12:34:56Z","messages":[{"role":"user","content":"Hi"}],"entity":"Po"}"#;
/// The mapping of documents such as the conversation.
const MAPPING: &str = r#"conversation-id = "conversation_id"
user-id = "user_id"
timestamp = "timestamp"
messages = "messages"
role = "role"
content = "content"
"#;
const PROMPTS: &str = r#"[prompts.define]
prompt = "Define what this is about, one JSON object per line: {{ text }}"
response-type = "jsonl"
object-schema = { required = ["entity"] }
"#;

fn openai(text: &str) -> String {
    let content = serde_json::Value::from(text);
    format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":{content}}},\"finish_reason\":\"stop\"}}]}}\n\ndata: [DONE]\n\n"
    )
}

fn anthropic(text: &str) -> String {
    let text = serde_json::Value::from(text);
    [
        r#"{"type":"message_start","message":{"usage":{"input_tokens":1,"output_tokens":1}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        &format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":{text}}}}}"#
        ),
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#,
        r#"{"type":"message_stop"}"#,
    ]
    .map(|event| format!("data: {event}\n\n"))
    .concat()
}

/// A result file with a text and a native call.
fn batch(text: &str, call: &str) -> String {
    let call: serde_json::Value = serde_json::from_str(call).expect("a call");
    let arguments = call["parameters"].to_string();
    let function = json!({"name": call["name"], "arguments": arguments});
    let message =
        json!({"content": text, "tool_calls": [{"id": "a", "type": "function", "function": function}]});
    let body =
        json!({"object": "chat.completion", "choices": [{"message": message, "finish_reason": "stop"}]});
    json!({"custom_id": "r1", "response": {"status_code": 200, "body": body}, "error": null}).to_string()
}

fn gzip(text: &str) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    writer.write_all(text.as_bytes()).expect("written");
    writer.finish().expect("written")
}

/// Collects the examples in the help of a command and its subcommands.
fn collect_examples(command: &[&str], all: &mut BTreeSet<String>) {
    let help = tokenline(&[command, &["--help"]].concat(), "").out;
    // A line with deeper indentation continues the previous one.
    let section = |name: &str| {
        let after = help.split_once(name).map(|(_, after)| after.lines()).into_iter().flatten();
        let mut items: Vec<String> = Vec::new();
        for line in after.skip(1).take_while(|line| line.starts_with("  ")) {
            match items.last_mut().filter(|_| line.starts_with("    ")) {
                Some(item) => *item = format!("{} {}", item.trim_end_matches(" \\"), line.trim()),
                None => items.push(line.trim().to_owned()),
            }
        }
        items
    };
    let examples = section("\nExamples:");
    let subcommands = section("\nCommands:");
    if subcommands.is_empty() {
        assert!(!examples.is_empty(), "the help of {command:?} has no examples");
    }
    all.extend(examples);
    for line in subcommands {
        let name = line.split_whitespace().next().expect("a name");
        if name != "help" {
            collect_examples(&[command, &[name]].concat(), all);
        }
    }
}

fn commands() -> BTreeSet<String> {
    let mut commands = BTreeSet::new();
    collect_examples(&[], &mut commands);
    let readme =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).expect("a README");
    let terminal = readme.split_once("## In a terminal").expect("its section").1;
    let block = terminal.split("```").nth(1).expect("its commands");
    let lines = block.lines().filter_map(|line| line.strip_prefix("$ "));
    commands.extend(lines.filter(|line| !line.starts_with("cargo ")).map(str::to_owned));
    commands
}

fn fill(folder: &Path) {
    let write = |name: &str, content: &[u8]| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, content).expect("written");
    };
    let analysis = include_str!("../../tokenline-chat-analysis/tests/examples/college-savings.json");
    let native = format!(
        r#"{{"object":"chat.completion","choices":[{{"message":{{"role":"assistant","tool_calls":[{{"id":"a","type":"function","function":{{"name":"weather","arguments":{}}}}}]}},"finish_reason":"tool_calls"}}]}}"#,
        serde_json::Value::from(r#"{"city":"Oslo"}"#)
    );
    for (name, content) in [
        ("response.txt", format!("Sure:\n{CALL}\n")),
        ("body.sse", anthropic(FACTS)),
        ("body.jsonl", ollama_body(analysis, "stop")),
        ("fact.schema.json", SCHEMA.to_owned()),
        ("tools.json", r#"[{"name":"weather","parameters":{"required":["city"]}}]"#.to_owned()),
        ("native.json", native),
        ("conversation.json", r#"[{"role":"tool","name":"weather","content":"21 \u00b0C"}]"#.to_owned()),
        ("definitions.json", r#"{"definitions":[{"entity":"Po"}]}"#.to_owned()),
        ("analysis.json", analysis.to_owned()),
        (
            "response.xml",
            include_str!("../../tokenline-chat-analysis/tests/examples/college-savings.xml").to_owned(),
        ),
        ("results.jsonl", batch(FACTS, CALL)),
        ("call-results.jsonl", batch("", CALL)),
        ("rows.jsonl", r#"{"id":1,"output":"{\"entity\":\"Po\"}"}"#.to_owned()),
        ("request.json", r#"{"model":"gpt-5","stream":true,"messages":[]}"#.to_owned()),
        ("prompt.txt", "List rivers.".to_owned()),
        ("question.txt", "How do I save?".to_owned()),
        ("page.txt", "The Po.".to_owned()),
        ("prompts.toml", PROMPTS.to_owned()),
        ("cut.json", r#"{"rows":[{"id":1},{"id"#.to_owned()),
        ("next.txt", r#"[{"id":1},{"id":2}]}"#.to_owned()),
        ("records.jsonl", FACTS.to_owned()),
        ("log.jsonl", FACTS.to_owned()),
        ("conversations.jsonl", CONVERSATION.to_owned()),
        ("messages.csv", "thread,customer,sent_at,author,text\nt1,u1,1770726896,human,Hi\n".to_owned()),
        ("mapping.toml", MAPPING.to_owned()),
        ("chats.json", r#"[{"conversations":[{"from":"human","value":"Hi"}]}]"#.to_owned()),
    ] {
        write(name, content.as_bytes());
    }
    write("results/one.jsonl.gz", &gzip(&batch(FACTS, CALL)));
    write("responses/one.sse.gz", &gzip(&openai(FACTS)));
    write("export/one.jsonl.gz", &gzip(CONVERSATION));
    for shell in [".local/share/bash-completion/completions", ".zfunc", ".config/fish/completions"] {
        fs::create_dir_all(folder.join(shell)).expect("made");
    }
}

/// The command with its example addresses replaced, and file names that examples use for different contents.
fn filled_in(command: &str, url: &str) -> String {
    let mut command = command
        .replace("http://127.0.0.1:8080", url)
        .replace("http://localhost:11434", url)
        .replace("$URL", &format!("{url}/v1/chat/completions"))
        .replace("curl -sN URL", &format!("curl -sN {url}/v1/chat/completions"))
        .replace("| man -l -", "| cat");
    if command.contains("--items") {
        command = command.replace("response.json", "definitions.json");
    } else if command.contains("batch") && command.contains("--emit tool-calls") {
        command = command.replace("results.jsonl", "call-results.jsonl");
    } else if command.contains("chat-analysis") {
        command = command.replace("response.json", "analysis.json");
    } else if command.contains("--call-format function_calling") {
        command = command.replace("response.json", "native.json");
    }
    if is_server(&command) && !command.contains("--listen") {
        command += " --listen 127.0.0.1:0";
    }
    command
}

fn is_server(command: &str) -> bool {
    ["tokenline proxy", "tokenline replay", "tokenline serve"]
        .iter()
        .any(|server| command.starts_with(server))
}

fn run(command: &str, folder: &Path, url: &str) {
    let program = Path::new(env!("CARGO_BIN_EXE_tokenline")).parent().expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    // Servers and `--follow` never end by themselves.
    let is_endless = is_server(command) || command.contains("--follow");
    let mut child = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &filled_in(command, url)])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", program.display()))
        .env("HOME", folder)
        .env("NO_PROXY", "127.0.0.1,localhost")
        .envs(["OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "OLLAMA_HOST"].map(|name| (name, url)))
        .envs(["OPENAI_API_KEY", "ANTHROPIC_API_KEY"].map(|name| (name, "sk-of-nobody")))
        .stdin(if command.ends_with("parse") { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .expect("bash");
    if is_endless {
        thread::sleep(Duration::from_millis(500));
        assert!(child.try_wait().expect("known").is_none(), "{command} has ended");
        let group = format!("-{}", child.id());
        assert!(Command::new("kill").args(["-INT", "--", &group]).status().expect("kill").success());
    }
    let output = child.wait_with_output().expect("it ends");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() || is_endless, "{command}: {}\n{out}{err}", output.status);
    let is_silent =
        command.contains(" > ") || command.contains(" check ") || command.contains("--output") || is_endless;
    assert!(is_silent || !out.is_empty() || !err.is_empty(), "{command} printed nothing");
    assert!(!err.contains("rejected") || err.contains(" 0 rejected"), "{command}: {err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_documented_command_runs() {
    let analysis = include_str!("../../tokenline-chat-analysis/tests/examples/college-savings.json");
    let recordings = [
        Recording::new("gemma3", ollama_body("{\"entity\":\"Po\",\"definition\":\"A river.\"}", "stop")),
        Recording::new("llama3.1", ollama_body(analysis, "stop")),
        Recording::new("claude-sonnet-4-5", anthropic(FACTS)),
        Recording::new("gpt-5", openai(FACTS)),
        Recording::new("body", openai(FACTS)),
    ];
    let server = ReplayServer::bind(([127, 0, 0, 1], 0).into(), recordings).await.expect("a free port");
    let url = server.url();
    spawn_blocking(move || {
        let commands = commands();
        assert!(commands.len() > 50, "{commands:#?}");
        // Most of the time, a command waits. Each has files of its own.
        let next = Mutex::new(commands.iter());
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    loop {
                        let Some(command) = next.lock().expect("not poisoned").next() else { break };
                        let folder = tempfile::tempdir().expect("a folder");
                        fill(folder.path());
                        run(command, folder.path(), &url);
                    }
                });
            }
        });
    })
    .await
    .expect("they run");
}

/// The sources of a test program with their paths: `tests/name.rs`, or all of `tests/name`.
fn sources(program: &Path) -> Vec<(PathBuf, String)> {
    let mut folders = vec![program.to_owned()];
    let mut files = vec![program.with_extension("rs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.into_iter().filter_map(|path| Some((path.clone(), fs::read_to_string(path).ok()?))).collect()
}

#[test]
fn every_test_that_the_guide_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let guide = fs::read_to_string(root.join("crates/tokenline/src/guide/promises.md")).expect("the guide");
    let mut count = 0;
    for name in guide.split('`').skip(1).step_by(2) {
        let (program, test, keyword) = if let Some(place) = name.strip_prefix("python/")
            && let Some((file, test)) = place.split_once("::")
        {
            (root.join("python").join(file), test, "def")
        } else if let Some((program, test)) = name.split_once(' ')
            && let Some((package, program)) = program.split_once("::")
        {
            (root.join("crates").join(package).join("tests").join(program), test, "fn")
        } else {
            continue;
        };
        count += 1;
        let mut path = test.rsplit("::").filter(|part| *part != "tests");
        let function = format!("{keyword} {}(", path.next().expect("a name"));
        let module = path.next();
        let is_there = match keyword {
            "def" => fs::read_to_string(&program).is_ok_and(|source| source.contains(&function)),
            _ => sources(&program).iter().any(|(path, source)| {
                let is_module = module.is_none_or(|module| {
                    path.with_extension("").ends_with(module)
                        || path.parent().is_some_and(|folder| folder.ends_with(module))
                        || source.contains(&format!("mod {module} "))
                });
                is_module && source.contains(&function)
            }),
        };
        assert!(is_there, "there is no test `{name}`");
    }
    assert!(count > 60, "{count} tests");
}
