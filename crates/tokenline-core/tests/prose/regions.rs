//! The regions that open brackets reject, and unclosed thinking blocks.

use tokenline_core::{Code, Options, Release};

use crate::common::{Seen, at_every_split, text_at_every_split};
use crate::faults::{Faults, excerpt, guarded, records, rejects, run};

/// An input, its records, and the codes of its rejects if they are certain.
type Row = (&'static str, &'static [&'static str], Option<&'static [Code]>);

const NONE: Option<&[Code]> = Some(&[]);
const MALFORMED: Option<&[Code]> = Some(&[Code::MalformedJson]);
const TRUNCATED: Option<&[Code]> = Some(&[Code::Truncated]);
const NOT_AN_OBJECT: Option<&[Code]> = Some(&[Code::NotAnObject]);

#[track_caller]
fn check(options: &Options, rows: &[Row]) {
    let mut faults = Faults::default();
    for (input, expected, codes) in rows {
        faults.checked();
        let place = excerpt(input.as_bytes(), 200);
        let seen = match guarded(|| at_every_split(options, input.as_bytes())) {
            Ok(seen) => seen,
            Err(message) => {
                faults.add("panic", &place, &message);
                continue;
            }
        };
        let found: Vec<&str> = records(&seen).collect();
        let rejected: Vec<Code> = rejects(&seen).map(|found| found.code).collect();
        let all = || seen.iter().map(Seen::summary).collect::<Vec<_>>().join(" | ").replace('\n', "⏎");
        if found != *expected {
            faults.add("records", &place, &all());
        }
        if codes.is_some_and(|codes| rejected != codes) {
            faults.add("rejects", &place, &all());
        }
    }
    faults.report();
}

#[test]
fn a_region_is_one_value_while_the_grammar_holds() {
    check(
        &Options::lenient(),
        &[
            ("{\"a\":\n{\"b\":1}\n}\n", &["{\"a\":\n{\"b\":1}\n}"], NONE),
            ("{\"a\":\n[\n{\"b\":1},\n{\"c\":2}\n]\n}\n", &["{\"a\":\n[\n{\"b\":1},\n{\"c\":2}\n]\n}"], NONE),
            ("  {\n\"a\":1\n}\n", &["{\n\"a\":1\n}"], NONE),
            ("{\n\n\n\"a\"\n:\n1\n}\n{\"b\":2}\n", &["{\n\n\n\"a\"\n:\n1\n}", "{\"b\":2}"], NONE),
            ("[\n{\"a\":1},\n{\"b\":2}\n]\n", &["{\"a\":1}", "{\"b\":2}"], NONE),
            ("[{\"a\":1}\n{\"b\":2}]\n", &["{\"a\":1}", "{\"b\":2}"], None),
            ("[{\"a\":1},,{\"b\":2},]\n", &["{\"a\":1}", "{\"b\":2}"], None),
            ("[\n{\"a\":1}\n{\"b\":2},\n,\n{\"c\":3},\n]\n", &["{\"a\":1}", "{\"b\":2}", "{\"c\":3}"], None),
            ("[\n  {\"a\":1},\n  NaN,\n  {\"b\":NaN},\n  {\"c\":3}\n]\n", &["{\"a\":1}", "{\"c\":3}"], None),
        ],
    );
}

#[test]
fn closed_values_of_a_failed_region_are_delivered() {
    check(
        &Options::lenient(),
        &[
            ("{\"a\":\n{\"id\":1}\n{\"id\":2}\n", &["{\"id\":1}", "{\"id\":2}"], MALFORMED),
            ("{\"a\":\n{\"id\":1}\nthe end\n", &["{\"id\":1}"], MALFORMED),
            ("{\"a\":\n{\"id\":1}", &["{\"id\":1}"], TRUNCATED),
            (
                "{\"a\":[\n{\"id\":1},\n{\"id\":2}\n{\"id\":3}\n",
                &["{\"id\":1}", "{\"id\":2}", "{\"id\":3}"],
                MALFORMED,
            ),
            ("{\"a\":\n[{\"id\":1},{\"id\":2}]\nthe end\n", &["{\"id\":1}", "{\"id\":2}"], MALFORMED),
            (
                "{\"a\":\n{\n  \"id\": 1,\n  \"x\": {\"y\": 2}\n}\n{\"id\":2}\n",
                &["{\n  \"id\": 1,\n  \"x\": {\"y\": 2}\n}", "{\"id\":2}"],
                MALFORMED,
            ),
            ("[\n[{\"id\":1}]\n[{\"id\":2}]\n", &["{\"id\":1}", "{\"id\":2}"], None),
            ("[\n{\"id\":1}\n{\"id\":2}\nthe end\n", &["{\"id\":1}", "{\"id\":2}"], None),
            ("x [\n{\"id\":1}\n", &["{\"id\":1}"], None),
            ("```json\n[\n{\"id\":1}\n```\n{\"id\":2}\n", &["{\"id\":1}", "{\"id\":2}"], None),
            ("```json\n{\"a\":\n{\"id\":1}\n```\n{\"id\":2}\n", &["{\"id\":1}", "{\"id\":2}"], None),
            // Left of the column, which is that of the line and not that of its bracket.
            ("  {\"a\":\n{\"id\":1}\n{\"id\":2}\n", &["{\"id\":1}", "{\"id\":2}"], MALFORMED),
            ("  - {\"a\":\n  {\"id\":1}\n  {\"id\":2}\n", &["{\"id\":1}", "{\"id\":2}"], MALFORMED),
            ("  text {\"a\":\n  {\"id\":1}\n  {\"id\":2}\n", &["{\"id\":1}", "{\"id\":2}"], MALFORMED),
        ],
    );
}

/// A value that fails in a fence of another language, or is taken for prose, is text: closed values at or left of its
/// column are delivered, deeper lines are skipped, and a note has their span.
#[test]
fn a_failed_region_of_text_is_a_note() {
    let rows: &[(&str, &[&str], &[&str])] = &[
        (
            "```text\n{\"facts\": [\n{\"id\":1},\n{\"id\":2}\n```\n",
            &["{\"id\":1}", "{\"id\":2}"],
            &["{\"facts\": ["],
        ),
        (
            "```text\nIn all: {\"a\":\n{\"id\":1}\n\"b\": x,\n{\"id\":2}\n```\n",
            &["{\"id\":1}", "{\"id\":2}"],
            &["In all: {\"a\":", "\"b\": x,"],
        ),
        (
            "~~~yaml\n  {\"a\": [\n  [{\"id\":1},\n   {\"id\":2}],\n    {\"in\":3},\n  x\n~~~\n",
            &["{\"id\":1}", "{\"id\":2}"],
            &["{\"a\": [", "{\"in\":3},", "x"],
        ),
        (
            "```js\nfunction f() {\n  return {\"in\":1};\n}\n{\"id\":1}\n```\n",
            &["{\"id\":1}"],
            &["function f() {\n  return {\"in\":1};\n}"],
        ),
        (
            "```js\nif (x) {\n  y({\"in\":1});\n} else {\n  z({\"in\":2});\n}\n```\n",
            &[],
            &["if (x) {\n  y({\"in\":1});\n}", "{\n  z({\"in\":2});\n}"],
        ),
        ("```text\n{\"in\":1\n}}\n{\"id\":2}\n```\n", &["{\"id\":2}"], &["{\"in\":1\n}"]),
        ("```python\nrows = [\n[{\"in\":1}],\nfoo\n```\n", &[], &["rows = [\n[{\"in\":1}],\n", "foo"]),
        ("```python\nrows = [{\"id\":1}}]\n{\"id\":2}\n```\n", &["{\"id\":2}"], &["rows = [{\"id\":1}}]"]),
        // Outside fences, where no record was meant.
        ("in {\n  the set {\"in\":1}\n}\n{\"id\":1}\n", &["{\"id\":1}"], &["in {\n  the set {\"in\":1}\n}"]),
        ("x = {\n} {\"id\":1}\n", &["{\"id\":1}"], &["x = {\n}"]),
        ("see [1,\n2] for more\n", &[], &["see [1,\n2]"]),
        ("[1,\n2] is a list\n", &[], &["[1,\n2] is a list"]),
        ("see [1,\n2,\nthe end\n", &[], &["see [1,\n2,\n", "the end"]),
    ];
    let mut faults = Faults::default();
    for (input, expected, notes) in rows {
        faults.checked();
        let place = excerpt(input.as_bytes(), 200);
        let seen = at_every_split(Options::lenient(), input.as_bytes());
        text_at_every_split(Options::lenient(), input.as_bytes(), &seen);
        let all = || seen.iter().map(Seen::summary).collect::<Vec<_>>().join(" | ");
        if records(&seen).collect::<Vec<_>>() != *expected || rejects(&seen).count() > 0 {
            faults.add("records", &place, &all());
        }
        let noted = seen.iter().filter_map(|event| match event {
            Seen::Note(note) => Some(&input[note.span.start as usize..note.span.end as usize]),
            _ => None,
        });
        if noted.collect::<Vec<_>>() != *notes {
            faults.add("notes", &place, &all());
        }
    }
    faults.report();
}

/// A line that is not UTF-8 is rejected also in a region of text, and only that line.
#[test]
fn a_line_of_text_that_is_not_utf8() {
    let input = b"```js\nf({\n  a: {\"in\":1},\n  b: \"\xff\",\n  c: {\"in\":2}\n})\n```\n{\"id\":1}\n";
    let seen = at_every_split(Options::lenient(), input);
    text_at_every_split(Options::lenient(), input, &seen);
    assert_eq!(records(&seen).collect::<Vec<_>>(), ["{\"id\":1}"]);
    let rejected: Vec<_> = rejects(&seen).map(|found| (found.code, found.line)).collect();
    assert_eq!(rejected, [(Code::InvalidUtf8, 4)]);
}

#[test]
fn a_region_of_text_hides_no_record_behind_it() {
    let lines: String = (0..1001).map(|id| format!("{{\"id\":{id}}},\n")).collect();
    for language in ["text", "python", "c++", "xml"] {
        let input = format!("```{language}\n{{\"facts\": [\n{lines}```\n");
        let seen = run(&Options::lenient(), input.as_bytes()).expect("no panic");
        let note = |event: &&Seen| matches!(event, Seen::Note(_));
        assert_eq!((records(&seen).count(), seen.iter().filter(note).count(), seen.len()), (1001, 1, 1002));
    }
}

/// Complete elements are delivered even if the array of records is truncated.
#[test]
fn the_last_element_of_a_truncated_root_array() {
    check(
        &Options::lenient(),
        &[
            ("[{\"a\":1},{\"b\":2}", &["{\"a\":1}", "{\"b\":2}"], TRUNCATED),
            ("[\n  {\"a\":1},\n  {\"b\":2}\n", &["{\"a\":1}", "{\"b\":2}"], TRUNCATED),
            ("[\n  {\"a\":1},\n  {\"b\":2}\nthe end\n", &["{\"a\":1}", "{\"b\":2}"], None),
            (
                "- [\n  {\"a\":1},\n  {\"b\":2}\n```json\n{\"c\":3}\n```\n",
                &["{\"a\":1}", "{\"b\":2}", "{\"c\":3}"],
                None,
            ),
        ],
    );
}

/// A well-formed array in the code of another language is not a reject either.
#[test]
fn arrays_of_code() {
    check(
        &Options::lenient(),
        &[
            ("```python\n[1, 2]\n```\n", &[], NONE),
            ("```python\nrows = [\n    [y, 1],\n    [\"b\", 2],\n]\n```\n", &[], NONE),
            ("```python\nrows = [\n    ['a', 1],\n    [2, 3]\n]\n```\n", &[], NONE),
            ("```js\nconst m = [\n  [1, 0],\n  [0, 1],\n];\n```\n{\"id\":1}\n", &["{\"id\":1}"], NONE),
        ],
    );
}

#[test]
fn a_failed_region_yields_no_records() {
    check(
        &Options::lenient(),
        &[
            ("{\"a\":\n  {\"in\":1},\nthe end\n{\"id\":1}\n", &["{\"id\":1}"], MALFORMED),
            (
                "{\"a\":NaN,\n  \"b\": {\"in\":1},\n  \"c\": [\n    {\"in\":2}\n  ]\n}\n{\"id\":1}\n",
                &["{\"id\":1}"],
                MALFORMED,
            ),
            ("{\"a\":NaN,\n\"b\":{\"in\":1}\n,\"c\":{\"in\":2}\n}\n{\"id\":1}\n", &["{\"id\":1}"], MALFORMED),
            ("{\n  \"a\": tru,\n  \"b\": {\"in\":1}\n}\n{\"id\":1}\n", &["{\"id\":1}"], MALFORMED),
            ("{\n\t\"a\": 'x',\n\t\"b\":\n\t\t{\"in\":1}\n}\n{\"id\":1}\n", &["{\"id\":1}"], MALFORMED),
            ("- {\"a\":NaN,\n   \"b\":{\"in\":1}}\n- {\"id\":1}\n", &["{\"id\":1}"], MALFORMED),
            ("{\"a\":1}}\n{\"id\":1}\n", &["{\"id\":1}"], None),
            ("{\"a\":1},\"b\":{\"in\":2}}\n{\"id\":1}\n", &["{\"id\":1}"], None),
            ("{\"a\":NaN,\"b\":{\"in\":1}}\n  {\"id\":1}\n", &["{\"id\":1}"], MALFORMED),
            ("{\"a\":", &[], TRUNCATED),
            ("{\"a\":{\"in\":1}", &[], TRUNCATED),
            ("{\"a\":{\"in\":1},\n  \"b\":{\"in\":2}", &[], TRUNCATED),
            ("{\"id\":1}\n{\"a\":\"cut", &["{\"id\":1}"], TRUNCATED),
        ],
    );
}

#[test]
fn arrays_without_objects() {
    check(
        &Options::lenient(),
        &[
            ("[1,\n2]\n", &[], NOT_AN_OBJECT),
            ("[1,\n2]", &[], NOT_AN_OBJECT),
            ("[1, 2]\n", &[], NOT_AN_OBJECT),
            ("[\"a\",\"b\"]\n{\"id\":1}\n", &["{\"id\":1}"], NOT_AN_OBJECT),
            ("[\n  \"a\",\n  \"b\"\n]\n{\"id\":1}\n", &["{\"id\":1}"], NOT_AN_OBJECT),
            ("[1] and [2]\n", &[], NONE),
            ("see [1,\n2] for more\n", &[], NONE),
            ("the list [1, 2]\n{\"id\":1}\n", &["{\"id\":1}"], NONE),
            ("[1, 2] is a list {\"id\":1}\n", &["{\"id\":1}"], NONE),
            ("x = []\n", &[], NONE),
            ("x = {}\n", &[], NONE),
            ("{} and {\"id\":1}\n", &["{\"id\":1}"], NONE),
            ("{}\n", &["{}"], NONE),
            ("[]\n", &[], NONE),
            ("```json\n{}\n```\n", &["{}"], NONE),
        ],
    );
}

#[test]
fn intended_records() {
    check(
        &Options::lenient(),
        &[
            ("{\"a\" 1}\n", &[], MALFORMED),
            ("{'a':1}\n", &[], MALFORMED),
            ("{a:1}\n", &[], MALFORMED),
            ("- {a: 1}\n", &[], MALFORMED),
            ("2) {'a' 1}\n", &[], MALFORMED),
            ("{ // why\n \"a\": NaN }\n", &[], MALFORMED),
            ("{ /* why */ \"a\": NaN }\n", &[], MALFORMED),
            ("it is {\"a\":NaN}\n", &[], MALFORMED),
            ("[{\"a\":NaN}]\n", &[], MALFORMED),
            ("it is [{\"a\":NaN}]\n", &[], MALFORMED),
            ("```json\n{a}\n```\n", &[], MALFORMED),
            ("{a}\n", &[], NONE),
            ("{a b: 1}\n", &[], NONE),
            ("it is {a: 1}\n", &[], NONE),
            ("it is {\"a\"}\n", &[], NONE),
            ("it is {\"a\", \"b\"}\n", &[], NONE),
            ("```python\n{\"a\": x}\n```\n", &[], NONE),
            ("```css\n{ color: red; }\n```\n", &[], NONE),
            ("```rust\n[{\"a\": x}]\n```\n{\"id\":1}\n", &["{\"id\":1}"], NONE),
        ],
    );
    check(&Options::strict(), &[("{a}\n[x]\n", &[], Some(&[Code::MalformedJson, Code::MalformedJson]))]);
}

#[test]
fn items_follow_the_same_rules() {
    check(
        &Options::lenient().items("/items").expect("a pointer"),
        &[
            (
                "{\"items\":[\n{\"id\":1},\n{\"id\":2},\nthe end\n{\"items\":[{\"id\":3}]}\n",
                &["{\"id\":1}", "{\"id\":2}", "{\"id\":3}"],
                None,
            ),
            (
                "{\"n\":\n{\"items\":[{\"id\":1}]}\n{\"items\":[{\"id\":2}]}\n",
                &["{\"id\":1}", "{\"id\":2}"],
                None,
            ),
            (
                "[\n{\"items\":[{\"id\":1}]}\nthe end\n{\"items\":[{\"id\":2}]}\n",
                &["{\"id\":1}", "{\"id\":2}"],
                None,
            ),
            // A malformed member affects only itself, as on one line.
            (
                "{\"n\":NaN,\n  \"items\":[{\"in\":1}]}\n{\"items\":[{\"id\":2}]}\n",
                &["{\"in\":1}", "{\"id\":2}"],
                None,
            ),
            ("{name} and [1] and \\frac{1}{2}\n{\"items\":[{\"id\":2}]}\n", &["{\"id\":2}"], NONE),
        ],
    );
}

/// On balance or not, an empty object after text is prose.
#[test]
fn prose_is_prose_when_records_are_released_on_balance() {
    check(
        &Options::lenient().release(Release::OnBalance),
        &[
            ("x = {}\n{\"id\":1}\n", &["{\"id\":1}"], NONE),
            ("\\frac{1}{2} [1] {{name}}\n{\"id\":1}\n", &["{\"id\":1}"], NONE),
        ],
    );
}

#[test]
fn an_unclosed_thinking_block() {
    check(
        &Options::lenient(),
        &[
            // After text or records it hides nothing.
            (
                "Here they are:\n<think>\nhmm {x}\n{\"id\":1}\n{\"id\":2}\n",
                &["{\"id\":1}", "{\"id\":2}"],
                None,
            ),
            ("{\"id\":1}\n<think>\nlet me see [1]\n{\"id\":2}\n", &["{\"id\":1}", "{\"id\":2}"], None),
            ("{\"id\":1}\n<think>{\"id\":2}\n", &["{\"id\":1}", "{\"id\":2}"], None),
            (
                "{\"id\":1}\n<think>\n[\n{\"id\":2},\n{\"id\":3}\n]\n",
                &["{\"id\":1}", "{\"id\":2}", "{\"id\":3}"],
                None,
            ),
            ("{\"id\":1}\n<think>\n{\"id\":2", &["{\"id\":1}"], None),
            ("<think>a {\"in\":1}</think>\ntext\n<think>\n{\"id\":1}\n", &["{\"id\":1}"], None),
            ("text\n<think>\n<think>\n{\"id\":1}\n", &["{\"id\":1}"], None),
            // A closed block is reasoning anywhere.
            ("text\n<think>\n{\"in\":1}\n</think>\n{\"id\":1}\n", &["{\"id\":1}"], None),
        ],
    );
    // A block that opens the response is truncated reasoning, and reported.
    for input in ["<think>\nhmm\n{\"in\":1}\n", "\n  <think>{\"in\":1}", "<think>\n{\"in\":1}\n{\"in\":2}\n"]
    {
        let seen = at_every_split(Options::lenient(), input.as_bytes());
        assert_eq!(records(&seen).count(), 0, "{input}");
        assert!(rejects(&seen).count() > 0, "{input}");
    }
}
