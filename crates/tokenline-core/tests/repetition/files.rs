//! The files of this repository, and recorded responses, have no loops.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;
use std::{env, fs};

use serde_json::Value;
use tokenline_core::{Repeated, Repetition, RepetitionLimits};

/// The files below a folder, without what is built or fetched.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files = Vec::new();
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let is_other = name.starts_with('.') || ["target", "node_modules", "fuzz"].contains(&name.as_str());
        if path.is_dir() && !is_other {
            files.extend(self::files(&path));
        } else if path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The loop in each channel that has one.
fn loops_in(text: &str) -> Vec<Repetition> {
    let channels = [Repeated::Text, Repeated::Arguments].into_iter();
    channels.filter_map(|of| RepetitionLimits::default().detector(of).push(text)).collect()
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn this_repository_has_no_loops() {
    let mut count = 0;
    for path in files(&repository()) {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        // The wire repeats more than the channels: see below for these.
        if path.extension().is_some_and(|extension| extension == "sse") {
            continue;
        }
        count += 1;
        assert_eq!(loops_in(&text), [], "{}", path.display());
    }
    assert!(count > 100, "{count} files");
}

/// Members with the text of a channel.
const TEXTS: [&str; 9] = [
    "content",
    "text",
    "thinking",
    "reasoning",
    "reasoning_content",
    "arguments",
    "partial_json",
    "delta",
    "input",
];

/// Adds the strings in the value to the channels, by the names that lead to them.
fn collect(value: &Value, path: &str, channels: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(members) => {
            let kind = members.get("type").and_then(Value::as_str).unwrap_or_default();
            for (name, value) in members {
                match value.as_str() {
                    Some(text) if TEXTS.contains(&name.as_str()) => {
                        *channels.entry(format!("{path}{kind}.{name}")).or_default() += text;
                    }
                    Some(_) => {}
                    None => collect(value, &format!("{path}{kind}.{name}"), channels),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, path, channels)),
        _ => {}
    }
}

/// Checks the channels of each stream in a folder, and returns the number of channels.
fn check_streams(folder: &Path) -> usize {
    let mut count = 0;
    for path in files(folder) {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let mut channels = BTreeMap::new();
        for line in text.lines() {
            let payload = line.strip_prefix("data:").unwrap_or(line).trim();
            if let Ok(value) = serde_json::from_str(payload) {
                collect(&value, "", &mut channels);
            }
        }
        count += channels.len();
        for (channel, text) in channels {
            assert_eq!(loops_in(&text), [], "{}: {channel}", path.display());
        }
    }
    count
}

#[test]
fn the_streams_of_the_fixtures_have_no_loops() {
    let count = check_streams(&repository().join("crates/tokenline-llm/fixtures"));
    assert!(count > 50, "{count} channels");
}

#[test]
#[ignore = "needs the folder of recordings, TOKENLINE_RECORDINGS"]
fn recorded_streams_have_no_loops() {
    let folder: PathBuf = env::var_os("TOKENLINE_RECORDINGS").expect("TOKENLINE_RECORDINGS is set").into();
    let count = check_streams(&folder);
    assert!(count > 20, "{count} channels");
}
