//! The lines of events and rejects, as JSON.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use serde::ser::SerializeMap as _;
use serde_json::ser::Formatter;
use serde_json::value::RawValue;
use serde_json::{Serializer, Value};
use tokenline::syntax_repair::EditKind;
use tokenline::{CompletedBy, Diagnostic, Origin, Record, Recovered};

use crate::input;

/// A line of the output, or of the reject file, whose lines have no event.
#[derive(Serialize)]
pub(super) struct Line<'a, M> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) event: Option<&'a str>,
    #[serde(flatten)]
    pub(super) input: &'a InputName,
    #[serde(flatten)]
    pub(super) origin: EventOrigin,
    #[serde(flatten)]
    pub(super) members: M,
}

/// Writes the line of a record, whose last member, `value`, is JSON. `start` is its [start](InputName::record_start). A
/// [`RawValue`] would validate the value again.
pub(super) fn write_record(
    out: &mut impl Write,
    start: &[u8],
    record: &Record<()>,
    value: &str,
) -> io::Result<()> {
    out.write_all(start)?;
    Position::of(record).serialize(&mut Serializer::with_formatter(&mut *out, OpenObject(b",")))?;
    if let Some(repaired) = RepairedMembers::of(record.recovered, record.span.start) {
        out.write_all(b",\"repaired\":")?;
        serde_json::to_writer(&mut *out, &repaired)?;
    }
    if record.recovered.attempts() > 0 {
        write!(out, ",\"attempts\":{}", record.recovered.attempts())?;
    }
    out.write_all(b",\"value\":")?;
    out.write_all(value.as_bytes())?;
    out.write_all(b"}\n")
}

/// Begins objects with these bytes, and leaves them open, so that another member can follow. No other member of a record's
/// line is an object.
struct OpenObject(&'static [u8]);

impl Formatter for OpenObject {
    fn begin_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(self.0)
    }

    fn end_object<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a value beside where it comes from: `{"custom_id","file","line","value"}`. `line` is its own line in the file.
pub(super) fn write_sourced(
    out: &mut impl Write,
    input: &InputName,
    line: Option<u64>,
    value: &str,
) -> io::Result<()> {
    let part = input.part.as_ref();
    let id = part.and_then(|part| part.id.as_ref()).filter(|id| !id.is_line_number);
    out.write_all(b"{")?;
    if let Some(id) = id {
        write_member(out, id.member, &id.text)?;
    }
    if let Some(path) = &input.path {
        write_member(out, "file", path)?;
    }
    if let Some(line) = part.map(|part| part.line).or(line) {
        write_member(out, "line", line)?;
    }
    out.write_all(b"\"value\":")?;
    out.write_all(value.as_bytes())?;
    out.write_all(b"}\n")
}

/// Writes a member and the comma after it.
fn write_member(out: &mut impl Write, name: &str, value: impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, name)?;
    out.write_all(b":")?;
    serde_json::to_writer(&mut *out, &value)?;
    out.write_all(b",")
}

/// The input that events are about.
#[derive(Clone, Default, Serialize)]
pub(super) struct InputName {
    /// The name of the input, if it is one of several.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// The path of the input, unless it is standard input.
    #[serde(skip)]
    path: Option<String>,
    #[serde(flatten)]
    part: Option<Part>,
    /// See [`record_start`](Self::record_start).
    #[serde(skip)]
    record_start: Option<(EventOrigin, Vec<u8>)>,
}

impl InputName {
    pub(super) fn set_file(&mut self, path: &Path, is_one_of_several: bool) {
        self.file = is_one_of_several.then(|| input::name(path));
        self.path = (path.as_os_str() != "-").then(|| input::name(path));
        self.record_start = None;
    }

    pub(super) fn set_part(&mut self, part: Option<Part>) {
        self.part = part;
        self.record_start = None;
    }

    pub(super) fn part(&self) -> Option<&Part> {
        self.part.as_ref()
    }

    /// The same file, without a part.
    pub(super) fn whole(&self) -> Self {
        Self { file: self.file.clone(), path: self.path.clone(), ..Self::default() }
    }

    /// The line of a record up to its position: the same for all records of a text, of which there may be thousands.
    pub(super) fn record_start(&mut self, origin: EventOrigin) -> io::Result<&[u8]> {
        if self.record_start.as_ref().is_none_or(|(of, _)| *of != origin) {
            let mut start = Vec::new();
            let line = Line { event: Some("record"), input: &*self, origin, members: Members::<(), 0>([]) };
            line.serialize(&mut Serializer::with_formatter(&mut start, OpenObject(b"{")))?;
            self.record_start = Some((origin, start));
        }
        Ok(self.record_start.as_ref().map_or(&[], |(_, start)| start))
    }
}

/// A line of the input that holds a response, such as a result in a batch file.
#[derive(Clone)]
pub(crate) struct Part {
    pub(crate) line: u64,
    pub(crate) id: Option<PartId>,
    /// Whether events are about the line itself, and not about the text of its response.
    pub(crate) is_line: bool,
}

/// The id of a response.
#[derive(Clone)]
pub(crate) struct PartId {
    /// The member for it.
    pub(crate) member: &'static str,
    pub(crate) text: String,
    /// Whether the input has no id, so that the number of the line stands for it.
    pub(crate) is_line_number: bool,
}

impl Serialize for Part {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.id.as_ref().map(|id| (id.member, &id.text)))
    }
}

/// The message of a diagnostic, after its place: `rows.jsonl:4 (id 7): 2:6 of the response: `.
pub(super) fn message(source: &str, part: Option<&Part>, diagnostic: &Diagnostic) -> String {
    let Some(part) = part else { return format!("{source}:{diagnostic}") };
    let id = part.id.as_ref().filter(|id| !id.is_line_number);
    let id = id.map_or_else(String::new, |id| format!(" ({} {})", id.member, shortened(&id.text)));
    let Diagnostic { line, column, origin, .. } = diagnostic;
    let place = match origin {
        // The line is named already.
        Origin::Wire => String::new(),
        Origin::Text if part.is_line => String::new(),
        Origin::Text => format!("{line}:{column} of the response: "),
        origin => format!("{line}:{column} of the {}: ", origin.as_str()),
    };
    format!("{source}:{}{id}: {place}{diagnostic:#}", part.line)
}

/// An id, shortened for messages.
fn shortened(id: &str) -> String {
    id.chars().take(64).map(|char| if char.is_control() { ' ' } else { char }).collect()
}

/// The part of the input that an event comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventOrigin {
    /// The whole input: the text or the wire.
    Input,
    /// A choice of a response, and a block of it.
    Block(u64, u64),
    /// One of the responses of a continued response, counted from 1.
    Response(u32),
}

impl Serialize for EventOrigin {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match *self {
            Self::Input => {}
            Self::Response(number) => map.serialize_entry("response", &number)?,
            Self::Block(choice, block) => {
                map.serialize_entry("choice", &choice)?;
                if block > 0 {
                    map.serialize_entry("block", &block)?;
                }
            }
        }
        map.end()
    }
}

/// The position of a record, and how it was read.
#[derive(Serialize)]
pub(crate) struct Position {
    line: u64,
    start: u64,
    end: u64,
    completion: CompletedBy,
    #[serde(skip_serializing_if = "Option::is_none")]
    recovered: Option<Recovered>,
}

impl Position {
    pub(crate) fn of<T>(record: &Record<T>) -> Self {
        let Record { line, span, completion, recovered, .. } = *record;
        let recovered = (!recovered.is_empty()).then_some(recovered);
        Self { line, start: span.start, end: span.end, completion, recovered }
    }
}

/// The edits that made a malformed record or call JSON: `[{"edit","start","end","count"}]`. The offsets are those of the
/// record.
#[derive(Serialize)]
pub(crate) struct RepairedMembers(Vec<Members<Value, 4>>);

impl RepairedMembers {
    pub(crate) fn of(recovered: Recovered, record_start: u64) -> Option<Self> {
        let syntax = recovered.syntax()?;
        let span = syntax.span();
        let members = |(kind, count): (EditKind, usize)| {
            Members([
                ("edit", Some(kind.as_str().into())),
                ("start", Some((record_start + span.start).into())),
                ("end", Some((record_start + span.end).into())),
                ("count", (count > 1).then(|| count.into())),
            ])
        };
        Some(Self(syntax.kinds().map(members).collect()))
    }
}

/// Members in this order, without those that have no value.
#[derive(Clone, Copy)]
pub(super) struct Members<T, const N: usize>(pub(super) [(&'static str, Option<T>); N]);

impl<T: Serialize, const N: usize> Serialize for Members<T, N> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))))
    }
}

/// The members of a tool call.
#[derive(Serialize)]
pub(super) struct CallMembers<'a> {
    #[serde(flatten)]
    pub(super) position: Option<Position>,
    /// Of a call that was not a record in text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) completion: Option<CompletedBy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) repaired: Option<RepairedMembers>,
    /// The further requests that it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) attempts: Option<u32>,
    pub(super) value: &'a RawValue,
    /// The values that were converted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) coerced: Vec<Members<&'a str, 3>>,
}

/// A diagnostic, after what the model wrote.
#[derive(Serialize)]
pub(super) struct DiagnosticMembers<'a> {
    #[serde(flatten)]
    pub(super) received: Option<Received<'a>>,
    #[serde(flatten)]
    pub(super) diagnostic: &'a Diagnostic,
}

/// The part of a reject that the model wrote.
pub(super) type Received<'a> = Members<&'a str, 3>;

/// The name and the id of a rejected call, and the text of the reject.
pub(super) fn received_members<'a>(
    name: Option<&'a str>,
    call_id: Option<&'a str>,
    text: &'a str,
) -> Received<'a> {
    Members([("name", name), ("call_id", call_id), ("received", Some(text))])
}

/// JSON that was already written.
pub(crate) fn raw(json: &str) -> &RawValue {
    serde_json::from_str(json).expect("it was written as JSON")
}
