//! A long line is rejected for its length, however it is read and whatever else is wrong with it.

use crate::common::{conversation, validate};
use proptest::collection::vec;
use proptest::prelude::*;
use tokenline_conversations::Profile;
use tokenline_core::Limits;

const MARK: &[u8] = "\u{feff}".as_bytes();

/// Number and offset of each line above the limit, not counting its end and a byte order mark.
fn too_long(input: &[u8], limit: usize) -> Vec<(u64, u64)> {
    let mut all = Vec::new();
    let mut at = if input.starts_with(MARK) { MARK.len() } else { 0 };
    for (number, line) in input[at..].split(|byte| *byte == b'\n').enumerate() {
        if line.strip_suffix(b"\r").unwrap_or(line).len() > limit {
            all.push((number as u64 + 1, at as u64));
        }
        at += line.len() + 1;
    }
    all
}

fn check(input: &[u8], limit: usize) {
    let (report, told) = validate(input, Profile::Open, Limits { line_bytes: limit, ..Limits::default() });
    let long: Vec<_> = told.iter().filter(|(error, _)| error.rule == "line_too_long").collect();
    let places: Vec<_> = long.iter().map(|(error, _)| (error.line_number, error.byte_offset)).collect();
    assert_eq!(places, too_long(input, limit), "{limit}: {:?}", input.escape_ascii().to_string());
    assert!(long.iter().all(|(error, line)| error.column == 1 && line.is_empty()));
    assert_eq!(report.valid_conversation_count + report.invalid_line_count, report.non_empty_lines);
}

#[test]
fn the_length_of_a_line_takes_precedence_over_other_errors() {
    let inputs: [&[u8]; 15] = [
        b"{\"a\":x}",
        b"[1,2,3]\n{}",
        b"{}\n\xff\xff\xff\xff\xff\xff\n",
        b"{\"a\":1,\"a\":1}",
        b"      \n      \r\n",
        b"     \r\r\n",
        b"{}    \r\n{}    \r",
        b"\xef\xbb\xbf",
        b"\xef\xbb\xbf\n",
        b"\xef\xbb\xbf{}\r\n{}\r",
        b"\xef\xbb\xbf{\"a\"\r\n\xef\xbb\xbf{}\r",
        b"\r\n\r\r\n\r",
        b"\xef\xbb",
        b"}\n}}\n}}}\n}}}}\n}}}}}\n}}}}}}\n}}}}}}}",
        b"\n\n\n",
    ];
    for input in inputs {
        for limit in 0..9 {
            check(input, limit);
        }
    }
}

fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => prop::sample::select(vec!["\n", "\r\n", "\r", " ", "    ", "{}", "[1]", "{\"a\":1,\"a\":1}", "{", "\"", "x"])
            .prop_map(|text| text.as_bytes().to_vec()),
        1 => Just(vec![0xff]),
        1 => Just(MARK.to_vec()),
        2 => (0_u8..3).prop_map(|id| conversation(&id.to_string()).to_string().into_bytes()),
    ]
}

proptest! {
    #[test]
    fn only_its_length_makes_a_line_too_long(
        has_mark in any::<bool>(),
        pieces in vec(piece(), 0..30),
        limit in prop_oneof![0_usize..12, 190_usize..240],
    ) {
        let mut input = if has_mark { MARK.to_vec() } else { Vec::new() };
        input.extend(pieces.concat());
        check(&input, limit);
    }
}
