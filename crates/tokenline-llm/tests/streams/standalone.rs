//! Decoders without a parser: the same deltas at every cut of a fixture, and as much of `expected.txt` as deltas can
//! show.

use std::collections::BTreeMap;
use std::path::Path;

use crate::common::deltas::{Logged, at_every_cut, of_messages, of_sse};
use crate::common::event_stream::stream;
use crate::common::fixture;
use tokenline_llm::Provider;

type Decode = fn(&mut dyn Iterator<Item = &[u8]>) -> Vec<Logged>;

/// The lines of `expected.txt`, by name.
fn expected(provider: &str) -> BTreeMap<String, Vec<String>> {
    let file = String::from_utf8(fixture(&format!("{provider}/expected.txt"))).expect("UTF-8");
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut lines = Vec::new();
    for line in file.lines().rev().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix("== ") {
            Some(head) => {
                let name = head.split([',', ' ']).next().expect("a name").to_owned();
                lines.reverse();
                all.insert(name, std::mem::take(&mut lines));
            }
            None => lines.push(line.to_owned()),
        }
    }
    all
}

/// The lines that deltas and the events of a parser have in common.
fn in_common(lines: &[String]) -> Vec<String> {
    let mut common: Vec<String> = Vec::new();
    let (mut reasoning, mut unknown) = (String::new(), 0);
    for line in lines {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("usage" | "finish", _) => common.push(line.clone()),
            ("reasoning:" | "reasoning", more) => reasoning.push_str(more),
            ("unknown", _) => unknown += 1,
            ("unknown:", names) => unknown += names.split(", ").count(),
            _ => {}
        }
    }
    common.push(format!("reasoning {reasoning}, unknown {unknown}"));
    common
}

fn check(provider: &str, decode: Decode) {
    let expected = expected(provider);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(provider);
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .filter(|name| name != "expected.txt")
        .collect();
    names.sort();
    assert!(names.len() > 20 && names.iter().eq(expected.keys()), "{names:?}");
    for (name, expected) in expected {
        let bytes = fixture(&format!("{provider}/{name}"));
        let wire = match name.strip_suffix(".messages") {
            Some(_) => stream(std::str::from_utf8(&bytes).expect("UTF-8")),
            None => bytes,
        };
        assert_eq!(in_common(&at_every_cut(&wire, decode)), in_common(&expected), "{name}");
    }
}

#[test]
fn cohere() {
    check("cohere", |pieces| of_sse(Provider::Cohere, pieces));
}

#[test]
fn gemini_interactions() {
    check("gemini-interactions", |pieces| of_sse(Provider::GeminiInteractions, pieces));
}

#[test]
fn bedrock() {
    check("bedrock", |pieces| of_messages(Provider::Bedrock, pieces));
}
