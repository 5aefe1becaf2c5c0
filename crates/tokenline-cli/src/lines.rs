//! `tokenline parse --from lines`: the records and tool calls of responses that are strings in JSON Lines.

use std::borrow::Cow;

use tokenline::json::{Kind, Value};
use tokenline::{CheckedChunk, Code, Diagnostic, Limits, Options, Record, Rejected};

use crate::emit::{Emitter, EventOrigin, Part, PartId};
use crate::failure::Failure;
use crate::load;
use crate::parse::{ParseArgs, Rules};
use crate::source::Source;
use crate::text_decoder::TextDecoder;

/// JSON Pointers to the response and the id of a line.
pub(crate) struct Pointers {
    text: String,
    id: Option<String>,
}

impl Pointers {
    /// Reads `--text-pointer` and `--id-pointer`.
    pub(crate) fn new(args: &ParseArgs) -> Result<Self, Failure> {
        let Some(text) = args.text_pointer.clone() else {
            let message = "--from lines needs --text-pointer, such as --text-pointer /output";
            return Err(Failure::Usage(message.to_owned()));
        };
        for (option, pointer) in [("--text-pointer", Some(&text)), ("--id-pointer", args.id_pointer.as_ref())]
        {
            if let Some(pointer) = pointer {
                // Valid pointers are those that `--items` accepts.
                Options::lenient()
                    .items(pointer)
                    .map_err(|error| Failure::Usage(format!("{option}: {error}")))?;
            }
        }
        Ok(Self { text, id: args.id_pointer.clone() })
    }
}

/// Parses the lines in order. Rejects lines without a response.
pub(crate) fn parse(
    pointers: &Pointers,
    rules: &Rules,
    source: &mut Source,
    emitter: &mut Emitter,
) -> Result<(), Failure> {
    let limits = Limits { line_bytes: load::MAX_RESPONSE as usize, ..rules.options.limits };
    let mut lines = TextDecoder::around(Options::strict().limits(limits), rules);
    let mut responses = Responses { pointers, response: TextDecoder::new(rules) };
    while !emitter.is_done()
        && let Some(chunk) = source.read()?
    {
        let checked = CheckedChunk::new(chunk);
        lines.decode(chunk, checked, emitter, |line, emitter| responses.read(line, emitter))?;
        emitter.flush()?;
    }
    lines.finish(emitter, |line, emitter| responses.read(line, emitter))
}

struct Responses<'r> {
    pointers: &'r Pointers,
    /// Decodes one response after the other.
    response: TextDecoder,
}

impl Responses<'_> {
    fn read(&mut self, line: &Record<Value<'_>>, emitter: &mut Emitter) -> Result<(), Failure> {
        let id = self.pointers.id.as_deref().and_then(|id| line.value.pointer(id));
        let id = id.map(|id| id.as_str().map_or_else(|| id.to_single_line().into_owned(), Cow::into_owned));
        let is_line_number = id.is_none();
        let text = id.unwrap_or_else(|| format!("line {}", line.line));
        let part =
            Part { line: line.line, id: Some(PartId { member: "id", text, is_line_number }), is_line: true };
        emitter.set_part(Some(part.clone()));
        let Some(text) = line.value.pointer(&self.pointers.text).and_then(Value::as_str) else {
            let actual =
                line.value.pointer(&self.pointers.text).map_or("nothing", |value| match value.kind() {
                    Kind::Object => "an object",
                    Kind::Array => "an array",
                    Kind::Number => "a number",
                    Kind::Null => "null",
                    _ => "a boolean",
                });
            let message = format!("expected a string at {}, found {actual}", self.pointers.text);
            let diagnostic = Diagnostic::new(Code::SchemaViolation, line.line, line.span, 1, message);
            if let Some(texts) = emitter.rejected_texts() {
                texts.push(Rejected::new(line.value.raw(), diagnostic.clone()));
            }
            emitter.diagnostic(EventOrigin::Input, &diagnostic)?;
            emitter.set_part(None);
            return Ok(());
        };
        emitter.set_part(Some(Part { is_line: false, ..part }));
        emitter.response_line(line.line)?;
        self.response.reset();
        let write =
            |record: &Record<Value<'_>>, emitter: &mut Emitter| emitter.record(EventOrigin::Input, record);
        self.response.decode(text.as_bytes(), CheckedChunk::from(&*text), emitter, write)?;
        self.response.finish(emitter, write)?;
        // What follows is about the next line.
        emitter.set_part(None);
        Ok(())
    }
}
