//! Bounds on a template: it may come from others, and must end, in little memory. [What the engine does not let us
//! bound](super::shared_values) is left out.

use std::io::{self, Write};
use std::thread;

use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, State, Value};
use serde_json::ser::Formatter;

use super::{Fault, end_of};

/// The most steps of one rendering: an instruction, or 64 bytes of a value that is made, is a step.
pub(super) const MAX_STEPS: u64 = 2_000_000;

/// The most bytes of one rendering, and of one value as JSON.
pub(super) const MAX_OUTPUT: usize = 64 << 20;

/// The most operators of one expression. The engine recurses over them: `not not not x` needs a frame each.
const MAX_OPERATORS: usize = 500;

/// The most `elif` of a template, over which it recurses, too.
const MAX_ELIFS: usize = 500;

/// The engine's own limit on nested blocks and brackets.
const MAX_NESTING: usize = 150;

/// Fails if the engine would recurse too deeply to compile the template.
pub(super) fn check(source: &str) -> Result<(), Fault> {
    let (mut at, mut elifs) = (0, 0);
    while let Some(start) = source[at..].find('{').map(|found| at + found) {
        let rest = &source[start + 1..];
        if rest.starts_with('#') {
            at = rest.find("#}").map_or(source.len(), |end| start + 1 + end + 2);
            continue;
        }
        if !rest.starts_with(['{', '%']) {
            at = start + 1;
            continue;
        }
        let tag = Tag::read(&rest.as_bytes()[1..]);
        let too_many =
            |reason: String| Err(Fault { term: None, position: Some(end_of(&source[..start])), reason });
        if tag.operators > MAX_OPERATORS {
            return too_many(format!("an expression has more than {MAX_OPERATORS} operators, the limit"));
        }
        elifs += usize::from(tag.first == b"elif");
        if elifs > MAX_ELIFS {
            return too_many(format!("the template has more than {MAX_ELIFS} `elif`, the limit"));
        }
        at = start + 2 + tag.len;
        if tag.first == b"raw" {
            at = source[at..].find("endraw").map_or(source.len(), |end| at + end);
        }
    }
    Ok(())
}

/// The text between the braces of `{{ }}` or `{% %}`.
struct Tag<'a> {
    len: usize,
    first: &'a [u8],
    operators: usize,
}

impl<'a> Tag<'a> {
    /// Reads up to the first `}}` or `%}` outside brackets and strings, as the engine does.
    fn read(source: &'a [u8]) -> Self {
        let (mut tag, mut at, mut open) = (Self { len: 0, first: b"", operators: 0 }, 0, 0_usize);
        while let Some(&byte) = source.get(at) {
            match byte {
                b'"' | b'\'' => {
                    at += 1;
                    while source.get(at).is_some_and(|other| *other != byte) {
                        at += 1 + usize::from(source[at] == b'\\');
                    }
                }
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
                    let len = source[at..].iter().take_while(|byte| is_name(byte)).count();
                    let word = &source[at..at + len];
                    if tag.first.is_empty() {
                        tag.first = word;
                    }
                    tag.operators += usize::from(matches!(
                        word,
                        b"not" | b"and" | b"or" | b"if" | b"else" | b"in" | b"is"
                    ));
                    at += len;
                    continue;
                }
                b'}' | b'%' if open == 0 && source.get(at + 1) == Some(&b'}') => {
                    at += 2;
                    break;
                }
                b'(' | b'[' | b'{' => (open, tag.operators) = (open + 1, tag.operators + 1),
                b')' | b']' | b'}' => open = open.saturating_sub(1),
                b'.' | b'|' | b'~' | b'+' | b'-' | b'*' | b'/' | b'%' | b'=' | b'<' | b'>' | b'!' => {
                    tag.operators += 1;
                }
                _ => {}
            }
            at += 1;
        }
        tag.len = at.min(source.len());
        tag
    }
}

/// Whether a template may nest values deeply, a level in each turn of a loop or with each `set`: the engine recurses
/// over them, too, even to free them.
pub(super) fn may_build_deep_values(source: &str) -> bool {
    source.contains("namespace") || source.matches("set").nth(MAX_SETS).is_some()
}

/// The most `set` whose values fit on any stack.
const MAX_SETS: usize = 500;

/// The stack that holds the values of [`MAX_STEPS`]: at least 8 steps for a level, which takes at most 2 KiB in a debug
/// build. Only what is used of it takes memory.
const DEEP_STACK: usize = 512 << 20;

/// Renders on a thread of its own, with a stack for deep values.
pub(super) fn on_deep_stack(render: impl FnOnce() -> Result<String, Fault> + Send) -> Result<String, Fault> {
    thread::scope(|scope| {
        let rendering = thread::Builder::new().stack_size(DEEP_STACK).spawn_scoped(scope, render);
        match rendering.map(thread::ScopedJoinHandle::join) {
            Ok(Ok(rendered)) => rendered,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(error) => {
                let reason = format!("cannot start a thread to render the template: {error}");
                Err(Fault { term: None, position: None, reason })
            }
        }
    })
}

/// The reason of an error that is a limit of the engine.
pub(super) fn reason(error: &Error) -> Option<String> {
    match error.kind() {
        ErrorKind::OutOfFuel => Some(format!(
            "the template takes more than {MAX_STEPS} steps, the limit; 64 bytes of a value count as one"
        )),
        ErrorKind::WriteFailure => {
            Some(format!("the output has more than {} MiB, the limit", MAX_OUTPUT >> 20))
        }
        _ if error.detail().is_some_and(|detail| detail.contains("maximum recursion")) => {
            Some(format!("the template is nested deeper than {MAX_NESTING} levels, the limit"))
        }
        _ => None,
    }
}

/// Fails if a value is nested too deeply to be shown: it may even contain itself. Each value in it is a step.
pub(super) fn check_depth(state: &State<'_, '_>, value: &Value) -> Result<(), Error> {
    fn check(state: &State<'_, '_>, value: &Value, depth: usize) -> Result<(), Error> {
        let is_container = match value.kind() {
            ValueKind::Seq | ValueKind::Map | ValueKind::Plain => true,
            // Others are not shown.
            ValueKind::Iterable => value.len().is_some(),
            _ => false,
        };
        let Some(items) = is_container.then(|| value.try_iter().ok()).flatten() else { return Ok(()) };
        if depth == MAX_NESTING {
            let reason = format!("a value nested deeper than {MAX_NESTING} levels, the limit");
            return Err(Error::new(ErrorKind::InvalidOperation, reason));
        }
        for item in items {
            state.consume_fuel(1)?;
            if value.kind() == ValueKind::Map {
                check(state, &value.get_item(&item)?, depth + 1)?;
            }
            check(state, &item, depth + 1)?;
        }
        Ok(())
    }
    check(state, value, 0)
}

/// A text of limited length.
#[derive(Default)]
pub(super) struct Limited(Vec<u8>);

impl Limited {
    pub(super) fn into_string(self) -> Result<String, std::string::FromUtf8Error> {
        String::from_utf8(self.0)
    }
}

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_OUTPUT {
            let limit = MAX_OUTPUT >> 20;
            return Err(io::Error::other(format!("more than {limit} MiB, the limit")));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes JSON as another formatter does, if it is not nested too deeply: a value may even contain itself.
pub(super) struct Shallow<F> {
    formatter: F,
    depth: usize,
}

impl<F> Shallow<F> {
    pub(super) fn new(formatter: F) -> Self {
        Self { formatter, depth: 0 }
    }

    fn enter(&mut self) -> io::Result<()> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            Err(io::Error::other(format!("a value nested deeper than {MAX_NESTING} levels, the limit")))
        } else {
            Ok(())
        }
    }
}

impl<F: Formatter> Formatter for Shallow<F> {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.enter()?;
        self.formatter.begin_array(out)
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth -= 1;
        self.formatter.end_array(out)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        self.formatter.begin_array_value(out, is_first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.formatter.end_array_value(out)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.enter()?;
        self.formatter.begin_object(out)
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth -= 1;
        self.formatter.end_object(out)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, is_first: bool) -> io::Result<()> {
        self.formatter.begin_object_key(out, is_first)
    }

    fn end_object_key<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.formatter.end_object_key(out)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.formatter.begin_object_value(out)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.formatter.end_object_value(out)
    }
}
