//! Documents of prose: the blocks of `fixtures/prose`, alone and combined.

use crate::random::Random;
use crate::text::{is_intended, is_open_at_end, lines, openers, value_end};

macro_rules! files {
    ($($name:literal),+) => {
        &[$(($name, include_str!(concat!("../../fixtures/prose/", $name, ".md")))),+]
    };
}

const FILES: &[(&str, &str)] =
    files!["latex", "markdown", "notation", "templates", "code", "everyday", "languages", "documents"];

/// Between the blocks of a file.
const SEPARATOR: &str = "\n%%%\n";

const GENERATED: u64 = 260;

pub(crate) struct Document {
    /// The file and the number of the block, or those of its blocks.
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Every block on its own.
pub(crate) fn blocks() -> Vec<Document> {
    let mut blocks = Vec::new();
    for (file, text) in FILES {
        for (index, block) in text.split(SEPARATOR).enumerate() {
            let text = format!("{}\n", block.trim_end_matches('\n'));
            blocks.push(Document { name: format!("{file} {}", index + 1), text });
        }
    }
    blocks
}

/// Every block on its own, then several combined.
pub(crate) fn documents() -> Vec<Document> {
    let mut documents = blocks();
    let generated: Vec<_> = (0..GENERATED).map(|seed| generate(seed, &documents)).collect();
    documents.extend(generated);
    documents
}

fn generate(seed: u64, blocks: &[Document]) -> Document {
    let mut random = Random::new(seed);
    let mut names = Vec::new();
    let mut text = String::new();
    for _ in 0..2 + random.below(6) {
        let block = random.pick(blocks);
        names.push(block.name.as_str());
        let between: &str = random.pick::<&str>(&["", "\n", "\n", "\n---\n\n", "### And then [more]\n\n"]);
        text.push_str(between);
        let has_fence = lines(&block.text).iter().any(|line| line.in_fence);
        let indent = match random.below(8) {
            0 => "  ",
            1 => "    ",
            2 if !has_fence => "> ",
            _ => "",
        };
        for line in block.text.lines() {
            if !line.is_empty() {
                text.push_str(indent);
                text.push_str(line);
            }
            text.push('\n');
        }
    }
    if random.once_in(8) {
        text = text.replace('\n', "\r\n");
    }
    if random.once_in(4) {
        text.truncate(text.trim_end().len());
    }
    Document { name: format!("generated {seed} ({})", names.join(", ")), text }
}

/// Checks what the tests assume: no complete object, no attempt at a record outside the fences of other
/// languages, no array alone on its lines, and nothing left open.
#[test]
fn every_block_is_prose() {
    let blocks = blocks();
    assert!(blocks.len() >= 120, "{} blocks", blocks.len());
    assert!(documents().len() >= 400);
    let mut wrong = Vec::new();
    for Document { name, text } in &blocks {
        let lines = lines(text);
        if is_open_at_end(text) {
            wrong.push(format!("{name}: open at its end"));
        }
        for at in openers(text) {
            let line = lines.iter().rfind(|line| line.start <= at).expect("a line");
            let end = value_end(text, at);
            let is_empty = end.is_some_and(|end| text[at + 1..end - 1].trim().is_empty());
            let before = text[line.start..at].trim();
            let after = end.and_then(|end| text[end..].lines().next()).unwrap_or_default().trim();
            let is_alone = end.is_some() && before.is_empty() && after.is_empty();
            let is_object = text[at..].starts_with('{');
            if is_object && end.is_some() && !is_empty {
                wrong.push(format!("{name}: a whole object in: {}", line.text));
            }
            if is_alone {
                wrong.push(format!("{name}: a value alone on its lines: {}", line.text));
            }
            if is_object && !line.in_fence && is_intended(text, at) {
                wrong.push(format!("{name}: meant for a record: {}", line.text));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
