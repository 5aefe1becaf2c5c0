//! `tokenline parse`: a model's output in, records or tool calls out.

use std::path::Path;
use std::sync::Arc;

use tokenline::json::Value;
use tokenline::llm::Provider;
use tokenline::schema::{SchemaValidator, ToolSet};
use tokenline::{
    CallFormat, EarlyEnd, Event, LentEvent, Options, Record, RecordDecoder, Release, ToolCall, Validate as _,
    ValidateCall,
};

use crate::args::{EmitKind, InputFormat, ModeArg, ParseArgs, ReadingArgs};
use crate::emit::{Emitter, EventOrigin};
use crate::failure::{Failure, Verdict};
use crate::output_file::OutputFile;
use crate::source::Source;
use crate::{answer, batch, load};

/// What the input is read as, apart from where it comes from.
pub(crate) struct Rules {
    pub(crate) options: Options,
    pub(crate) schema: Option<SchemaValidator>,
    pub(crate) tools: Option<Arc<ToolSet>>,
    pub(crate) what: EmitKind,
}

impl Rules {
    pub(crate) fn new(args: &ReadingArgs) -> Result<Self, Failure> {
        let options = match args.mode {
            ModeArg::Lenient => Options::lenient(),
            ModeArg::Strict => Options::strict(),
        };
        let tools = args.tools.as_deref().map(load::tools).transpose()?;
        let tools = tools.map(|tools| if args.coerce { tools.with_coercion() } else { tools });
        let release = if args.eager { Release::OnBalance } else { Release::Confirmed };
        let mut options = options.release(release).partials(args.emit == EmitKind::Partials);
        if let Some(pointer) = &args.items {
            if matches!(args.mode, ModeArg::Strict) {
                let message = "--items is for --mode lenient: in strict mode each line is one object";
                return Err(Failure::Usage(message.to_owned()));
            }
            options = options.items(pointer).map_err(|error| Failure::Usage(format!("--items: {error}")))?;
        }
        let mut rules = Self {
            options,
            schema: args.schema.as_deref().map(load::schema).transpose()?,
            tools: tools.map(Arc::new),
            what: args.emit,
        };
        if rules.wants_calls() {
            rules.options = rules.options.calls(args.format.clone().unwrap_or_default());
        } else if args.format.is_some() {
            let message = "--format is for tool calls: those of --emit tool-calls, or of events and partials with --tools";
            return Err(Failure::Usage(message.to_owned()));
        }
        let is_json = |format: &CallFormat| {
            matches!(format, CallFormat::Auto | CallFormat::Jsonl | CallFormat::SingleJson)
        };
        if matches!(args.mode, ModeArg::Strict) && !args.format.as_ref().is_none_or(is_json) {
            let message = "--format is for --mode lenient: in strict mode each line is one object";
            return Err(Failure::Usage(message.to_owned()));
        }
        Ok(rules)
    }

    /// Says what was asked for and has no effect.
    pub(crate) fn remark(&self, emitter: &Emitter) {
        if self.tools.is_some() && self.what == EmitKind::Records {
            emitter.remark("--tools is for tool calls: records are not held against it");
        }
    }

    /// Refuses what is asked for and not to be had of a provider's stream.
    pub(crate) fn check_for_answers(&self) -> Result<(), Failure> {
        match self.what {
            EmitKind::Partials => Err(Failure::Usage(
                "--emit partials is for text: of a provider's stream only what is whole is told".to_owned(),
            )),
            EmitKind::Records | EmitKind::ToolCalls | EmitKind::Events => Ok(()),
        }
    }

    /// Whether records are read as tool calls.
    pub(crate) fn wants_calls(&self) -> bool {
        match self.what {
            EmitKind::ToolCalls => true,
            EmitKind::Events | EmitKind::Partials => self.tools.is_some(),
            EmitKind::Records => false,
        }
    }
}

pub(crate) fn run(args: &ParseArgs) -> Result<Verdict, Failure> {
    // Whatever can be wrong with the command is found before anything is read or written.
    let rules = Rules::new(&args.reading)?;
    if !matches!(args.from, InputFormat::Text) {
        rules.check_for_answers()?;
    }
    let mut source = Source::open(&args.file, args.chunk_size)?;
    let report_file = report_file(&args.reading, Some(&args.file))?;
    let mut emitter = Emitter::new(rules.what, source.name()).with_quota(&args.reading);
    rules.remark(&emitter);

    let outcome = match args.from {
        InputFormat::Text => text(&rules, &mut source, &mut emitter),
        InputFormat::Response(provider) => answer::parse(provider, &rules, &mut source, &mut emitter),
        InputFormat::Batch(format) => batch::parse(format, &rules, &mut source, &mut emitter),
    };
    conclude(outcome, &mut emitter, report_file, args.reading.deny)
}

/// Prepares the report that the command line asks for; `input` is what is read meanwhile.
pub(crate) fn report_file(args: &ReadingArgs, input: Option<&Path>) -> Result<Option<OutputFile>, Failure> {
    OutputFile::asked_for("--report-json", args.report_json.as_deref(), input.as_slice())
}

/// Says what came of it: also if the source failed, what is known is reported.
pub(crate) fn conclude(
    outcome: Result<(), Failure>,
    emitter: &mut Emitter,
    report_file: Option<OutputFile>,
    deny: bool,
) -> Result<Verdict, Failure> {
    let outcome = outcome.and_then(|()| emitter.flush());
    // Where there was nothing to read, the failure says it all.
    let is_void = outcome.is_err() && emitter.is_void();
    if !matches!(outcome, Err(Failure::OutputClosed)) && !is_void {
        emitter.summary();
    }
    if let Some(report_file) = report_file {
        report_file.write_json(emitter.report())?;
    }
    outcome?;
    let is_over_budget = emitter.report().ended_by() == Some(EarlyEnd::ErrorBudget);
    match is_over_budget || (deny && emitter.report().rejected() > 0) {
        true => Ok(Verdict::Rejected),
        false => Ok(Verdict::Good),
    }
}

fn text(rules: &Rules, source: &mut Source, emitter: &mut Emitter) -> Result<(), Failure> {
    let mut decoder = RecordDecoder::new(rules.options.clone());
    if let Some(tools) = &rules.tools {
        decoder = decoder.with_tools(Arc::clone(tools) as Arc<dyn ValidateCall + Send + Sync>);
    }
    while let Some(chunk) = source.read()? {
        if decoder.position() == 0 {
            match Provider::detect(chunk) {
                Some(other) => emitter.remark(&format!("this looks like --from {}", other.as_str())),
                None if [&b"data:"[..], b"event:"].iter().any(|field| chunk.starts_with(field)) => {
                    emitter.remark("this looks like a provider's stream of events: see --from");
                }
                None => {}
            }
        }
        let mut rest = chunk;
        loop {
            let decoded = decoder.decode(rest);
            rest = &rest[decoded.consumed..];
            match decoded.event {
                Some(event) => handle(rules, event, emitter)?,
                None => break,
            }
            if emitter.is_done() {
                return Ok(());
            }
        }
        // What is complete is out before the next read waits.
        emitter.flush()?;
    }
    while let Some(event) = decoder.finish() {
        handle(rules, event, emitter)?;
        if emitter.is_done() {
            return Ok(());
        }
    }
    emitter.report_mut().set_complete();
    Ok(())
}

fn handle(rules: &Rules, event: LentEvent<'_>, emitter: &mut Emitter) -> Result<(), Failure> {
    match event {
        Event::Record(record) => handle_record(rules, &record, emitter),
        Event::Rejected(diagnostic) | Event::Note(diagnostic) => {
            emitter.finding(EventOrigin::Input, &diagnostic)
        }
        Event::Partial(partial) => emitter.partial(&partial),
        other => unreachable!("an event this program does not ask for: {other:?}"),
    }
}

fn handle_record(rules: &Rules, record: &Record<Value<'_>>, emitter: &mut Emitter) -> Result<(), Failure> {
    if let Some(schema) = &rules.schema
        && let Err(violation) = schema.validate(record.value)
    {
        return emitter.finding(EventOrigin::Input, &record.diagnose(*violation));
    }
    if !rules.wants_calls() {
        return emitter.record(record);
    }
    let tools = rules.tools.as_deref().map(|tools| tools as &dyn ValidateCall);
    for call in ToolCall::all_from_record(record, tools) {
        match call {
            Ok(call) => emitter.tool_call(EventOrigin::Input, &call, Some(&record.map(|_| ())))?,
            Err(call) => emitter.rejected_call(EventOrigin::Input, &call)?,
        }
        if emitter.is_done() {
            break;
        }
    }
    Ok(())
}
