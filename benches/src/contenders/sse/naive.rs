//! Typical code without tokenline: serde_json deserializes each chunk into a type, borrowed if possible, and fragments are
//! joined by hand.

use std::borrow::Cow;
use std::hint::black_box;

use memchr::memchr;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::Extracted;

/// Joins the data of the events of one response.
pub(super) trait Reader: Default {
    /// Reads the data of an event.
    fn read(&mut self, data: &str);

    /// Ends the response.
    fn finish(self) -> Extracted;
}

/// The native tool calls. Their arguments are checked to be JSON, as by `RawValue`, and kept as text.
#[derive(Default)]
pub(super) struct Calls {
    open: Vec<Call>,
    extracted: Extracted,
}

/// The records of the texts, one per line.
#[derive(Default)]
pub(super) struct Records {
    /// The open line of each choice.
    lines: Vec<String>,
    extracted: Extracted,
}

struct Call {
    index: u64,
    id: String,
    name: String,
    arguments: String,
}

/// A record of the text, for all contenders.
#[derive(Deserialize)]
pub(super) struct Definition {
    entity: String,
    definition: String,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Vec<Choice<'a>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    index: usize,
    #[serde(borrow)]
    delta: Delta<'a>,
    finish_reason: Option<&'a str>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    content: Option<Text<'a>>,
    #[serde(borrow)]
    tool_calls: Option<Vec<CallDelta<'a>>>,
}

#[derive(Deserialize)]
struct CallDelta<'a> {
    index: u64,
    id: Option<&'a str>,
    #[serde(borrow)]
    function: Function<'a>,
}

#[derive(Deserialize)]
struct Function<'a> {
    name: Option<&'a str>,
    #[serde(borrow)]
    arguments: Option<Text<'a>>,
}

/// Borrowed if it has no escapes. As `Option<Cow<str>>`, serde would always copy it.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl Definition {
    pub(super) fn extracted(self) -> Extracted {
        let Self { entity, definition } = black_box(self);
        Extracted::one(entity.len() + definition.len())
    }
}

impl Reader for Calls {
    fn read(&mut self, data: &str) {
        for choice in choices(data) {
            for delta in choice.delta.tool_calls.into_iter().flatten() {
                self.push(delta);
            }
            if choice.finish_reason.is_some() {
                self.extracted =
                    self.open.drain(..).map(Call::extracted).fold(self.extracted, |all, one| all + one);
            }
        }
    }

    fn finish(self) -> Extracted {
        self.extracted
    }
}

impl Calls {
    fn push(&mut self, delta: CallDelta<'_>) {
        let at = self.open.iter().position(|call| call.index == delta.index).unwrap_or_else(|| {
            let id = delta.id.expect("a call begins with its id").to_owned();
            let name = delta.function.name.expect("a call begins with its name").to_owned();
            self.open.push(Call { index: delta.index, id, name, arguments: String::new() });
            self.open.len() - 1
        });
        if let Some(Text(arguments)) = delta.function.arguments {
            self.open[at].arguments.push_str(&arguments);
        }
    }
}

impl Call {
    fn extracted(self) -> Extracted {
        let Self { id, name, arguments, .. } = black_box(self);
        serde_json::from_str::<IgnoredAny>(&arguments).expect("arguments are JSON");
        Extracted::one(id.len() + name.len() + arguments.len())
    }
}

impl Reader for Records {
    fn read(&mut self, data: &str) {
        for choice in choices(data) {
            if let Some(Text(text)) = choice.delta.content {
                self.push(choice.index, &text);
            }
        }
    }

    fn finish(self) -> Extracted {
        assert!(self.lines.iter().all(String::is_empty), "a line feed ends each text");
        self.extracted
    }
}

impl Records {
    /// The number of records so far.
    pub(super) fn count(&self) -> usize {
        self.extracted.items
    }

    fn push(&mut self, choice: usize, mut text: &str) {
        if choice >= self.lines.len() {
            self.lines.resize(choice + 1, String::new());
        }
        let line = &mut self.lines[choice];
        while let Some(end) = memchr(b'\n', text.as_bytes()) {
            line.push_str(&text[..end]);
            let record: Definition = serde_json::from_str(line).expect("a record of the type");
            self.extracted = self.extracted + record.extracted();
            line.clear();
            text = &text[end + 1..];
        }
        line.push_str(text);
    }
}

fn choices(data: &str) -> Vec<Choice<'_>> {
    if data == "[DONE]" {
        return Vec::new();
    }
    let chunk: Chunk<'_> = serde_json::from_str(data).expect("a chunk of a chat completion");
    chunk.choices
}
