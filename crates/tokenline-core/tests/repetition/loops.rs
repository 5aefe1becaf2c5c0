//! Loops that models run into stop within five copies, or within 1 KB if the period is short.

use tokenline_core::adapter::RecordRepetitionDetector;
use tokenline_core::{Repeated, Repetition, RepetitionLimits};

use crate::find;
use crate::random::Random;

const BEFORE: &str = "Here is what I found, in the order of the files. First, some context.\n\n";

/// Text in which nothing is repeated.
fn paragraph(len: usize) -> String {
    let random = &mut Random::new(len as u64);
    let words =
        ["data", "the", "of", "a", "reads", "model", "stream", "and", "then", "with", "byte", "for", "order"];
    let mut text = String::new();
    while text.len() < len {
        let word: &&str = random.pick(&words);
        text += word;
        text += if random.once_in(9) { ". " } else { " " };
    }
    text.truncate(len);
    text
}

#[track_caller]
fn expect_within(of: Repeated, before: &str, period: &str, most: usize) -> Repetition {
    let text = before.to_owned() + &period.repeat(40_000 / period.len());
    let found = find(of, &text).expect("a loop");
    assert!(found.span.end as usize <= before.len() + most, "{found:?}");
    assert_eq!(found.of, of);
    found
}

/// Within five copies, or within 1 KB.
#[track_caller]
fn expect_early(of: Repeated, before: &str, period: &str) {
    let most = if period.len() < 200 { 1000 } else { 5 * period.len() };
    let found = expect_within(of, before, period, most);
    assert_eq!(found.period as usize, period.len());
    let start = found.span.start as usize;
    assert!(start <= before.len() && start + period.len() > before.len(), "{found:?}");
}

/// Within 10 KB.
#[track_caller]
fn expect_late(of: Repeated, before: &str, period: &str) {
    let found = expect_within(of, before, period, 10_000);
    assert_eq!(found.period as usize, period.len());
}

#[test]
fn one_word() {
    expect_early(Repeated::Text, BEFORE, "again ");
    expect_early(Repeated::Text, BEFORE, "no ");
    expect_early(Repeated::Text, BEFORE, "ha");
    expect_early(Repeated::Reasoning, "", "wait, ");
    expect_early(Repeated::Text, BEFORE, "<|im_end|>");
}

#[test]
fn one_sentence() {
    expect_early(Repeated::Text, BEFORE, "I will now write the file. ");
    expect_early(Repeated::Reasoning, BEFORE, "Let me check the file again.\n");
    expect_early(Repeated::Reasoning, BEFORE, "- Wait, I should check it, too.\n\n");
    expect_early(Repeated::Text, BEFORE, "[WARN] Retrying, attempt failed.\n");
    expect_early(Repeated::Text, BEFORE, "It costs 1,000 euros.\n");
}

#[test]
fn a_paragraph() {
    expect_early(Repeated::Text, BEFORE, &paragraph(764));
    expect_early(Repeated::Reasoning, &paragraph(5000), &(paragraph(763) + "\n"));
    expect_early(Repeated::Text, BEFORE, &paragraph(199));
    expect_early(Repeated::Text, BEFORE, &paragraph(200));
}

#[test]
fn a_long_period() {
    expect_early(Repeated::Text, BEFORE, &paragraph(1528));
    expect_early(Repeated::Reasoning, &paragraph(20_000), &paragraph(4000));
    expect_early(Repeated::Text, BEFORE, &paragraph(8192));
}

#[test]
fn punctuation() {
    expect_late(Repeated::Text, BEFORE, "?!");
    expect_late(Repeated::Reasoning, BEFORE, "?!?!?!\n");
    expect_late(Repeated::Text, BEFORE, ".");
    // Not before 8 KiB.
    assert_eq!(find(Repeated::Text, "?!".repeat(4095)), None);
    assert_eq!(find(Repeated::Text, "?!".repeat(4096)).map(|found| found.copies), Some(4096));
}

#[test]
fn white_space() {
    for period in [" ", "\n", "\t", " \n", "\n    ", "\r\n"] {
        let found = expect_within(Repeated::Arguments, "{\"city\": \"Paris\"", period, 5000);
        assert!(found.span.len() >= 4096, "{found:?}");
    }
    expect_within(Repeated::Arguments, "{\"city\": \"", "\\n", 5000);
    expect_within(Repeated::Text, "A drawing:\n", &(" ".repeat(78) + "\n"), 8000);
}

#[test]
fn text_in_a_string() {
    let before = "{\"path\": \"a.md\", \"content\": \"";
    expect_early(Repeated::Arguments, before, "very ");
    expect_early(Repeated::Arguments, before, "The data of the model.\\n");
    expect_early(Repeated::Arguments, before, "He said \\\"no\\\" again. ");
    expect_early(Repeated::Arguments, before, "\\u5f88");
}

#[test]
fn digits() {
    expect_late(Repeated::Text, BEFORE, "0");
    expect_late(Repeated::Text, BEFORE, "142857");
    expect_late(Repeated::Arguments, "{\"grid\": [[", "0, ");
    expect_late(Repeated::Text, BEFORE, "3.14, 2.71\n");
}

#[test]
fn other_scripts() {
    expect_early(Repeated::Text, "好的，", "的");
    expect_early(Repeated::Reasoning, BEFORE, "我再检查一遍。");
    expect_early(Repeated::Text, BEFORE, "Я проверю файл ещё раз. ");
    expect_early(Repeated::Text, BEFORE, "もう一度、確認します。\n");
}

#[test]
fn emoji() {
    expect_late(Repeated::Text, BEFORE, "😀");
    expect_late(Repeated::Text, BEFORE, "👍🏽 ");
    expect_early(Repeated::Text, BEFORE, "😀 great ");
}

#[test]
fn the_middle_of_a_copy() {
    let sentence = "The definition of the term follows in the next part. ";
    for at in 0..sentence.len() {
        let before = BEFORE.to_owned() + &sentence[at..];
        let found = find(Repeated::Text, before.clone() + &sentence.repeat(30)).expect("a loop");
        assert_eq!(found.period as usize, sentence.len());
        assert!(found.span.start as usize <= BEFORE.len());
        assert_eq!(found.span.len(), 512);
    }
}

#[test]
fn rows_with_words() {
    for row in ["| yes | no |\n", "red,green,blue\n", "{\"color\": \"red\"}, ", "<li>red</li>\n", "\"red\", "]
    {
        expect_late(Repeated::Text, BEFORE, row);
    }
}

#[test]
fn encoded_data() {
    expect_late(Repeated::Text, BEFORE, "A");
    expect_late(Repeated::Text, BEFORE, "ICAg");
    expect_late(Repeated::Text, BEFORE, "0x00, ");
}

/// The bytes of equal records, up to the one that stops.
#[track_caller]
fn bytes_until_loop(of: Repeated, cycle: &[&[&str]]) -> (u64, Repetition) {
    let mut detector = RecordRepetitionDetector::new(of, &RepetitionLimits::default());
    assert_eq!(detector.push(&["{\"other\": 1}"]), None);
    let mut bytes = 0;
    for item in cycle.iter().cycle().take(10_000) {
        bytes += item.iter().map(|part| part.len() as u64).sum::<u64>();
        if let Some(found) = detector.push(item) {
            return (bytes, found);
        }
    }
    panic!("no loop");
}

#[test]
fn equal_records() {
    let records: [&[&str]; 3] =
        [&["{\"entity\":\"DNA\"}"], &["{\"entity\":\"RNA\"}"], &["{\"entity\":\"gene\",\"n\":1}"]];
    let (bytes, found) = bytes_until_loop(Repeated::Records, &records);
    assert!(bytes <= 10_000 && found.span.len() >= 8192 && found.copies >= 64, "{bytes}: {found:?}");
    assert_eq!((found.items, found.period), (3, 55));
    let (bytes, found) = bytes_until_loop(Repeated::Records, &records[..1]);
    assert!(bytes <= 10_000, "{bytes}");
    assert_eq!((found.items, found.period, found.span.start), (1, 16, 12));
    assert_eq!(found.to_string(), "the same record 512 times");
}

#[test]
fn equal_calls() {
    let call: &[&str] = &["read_file", "{\"path\": \"src/main.rs\"}"];
    let (bytes, found) = bytes_until_loop(Repeated::ToolCalls, &[call]);
    assert!(bytes <= 10_000, "{bytes}");
    assert_eq!(found.items, 1);
    let other: &[&str] = &["write_file", "{\"path\": \"src/main.rs\", \"content\": \"fn main() {}\"}"];
    let (bytes, found) = bytes_until_loop(Repeated::ToolCalls, &[call, other]);
    assert!(bytes <= 10_000, "{bytes}");
    assert_eq!(found.items, 2);
    assert_eq!(found.to_string(), "the same 2 tool calls 89 times");
}
