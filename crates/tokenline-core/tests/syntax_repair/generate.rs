//! Random records as lists of tokens, so that faults can be put between them.

use crate::common::random::Random;

/// A token of a record, or the white space between two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Open(char),
    Close(char),
    Comma,
    Colon,
    /// A member's name, without its escapes.
    Name(String),
    /// A string, without its escapes.
    Text(String),
    /// A number or a literal.
    Scalar(String),
    /// White space, or something else that is written as it is.
    Other(String),
}

/// Names of members, of which some are not identifiers.
const NAMES: [&str; 22] = [
    "id",
    "name",
    "title",
    "value",
    "items",
    "tags",
    "price",
    "inStock",
    "note",
    "_meta",
    "$ref",
    "url",
    "type",
    "props",
    "children",
    "a",
    "b",
    "first name",
    "content-type",
    "größe",
    "it's",
    "x1",
];

/// Texts that models write, with the characters that make faults hard to read.
const TEXTS: [&str; 34] = [
    "",
    "x",
    "DNA",
    "Paris, France",
    "it's fine",
    "'quoted'",
    "the boys' own",
    "say \"hi\" to them",
    "\"all\"",
    "https://example.com/a?b=1&c=[2]",
    "// not a comment",
    "/* nor this */",
    "line one\nline two",
    "tab\there",
    "first\r\nsecond\r\n",
    "def f(x):\n    return {\"a\": x}\n",
    "C:\\path\\new",
    "regex \\d+\\.\\w",
    "a: b, c: d",
    "{not json}",
    "[1, 2",
    "True",
    "None, or null",
    "trailing comma,",
    "}",
    "]",
    "“typographic” quotes",
    "‘single’ ones",
    "naïve café 🎉",
    "ends with a backslash \\",
    "1,000.50",
    "\u{1}\u{1f}",
    "a'b\\'c",
    "key\": \"value",
];

const SCALARS: [&str; 16] = [
    "0",
    "1",
    "7",
    "42",
    "-3",
    "3.14",
    "1e10",
    "-0.5",
    "12345678901234567890",
    "2024",
    "true",
    "false",
    "null",
    "true",
    "false",
    "null",
];

/// A record: an object with members of all kinds.
pub(crate) fn record(random: &mut Random) -> Vec<Token> {
    let mut tokens = Vec::new();
    object(random, 0, &mut tokens);
    layout(random, &tokens)
}

fn object(random: &mut Random, depth: usize, tokens: &mut Vec<Token>) {
    let count = if depth == 0 { 1 + random.below(5) } else { random.below(4) };
    let mut names: Vec<&str> = Vec::new();
    while names.len() < count {
        let name = *random.pick(&NAMES);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    tokens.push(Token::Open('{'));
    for (index, name) in names.into_iter().enumerate() {
        if index > 0 {
            tokens.push(Token::Comma);
        }
        tokens.push(Token::Name(name.to_owned()));
        tokens.push(Token::Colon);
        value(random, depth + 1, tokens);
    }
    tokens.push(Token::Close('}'));
}

fn value(random: &mut Random, depth: usize, tokens: &mut Vec<Token>) {
    match random.below(if depth < 4 { 10 } else { 6 }) {
        0..3 => tokens.push(Token::Text((*random.pick(&TEXTS)).to_owned())),
        3..6 => tokens.push(Token::Scalar((*random.pick(&SCALARS)).to_owned())),
        6..8 => object(random, depth, tokens),
        _ => {
            tokens.push(Token::Open('['));
            let count = random.below(4);
            let has_objects = random.once_in(2);
            for index in 0..count {
                if index > 0 {
                    tokens.push(Token::Comma);
                }
                if has_objects {
                    object(random, depth + 1, tokens);
                } else {
                    value(random, depth + 1, tokens);
                }
            }
            tokens.push(Token::Close(']'));
        }
    }
}

/// Adds white space: none, spaces, or a line for each member.
fn layout(random: &mut Random, tokens: &[Token]) -> Vec<Token> {
    let style = random.below(3);
    let mut laid_out = Vec::new();
    let mut depth = 0;
    let new_line = |depth: usize| Token::Other(format!("\n{}", "  ".repeat(depth)));
    for (index, token) in tokens.iter().enumerate() {
        let is_empty = index > 0 && matches!((&tokens[index - 1], token), (Token::Open(_), Token::Close(_)));
        if matches!(token, Token::Close(_)) {
            depth -= 1;
            if style == 2 && !is_empty {
                laid_out.push(new_line(depth));
            }
        }
        laid_out.push(token.clone());
        match token {
            Token::Open(_) => {
                depth += 1;
                if style == 2 && !matches!(tokens[index + 1], Token::Close(_)) {
                    laid_out.push(new_line(depth));
                }
            }
            Token::Comma if style == 2 => laid_out.push(new_line(depth)),
            Token::Comma | Token::Colon if style > 0 => laid_out.push(Token::Other(" ".to_owned())),
            _ => {}
        }
    }
    laid_out
}

/// The text of a record, with its strings as `string` writes them.
pub(crate) fn write_with(tokens: &[Token], string: impl Fn(&str, bool) -> String) -> String {
    let mut text = String::new();
    for token in tokens {
        match token {
            Token::Open(character) | Token::Close(character) => text.push(*character),
            Token::Comma => text.push(','),
            Token::Colon => text.push(':'),
            Token::Name(name) => text.push_str(&string(name, true)),
            Token::Text(content) => text.push_str(&string(content, false)),
            Token::Scalar(raw) | Token::Other(raw) => text.push_str(raw),
        }
    }
    text
}

/// The text of a record in JSON.
pub(crate) fn write(tokens: &[Token]) -> String {
    write_with(tokens, |content, _| quoted(content))
}

pub(crate) fn quoted(content: &str) -> String {
    serde_json::to_string(content).expect("a string is JSON")
}
