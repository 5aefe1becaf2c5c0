//! The one JSON value of a response: alone, in a fence, or in prose.

use std::borrow::Cow;
use std::ops::Range;

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
    let (shown, thinking) = answer(response);
    let response = &*shown;
    let start = Search { parser: &mut parser, response }.find().map_err(|error| match thinking {
        Some(start) => {
            let reason = "the response ends while the model is still thinking";
            ResponseError::json_parse(response, Code::Truncated, start, start, reason)
        }
        None => error,
    })?;
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
        if self.parser.parse(self.response).is_ok() {
            return Ok(0);
        }
        match fence(self.response) {
            Some(block) => self.in_fence(block),
            None => self.in_prose(),
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

    /// The first whole object or array. What is inside one that is malformed, or was cut
    /// off, never passes for it.
    fn in_prose(&mut self) -> Result<usize, ResponseError> {
        let (mut at, mut first) = (0, None);
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
                    // Of all candidates only the first is told of.
                    if first.is_none() {
                        first = Some(self.syntax(start, step));
                    }
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

/// The response with white space in place of what is no answer: a byte order mark, and thinking aloud,
/// which begins with a tag at the start of a line. Offsets stay what they are. Also where thinking
/// begins that the response does not end.
fn answer(response: &str) -> (Cow<'_, str>, Option<usize>) {
    let mut hidden: Vec<Range<usize>> = Vec::new();
    if response.starts_with('\u{feff}') {
        hidden.push(0..'\u{feff}'.len_utf8());
    }
    let (mut at, mut open) = (0, None);
    while open.is_none() && at < response.len() {
        let line =
            at + response[at..].len() - response[at..].trim_start_matches(['\u{feff}', ' ', '\t']).len();
        at = match THINKING.iter().find(|(opener, _)| response[line..].starts_with(opener)) {
            Some((_, closer)) => match response[line..].find(closer) {
                Some(found) => {
                    let end = line + found + closer.len();
                    hidden.push(line..end);
                    end
                }
                None => {
                    hidden.push(line..response.len());
                    open = Some(line);
                    response.len()
                }
            },
            None => response[line..].find('\n').map_or(response.len(), |found| line + found + 1),
        };
    }
    if hidden.is_empty() {
        return (Cow::Borrowed(response), None);
    }
    let mut shown = String::with_capacity(response.len());
    for range in hidden {
        shown.push_str(&response[shown.len()..range.start]);
        shown.extend(response[range].bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
    }
    shown.push_str(&response[shown.len()..]);
    (Cow::Owned(shown), open)
}

/// Where the text of the first fence begins, after its info string. A fence stands at the start of a
/// line, or right before an object or array; other marks are part of a string, or of prose.
fn fence(response: &str) -> Option<usize> {
    let first_opener = response.find(['{', '[']).unwrap_or(response.len());
    let mut from = 0;
    loop {
        let at = from + response[from..].find(FENCE)?;
        let after = response[at..].trim_start_matches('`');
        let is_info = |c: char| c.is_ascii_alphanumeric() || "+-._".contains(c);
        let behind = after.trim_start_matches(is_info);
        let is_value = behind[leading_space(behind)..].starts_with(['{', '[']);
        let line_start = response[..at].rfind('\n').map_or(0, |at| at + 1);
        let is_line_start = response[line_start..at].chars().all(|c| c == ' ' || c == '\t' || c == '>');
        if is_line_start || (at < first_opener && is_value) {
            let block = match behind {
                block if block.trim_start_matches([' ', '\t', '\r']).starts_with('\n') => block,
                // On the fence's own line: a word is its info string, a number is not.
                block if block.starts_with([' ', '{', '[', '"']) => block,
                _ => after,
            };
            return Some(response.len() - block.len());
        }
        from = response.len() - after.len();
    }
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
