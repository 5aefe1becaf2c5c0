//! What all parsers have in common, and how their events are written.

use tokenline_core::json::Value;
use tokenline_core::{Diagnostic, Origin, Record, Recovered, Recovery};

use crate::output::{Emit, Output, Target};
use crate::settings::{Kind, Settings};
use crate::text::TextMachine;
use crate::write::Json;

/// A parser: text in, events out.
pub(crate) trait Machine {
    /// Reads a chunk. Returns whether all of it goes on with the open string, and nothing was written.
    fn push(&mut self, chunk: &[u8], out: &mut Output) -> bool;

    fn finish(&mut self, has_failed: bool, out: &mut Output);

    fn reset(&mut self);

    /// 1 if the text is complete so far, 2 if nothing is expected to follow, 4 if the provider has ended it.
    fn status(&self) -> u32;
}

/// The parser that these settings ask for.
pub(crate) fn from_settings(text: &str) -> Result<(Box<dyn Machine>, Output), String> {
    let settings = Settings::read(text)?;
    let output = Output::new(settings.emit, settings.keeps_integers);
    let machine: Box<dyn Machine> = match settings.kind {
        Kind::Text => Box::new(TextMachine::new(settings)),
        #[cfg(feature = "providers")]
        Kind::Response(provider) => Box::new(crate::response::ResponseMachine::new(provider, settings)),
    };
    Ok((machine, output))
}

/// Where an event belongs in a response.
#[derive(Clone, Copy, Default)]
pub(crate) struct Part {
    pub(crate) choice: Option<u64>,
    pub(crate) block: u64,
}

impl Part {
    pub(crate) fn write(self, json: &mut Json) {
        if let Some(choice) = self.choice {
            json.number_member("choice", choice);
            json.number_member("block", self.block);
        }
    }
}

/// A record with its value.
pub(crate) fn record(record: &Record<Value<'_>>, part: Part, out: &mut Output) {
    match out.emit {
        Emit::Counts => out.counted(),
        Emit::Values => out.value(record.value),
        Emit::Events => {
            let in_steps = out.needs_steps(record.value.raw());
            out.event("record", |json| {
                json.name("value");
                json.raw(if in_steps { "null" } else { record.value.raw() });
                place(record, json);
                part.write(json);
            });
            if in_steps {
                out.begin_steps(Target::LastEvent);
                out.steps_of(None, record.value);
            }
        }
    }
}

/// The place of a record, and the evidence for it.
pub(crate) fn place<T>(record: &Record<T>, json: &mut Json) {
    json.number_member("line", record.line);
    json.number_member("column", record.column);
    json.number_member("start", record.span.start);
    json.number_member("end", record.span.end);
    json.text_member("completion", record.completion.as_str());
    recovered(record.recovered, json);
}

pub(crate) fn recovered(recovered: Recovered, json: &mut Json) {
    if !recovered.is_empty() {
        json.texts_member("recovered", recovered.iter().map(Recovery::as_str));
    }
}

/// A reject or a note.
pub(crate) fn finding(found: &Diagnostic, part: Part, out: &mut Output) {
    out.event(if found.code.is_note() { "note" } else { "reject" }, |json| {
        diagnostic(found, json);
        part.write(json);
    });
}

/// The members of a diagnostic.
pub(crate) fn diagnostic(found: &Diagnostic, json: &mut Json) {
    fault(found, json);
    if found.origin != Origin::Text {
        json.text_member("origin", found.origin.as_str());
    }
    json.number_member("start", found.span.start);
    json.number_member("end", found.span.end);
    if !found.further().is_empty() {
        json.name("further");
        json.open(b'[');
        for further in found.further() {
            json.open(b'{');
            fault(further, json);
            json.close(b'}');
        }
        json.close(b']');
    }
}

/// The members that further diagnostics have, too.
fn fault(found: &Diagnostic, json: &mut Json) {
    json.text_member("code", found.code.as_str());
    json.text_member("message", &found.message);
    json.number_member("line", found.line);
    json.number_member("column", found.column);
    if let Some(path) = &found.instance_path {
        json.text_member("instancePath", path);
    }
    if let Some(path) = &found.schema_path {
        json.text_member("schemaPath", path);
    }
}
