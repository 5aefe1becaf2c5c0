//! `parse`, a response stream, `prompt apply` and `continuation contexts` find the same JSON values in a model's text.
//!
//! In an input, `⟦⟧` enclose a complete value, `⟨⟩` one that is cut off, and `⟪⟫` one that is rejected. Each of the four
//! reports them in its own terms:
//!
//! - `parse` and a response stream yield every record. A record is an object, so an array yields its objects, even if it is
//!   cut off or rejected. Arrays without objects, strings, numbers and literals yield nothing.
//! - `prompt apply` takes the first complete value: after a rejected one only if that has its closing bracket, and none
//!   after a cut-off one. (It prefers a value in a code fence; here that is the first.)
//! - `continuation contexts` takes the first value, whether complete, cut off or rejected. It expects more input, so an
//!   unclosed think block after text holds no value yet; for the others the input has ended, so the block is text.

use serde_json::{Value, json};
use tokenline::json::Raw;
use tokenline::llm::{Provider, ResponseEvent, ResponseParser};
use tokenline::{Options, Origin};

use crate::common::{file, folder, tokenline};

const INPUTS: &[&str] = &[
    // Alone or followed by something.
    "⟦{\"a\":1}⟧",
    "⟦{\"a\":1}⟧,",
    "⟦{\"a\":1}⟧,\n",
    "\u{feff}⟦{\"a\":1}⟧\n",
    "\r\n⟦{\r\n  \"a\": 1\r\n}⟧\r\n",
    "⟦{\"a\":1}⟧⟦{\"b\":2}⟧",
    "⟦{\"a\":1}⟧\n⟦{\"b\":2}⟧\n",
    "⟦{\"a\":1}⟧ ⟦{\"b\":2}⟧",
    "⟦{\"a\":1}⟧\n⟨{\"b\":⟩",
    "⟦{\"a\":1}⟧ is all.",
    "⟦{}⟧",
    "⟦{\n}⟧\n",
    // Arrays.
    "⟦[{\"a\":1},{\"b\":2}]⟧",
    "⟦[\n  {\"a\": 1},\n  {\"b\": 2}\n]⟧\n",
    "⟦[1,2]⟧",
    "⟦[1,\n2]⟧\n",
    "⟦[]⟧",
    "⟦[[{\"a\":1}]]⟧",
    "⟦[1,{\"a\":1}]⟧\n",
    "Here: ⟦[{\"a\":1}]⟧.",
    "⟦[{\"a\":1}]⟧]",
    "⟦[{\"a\":1}]⟧⟦[{\"b\":1}]⟧",
    // Strings, numbers, literals: alone, or in a fence.
    "⟦42⟧\n",
    "⟦\"text {x}\"⟧",
    "⟦null⟧\n\n",
    "42 rows: ⟦{\"a\":1}⟧",
    "true enough",
    "```json\n⟦\"text\"⟧\n```",
    "```\n⟦42⟧\n```\n",
    // Fences.
    "```json\n⟦{\"a\":1}⟧\n```",
    "```\n⟦{\"a\":1}⟧\n```\n",
    "```JSON\r\n⟦[1,\r\n2]⟧\r\n```\r\n",
    "Sure:\n\n```jsonl\n⟦{\"a\":1}⟧\n⟦{\"b\":2}⟧\n```\nDone {x}.",
    "```json\n⟦[1]⟧\n```",
    "~~~\n⟦{\"a\":1}⟧\n~~~\n",
    "```json ⟦{\"a\":1}⟧ ```",
    "```⟦{\"a\":1}⟧```",
    "```python\nprint({x: [1]})\nx = [1]\n```\n```json\n⟦{\"a\":1}⟧\n```",
    "- as a list:\n  ```json\n  ⟦{\"a\":1}⟧\n  ```",
    "```json\n```\n",
    // Think blocks.
    "<think>{\"plan\":1}</think>⟨{\"answer\":[1,2⟩",
    "<think>{\"plan\":1}</think>\n⟦{\"a\":1}⟧",
    "<thinking>\n```json\n{\"plan\":1}\n```\n</thinking>\n```json\n⟦{\"a\":1}⟧\n```",
    "<thought>{</thought>⟦[{\"a\":1}]⟧",
    "<reasoning>[1,</reasoning>\n⟦[1]⟧\n",
    "[THINK]{\"plan\":1}[/THINK]⟦{\"a\":1}⟧",
    "\u{feff}<think></think>\n<think>[0]</think> ⟦{\"a\":1}⟧",
    "Okay.\n <think>{\"plan\":1}</think>\n⟦{\"a\":1}⟧",
    "<think>{\"plan\":1}",
    "[THINK]{\"plan\":1}",
    "<thinking>{\"plan\":1}</think>",
    "See `<think>`: ⟦{\"a\":1}⟧",
    "<think>7</think>⟦42⟧",
    // Prose.
    "I cannot.",
    "",
    "As in [1], [2] and [see below], use {} or {x}: ⟦{\"a\":1}⟧",
    "As in [1].\n[2] says so.",
    "\\frac{1}{2} and x_{[i]}: ⟦{\"a\":1}⟧",
    "[text](https://example.org/{id}), {{name}}\n⟦{\"a\":1}⟧\n",
    "- [ ] to do\n- [x] done\n1. ⟦{\"a\":1}⟧\n2. ⟦{\"b\":2}⟧\n",
    "* ⟦[{\"a\":1}]⟧\n",
    "[1]]",
    "[1][2]",
    "{\n  like this\n⟦{\"a\":1}⟧\n",
    "I use {x}: ⟦{\"a\":1}⟧",
    "fn main() { let x = [1, 2]; }",
    // Cut.
    "⟨{\"a\":⟩",
    "⟨{⟩",
    "⟨[⟩",
    "⟨[{\"a\":1},{\"b⟩",
    "⟨[\n  {\"a\": 1},\n  {\"b\"⟩",
    "⟨[1,2⟩",
    "Sure:\n```json\n⟨{\"a\":[1,⟩",
    "Here is ⟨{\"a\":\"x⟩",
    "⟨{\"a\":1,\n \"b\":{\"c\":2},\n⟩",
    // Malformed.
    "⟪{\"a\":x}⟫",
    "⟪{\"a\":NaN}⟫ was wrong, ⟦{\"a\":1}⟧ is right",
    "⟪{a: {\"b\":1}}⟫",
    "⟪{\"a\":1},\"b\":2}⟫",
    "⟪{\"a\":1}}⟫",
    "⟪{\"a\" 1}⟫\n⟦{\"b\":2}⟧\n",
    "⟪{\"a\":1,\n \"b\":x,\n \"c\":{}\n}⟫\n⟦{\"d\":1}⟧",
    "```json\n⟪{'a':1}⟫\n```",
    "⟪[{\"a\":1},{\"b\":x}]⟫",
    "⟪[{a: 1}]⟫\n",
    // Tool calls.
    "<tool_call>\n⟦{\"name\":\"f\",\"arguments\":{\"x\":[1]}}⟧\n</tool_call>",
    "<tool_call>⟨{\"name\":\"f\",\"arguments\":{⟩",
    "[TOOL_CALLS]⟦[{\"name\":\"f\",\"arguments\":{}}]⟧",
    "<function=f>⟦{\"x\":1}⟧</function>",
];

/// The state of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Complete,
    Cut,
    Rejected,
}

/// The span and state of a value.
type Marked = (usize, usize, Verdict);

/// The span of an event, and whether it is a record.
type Event = (usize, usize, bool);

/// The input without its marks, and the marked values.
fn read(marked: &str) -> (String, Vec<Marked>) {
    let (mut text, mut values, mut start) = (String::new(), Vec::new(), 0);
    for character in marked.chars() {
        let verdict = match character {
            '⟦' | '⟨' | '⟪' => {
                start = text.len();
                continue;
            }
            '⟧' => Verdict::Complete,
            '⟩' => Verdict::Cut,
            '⟫' => Verdict::Rejected,
            _ => {
                text.push(character);
                continue;
            }
        };
        values.push((start, text.len(), verdict));
    }
    (text, values)
}

fn offset(value: &Value) -> usize {
    value.as_u64().expect("an offset") as usize
}

/// The records and rejects of `parse`.
fn parse(text: &str) -> Vec<Event> {
    let run = tokenline(&["parse", "--emit", "events"], text);
    let events = run.lines().into_iter().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let is_data = |event: &Value| event["event"] != "note" && event["code"] != "prose";
    let is_thinking = |event: &Value| event["message"].as_str().is_some_and(|it| it.contains("thinking"));
    events
        .filter(|event| is_data(event) && !is_thinking(event))
        .map(|event| (offset(&event["start"]), offset(&event["end"]), event["event"] == "record"))
        .collect()
}

/// The records and rejects of a response stream.
fn stream(text: &str) -> Vec<Event> {
    let mut parser = ResponseParser::<Raw>::new(Provider::OpenAiChat, Options::lenient());
    let mut events = Vec::new();
    let delta = json!({"choices": [{"delta": {"content": text}}]});
    let stop = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
    parser.push(format!("data: {delta}\n\ndata: {stop}\n\ndata: [DONE]\n\n").as_bytes());
    parser.finish();
    while let Some(event) = parser.next_event() {
        match event {
            ResponseEvent::Record { record, .. } => {
                events.push((record.span.start as usize, record.span.end as usize, true));
            }
            ResponseEvent::Rejected { diagnostic, .. }
                if diagnostic.origin == Origin::Text && !diagnostic.message.contains("thinking") =>
            {
                events.push((diagnostic.span.start as usize, diagnostic.span.end as usize, false));
            }
            _ => {}
        }
    }
    events
}

/// Whether the events match the marks.
fn matches_marks(events: &[Event], text: &str, values: &[Marked]) -> bool {
    let inside = |start: usize, end: usize| {
        events.iter().filter(move |event| start <= event.0 && event.1 <= end.max(start + 1)).copied()
    };
    let is_all =
        events.iter().all(|event| values.iter().any(|value| value.0 <= event.0 && event.1 <= value.1));
    is_all
        && values.iter().all(|&(start, end, verdict)| {
            let value = &text[start..end];
            let found: Vec<_> = inside(start, end).collect();
            let records = found.iter().filter(|event| event.2).count();
            match verdict {
                Verdict::Complete if value.starts_with('{') => found == [(start, end, true)],
                Verdict::Complete if value.contains('{') && value.starts_with('[') => {
                    records > 0 || value.starts_with("[[")
                }
                Verdict::Complete => records == 0,
                _ if value.starts_with('[') => found.len() > records,
                Verdict::Cut => found.len() == 1 && found[0].0 == start && !found[0].2,
                Verdict::Rejected => found == [(start, end, false)],
            }
        })
}

/// The expected value of `prompt apply`.
fn first_complete<'a>(text: &'a str, values: &[Marked]) -> Option<&'a str> {
    for &(start, end, verdict) in values {
        let value = &text[start..end];
        match verdict {
            Verdict::Complete => return Some(value),
            Verdict::Cut => return None,
            Verdict::Rejected if value.ends_with(['}', ']']) => {}
            Verdict::Rejected => return None,
        }
    }
    None
}

/// The value that `continuation contexts` reports, and its state.
fn contexts(text: &str) -> (String, Option<Verdict>) {
    let run = tokenline(&["continuation", "contexts"], text);
    let contexts: Value = serde_json::from_str(&run.out).expect("JSON");
    let shown = contexts["hierarchy_context"].as_str().expect("a text").trim_end().to_owned();
    let verdict = match contexts["overlap_context"].as_str().expect("a text") {
        "" if contexts["json_parsing_success"] == true => Some(Verdict::Complete),
        "" if run.err.contains("no JSON found") => None,
        "" => Some(Verdict::Rejected),
        _ => Some(Verdict::Cut),
    };
    (shown, verdict)
}

#[test]
fn all_four_parsers_agree_on_the_values() {
    let folder = folder();
    let config = file(&folder, "prompts.toml", "[prompts.any]\nprompt = \"p\"\nresponse-type = \"json\"\n");
    let mut faults = Vec::new();
    for marked in INPUTS {
        let (text, values) = read(marked);
        let events = parse(&text);
        if !matches_marks(&events, &text, &values) {
            faults.push(format!("{marked:?}\n   parse: {events:?}\n   not {values:?}"));
        }
        let streamed = stream(&text);
        if streamed != events {
            faults.push(format!("{marked:?}\n   stream: {streamed:?}\n   not {events:?}"));
        }
        let run = tokenline(&["prompt", "apply", "--config", &config, "--id", "any"], &text);
        let (found, whole) = (serde_json::from_str(&run.out).ok(), first_complete(&text, &values));
        let expected: Option<Value> = whole.map(|value| serde_json::from_str(value).expect("JSON"));
        if found != expected || (run.code == 0) != expected.is_some() {
            faults.push(format!("{marked:?}\n   prompt: {found:?} {}\n   not {expected:?}", run.err));
        }
        let (shown, verdict) = contexts(&text);
        let first = values.first();
        let is_shown = match first {
            Some((start, _, Verdict::Rejected)) => text[*start..].starts_with(&*shown),
            Some((start, end, _)) => shown == text[*start..*end].trim_end(),
            None => shown.is_empty(),
        };
        if !is_shown || verdict != first.map(|value| value.2) {
            faults.push(format!("{marked:?}\n   contexts: {verdict:?} {shown:?}\n   not {first:?}"));
        }
    }
    let unclosed = "Okay.\n<think>\n{\"a\":1}";
    assert_eq!((parse(unclosed), contexts(unclosed).1), (vec![(14, 21, true)], None));
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), INPUTS.len(), faults.join("\n"));
}
