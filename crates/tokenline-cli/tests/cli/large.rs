//! Inputs that are too large or endless.
#![cfg(unix)]

use std::fs::File;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Run, file, fixture, folder, tokenline};

/// Far longer than reading up to the limit takes, far shorter than filling the memory takes.
const SOON: Duration = Duration::from_secs(10);
const ENDLESS: &str = "/dev/zero";

/// Runs the program with an endless standard input and little memory.
fn endless(args: &[&str]) -> Run {
    let start = Instant::now();
    let output = Command::new("sh")
        .args(["-c", "ulimit -v 4000000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_tokenline")])
        .args(args)
        .stdin(Stdio::from(File::open(ENDLESS).expect("a device")))
        .output()
        .expect("the program starts");
    assert!(start.elapsed() < SOON, "{args:?}: {:?}", start.elapsed());
    Run {
        code: output.status.code().expect("no signal"),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

#[track_caller]
fn too_large(args: &[&str], code: i32, message: &str) {
    let run = endless(args);
    let expected = format!("tokenline: {message}; shorten it or split it\n");
    assert_eq!((run.code, &*run.out, &*run.err), (code, "", &*expected), "{args:?}");
}

#[test]
fn endless_configuration_files() {
    let stream = fixture("definitions.sse");
    let ask = ["extract", "--provider", "ollama", "--model", "m", "--base-url", "http://127.0.0.1:1"];
    let render = ["prompt", "render", "--id", "extract-definitions"];
    let config = ["prompt", "list", "--config", ENDLESS];
    let run = endless(&config);
    let expected = "tokenline: /dev/zero: cannot read the file: the configuration exceeds the limit of 16 MiB; shorten or split it\n";
    assert_eq!((run.code, &*run.err), (2, expected));

    let message = |kind: &str| format!("/dev/zero: {kind} has more than 16 MiB, the limit");
    too_large(&["parse", &stream, "--schema", ENDLESS], 2, &message("the schema"));
    too_large(&["validate", "--schema", ENDLESS, &stream], 2, &message("the schema"));
    too_large(&["parse", &stream, "--tools", ENDLESS], 2, &message("the list of tools"));
    too_large(&["tools", "prompt", "--tools", ENDLESS], 2, &message("the list of tools"));
    too_large(&["tools", "parse", &stream, "--tools", ENDLESS], 2, &message("the list of tools"));
    too_large(&[&ask[..], &["--messages", ENDLESS]].concat(), 2, &message("the conversation"));
    too_large(&[&ask[..], &["--prompt", "x", "--set", "a=@/dev/zero"]].concat(), 2, &message("--set a"));
    too_large(&[&render[..], &["--var", "text=@/dev/zero"]].concat(), 2, &message("--var text"));
    too_large(&[&render[..], &["--input", ENDLESS]].concat(), 2, &message("--input"));

    let message = |kind: &str| format!("standard input: {kind} has more than 16 MiB, the limit");
    too_large(&[&ask[..], &["--messages", "-"]].concat(), 2, &message("the conversation"));
    too_large(&[&ask[..], &["--prompt", "-"]].concat(), 2, &message("the prompt"));
    too_large(&[&render[..], &["--var", "text=@-"]].concat(), 2, &message("--var text"));
    too_large(&[&render[..], &["--input", "-"]].concat(), 2, &message("--input"));
}

#[test]
fn endless_responses() {
    let model = ["--provider", "ollama", "--model", "m", "--base-url", "http://127.0.0.1:1"];
    for command in [
        &["prompt", "apply", "--id", "extract-definitions"][..],
        &["tools", "parse"],
        &["continuation", "contexts"],
        &["continuation", "merge", "FILE"],
        &[&["continuation", "run"][..], &model].concat(),
        &["chat-analysis", "request", "--model", "m"],
        &["chat-analysis", "check"],
        &["chat-analysis", "check", "--from", "ollama"],
        &["chat-analysis", "to-xml"],
        &["chat-analysis", "from-xml"],
        &[&["chat-analysis", "run"][..], &model].concat(),
    ] {
        let folder = folder();
        let base = file(&folder, "base.json", "[1,");
        let command: Vec<_> = command.iter().map(|arg| if *arg == "FILE" { &*base } else { arg }).collect();
        let message = |source: &str| format!("{source}: the text has more than 64 MiB, the limit");
        too_large(&[&command[..], &[ENDLESS]].concat(), 3, &message(ENDLESS));
        too_large(&[&command[..], &["-"]].concat(), 3, &message("stdin"));
    }
    let run = endless(&["replay", ENDLESS]);
    let expected =
        "tokenline: cannot read /dev/zero: the recording exceeds the limit of 64 MiB; shorten or split it\n";
    assert_eq!((run.code, &*run.err), (3, expected));
}

#[test]
fn the_limit_itself_is_allowed() {
    let folder = folder();
    let limit = 16 << 20;
    let schema = |length: usize| format!("{}{}", " ".repeat(length - 2), "{}");
    let (fits, larger) = (schema(limit), schema(limit + 1));
    let run = |schema: &str| {
        let path = file(&folder, "schema.json", schema);
        tokenline(&["parse", "--schema", &path], "{\"a\":1}\n")
    };
    assert_eq!(run(&fits).out, "{\"a\":1}\n");
    assert_eq!(run(&larger).code, 2);
}

#[test]
fn an_exponential_schema_is_rejected() {
    let next = |at: usize| format!("{{\"$ref\":\"#/$defs/n{at}\"}}");
    let defs: Vec<_> = (0..30).map(|at| format!("\"n{at}\":{{\"anyOf\":[{0},{0}]}}", next(at + 1))).collect();
    let schema = format!(
        "{{\"anyOf\":[{}],\"$defs\":{{{},\"n30\":{{\"type\":\"integer\"}}}}}}",
        next(0),
        defs.join(",")
    );
    let folder = folder();
    let path = file(&folder, "schema.json", schema);
    for command in ["parse", "validate"] {
        let start = Instant::now();
        let run = tokenline(&[command, "--schema", &path], "{\"a\":1}\n");
        assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
        assert_eq!(run.code, 2, "{}", run.err);
        let is_located = run.err.contains("schema.json: /$defs/n19: references and combinators multiply");
        assert!(is_located && run.err.contains("at line 1 column"), "{}", run.err);
    }
}
