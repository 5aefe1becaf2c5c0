//! Records in and around code fences of any language, after garbage: each is delivered, or in the span of something
//! that is reported.

use std::ops::Range;

use tokenline_core::{CallFormat, Code, Limits, Options, Release};

use super::check::span;
use super::kinds::{Kind, all};
use crate::common::extent::cases;
use crate::common::{Seen, at_every_split, decode, text_at_every_split};
use crate::faults::{Faults, excerpt, guarded, records};
use crate::random::Random;

const INPUTS: u64 = 3_000;

/// One in so many inputs is split at every position, and decoded with its text.
const SPLIT_ONCE_IN: u64 = 50;

const FENCES: [&str; 10] = ["json", "jsonl", "text", "python", "js", "rust", "yaml", "c++", "", "no fence"];

/// Lines that leave something open, close it, or go on with it.
const BRACKETS: [&str; 36] = [
    "{\"facts\": [",
    "{\"a\":[",
    "{\"a\":",
    "{\"a\":{\"b\":",
    "{\"a\": 1,",
    "\"b\": 2,",
    "\"c\": [",
    "\"d\": {\"in\": 3},",
    "[",
    "[[",
    "{",
    "{\"a\":[[[",
    "- [",
    "rows = [",
    "function f() {",
    "const a = {",
    "if (x) { y([",
    "[1, 2],",
    "[{\"in\": 4}],",
    "[{\"in\": 5}]",
    "\"text\",",
    "return x;",
    "7,",
    "]",
    "],",
    "}",
    "},",
    "]}",
    "}]",
    "}}",
    "});",
    "} else {",
    "say `x",
    "y` and z",
    "``",
    "",
];

/// Text before a record on its line.
const BEFORE: [&str; 14] =
    ["", "", "", "", "", "", "- ", "text ", "]} ", "}, ", "}] ", "}: ", "\"name\": ", "x = [1, 2, "];

/// An input, and its records, each with the range of its bytes.
struct Input {
    text: Vec<u8>,
    records: Vec<(String, Range<usize>)>,
}

impl Input {
    fn generate(seed: u64, kinds: &[Kind]) -> Self {
        let mut random = Random::new(seed);
        let mut input = Self { text: Vec::new(), records: Vec::new() };
        let fence = *random.pick(&FENCES);
        let column: &str = random.pick::<&str>(&["", "", "", "  "]);
        if random.once_in(3) {
            input.record(&mut random, column, "");
        }
        if fence != "no fence" {
            input.line(column, format!("```{fence}").as_bytes());
        }
        for _ in 0..1 + random.below(10) {
            let indent = format!("{column}{}", random.pick::<&str>(&["", "", "", "  ", "    ", "\t"]));
            match random.below(8) {
                0..4 => {
                    let before: &str = random.pick::<&str>(&BEFORE);
                    input.record(&mut random, &indent, before);
                }
                4..7 => input.line(&indent, random.pick(&BRACKETS).as_bytes()),
                _ => random
                    .pick(kinds)
                    .text
                    .split(|byte| *byte == b'\n')
                    .for_each(|line| input.line(&indent, line)),
            }
        }
        if fence != "no fence" && !random.once_in(8) {
            input.line(column, b"```");
        }
        if random.once_in(2) {
            input.record(&mut random, column, "");
        }
        if random.once_in(8) {
            input.text.truncate(input.text.trim_ascii_end().len());
        }
        input
    }

    fn line(&mut self, indent: &str, line: &[u8]) {
        self.text.extend_from_slice(indent.as_bytes());
        self.text.extend_from_slice(line);
        self.text.push(b'\n');
    }

    /// Adds a record, most often on lines of its own.
    fn record(&mut self, random: &mut Random, indent: &str, before: &str) {
        let id = self.records.len();
        let record = match random.below(4) {
            0 => format!("{{\n{indent}  \"id\":{id},\n{indent}  \"x\": {{\"y\":[1,{{}}]}}\n{indent}}}"),
            _ => format!("{{\"id\":{id}}}"),
        };
        let comma: &str = random.pick::<&str>(&["", "", ","]);
        let start = self.text.len() + indent.len() + before.len();
        self.line(indent, format!("{before}{record}{comma}").as_bytes());
        self.records.push((record.clone(), start..start + record.len()));
    }

    /// The faults in what was seen of it.
    fn check(&self, seen: &[Seen], faults: &mut Faults) {
        let place = excerpt(&self.text, 400);
        let is_delivered = |range: &Range<usize>| {
            seen.iter().any(|event| matches!(event, Seen::Record { .. }) && span(event) == *range)
        };
        let spans: Vec<Range<usize>> = seen.iter().map(span).collect();
        for (record, range) in self.records.iter().filter(|(_, range)| !is_delivered(range)) {
            // Columns may separate the lines of a record: then its first line is in a span.
            let line = self.text[range.clone()].iter().position(|byte| *byte == b'\n');
            let end = line.map_or(range.end, |line| range.start + line);
            if !spans.iter().any(|span| span.start <= range.start && end <= span.end) {
                faults.add("lost", &place, record);
            }
        }
        let delivered: Vec<Range<usize>> =
            seen.iter().filter(|event| matches!(event, Seen::Record { .. })).map(span).collect();
        if delivered.windows(2).any(|pair| pair[1].start < pair[0].end) {
            faults.add("order or number", &place, &format!("{delivered:?}"));
        }
        let notes: Vec<Range<usize>> =
            seen.iter().filter(|event| matches!(event, Seen::Note(_))).map(span).collect();
        if notes.windows(2).any(|pair| pair[1].start < pair[0].end) {
            faults.add("notes overlap", &place, &format!("{notes:?}"));
        }
    }
}

#[test]
fn records_in_fences_are_delivered_or_in_a_span() {
    let kinds: Vec<Kind> = all();
    let mut faults = Faults::default();
    for seed in 0..cases(INPUTS) {
        let input = Input::generate(seed, &kinds);
        check_splits(seed, &Options::lenient(), &input, &mut faults, |seen, faults| {
            input.check(seen, faults);
        });
    }
    faults.report();
}

/// With other options, JSON may be text and records may be parts of values; but the cuts never matter.
#[test]
fn text_in_fences_does_not_depend_on_cuts() {
    let kinds: Vec<Kind> = all();
    let mut faults = Faults::default();
    for seed in 0..cases(INPUTS / 2) {
        let input = Input::generate(seed, &kinds);
        let mut random = Random::new(seed ^ 0x0717);
        let mut options = Options::lenient().whole_values(random.once_in(3));
        if random.once_in(2) {
            options = options.calls(CallFormat::Auto);
        }
        if random.once_in(3) {
            options = options.items(random.pick::<&str>(&["/a", "/facts"])).expect("a pointer");
        }
        if random.once_in(3) {
            options = options.release(Release::OnBalance);
        }
        if random.once_in(3) {
            options = options.limits(Limits { line_bytes: 8 + random.below(60), ..Limits::default() });
        }
        check_splits(seed, &options, &input, &mut faults, |_, _| {});
    }
    faults.report();
}

/// Decodes an input in several ways, with its text and without.
fn check_splits(
    seed: u64,
    options: &Options,
    input: &Input,
    faults: &mut Faults,
    check: impl FnOnce(&[Seen], &mut Faults),
) {
    faults.checked();
    let seen = guarded(|| {
        let seen = decode(options, [&input.text[..]]);
        assert_eq!(decode(options, input.text.chunks(1)), seen, "byte by byte");
        let size = 2 + seed as usize % 40;
        assert_eq!(decode(options, input.text.chunks(size)), seen, "in chunks of {size}");
        text_at_every_split(options, &input.text, &seen);
        if seed.is_multiple_of(SPLIT_ONCE_IN) {
            at_every_split(options, &input.text);
        }
        seen
    });
    match seen {
        Ok(seen) => check(&seen, faults),
        Err(message) => faults.add("panic", &excerpt(&input.text, 400), &excerpt(message.as_bytes(), 600)),
    }
}

/// Text of any length is text: the limit of records does not hold for it.
#[test]
fn text_larger_than_the_limit_is_kept() {
    let options = Options::lenient().limits(Limits { line_bytes: 48, ..Limits::default() });
    for end in ["}", "foo", "```", "\"b\": 1}}"] {
        let body = "  return {\"in\": 1};\n  \"x\": 2\n\n".repeat(20);
        let input = format!("```js\nfunction f() {{\n{body}{end}\n```\n{{\"id\":1}}\n");
        let seen = at_every_split(&options, input.as_bytes());
        text_at_every_split(&options, input.as_bytes(), &seen);
        assert_eq!(records(&seen).collect::<Vec<_>>(), ["{\"id\":1}"], "{end}");
        let Some(Seen::Note(note)) = seen.first() else { panic!("{end}: {seen:?}") };
        let from = input.find("function").expect("it begins there");
        assert_eq!((note.code, note.line, note.span.start), (Code::Prose, 2, from as u64), "{end}");
        assert!(note.span.end as usize >= from + body.len(), "{end}: {note:?}");
    }
}

/// Many lines that leave something open, so that values on several lines fail again and again. `decode` checks that the
/// bytes examined are at most three times the input.
#[test]
fn lines_left_open_in_fences_take_linear_work() {
    const LINES: usize = 300;
    let openers = [
        "[",
        "[[",
        "{",
        "{\"a\":",
        "{\"a\":[",
        "{\"a\":{\"b\":[",
        "[1,",
        "[{\"a\":",
        "x = [",
        "f({",
        "{\"a\":[{\"id\":1},",
    ];
    let others =
        ["", "[", "{\"a\":[", "{\"id\":1}", "{\"id\":1},", "[{\"id\":1}]", "the end", "\"b\": [", "}", "]}]"];
    for fence in FENCES.iter().filter(|fence| **fence != "no fence") {
        for opener in openers {
            for other in others {
                for deepest in [0, 1, 60, 400] {
                    let mut input = format!("```{fence}\n");
                    for line in 0..LINES / (1 + deepest / 20) {
                        let indent = " ".repeat(line % (deepest + 1));
                        input.push_str(&format!("{indent}{opener}\n{indent}{other}\n"));
                    }
                    input.push_str("```\n");
                    decode(Options::lenient(), [input.as_bytes()]);
                }
            }
        }
    }
}

/// Lines that are parts of a value on several lines, and end it.
const PARTS: [&str; 12] = [
    "{\"facts\": [",
    "{\"a\":[",
    "{\"a\":",
    "{\"a\":{\"b\":",
    "{\"a\": 1,",
    "\"b\": 2,",
    "\"d\": {\"in\": 3},",
    "[1, 2],",
    "\"text\",",
    "7,",
    "the end",
    "",
];

/// The records left of a value on several lines depend on its columns, not on the language of the fence.
#[test]
fn every_fence_has_the_same_columns() {
    let mut faults = Faults::default();
    for seed in 0..cases(INPUTS) {
        let mut random = Random::new(seed);
        let mut body = Input { text: Vec::new(), records: Vec::new() };
        body.line("", b"{\"facts\": [");
        for _ in 0..1 + random.below(8) {
            let indent: &str = random.pick::<&str>(&["", "", "", "  "]);
            match random.below(3) {
                0 => body.line(indent, random.pick(&PARTS).as_bytes()),
                _ => body.record(&mut random, indent, ""),
            }
        }
        let [json, other] = ["json", "text"].map(|language| {
            let input = [format!("```{language}\n").as_bytes(), &body.text, b"```\n"].concat();
            guarded(|| decode(Options::lenient(), [&input[..]]))
        });
        faults.checked();
        let place = excerpt(&body.text, 400);
        match (json, other) {
            (Ok(json), Ok(other)) => {
                let [json, other] =
                    [json, other].map(|seen| records(&seen).map(str::to_owned).collect::<Vec<_>>());
                if json != other {
                    faults.add("records", &place, &format!("{json:?}\n    {other:?}"));
                }
            }
            (Err(message), _) | (_, Err(message)) => faults.add("panic", &place, &message),
        }
    }
    faults.report();
}
