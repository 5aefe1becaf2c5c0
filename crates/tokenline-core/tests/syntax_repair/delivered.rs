//! Repaired records in a text, wherever it is cut.

use std::iter;

use tokenline_core::adapter::{Driver, SourceEnd, StreamMachine, StreamStep};
use tokenline_core::json::{Kind, Raw, Value};
use tokenline_core::{Code, Event, Options, Report, Validate, Violation};

/// A schema: `n` is a number.
struct HasNumber;

impl Validate for HasNumber {
    fn validate(&self, value: Value<'_>) -> Result<(), Box<Violation>> {
        match value.get("n").filter(|n| n.kind() == Kind::Number) {
            Some(_) => Ok(()),
            None => {
                Err(Box::new(Violation::new(Code::SchemaViolation, value.range().start, "n is no number")))
            }
        }
    }
}

/// The events of a text in these pieces, one line each, and the report.
pub(crate) fn read(mut driver: Driver<Raw>, pieces: &[&[u8]]) -> (Vec<String>, Report) {
    let mut seen = Vec::new();
    let mut take = |driver: &mut Driver<Raw>, piece: &[u8]| {
        let mut at = 0;
        loop {
            let (consumed, step) = driver.step(&piece[at..]);
            at += consumed;
            match step {
                StreamStep::Event(Event::Record(record)) => {
                    let edits: Vec<_> = record
                        .recovered
                        .syntax()
                        .into_iter()
                        .flat_map(|syntax| {
                            let span = syntax.span();
                            syntax.kinds().map(move |(kind, count)| {
                                format!(" {kind} {}..{} x{count}", span.start, span.end)
                            })
                        })
                        .collect();
                    seen.push(format!(
                        "{}:{} {}{}",
                        record.line,
                        record.column,
                        record.value,
                        edits.concat()
                    ));
                }
                StreamStep::Event(Event::Rejected(diagnostic)) => seen.push(diagnostic.to_string()),
                StreamStep::Event(_) => {}
                StreamStep::NeedInput | StreamStep::Done => break,
                StreamStep::Repair(_) => unreachable!("there is no hook"),
            }
        }
    };
    for piece in pieces {
        take(&mut driver, piece);
    }
    driver.finish(SourceEnd::Clean);
    take(&mut driver, b"");
    (seen, driver.report().clone())
}

pub(crate) fn driver() -> Driver<Raw> {
    Driver::new(Options::lenient().repair_syntax(true))
}

pub(crate) fn at_every_cut(driver: impl Fn() -> Driver<Raw>, text: &str) -> (Vec<String>, Report) {
    let whole = read(driver(), &[text.as_bytes()]);
    for cut in 0..=text.len() {
        let (left, right) = text.as_bytes().split_at(cut);
        assert_eq!(read(driver(), &[left, right]), whole, "cut at {cut}: {text}");
    }
    let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
    assert_eq!(read(driver(), &bytes), whole, "{text}");
    whole
}

#[test]
fn without_a_schema_only_edits_that_keep_the_value_are_made() {
    let text = concat!(
        "{\"n\":1,}\n",
        "{\"n\":2}}\n",
        "Sure: {\"n\":3, /* three */ \"m\":[1,2,]}\n",
        "{\n\"n\":4, // four\n\"m\":5\n}\n",
        "[{\"n\":5,},{\"n\":6}]\n",
        "{\"n\":True}\n",
        "{'n':7}\n",
        "{\"n\":,}\n",
        "{\"n\":8}\n",
    );
    let (seen, report) = at_every_cut(driver, text);
    assert_eq!(
        seen,
        [
            "1:1 {\"n\":1} trailing_comma 6..7 x1",
            "2:1 {\"n\":2} surplus_closer 7..8 x1",
            // Two kinds.
            "3:15: malformed_json: expected a name in double quotes, found another character",
            "4:1 {\n\"n\":4,  \n\"m\":5\n} comment 9..16 x1",
            "8:2 {\"n\":5} trailing_comma 6..7 x1",
            "8:11 {\"n\":6}",
            "9:6: malformed_json: expected a value, found a letter; python_literal at 5..9 changes the value, and there is no \
             schema to check it",
            "10:2: malformed_json: expected a name in double quotes or `}`, found a single quote; single_quotes at 1..4 \
             changes the value, and there is no schema to check it",
            "11:6: malformed_json: expected a value, found `,`",
            "12:1 {\"n\":8}",
        ]
    );
    assert_eq!((report.records(), report.repaired(), report.rejected()), (6, 4, 4));
    let by_edit: Vec<_> = report.by_edit().iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
    assert_eq!(by_edit, [("trailing_comma", 2), ("surplus_closer", 1), ("comment", 1)]);
}

#[test]
fn the_schema_holds_and_what_has_two_readings_stays_a_reject() {
    let strict = || driver().with_validator(HasNumber);
    let text = concat!(
        "{'n':1,'b':True}\n",
        "{n:2}\n",
        "{\"n\":\"three\",}\n",
        "{\"a\":{\"b\":1},\"n\":2}}\n",
        "{\"a\":\"x\" \"n\":4}\n",
        "{\"n\":5,\"a\":[1,2\n",
    );
    let (seen, report) = at_every_cut(strict, text);
    assert_eq!(seen[0], "1:1 {\"n\":1,\"b\":true} single_quotes 1..15 x2 python_literal 1..15 x1");
    assert_eq!(seen[1], "2:1 {\"n\":2} bare_name 1..2 x1");
    let refused = "3:14: malformed_json: expected a name in double quotes, found `}`; trailing_comma at 12..13 gives a value \
                   that breaks the schema";
    assert_eq!(seen[2], refused);
    assert_eq!(
        seen[3..5],
        [
            "4:1 {\"a\":{\"b\":1},\"n\":2} surplus_closer 19..20 x1",
            "5:1 {\"a\":\"x\", \"n\":4} missing_comma 8..8 x1"
        ]
    );
    assert!(seen[5].contains("truncated"), "no closers without a confirmed end: {seen:?}");
    assert_eq!((report.records(), report.repaired(), report.rejected()), (4, 4, 2));

    let (seen, _) = at_every_cut(driver, "{\"a\":{\"b\":1},\"c\":2}}\n");
    let says = "1:20: trailing_data: the object is balanced, but the line goes on with `}`; several repairs give different values: \
                surplus_closer at 19..20; or surplus_closer at 11..12";
    assert_eq!(seen, [says]);
}

#[test]
fn a_hook_is_asked_about_what_is_not_repaired() {
    let hook = |rejected: tokenline_core::Rejected| Some(rejected.text.replace("NaN", "0"));
    let driver = || driver().with_repair(hook);
    let (seen, report) = at_every_cut(driver, "{\"n\":1,}\n{\"n\":NaN}\n{\"n\":NaN,}\n");
    assert_eq!(seen[..2], ["1:1 {\"n\":1} trailing_comma 6..7 x1", "2:1 {\"n\":0}"]);
    assert_eq!((report.repaired(), report.rejected()), (2, 1));
}

#[test]
fn it_is_off_by_default_and_takes_linear_time() {
    let (seen, _) = read(Driver::new(Options::lenient()), &[b"{\"n\":1,}\n"]);
    assert_eq!(seen, ["1:8: malformed_json: expected a name in double quotes, found `}`"]);
    let many: String = iter::repeat_n("{\"n\":[1,2,],}\n{'n':1}\n{\"n\":{\"a\":1}}}\n", 3000).collect();
    #[expect(clippy::disallowed_types, reason = "a test of time")]
    let start = std::time::Instant::now();
    let (_, report) = read(driver(), &[many.as_bytes()]);
    // The second needs a schema.
    assert_eq!((report.repaired(), report.rejected()), (6000, 3000));
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[test]
fn what_may_have_lost_something_is_not_repaired() {
    // A string that is not UTF-8; a quotient, and a URL with a quote too many, that look like comments.
    let texts: [&[u8]; 4] = [
        b"{\"n\":\"x\xffy\",}\n",
        b"{\"n\":\"x\xffy\"}}\n",
        b"{\n \"n\": 10//3\n}\n",
        b"{\"n\":\"http:\"//x.y/z\n}\n",
    ];
    for text in texts {
        let (seen, report) = read(driver(), &[text]);
        assert_eq!((report.records(), report.repaired()), (0, 0), "{seen:?}");
    }
    // An escape that Python reads in another way.
    let any = || driver().with_validator(HasNumber);
    assert_eq!(at_every_cut(any, "{'n':1,'a':'x\\/y'}\n").1.records(), 0);
}
