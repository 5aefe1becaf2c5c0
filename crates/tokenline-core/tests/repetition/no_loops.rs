//! Texts with many equal or similar parts that are not loops.

use std::fmt::Write;
use std::iter;

use tokenline_core::adapter::RecordRepetitionDetector;
use tokenline_core::{Repeated, RepetitionLimits};

use crate::find;
use crate::random::Random;

const CHANNELS: [Repeated; 3] = [Repeated::Text, Repeated::Reasoning, Repeated::Arguments];

#[track_caller]
fn expect_none(text: impl AsRef<[u8]>) {
    for of in CHANNELS {
        if let Some(found) = find(of, &text) {
            panic!("{of:?}: {found:?} in {:.300}", text.as_ref().escape_ascii());
        }
    }
}

/// As many copies as fit in 8 KB.
fn up_to_8_kb(part: &str) -> String {
    part.repeat(8000 / part.len())
}

#[test]
fn tables_of_zeros() {
    for row in [
        "0",
        "0 ",
        "0, ",
        "0,0,0,0\n",
        "[0, 0, 0],\n",
        "0.0\t0.0\t0.0\n",
        "| 0 | 0 | 0 |\n",
        "0 & 0 & 0 \\\\\n",
    ] {
        expect_none(up_to_8_kb(row));
    }
    for row in [
        "null, ",
        "[null, null],\n",
        "false,",
        "NaN, NaN\n",
        "N/A,N/A\n",
        "0x00, ",
        "0.0f, ",
        "\\x00",
        "\\u0000",
    ] {
        expect_none(up_to_8_kb(row));
    }
}

#[test]
fn equal_rows() {
    let rows = [
        "| yes | no | not applicable |\n",
        "|yes|no|\n",
        "| --- | :-: |\n",
        "│ yes │ no │\n",
        "yes,no,\"not applicable\"\n",
        "yes;no;maybe\r\n",
        "yes\tno\tmaybe\n",
        "{\"name\": \"unknown\", \"value\": 0}\n",
        "{\"name\": \"unknown\", \"value\": 0},",
        "[\"unknown\", \"none\"],\n",
        "\"unknown\", ",
        "<tr><td>yes</td><td>no</td></tr>\n",
        "| a | red |\n| b | green |\n| c | blue |\n",
    ];
    for row in rows {
        expect_none("Here are the rows:\n\n".to_owned() + &up_to_8_kb(row) + "\nThat is all.\n");
    }
    let long = format!("| {} |\n", ["not applicable"; 20].join(" | "));
    expect_none(up_to_8_kb(&long));
}

#[test]
fn rows_in_a_string() {
    for row in ["| yes | no |\\n", "yes,no\\n", "{\\\"name\\\": \\\"unknown\\\"}\\n", "<td>yes</td>\\n"] {
        let text = "{\"content\": \"".to_owned() + &up_to_8_kb(row);
        assert_eq!(find(Repeated::Arguments, text), None);
    }
}

#[test]
fn rules() {
    for rule in ["-", "=", "*", "_ ", "- ", "─", "═", ".", "…", ". ", "~", "#", "<>", "+---", "\\-", "/"]
    {
        expect_none("A heading\n".to_owned() + &up_to_8_kb(rule) + "\n\nText.\n");
        let line = rule.repeat(76) + "\n";
        expect_none(up_to_8_kb(&line));
    }
}

#[test]
fn blank_lines_and_indentation() {
    expect_none("fn main() {\n".to_owned() + &" ".repeat(4000) + "x();\n}\n");
    expect_none("a\n".to_owned() + &"\n".repeat(4000) + "b\n");
    // A canvas.
    expect_none((" ".repeat(80) + "\n").repeat(50) + "x\n");
}

#[test]
fn rows_of_one_shape() {
    let mut texts = [const { String::new() }; 6];
    for number in 0..400 {
        let [records, objects, table, csv, list, calls] = &mut texts;
        writeln!(records, "{{\"id\": {number}, \"entity\": \"unknown\", \"definition\": \"not found\"}}")
            .unwrap();
        write!(objects, "{{\"x\": {number}, \"y\": 0, \"label\": \"point\"}}, ").unwrap();
        writeln!(table, "| {number} | unknown | not found |").unwrap();
        writeln!(csv, "{number},unknown,not found").unwrap();
        writeln!(list, "{number}. The item was not found.").unwrap();
        writeln!(calls, "    assert_eq!(value({number}), None);").unwrap();
    }
    texts.iter().for_each(expect_none);
}

#[test]
fn base64() {
    let random = &mut Random::new(11);
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let data: String = iter::repeat_with(|| char::from(*random.pick(alphabet))).take(100_000).collect();
    expect_none(&data);
    let lines: String =
        data.as_bytes().chunks(76).flat_map(|line| [str::from_utf8(line).unwrap(), "\n"]).collect();
    expect_none(&lines);
    // Zeros, spaces, ones, white and black pixels, between data.
    for constant in ["A", "ICAg", "/", "////", "AAAA/wAAAP8AAAD/", "qqqq", "zMzM"] {
        let constant = up_to_8_kb(constant);
        let text = [&data[..1000], &constant, &data[1000..2000]].concat();
        expect_none(&text);
        expect_none(format!("{{\"image\": \"data:image/png;base64,{text}\"}}"));
        let lines: String =
            text.as_bytes().chunks(76).flat_map(|line| [str::from_utf8(line).unwrap(), "\n"]).collect();
        expect_none(&lines);
    }
    expect_none(up_to_8_kb("00"));
    expect_none(up_to_8_kb("ff"));
}

#[test]
fn drawings() {
    let cat = " /\\_/\\  ( o.o )   > ^ <   \n";
    expect_none(cat.repeat(200));
    for part in ["|  |  |  ", "M", "MMMM  ", "oO", "/\\", "\\_/", "X.", "+--+  ", "█", "▀▄", "░▒▓", "(o) "]
    {
        let width = 80 / part.chars().count();
        expect_none(up_to_8_kb(&(part.repeat(width) + "\n")));
    }
}

#[test]
fn code() {
    let mut code = String::new();
    for number in 0..300 {
        let name = ["read", "write", "open", "close", "flush"][number % 5];
        write!(
            code,
            "    #[test]\n    fn {name}_{number}() {{\n        let mut file = File::default();\n        \
             file.{name}();\n        assert!(file.is_{name}(), \"case {number}\");\n    }}\n\n",
        )
        .unwrap();
    }
    expect_none(&code);
    // What closes a deep nesting.
    let closers: String = (0..60).rev().map(|depth| "    ".repeat(depth) + "}\n").collect();
    expect_none(&closers);
    expect_none("            },\n".repeat(60));
    for item in [
        "    CodePoint::INVALID,\n",
        "    Code {\n        value: 0,\n        next: None,\n    },\n",
        "    f(x) => x,\n",
    ] {
        expect_none("const ALL: [Code; 200] = [\n".to_owned() + &up_to_8_kb(item) + "];\n");
    }
}

#[test]
fn three_copies_and_refrains() {
    let verse = |number: usize| {
        format!(
            "Verse {number} is about the number {}.\n{}",
            number * 7919,
            "And so we sing, and so we go. ".repeat(3)
        )
    };
    expect_none((0..200).map(verse).collect::<String>());
    let long = verse(1).repeat(3) + &verse(2);
    expect_none([long.as_str(); 3].concat());
}

#[test]
fn random_texts() {
    for seed in 0..40 {
        let random = &mut Random::new(seed);
        let letters = *random.pick(&[2, 3, 4, 26]);
        let text: Vec<u8> = (0..30_000).map(|_| b'a' + random.below(letters) as u8).collect();
        expect_none(&text);
    }
}

#[test]
fn different_records() {
    let mut detector = RecordRepetitionDetector::new(Repeated::Records, &RepetitionLimits::default());
    for number in 0..400 {
        assert_eq!(
            detector.push(&[format!("{{\"id\": {number}, \"entity\": \"unknown\", \"value\": 0}}")]),
            None
        );
    }
    // Equal ones up to 8 KB, and 63 long ones.
    let equal = "{\"entity\": \"unknown\", \"value\": 0}";
    for _ in 0..8000 / equal.len() {
        assert_eq!(detector.push(&[equal]), None);
    }
    let long = format!("{{\"entity\": \"{}\"}}", "unknown ".repeat(100));
    for _ in 0..63 {
        assert_eq!(detector.push(&[&long]), None);
    }
}
