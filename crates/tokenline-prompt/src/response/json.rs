//! The one JSON value of a response: alone, in a fence, or in prose.

use tokenline_core::json::{Parser, Raw, Step};
use tokenline_core::{Code, Span, Validate};
use tokenline_schema::SchemaValidator;

use crate::error::ResponseError;

const FENCE: &str = "```";

/// What stands around thinking aloud, which is no part of the answer.
const THINKING: [(&str, &str); 5] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("[THINK]", "[/THINK]"),
];

/// The value of a response, held against the schema.
///
/// It is, of these, the first that the response has: the response as a whole; what is in its first
/// fence; the first whole object or array in its prose.
pub(crate) fn read(response: &str, schema: Option<&SchemaValidator>) -> Result<Raw, ResponseError> {
    let mut parser = Parser::new();
    let start = Search { parser: &mut parser, response }.find()?;
    let value = parser.value(&response[start..]);
    if let Some(schema) = schema {
        schema.validate(value).map_err(|violation| {
            let range = value.range();
            let span = Span::new((start + range.start) as u64, (start + range.end) as u64);
            ResponseError::schema_validation(response, span, start, *violation)
        })?;
    }
    Ok(Raw::from(value))
}

/// Offsets here are those in the response.
struct Search<'a> {
    parser: &'a mut Parser,
    response: &'a str,
}

impl Search<'_> {
    /// Where the value begins. The parser has read it, from there.
    fn find(mut self) -> Result<usize, ResponseError> {
        let start = answer(self.response);
        if self.parser.parse(&self.response[start..]).is_ok() {
            return Ok(start);
        }
        match fence(self.response, start) {
            Some(block) => self.in_fence(block),
            None => self.in_prose(start),
        }
    }

    /// The value that a fence holds, and nothing beside it.
    fn in_fence(&mut self, block: usize) -> Result<usize, ResponseError> {
        let block = block + leading_space(&self.response[block..]);
        let text = &self.response[block..];
        if text.is_empty() || text.starts_with(FENCE) {
            return Err(self.fault(Code::MalformedJson, block, block, "the code fence is empty"));
        }
        self.parser.reset();
        let step = match self.parser.resume(text) {
            Step::NeedMore => self.parser.finish(text),
            step => step,
        };
        let Step::Complete { end } = step else { return Err(self.syntax(block, step)) };
        let rest = block + end + leading_space(&text[end..]);
        if self.response[rest..].is_empty() || self.response[rest..].starts_with(FENCE) {
            return Ok(block);
        }
        let reason = "expected the end of the code fence after the value";
        Err(self.fault(Code::TrailingData, block, rest, reason))
    }

    /// The first whole object or array from `at` on. What is inside one that is malformed, or was cut
    /// off, never passes for it.
    fn in_prose(&mut self, mut at: usize) -> Result<usize, ResponseError> {
        let mut first = None;
        while let Some(found) = self.response[at..].find(['{', '[']) {
            let start = at + found;
            let text = &self.response[start..];
            self.parser.reset();
            match self.parser.resume(text) {
                Step::Complete { end } if goes_on(&text[end..]) => {
                    let rest = start + end + leading_space(&text[end..]);
                    let reason = "after the value, the text goes on as if it were still open";
                    return Err(self.fault(Code::TrailingData, start, rest, reason));
                }
                Step::Complete { .. } => return Ok(start),
                Step::NeedMore => return Err(self.syntax(start, Step::NeedMore)),
                step => {
                    let error = self.syntax(start, step);
                    first.get_or_insert(error);
                    match balanced(text) {
                        Some(end) => at = start + end,
                        None => break,
                    }
                }
            }
        }
        let nothing = match leading_space(self.response) == self.response.len() {
            true => "the response is empty",
            false => "there is no JSON in the response",
        };
        Err(first.unwrap_or_else(|| self.fault(Code::MalformedJson, 0, 0, nothing)))
    }

    /// What stopped the parser in the value from `start` on.
    fn syntax(&mut self, start: usize, step: Step) -> ResponseError {
        let error = match step {
            Step::Malformed(error) => error,
            // The parser tells what it lacks only if it is to read a whole document.
            _ => match self.parser.parse(&self.response[start..]) {
                Err(error) => error,
                Ok(value) => unreachable!("it lacks something: {:?}", value.kind()),
            },
        };
        let offset = start + error.offset;
        let code = if offset == self.response.len() { Code::Truncated } else { Code::MalformedJson };
        self.fault(code, start, offset, &error.description())
    }

    fn fault(&self, code: Code, start: usize, offset: usize, reason: &str) -> ResponseError {
        ResponseError::json_parse(self.response, code, start, offset, reason)
    }
}

/// Where the answer begins: after a byte order mark, and after thinking aloud.
fn answer(response: &str) -> usize {
    let mut start = response.len() - response.trim_start_matches('\u{feff}').len();
    loop {
        let text = &response[start..];
        let opened = start + leading_space(text);
        let tags = THINKING.iter().find(|(opener, _)| response[opened..].starts_with(opener));
        let closer = tags.and_then(|(_, closer)| Some((response[opened..].find(closer)?, closer.len())));
        match closer {
            Some((at, len)) => start = opened + at + len,
            None => return start,
        }
    }
}

/// Where the text of the first fence begins, after its info string. A fence stands at the start of a
/// line, or before anything that could be JSON; others may be part of a string.
fn fence(response: &str, start: usize) -> Option<usize> {
    let text = &response[start..];
    let first_opener = text.find(['{', '[']).unwrap_or(text.len());
    let mut fences = text.match_indices(FENCE).map(|(at, _)| at);
    let at = fences.find(|&at| {
        let line_start = text[..at].rfind('\n').map_or(0, |at| at + 1);
        at < first_opener || text[line_start..at].chars().all(|c| c == ' ' || c == '\t' || c == '>')
    })?;
    let after = text[at..].trim_start_matches('`');
    let is_info = |c: char| c.is_ascii_alphanumeric() || "+-._".contains(c);
    let block = match after.trim_start_matches(is_info) {
        block if block.trim_start_matches([' ', '\t', '\r']).starts_with('\n') => block,
        // On the fence's own line: a word is its info string, a number is not.
        block if block.starts_with([' ', '{', '[', '"']) => block,
        _ => after,
    };
    Some(start + text.len() - block.len())
}

/// Whether what follows a value shows that it was not whole.
fn goes_on(rest: &str) -> bool {
    let rest = &rest[leading_space(rest)..];
    match rest.strip_prefix(',') {
        Some(rest) => rest[leading_space(rest)..].starts_with('"'),
        None => rest.starts_with([':', '}', ']']),
    }
}

/// Where the brackets balance that the text begins with. Strings count as such up to their line's end.
fn balanced(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 1 => return Some(at + 1),
            b'}' | b']' => depth -= 1,
            b'"' => {
                while let Some((_, byte)) = bytes.next() {
                    match byte {
                        b'"' | b'\n' => break,
                        b'\\' => drop(bytes.next()),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    None
}

/// Bytes of white space, as JSON has it, that a text begins with.
fn leading_space(text: &str) -> usize {
    text.len() - text.trim_start_matches([' ', '\t', '\n', '\r']).len()
}
