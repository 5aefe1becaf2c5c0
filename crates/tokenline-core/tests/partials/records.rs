//! Partials of records, between the other events.

use tokenline_core::json::{Change, Value};
use tokenline_core::{
    CheckedChunk, Code, Event, JsonlParser, LentEvent, Limits, OpenRecord, Options, RecordDecoder, Release,
};

use crate::apply::{Assembled, Step};

/// An event of a text: a record with its deltas, or a diagnostic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Record { start: u64, deltas: Vec<(String, Step)>, raw: String },
    Finding(Code),
}

/// Collects the deltas of the open record, and compares them with the record.
#[derive(Default)]
struct Reader {
    open: Option<(u64, u64, u64)>,
    assembled: Assembled,
    seen: Vec<Seen>,
}

impl Reader {
    fn take(&mut self, event: LentEvent<'_>) {
        match event {
            Event::Partial(partial) => {
                if partial.value.depth == 0 && matches!(partial.value.change, Change::Open(_)) {
                    self.assembled = Assembled::default();
                    self.open = Some((partial.start, partial.line, partial.column));
                }
                assert_eq!(self.open, Some((partial.start, partial.line, partial.column)));
                self.assembled.apply(partial.value);
            }
            Event::Record(record) => {
                assert_eq!(self.open.take(), Some((record.span.start, record.line, record.column)));
                let assembled = std::mem::take(&mut self.assembled);
                assert!(assembled.is_whole(), "all deltas come before the record");
                assert_eq!(assembled.value, Some(record.value.to_value().unwrap()));
                assert_eq!(assembled.value, Some(serde_json::from_str(record.value.raw()).unwrap()));
                self.seen.push(Seen::Record {
                    start: record.span.start,
                    deltas: assembled.deltas,
                    raw: record.value.raw().to_owned(),
                });
            }
            Event::Rejected(diagnostic) | Event::Note(diagnostic) => {
                self.seen.push(Seen::Finding(diagnostic.code));
            }
            other => panic!("{other:?}"),
        }
    }

    /// Compares the snapshot of the open record with its deltas.
    fn compare(&self, snapshot: Option<OpenRecord<Value<'_>>>) {
        let Some(snapshot) = snapshot else { return };
        assert_eq!(self.open, Some((snapshot.start, snapshot.line, snapshot.column)));
        assert_eq!(self.assembled.value, Some(snapshot.value.to_value().unwrap()));
    }
}

/// Reads a text that arrives in these chunks, through the decoder and the parser.
pub(crate) fn read<'a>(options: Options, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Seen> {
    let options = options.partials(true);
    let mut by_text = RecordDecoder::new(options.clone());
    let (mut decoder, mut parser) = (RecordDecoder::new(options.clone()), JsonlParser::new(options));
    // Decoders that were used before must behave like new ones.
    parser.push("{\"left\":\"over");
    while parser.next_event().is_some() {}
    parser.reset();
    let (mut decoded, mut parsed, mut of_text) = (Reader::default(), Reader::default(), Reader::default());
    let mut length = 0;
    for piece in pieces {
        length += piece.len() as u64;
        let mut rest = piece;
        loop {
            let step = decoder.decode(rest);
            rest = &rest[step.consumed..];
            match step.event {
                Some(event) => decoded.take(event),
                None => break,
            }
        }
        assert!(rest.is_empty());
        decoded.compare(decoder.snapshot());
        let mut chunk = CheckedChunk::new(piece);
        while let Some(event) = by_text.next_event(&mut chunk) {
            of_text.take(event);
        }
        of_text.compare(by_text.snapshot());
        parser.push(piece.to_vec());
        while let Some(event) = parser.next_event() {
            parsed.take(event);
        }
        parsed.compare(parser.snapshot());
        assert_eq!(decoder.position(), length);
    }
    while let Some(event) = decoder.finish() {
        decoded.take(event);
    }
    assert!(decoder.snapshot().is_none());
    parser.finish();
    while let Some(event) = parser.next_event() {
        parsed.take(event);
    }
    while let Some(event) = by_text.finish() {
        of_text.take(event);
    }
    assert_eq!(decoded.seen, parsed.seen);
    assert_eq!(decoded.seen, of_text.seen);
    decoded.seen
}

/// A line for each event of a text in chunks, with `|` at the end of each chunk.
fn log(options: Options, pieces: &[&str]) -> String {
    let mut parser = JsonlParser::new(options.partials(true));
    let mut lines = Vec::new();
    for piece in pieces {
        parser.push((*piece).to_owned());
        while let Some(event) = parser.next_event() {
            lines.push(line(event));
        }
        lines.push("|".to_owned());
    }
    parser.finish();
    while let Some(event) = parser.next_event() {
        lines.push(line(event));
    }
    lines.join(" ")
}

fn line(event: LentEvent<'_>) -> String {
    match event {
        Event::Partial(OpenRecord { value: delta, start, .. }) => {
            let path = delta.pointer();
            match delta.change {
                Change::Open(kind) => format!("{start}{path}:{}", kind.as_str()),
                Change::Append(text) => format!("{start}{path}+{text}"),
                Change::Set(value) => format!("{start}{path}={}", value.raw()),
                Change::Close => format!("{start}{path}."),
            }
        }
        Event::Record(record) => format!("<{}>", record.completion.as_str()),
        Event::Rejected(diagnostic) => format!("<rejected {}>", diagnostic.code),
        Event::Note(diagnostic) => format!("<note {}>", diagnostic.code),
        other => panic!("{other:?}"),
    }
}

#[test]
fn deltas_come_with_each_piece_and_before_the_record() {
    let pieces = ["{\"a\":\"x", "y\",\"n\":1", "2}", "\n{\"b\":true}\n{\"c\":["];
    let expected = "0:object 0/a:string 0/a+x | 0/a+y 0/a. | 0/n=12 0. | \
        <newline> 18:object 18/b=true 18. <newline> 29:object 29/c:array | <rejected truncated>";
    assert_eq!(log(Options::lenient(), &pieces), expected);
    assert_eq!(log(Options::strict(), &pieces), expected);
}

#[test]
fn a_root_array_grows_as_one_value() {
    let options = Options::lenient().whole_values(true);
    let expected =
        "0:array 0/0:object 0/0/a:string 0/0/a+x | 0/0/a+y 0/0/a. 0/0. 0/1=2 | 0. | <end_of_input>";
    assert_eq!(log(options.clone(), &["[{\"a\":\"x", "y\"},2 ", "]"]), expected);
    // Without the option its elements are the records.
    assert!(
        log(Options::lenient(), &["[{\"a\":1},", "{\"a\":2}]"])
            .starts_with("1:object 1/a=1 1. <array_element>")
    );

    for text in [
        "[[],{\"a\":[\"x\",null]}]",
        "As in [1]:\n```json\n[{\"a\": \"\u{e9}\\n\"}, 2]\n```\n",
        "[1] is cited\n[{}]\n",
        "[1, x]",
    ] {
        let whole = read(options.clone(), [text.as_bytes()]);
        for at in 0..text.len() {
            let (left, right) = text.as_bytes().split_at(at);
            assert_eq!(read(options.clone(), [left, right]), whole, "{text:?} cut at {at}");
        }
        assert_eq!(read(options.clone(), text.as_bytes().chunks(1)), whole, "{text:?}");
    }
}

#[test]
fn partials_are_off_by_default() {
    let mut parser = JsonlParser::new(Options::lenient());
    parser.push("{\"a\":\"x\"}\n{\"b\":[");
    assert!(matches!(parser.next_event(), Some(Event::Record(_))));
    assert!(parser.next_event().is_none());
    // Snapshots are available anyway.
    let snapshot = parser.snapshot().unwrap();
    assert_eq!((snapshot.start, snapshot.line, snapshot.column), (10, 2, 1));
    assert_eq!(snapshot.value.to_json(), "{\"b\":[]}");
    parser.push("1]}");
    assert!(parser.next_event().is_none());
    assert_eq!(parser.snapshot().unwrap().value.raw(), "{\"b\":[1]}", "balanced, and not sealed");
    parser.push("\n");
    assert!(parser.next_event().is_some());
    assert!(parser.snapshot().is_none());
}

#[test]
fn an_on_balance_record_has_its_deltas_first() {
    let options = Options::lenient().release(Release::OnBalance);
    assert_eq!(log(options.clone(), &["{\"a\":", "1}"]), "0:object | 0/a=1 0. <balanced> |");
    assert_eq!(log(options, &["{\"a\":1} {}"]), "0:object 0/a=1 0. <balanced> 8:object 8. <balanced> |");
}

#[test]
fn a_reject_has_the_deltas_of_earlier_chunks() {
    let lenient = Options::lenient();
    assert_eq!(
        log(lenient.clone(), &["{\"a\":1", ",\"b\":NaN}\n"]),
        "0:object | <rejected malformed_json> |"
    );
    assert_eq!(
        log(lenient.clone(), &["{\"a\":1}", ",\"b\":2}\n"]),
        "0:object 0/a=1 0. | <rejected trailing_data> |"
    );
    assert_eq!(
        log(lenient.clone(), &["{\"a\":\"x", "\n{}\n"]),
        "0:object 0/a:string 0/a+x | \
        <rejected malformed_json> 8:object 8. <newline> |"
    );
    // A fault that arrives in one chunk with its value yields no deltas.
    assert_eq!(log(lenient.clone(), &["{\"a\":1,\"b\":NaN}\n"]), "<rejected malformed_json> |");
    // Braces in prose.
    assert_eq!(
        log(lenient.clone(), &["I use {", "x} and {\"a\":1}\n"]),
        "6:object | 14:object 14/a=1 14. <newline> |"
    );
    let limited = lenient.limits(Limits { line_bytes: 10, ..Limits::default() });
    assert_eq!(
        log(limited, &["{\"a\":\"123", "4567890\"}", "\n{}\n"]),
        "0:object 0/a:string 0/a+123 | | <rejected line_too_long> 19:object 19. <newline> |"
    );
}

#[test]
fn only_objects_have_deltas() {
    let nothing = |log: String| assert!(!log.contains([':', '+', '=']), "{log}");
    nothing(log(Options::lenient(), &["see [1", ",2] and ", "[[\"x", "\"]]\n"]));
    nothing(log(Options::strict(), &["\"te", "xt\"\n12", "3\n[", "1]\n"]));
}

#[test]
fn bytes_that_are_not_utf8_reject_the_line() {
    let seen = read(Options::lenient(), [&b"{\"a\":\"x"[..], b"\xC3", b"\xA9\xFF", b"\"}\n{}\n"]);
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0], Seen::Finding(Code::InvalidUtf8));
}

#[test]
fn a_split_character_waits() {
    let mut parser = JsonlParser::new(Options::strict().partials(true));
    let mut log = Vec::new();
    for piece in ["{\"a\":\"😀é".as_bytes(), b"\"}\n"].concat().chunks(1) {
        parser.push(piece.to_vec());
        while let Some(event) = parser.next_event() {
            log.push(line(event));
        }
    }
    assert_eq!(log, ["0:object", "0/a:string", "0/a+😀", "0/a+é", "0/a.", "0.", "<newline>"]);
}

#[test]
fn positions_are_those_of_the_record() {
    let mut parser = JsonlParser::new(Options::lenient().partials(true));
    parser.push("\u{feff}Sure:\n  1. {\"a\":");
    let mut places = Vec::new();
    while let Some(event) = parser.next_event() {
        if let Event::Partial(partial) = event {
            places.push((partial.start, partial.line, partial.column));
        }
    }
    assert_eq!(places, [(14, 2, 6)]);
    let snapshot = parser.snapshot().unwrap();
    assert_eq!((snapshot.start, snapshot.line, snapshot.column), (14, 2, 6));
}

/// Events not taken are not lost, and a record waits until all its deltas have been yielded.
#[test]
fn events_may_be_taken_later() {
    let mut parser = JsonlParser::new(Options::lenient().partials(true));
    parser.push("{\"a\":1,");
    assert_eq!(parser.next_event().map(line).as_deref(), Some("0:object"));
    parser.push("\"b\":2}\n{\"c\":");
    assert_eq!(parser.next_event().map(line).as_deref(), Some("0/a=1"));
    let mut rest = Vec::new();
    while let Some(event) = parser.next_event() {
        rest.push(line(event));
    }
    assert_eq!(rest, ["0/b=2", "0.", "<newline>", "14:object"]);
    parser.push("3}");
    parser.finish();
    assert_eq!(parser.next_event().map(line).as_deref(), Some("14/c=3"));
    parser.reset();
    assert!(parser.next_event().is_none());
    parser.push("{}");
    assert_eq!(parser.next_event().map(line).as_deref(), Some("0:object"));
}
