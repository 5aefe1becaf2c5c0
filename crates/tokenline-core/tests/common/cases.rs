//! The cases of `fixtures/records`: inputs, and beside each the events that it comes to. The folder's
//! README describes the format.
#![allow(clippy::disallowed_methods, reason = "fixtures are files")]

use std::path::{Path, PathBuf};
use std::{env, fs};

use tokenline_core::{Diagnostic, Emit, Limits, Mode, Options, Record, Recovery};

use super::Seen;

/// An input and what is expected of it.
pub struct Case {
    /// The path of its files, without what follows the first point.
    pub stem: PathBuf,
    pub input: Vec<u8>,
    pub options: Options,
    options_line: Option<String>,
    expected: Vec<String>,
}

impl Case {
    /// Another file of the case, if it has it: `NAME.schema.json`, for one.
    pub fn file(&self, extension: &str) -> Option<String> {
        fs::read_to_string(self.stem.with_extension(extension)).ok()
    }

    fn read(input: &Path) -> Self {
        let stem = input.with_extension("");
        let events = fs::read_to_string(stem.with_extension("events")).unwrap_or_else(|error| {
            assert!(updates(), "{}.events: {error}", stem.display());
            String::new()
        });
        let mut lines: Vec<String> = events.split_terminator('\n').map(str::to_owned).collect();
        let options_line = lines.first().filter(|line| line.starts_with("options: ")).cloned();
        if options_line.is_some() {
            lines.remove(0);
        }
        let input = fs::read(input).expect("the input");
        let options = read_options(options_line.as_deref());
        Self { stem, input, options, options_line, expected: lines }
    }

    /// What does not fit, if anything; with `UPDATE_FIXTURES` set, the events are written instead.
    fn compare(&self, seen: &[Seen], belongs: bool) -> Option<String> {
        let seen: Vec<String> = seen.iter().map(line).collect();
        if updates() {
            let lines = self.options_line.iter().chain(&seen).map(|line| format!("{line}\n"));
            fs::write(self.stem.with_extension("events"), lines.collect::<String>())
                .expect("the events are written");
        }
        let fits = seen.len() == self.expected.len()
            && self.expected.iter().zip(&seen).all(|(expected, seen)| line_fits(expected, seen));
        if belongs && (fits || updates()) {
            return None;
        }
        let folder = if belongs { "" } else { " does not belong into its folder" };
        let input = String::from_utf8_lossy(&self.input);
        let (name, options) = (self.stem.display(), self.options_line.as_deref().unwrap_or_default());
        let (expected, seen) = (self.expected.join("\n"), seen.join("\n"));
        Some(format!("== {name}{folder} {options}\n{input}\n-- expected\n{expected}\n-- seen\n{seen}\n"))
    }
}

/// Holds each case of a verdict's folder against the events that `decode` makes of it, and these against
/// what the verdict means. Tells about all that differ at once.
#[track_caller]
pub fn check(verdict: &str, decode: impl Fn(&Case) -> Vec<Seen>, belongs: impl Fn(&Case, &[Seen]) -> bool) {
    let cases = cases(verdict);
    assert!(!cases.is_empty(), "{verdict} has no cases");
    let compare = |case: &Case| {
        let seen = decode(case);
        case.compare(&seen, belongs(case, &seen))
    };
    let faults: Vec<String> = cases.iter().filter_map(compare).collect();
    assert!(faults.is_empty(), "{} of {} cases:\n{}", faults.len(), cases.len(), faults.join("\n"));
}

fn cases(verdict: &str) -> Vec<Case> {
    // Seen from every crate of the workspace.
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../tokenline-core/fixtures/records").join(verdict);
    let mut inputs = Vec::new();
    for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("an entry").path();
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("txt") => inputs.push(path),
            Some("events") => assert!(path.with_extension("txt").exists(), "{}: no input", path.display()),
            _ => {}
        }
    }
    inputs.sort();
    inputs.iter().map(|input| Case::read(input)).collect()
}

fn updates() -> bool {
    env::var_os("UPDATE_FIXTURES").is_some_and(|value| value == "1")
}

fn read_options(line: Option<&str>) -> Options {
    let mut options = Options::lenient();
    let settings = line.map_or("", |line| line.trim_start_matches("options: "));
    for setting in settings.split(',').map(str::trim).filter(|setting| !setting.is_empty()) {
        let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
        let number = || value.parse().unwrap_or_else(|error| panic!("{setting}: {error}"));
        match name {
            "strict" => options.mode = Mode::Strict,
            "eager" => options.emit = Emit::Eager,
            "items" => options = options.items(value).expect("a JSON Pointer"),
            "line_bytes" => options.limits = Limits { line_bytes: number(), ..options.limits },
            "depth" => options.limits = Limits { depth: number(), ..options.limits },
            _ => panic!("{setting}: no such option"),
        }
    }
    options
}

/// An event as its line of the `.events` file.
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

/// Whether an event's line is what is expected, where `?` stands for anything.
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
