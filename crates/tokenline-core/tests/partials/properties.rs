//! Generated objects: all splits give the same result.

use proptest::prelude::*;
use serde_json::Value;
use tokenline_core::Options;
use tokenline_core::json::Parser;

use crate::documents::{cuts, grow};
use crate::extent::{cases, positions};
use crate::records::{Seen, read};

/// The text of a string, with its quotes.
fn string() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        3 => "[a-z ]{0,6}",
        1 => "[é😀€~/]{1,3}",
        1 => prop::sample::select(vec![
            "\\n", "\\\"", "\\\\", "\\/", "\\u0000", "\\u00e9", "\\uFFFD", "\\ud83d\\ude00", "\\uD834\\udd1e", "\\\\u00",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(part, 0..4).prop_map(|parts| format!("\"{}\"", parts.concat()))
}

/// Few names, so that some repeat, escaped or not.
fn name() -> impl Strategy<Value = String> {
    let few = vec![
        "\"a\"",
        "\"\\u0061\"",
        "\"b\"",
        "\"\"",
        "\"~\"",
        "\"/\"",
        "\"\\/\"",
        "\"m~n/o\"",
        "\"é\"",
        "\"\\u00e9\"",
        "\"\\ud83d\\ude00\"",
    ];
    prop_oneof![4 => prop::sample::select(few).prop_map(str::to_owned), 1 => string()]
}

fn space() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", "", "", " ", "\t", "  "])
}

/// Puts values between brackets, with some white space.
fn container(
    brackets: (char, char),
    member: impl Strategy<Value = String> + 'static,
    most: usize,
) -> BoxedStrategy<String> {
    (prop::collection::vec((space(), member, space()), 0..=most), space())
        .prop_map(move |(members, inner)| {
            let members: Vec<_> = members
                .into_iter()
                .map(|(before, member, after)| format!("{before}{member}{after}"))
                .collect();
            let inner = if members.is_empty() { inner } else { "" };
            format!("{}{inner}{}{}", brackets.0, members.join(","), brackets.1)
        })
        .boxed()
}

fn member(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    (name(), space(), value).prop_map(|(name, space, value)| format!("{name}{space}:{space}{value}"))
}

fn value() -> impl Strategy<Value = String> {
    let literals = vec![
        "0",
        "-0",
        "12",
        "-7",
        "3.140",
        "1e3",
        "-0.5E-2",
        "true",
        "false",
        "null",
        "18446744073709551616",
    ];
    let leaf = prop_oneof![string(), prop::sample::select(literals).prop_map(str::to_owned)];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![container(('[', ']'), inner.clone(), 5), container(('{', '}'), member(inner), 5)]
    })
}

fn object() -> impl Strategy<Value = String> {
    let many = member(
        "[0-9]".prop_map(|digit| (digit == "0").then(|| "0".to_owned()).unwrap_or(format!("1{digit}"))),
    );
    prop_oneof![
        6 => container(('{', '}'), member(value()), 6),
        // Beyond 32 members, names are compared in another way.
        1 => container(('{', '}'), many, 48),
    ]
}

/// Ascending ends of chunks; the last one is the end of the text.
fn pieces(document: &str, sizes: &[usize]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut at = 0;
    for size in sizes.iter().cycle() {
        at += size;
        while at < document.len() && !document.is_char_boundary(at) {
            at += 1;
        }
        if at >= document.len() {
            break;
        }
        ends.push(at);
    }
    ends.push(document.len());
    ends
}

/// Whether `after` equals or extends `before`.
fn has_grown(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::String(before), Value::String(after)) => after.starts_with(before.as_str()),
        (Value::Array(before), Value::Array(after)) => {
            before.len() <= after.len()
                && before.iter().zip(after).all(|(before, after)| has_grown(before, after))
        }
        (Value::Object(before), Value::Object(after)) => {
            before.iter().all(|(name, before)| after.get(name).is_some_and(|after| has_grown(before, after)))
        }
        (before, after) => before == after,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(40), ..ProptestConfig::default() })]

    #[test]
    fn deltas_give_the_document(document in object(), sizes in prop::collection::vec(1_usize..9, 1..6)) {
        let expected: Value = serde_json::from_str(&document).unwrap();
        let (whole, _) = grow(&document, [document.len()]);
        prop_assert!(whole.is_whole());
        prop_assert_eq!(whole.value.as_ref(), Some(&expected));

        let (apart, snapshots) = grow(&document, cuts(&document));
        prop_assert_eq!(&apart.deltas, &whole.deltas);
        let mut parser = Parser::new();
        if parser.parse(&document).unwrap().repeated_name().is_none() {
            prop_assert!(snapshots.windows(2).all(|pair| has_grown(&pair[0], &pair[1])));
        }

        for cut in cuts(&document) {
            prop_assert_eq!(&grow(&document, [cut, document.len()]).0.deltas, &whole.deltas);
        }
        prop_assert_eq!(&grow(&document, pieces(&document, &sizes)).0.deltas, &whole.deltas);
    }

    #[test]
    fn deltas_come_before_their_record(
        objects in prop::collection::vec(object(), 1..4),
        sizes in prop::collection::vec(1_usize..20, 1..6),
        lenient: bool,
        ends_open: bool,
    ) {
        let mut text = objects.join("\n");
        if lenient {
            text.insert_str(0, "Here:\n");
        }
        if !ends_open {
            text.push('\n');
        }
        let options = if lenient { Options::lenient() } else { Options::strict() };
        let whole = read(options.clone(), [text.as_bytes()]);
        let records = whole.iter().filter(|seen| matches!(seen, Seen::Record { .. })).count();
        prop_assert_eq!(records, objects.len());

        let mut rest = text.as_bytes();
        let mut cut = Vec::new();
        for size in sizes.iter().cycle() {
            let (piece, after) = rest.split_at((*size).min(rest.len()));
            cut.push(piece);
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(&read(options.clone(), cut), &whole);
        prop_assert_eq!(&read(options.clone(), text.as_bytes().chunks(1)), &whole);
        for at in positions(text.len(), 100) {
            let (left, right) = text.as_bytes().split_at(at);
            prop_assert_eq!(&read(options.clone(), [left, right]), &whole);
        }
    }
}
