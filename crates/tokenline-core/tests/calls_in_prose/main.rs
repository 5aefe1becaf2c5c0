//! Whole calls among words, names of tools, quotes, fences and scraps of markup: each call outside code comes out
//! once, in order; no other does; and nothing vanishes.

#[path = "../common/mod.rs"]
mod common;
mod generate;
mod markers;
#[path = "../common/random.rs"]
mod random;

use common::{Give, Role, Seen, Yielded};
use generate::Text;
use random::Random;
use tokenline_core::json::{Parser, Value};
use tokenline_core::{CallFormat, Code, Options, RecordDecoder, Release, Span, ValidateCall, Violation};

/// `search` and `weather`, with any parameters.
struct Tools;

impl ValidateCall for Tools {
    fn validate_call(&self, name: &str, parameters: Value<'_>) -> Result<(), Box<Violation>> {
        match name {
            "search" | "weather" => Ok(()),
            _ => Err(Box::new(Violation::new(Code::UnknownTool, parameters.range().start, "no such tool"))),
        }
    }
}

/// The events of a text.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    /// Name and arguments of each call.
    calls: Vec<(String, String)>,
    rejected: Vec<(Code, Span)>,
    notes: Vec<(Code, Span)>,
    /// Spans of text, joined if adjacent.
    text: Vec<Span>,
    records: Vec<Span>,
}

fn read(text: &str, pieces: &[&str], has_tools: bool) -> Found {
    read_with(&Options::lenient().calls(CallFormat::Auto), text, pieces, has_tools)
}

/// Reads the text with the text events, and in each other way without them.
fn read_with(options: &Options, text: &str, pieces: &[&str], has_tools: bool) -> Found {
    assert_eq!(pieces.concat(), text);
    let mut found = decode(&options.clone().text(true), pieces, has_tools, Give::Bytes);
    for how in [Give::Bytes, Give::Text, Give::Checked] {
        let mut plain = decode(options, pieces, has_tools, how);
        plain.text.clone_from(&found.text);
        assert_eq!(plain, found, "without text, {how:?}: {pieces:?}");
    }
    // White space at the edges of text is not told apart in every chunking.
    let bytes = text.as_bytes();
    for span in &mut found.text {
        let text = &bytes[span.start as usize..span.end as usize];
        let start = span.start + (text.len() - text.trim_ascii_start().len()) as u64;
        *span = Span::new(start, start + text.trim_ascii().len() as u64);
    }
    found.text.retain(|span| !span.is_empty());
    found
}

fn decode(options: &Options, pieces: &[&str], has_tools: bool, how: Give) -> Found {
    let mut decoder = RecordDecoder::new(options.clone());
    if has_tools {
        decoder = decoder.with_tools(Tools);
    }
    let mut found = Found {
        calls: Vec::new(),
        rejected: Vec::new(),
        notes: Vec::new(),
        text: Vec::new(),
        records: Vec::new(),
    };
    let mut take = |event: Yielded| match event {
        Yielded::Event(Seen::Record { raw, record }) => {
            found.records.push(record.span);
            let mut parser = Parser::new();
            let value = parser.parse(&raw).expect("a record is JSON");
            let get = |keys: &[&str]| keys.iter().find_map(|key| value.get(key));
            let name = get(&["name", "tool", "tool_name"]).and_then(Value::as_str).unwrap_or_default();
            let arguments =
                get(&["parameters", "arguments"]).map(|value| value.to_single_line().into_owned());
            found.calls.push((name.into_owned(), arguments.unwrap_or_default()));
        }
        Yielded::Event(Seen::Rejected(reject)) => found.rejected.push((reject.code, reject.span)),
        Yielded::Event(Seen::Note(note)) => found.notes.push((note.code, note.span)),
        Yielded::Segment(Role::Text, span) => match found.text.last_mut() {
            Some(last) if last.end == span.start => last.end = span.end,
            _ => found.text.push(span),
        },
        Yielded::Segment(Role::Reasoning | Role::Markup, _) => {}
    };
    for piece in pieces {
        common::give(how, &mut decoder, piece.as_bytes(), |_, event| take(event));
    }
    while let Some(event) = decoder.finish().map(Yielded::new) {
        take(event);
    }
    found
}

/// Two cuts, and character by character.
fn chunkings<'t>(random: &mut Random, text: &'t str) -> Vec<Vec<&'t str>> {
    let characters = text.char_indices().map(|(at, char)| &text[at..at + char.len_utf8()]).collect();
    let cut = |at: usize| (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let first = cut(random.below(text.len() + 1));
    let second = first + text[first..].char_indices().nth(random.below(8)).map_or(0, |(at, _)| at);
    vec![characters, vec![&text[..first], &text[first..second], &text[second..]]]
}

/// How many random texts a test reads.
fn cases() -> u64 {
    common::extent::cases(3_000)
}

#[test]
fn each_whole_call_outside_code_comes_out_once() {
    for seed in 0..cases() {
        let mut random = Random::new(seed);
        let generated = Text::generate(&mut random);
        let text = generated.text.as_str();
        let found = read(text, &[text], true);
        assert_eq!(found.calls, generated.calls, "seed {seed}:\n{text}\n{found:#?}");
        for pieces in chunkings(&mut random, text) {
            assert_eq!(read(text, &pieces, true), found, "seed {seed}, {pieces:?}");
        }
        let spans = found.text.iter().chain(found.rejected.iter().map(|(_, span)| span));
        for word in &generated.words {
            let at = text.find(word.as_str()).expect("it is in the text") as u64;
            let count = spans.clone().filter(|span| (span.start..span.end).contains(&at)).count();
            assert!(count >= 1, "seed {seed}: {word} of\n{text}\n{found:#?}");
        }
    }
}

#[test]
fn nothing_vanishes_with_any_options() {
    for seed in 0..cases() {
        let mut random = Random::new(seed ^ 0x5EED);
        let generated = Text::generate(&mut random);
        let mut text = generated.text;
        if random.once_in(3) {
            // Cut off anywhere.
            text.truncate(
                (0..=random.below(text.len() + 1)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0),
            );
        }
        let name = random.pick(&[
            "auto",
            "auto",
            "auto",
            "hermes",
            "pythonic",
            "function_tag",
            "jsonl",
            "glm",
            "lfm2",
        ]);
        let mut options = Options::lenient().calls(CallFormat::from_name(name).expect("a format"));
        if random.once_in(3) {
            options = options.release(Release::OnBalance);
        }
        if random.once_in(5) {
            options = options.items("/rows").expect("a pointer");
        }
        let has_tools = random.once_in(2);
        let found = read_with(&options, &text, &[&text], has_tools);
        for pieces in chunkings(&mut random, &text) {
            let other = read_with(&options, &text, &pieces, has_tools);
            assert_eq!(other, found, "seed {seed}, {name}, {pieces:?}");
        }
        let spans =
            found.text.iter().chain(found.rejected.iter().map(|(_, span)| span)).chain(&found.records);
        for word in &generated.words {
            let Some(at) = text.find(word.as_str()) else { continue };
            let is_found = spans.clone().any(|span| (span.start..span.end).contains(&(at as u64)));
            assert!(is_found, "seed {seed}, {name}: {word} of\n{text}\n{found:#?}");
        }
    }
}

fn summary(text: &str, has_tools: bool) -> Vec<String> {
    let found = read(text, &[text], has_tools);
    for size in [1, 3, 7] {
        let characters: Vec<(usize, char)> = text.char_indices().collect();
        let starts: Vec<usize> =
            characters.iter().step_by(size).map(|(at, _)| *at).chain([text.len()]).collect();
        let pieces: Vec<&str> = starts.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
        assert_eq!(read(text, &pieces, has_tools), found, "{pieces:?}");
    }
    for (at, _) in text.char_indices() {
        assert_eq!(read(text, &[&text[..at], &text[at..]], has_tools), found, "{text} cut at {at}");
    }
    let calls = found.calls.iter().map(|(name, arguments)| format!("{name} {arguments}"));
    let rejected = found.rejected.iter().map(|(code, span)| format!("{code} {}..{}", span.start, span.end));
    let notes = found.notes.iter().filter(|(code, _)| *code != Code::Prose);
    let notes = notes.map(|(code, span)| format!("({code}) {}..{}", span.start, span.end));
    calls.chain(rejected).chain(notes).collect()
}

#[test]
fn an_object_that_is_text_is_passed_once() {
    let object = r#"{"name":"weather","arguments":{"city":"Paris"}}"#;
    let options = Options::lenient().calls(CallFormat::Auto).release(Release::OnBalance);
    for text in [
        format!("~~~~~~~~~~~333{object}1. "),
        format!("```python\n{object} x\n```\n{object}\n"),
        format!("Never run `{object}`, please.\n"),
        format!("{object} x `{object}` {object}\n"),
    ] {
        for has_tools in [false, true] {
            let found = read_with(&options, &text, &[&text], has_tools);
            for (at, _) in text.char_indices() {
                let pieces = [&text[..at], &text[at..]];
                assert_eq!(read_with(&options, &text, &pieces, has_tools), found, "{pieces:?}");
            }
        }
    }
}

#[test]
fn a_quoted_call_is_text() {
    let call = r#"<tool_call>{"name":"search","arguments":{"q":1}}</tool_call>"#;
    let object = r#"{"name":"search","arguments":{"q":1}}"#;
    for text in [
        format!("Never run `{call}`, please."),
        format!("Never run ``{call}`` please.\n"),
        format!("Never run `{object}`, please.\n"),
        format!("`{object}`"),
        format!("Never run `[{object}]`, please.\n"),
        "Never run `[search(q=1)]`, please.".to_owned(),
        format!("```python\n{call}\n```\n"),
        format!("```py\n{object}\n```\n"),
        "```python\nsearch(q=1)\n```\n".to_owned(),
    ] {
        for has_tools in [false, true] {
            let found = summary(&text, has_tools);
            assert!(found.iter().all(|found| found.starts_with("(call_in_text)")), "{text}: {found:?}");
        }
    }
    // A backtick that nothing closes quotes nothing, nor does a fence in which models write calls.
    for text in [
        format!("It`s {call}\n"),
        format!("It`s {object}\n"),
        format!("It`s {object} or ``so\n"),
        format!("```json\n{object}\n```\n"),
        format!("```tool_call\n{call}\n```\n"),
        format!("```\n{call}\n```\n"),
        format!("`x` {call} `y`\n"),
    ] {
        assert_eq!(summary(&text, true), [r#"search {"q":1}"#], "{text}");
    }
}

#[test]
fn a_quoted_call_decides_nothing() {
    let text = "Use `<tool_call>weather{}</tool_call>` like so.\n\
                <tool_call>{\"name\":\"search\",\"arguments\":{\"q\":1}}</tool_call>\n";
    assert_eq!(summary(text, true)[0], r#"search {"q":1}"#);
    let text = "<function=plot>{\"x\":1}</function>\n{\"name\":\"search\",\"arguments\":{\"q\":1}}\n";
    assert_eq!(summary(text, true)[1], r#"search {"q":1}"#, "a call of a tool that is not defined");
}

#[test]
fn a_line_above_an_object_is_a_call_only_of_a_defined_tool() {
    let object = r#"{"name":"search","parameters":{"q":1}}"#;
    for line in ["Sure", "ok.", "Answer", "json", "assistant", "null", "weather", "search"] {
        assert_eq!(summary(&format!("{line}\n{object}"), true), [r#"search {"q":1}"#], "{line}");
    }
    assert_eq!(summary("weather\n{\"city\":\"Paris\"}\n", true), [r#"weather {"city":"Paris"}"#]);
}

/// `Q` is a call that the text quotes, `R` one that the model makes.
#[test]
fn blocks_of_code_end_where_they_end() {
    let quoted = r#"<tool_call>{"name":"weather","arguments":{"q":"v"}}</tool_call>"#;
    let made = r#"<tool_call>{"name":"search","arguments":{"q":"v"}}</tool_call>"#;
    let action = "Action: search\nAction Input: {\"q\": \"v\"}\n";
    let cohere = r#"<|START_ACTION|>[{"tool_name":"search","parameters":{"q":"v"}}]<|END_ACTION|>"#;
    let python = "```tool_code\nsearch(q=\"v\")\n```\n";
    let broken = "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"q\": \"B\n\nSorry:\n\n";
    for text in [
        // A run of calls ends its own block only.
        format!("{action}\n```text\nQ\n```\n"),
        format!("{cohere}\n\n```text\nQ\n```\n"),
        format!("{python}\n```rust\nQ\n```\n"),
        "```text\nAction: weather\nAction Input: {}\n```\nR\n".to_owned(),
        "```text\n<|START_ACTION|>[{\"tool_name\":\"weather\",\"parameters\":{}}]<|END_ACTION|>\n```\nR\n"
            .to_owned(),
        // Code on one line.
        "```ls -l``` lists files.\n\nR\n".to_owned(),
        "```ls```\n\nR\n".to_owned(),
        "```Q```\n\nR\n".to_owned(),
        // A block ends with the marker and the length with which it began.
        "````markdown\n```json\n{}\n```\nQ\n````\nR\n".to_owned(),
        "```markdown\nUse it:\n~~~\nQ\n~~~\n```\nR\n".to_owned(),
        "~~~text\n```json\n{\"x\":1}\n```\nQ\n~~~\nR\n".to_owned(),
        "~~~text\n```json\n{\"x\":1}\n```\n~~~\n```rust\nQ\n```\nR\n".to_owned(),
        // After a list marker, a quote, a text.
        "- ```python\n  Q\n  ```\nR\n".to_owned(),
        "> ```python\n> Q\n> ```\nR\n".to_owned(),
        "- ```sh\n  ls\n  ```\n\nUse:\n\n```python\nQ\n```\nR\n".to_owned(),
        "Text: ```python\nfoo\n```\n\n```bash\nQ\n```\nR\n".to_owned(),
        "1. ```json\n   R\n   ```\n".to_owned(),
        // In what is rejected.
        format!("{broken}```python\nQ\n```\nR\n"),
        format!("{broken}The right format is `Q`.\nR\n"),
        "<tool_call>{\"name\": ```python\nQ\n```\nR\n".to_owned(),
        "[TOOL_CALLS]weather[ARGS]{\"city\"\n\n```python\nQ\n```\nR\n".to_owned(),
        "<|python_tag|>{\"name\":\"weather\"\n```python\nQ\n```\nR\n".to_owned(),
        // A tag that opens calls is not a parameter.
        "<weather>\nR\n".to_owned(),
        "<search>\n<tool_call>\n{\"name\": \"search\", \"arguments\": {}}\n</tool_call>\n".to_owned(),
        // Inline code goes on to the end of its paragraph.
        "Never write `<tool_call>\n{\"name\":\"weather\",\"arguments\":{}}\n</tool_call>` here.\n\nR\n"
            .to_owned(),
        "Never write `foo\nQ\nbar`.\n\nR\n".to_owned(),
        "Never write `foo\r\nQ\r\nbar`.\r\n\r\nR\n".to_owned(),
        "Never write `foo\n{\"name\":\"weather\",\"arguments\":{}}\nbar`.\n\nR\n".to_owned(),
        "Never write ``foo\nQ `\nbar``.\n\nR\n".to_owned(),
        "Never write `foo\nQ\nQ` here.\n\nR\n".to_owned(),
        "A single ` here.\nR\n\nIs it code? `x`\n".to_owned(),
        "A single ` here.\nR\nand `` two.\n".to_owned(),
        "A single ` here.\nR\n \t\nIs it code? `x`\n".to_owned(),
        "A single ` here.\nR\n```text\nx`\n```\n".to_owned(),
        "A single ` here.\n\nR\nand ` here\n".to_owned(),
        "`a` and `b`\nR\nand `c`\n".to_owned(),
        // Languages that are nearly JSON.
        "```json5\nQ\n```\nR\n".to_owned(),
        "```JSON\nR\n```\n".to_owned(),
        "```json  one line\nR\n```\n".to_owned(),
    ] {
        let text = text.replace("R\n", &format!("{made}\n")).replace('Q', quoted);
        let pieces: Vec<&str> =
            text.char_indices().map(|(at, char)| &text[at..at + char.len_utf8()]).collect();
        for pieces in [vec![text.as_str()], pieces] {
            let calls = read(&text, &pieces, true).calls;
            assert_eq!(calls.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["search"], "{text}");
        }
    }
}
