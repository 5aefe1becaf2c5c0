//! The cases of `fixtures/records`: inputs, each with the expected events below it. The folder's README
//! describes the format.
#![allow(clippy::disallowed_methods, reason = "fixtures are files")]

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::{env, fs, mem};

use tokenline_core::{Diagnostic, Limits, Mode, Options, Record, Recovery, Release};

use super::Seen;

/// An input with its expected events.
pub struct Case {
    /// The file's name and the heading, as in `arrays.md: array-of-one`.
    pub name: String,
    pub input: Vec<u8>,
    pub options: Options,
    /// The text of the blocks ```` ```json KIND ````.
    json: BTreeMap<String, String>,
    options_line: String,
    expected: Vec<String>,
    /// The position of `expected` in the pack's lines.
    expected_at: Range<usize>,
}

impl Case {
    /// The text of the block ```` ```json KIND ````, if the case has one.
    pub fn json(&self, kind: &str) -> Option<&str> {
        self.json.get(kind).map(String::as_str)
    }

    /// The differences, if any.
    fn compare(&self, seen: &[String], belongs: bool) -> Option<String> {
        let fits = seen.len() == self.expected.len()
            && self.expected.iter().zip(seen).all(|(expected, seen)| line_fits(expected, seen));
        if belongs && (fits || updates()) {
            return None;
        }
        let folder = if belongs { "" } else { " does not belong into its folder" };
        let input = String::from_utf8_lossy(&self.input);
        let (name, options) = (&self.name, &self.options_line);
        let (expected, seen) = (self.expected.join("\n"), seen.join("\n"));
        Some(format!("== {name}{folder} {options}\n{input}\n-- expected\n{expected}\n-- seen\n{seen}\n"))
    }
}

/// A file of cases.
struct Pack {
    path: PathBuf,
    lines: Vec<String>,
    cases: Vec<Case>,
}

impl Pack {
    fn read(path: PathBuf) -> Self {
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let file = path.file_name().expect("a file").to_string_lossy().into_owned();
        let mut cases = Vec::new();
        let (mut name, mut json, mut input) = (String::new(), BTreeMap::new(), None);
        let mut at = 0;
        while at < lines.len() {
            let line = &lines[at];
            at += 1;
            if let Some(heading) = line.strip_prefix("## ") {
                assert!(input.is_none(), "{name}: no events");
                name = format!("{file}: {heading}");
            }
            let info = line.trim_start_matches('`');
            let fence = &line[..line.len() - info.len()];
            if fence.len() < 3 {
                continue;
            }
            let length = lines[at..].iter().position(|line| line == fence);
            let block = at..at + length.unwrap_or_else(|| panic!("{name}: a block without an end"));
            at = block.end + 1;
            match info.split_once(' ').unwrap_or((info, "")) {
                ("text", options) => input = Some((bytes(&lines[block]), options.to_owned())),
                ("json", kind) => drop(json.insert(kind.to_owned(), lines[block].join("\n"))),
                ("events", "") => {
                    let (input, options_line) = input.take().unwrap_or_else(|| panic!("{name}: no input"));
                    cases.push(Case {
                        name: name.clone(),
                        input,
                        options: read_options(&options_line),
                        json: mem::take(&mut json),
                        options_line,
                        expected: lines[block.clone()].to_vec(),
                        expected_at: block,
                    });
                }
                _ => panic!("{name}: a block of an unknown kind: {info}"),
            }
        }
        assert!(input.is_none(), "{name}: no events");
        Self { path, lines, cases }
    }

    /// Writes the file with these events below each input.
    fn update(mut self, seen: Vec<Vec<String>>) {
        for (case, seen) in self.cases.iter().zip(seen).rev() {
            self.lines.splice(case.expected_at.clone(), seen);
        }
        fs::write(self.path, self.lines.join("\n") + "\n").expect("the events are written");
    }
}

/// The bytes of an input's lines.
fn bytes(lines: &[String]) -> Vec<u8> {
    let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
    let text = text.strip_suffix("⟨end⟩\n").unwrap_or(&text).replace('␍', "\r");
    let mut parts = text.split('⟨');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (byte, rest) = part.split_once('⟩').unwrap_or_else(|| panic!("⟨{part}: no byte"));
        bytes.push(u8::from_str_radix(byte, 16).unwrap_or_else(|error| panic!("⟨{byte}⟩: {error}")));
        bytes.extend_from_slice(rest.as_bytes());
    }
    bytes
}

/// Compares each case of a verdict's folder with the events that `decode` returns, and these with the meaning
/// of the verdict. Reports all differences at once. With `UPDATE_FIXTURES=1` it writes the events instead.
#[track_caller]
pub fn check(verdict: &str, decode: impl Fn(&Case) -> Vec<Seen>, belongs: impl Fn(&Case, &[Seen]) -> bool) {
    let mut count = 0;
    let mut faults = Vec::new();
    for pack in packs(verdict) {
        let mut lines = Vec::new();
        for case in &pack.cases {
            let seen = decode(case);
            lines.push(seen.iter().map(line).collect::<Vec<_>>());
            faults.extend(case.compare(&lines[lines.len() - 1], belongs(case, &seen)));
        }
        count += pack.cases.len();
        if updates() {
            pack.update(lines);
        }
    }
    assert!(count > 0, "{verdict} has no cases");
    assert!(faults.is_empty(), "{} of {count} cases:\n{}", faults.len(), faults.join("\n"));
}

/// All cases of all verdicts.
pub fn all() -> Vec<Case> {
    let verdicts = ["valid", "recovered", "malformed", "truncated", "invalid"];
    verdicts.into_iter().flat_map(packs).flat_map(|pack| pack.cases).collect()
}

fn packs(verdict: &str) -> Vec<Pack> {
    // A path that works from every crate of the workspace.
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../tokenline-core/fixtures/records").join(verdict);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.into_iter().map(Pack::read).collect()
}

fn updates() -> bool {
    env::var_os("UPDATE_FIXTURES").is_some_and(|value| value == "1")
}

fn read_options(settings: &str) -> Options {
    let mut options = Options::lenient();
    for setting in settings.split(',').map(str::trim).filter(|setting| !setting.is_empty()) {
        let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
        let number = || value.parse().unwrap_or_else(|error| panic!("{setting}: {error}"));
        match name {
            "strict" => options.mode = Mode::Strict,
            "whole" => options = options.whole_values(true),
            "on_balance" => options.release = Release::OnBalance,
            "items" => options = options.items(value).expect("a JSON Pointer"),
            "line_bytes" => options.limits = Limits { line_bytes: number(), ..options.limits },
            "depth" => options.limits = Limits { depth: number(), ..options.limits },
            _ => panic!("{setting}: no such option"),
        }
    }
    options
}

/// An event as its line in a block of events.
fn line(event: &Seen) -> String {
    match event {
        Seen::Record { raw, record } => {
            let Record { line, column, span, completion, .. } = record;
            let (start, end, completion) = (span.start, span.end, completion.as_str());
            let recovered: Vec<_> = record.recovered.iter().map(Recovery::as_str).collect();
            let (recovered, raw) = (recovered.join(","), raw.replace('\r', "␍").replace('\n', "⏎"));
            format!("record {line}:{column} {start}..{end} {completion} [{recovered}] {raw}")
        }
        Seen::Rejected(diagnostic) => format!("rejected {}", diagnostic_line(diagnostic)),
        Seen::Note(diagnostic) => format!("note {}", diagnostic_line(diagnostic)),
    }
}

fn diagnostic_line(diagnostic: &Diagnostic) -> String {
    let Diagnostic { line, column, code, span, message, .. } = diagnostic;
    let path = match diagnostic.instance_path.as_deref() {
        None | Some("") => String::new(),
        Some(path) => format!(" (at {path})"),
    };
    format!("{line}:{column} {code} {}..{} {message}{path}", span.start, span.end)
}

/// Whether an event's line matches the expected one, in which `?` matches anything.
fn line_fits(expected: &str, seen: &str) -> bool {
    let fields = if expected.starts_with("record ") { 6 } else { 5 };
    let (expected, seen) = (expected.splitn(fields, ' '), seen.splitn(fields, ' '));
    let expected: Vec<&str> = expected.collect();
    let seen: Vec<&str> = seen.collect();
    expected.len() == seen.len()
        && expected.iter().zip(seen).enumerate().all(|(at, (expected, seen))| match at {
            1 => place_fits(expected, seen),
            _ => *expected == "?" || *expected == seen,
        })
}

fn place_fits(expected: &str, seen: &str) -> bool {
    let mut parts = expected.split(':').zip(seen.split(':'));
    parts.all(|(expected, seen)| expected == "?" || expected == seen)
}
