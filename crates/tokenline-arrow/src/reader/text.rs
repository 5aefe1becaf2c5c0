//! Rows that are the text of a response.

use std::sync::Arc;

use tokenline_core::json::Value;
use tokenline_core::{
    CheckedChunk, Event, LentEvent, Record, RecordDecoder, ToolCall, Validate as _, ValidateCall,
};

use crate::error::Full;
use crate::options::Rules;
use crate::output::{Output, PushError, Status};

pub(crate) struct TextReader {
    decoder: RecordDecoder,
    rules: Rules,
}

impl TextReader {
    pub(crate) fn new(rules: &Rules) -> Self {
        let mut decoder = RecordDecoder::new(rules.options.clone());
        if let Some(tools) = &rules.tools {
            decoder = decoder.with_tools(Arc::clone(tools) as Arc<dyn ValidateCall + Send + Sync>);
        }
        Self { decoder, rules: rules.clone() }
    }

    /// A text has no end of its own: it is always complete.
    pub(crate) fn read(&mut self, row: &[u8], out: &mut Output) -> Result<Status, Full> {
        self.decoder.reset();
        let mut chunk = CheckedChunk::new(row);
        while let Some(event) = self.decoder.next_event(&mut chunk) {
            handle(&self.rules, event, out)?;
        }
        while let Some(event) = self.decoder.finish() {
            handle(&self.rules, event, out)?;
        }
        Ok(Status::Complete)
    }
}

fn handle(rules: &Rules, event: LentEvent<'_>, out: &mut Output) -> Result<(), Full> {
    match event {
        Event::Record(record) => handle_record(rules, &record, out),
        Event::Rejected(diagnostic) => out.rejects.push(&diagnostic),
        Event::Note(_) => Ok(()),
        other => unreachable!("neither text nor partials are asked for: {other:?}"),
    }
}

fn handle_record(rules: &Rules, record: &Record<Value<'_>>, out: &mut Output) -> Result<(), Full> {
    if let Some(schema) = &rules.schema
        && let Err(violation) = schema.validate(record.value)
    {
        return out.rejects.push(&record.diagnose(*violation));
    }
    let Some(calls) = out.calls.as_mut().filter(|_| rules.wants_calls) else {
        return push_record(record, out);
    };
    let tools = rules.tools.as_deref().map(|tools| tools as &dyn ValidateCall);
    for call in ToolCall::all_from_record(record, tools) {
        match call {
            Ok(call) => calls.push(&call, Some(record))?,
            Err(call) => out.rejects.push(&call.diagnostic)?,
        }
    }
    Ok(())
}

/// Writes a valid record; one that does not fit its columns is rejected.
pub(super) fn push_record(record: &Record<Value<'_>>, out: &mut Output) -> Result<(), Full> {
    match out.records.push(record) {
        Ok(()) => Ok(()),
        Err(PushError::Full(full)) => Err(full),
        Err(PushError::Misfit(violation)) => out.rejects.push(&record.diagnose(*violation)),
    }
}
