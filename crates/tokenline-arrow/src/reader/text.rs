//! Rows that are the text of a response.

use std::sync::Arc;

use tokenline_core::adapter::{Judge, Made, Passage, Rules as JudgeRules, Verdict};
use tokenline_core::json::Value;
use tokenline_core::{CheckedChunk, LentEvent, Reads, Record, RecordDecoder};

use crate::error::Full;
use crate::options::Rules;
use crate::output::{Output, PushError, RecordColumns, Status};

pub(crate) struct TextReader {
    decoder: RecordDecoder,
    judge: Judge,
}

impl TextReader {
    pub(crate) fn new(rules: &Rules) -> Self {
        let mut decoder = RecordDecoder::new(rules.options.clone());
        let mut judged = JudgeRules::default();
        judged.set_reads(if rules.wants_calls { Reads::ToolCalls } else { Reads::Records });
        if let Some(schema) = &rules.schema {
            judged.add_validator(Arc::new(schema.clone()));
        }
        if let Some(tools) = &rules.tools {
            judged.set_tools(Arc::clone(tools) as _);
            decoder = decoder.with_tools(Arc::clone(tools));
        }
        Self { decoder, judge: Judge::new(Arc::new(judged), &rules.options.limits) }
    }

    /// A text has no end of its own: it is always complete.
    pub(crate) fn read(&mut self, row: &[u8], out: &mut Output) -> Result<Status, Full> {
        let Self { decoder, judge } = self;
        decoder.reset();
        judge.reset();
        let mut chunk = CheckedChunk::new(row);
        while let Some(event) = decoder.next_event(&mut chunk) {
            take(judge, event, row, out)?;
        }
        while let Some(event) = decoder.finish() {
            take(judge, event, row, out)?;
        }
        Ok(Status::Complete)
    }
}

/// Writes the outcome of an event.
fn take(judge: &mut Judge, event: LentEvent<'_>, row: &[u8], out: &mut Output) -> Result<(), Full> {
    let Output { records, calls, rejects, .. } = out;
    let make = |record: &Record<Value<'_>>| write(record, records);
    judge.event(event, Passage::chunk(row, 0), make, |verdict| match verdict {
        // It is written.
        Verdict::Record(_) => Ok(()),
        Verdict::Call(call, place) => match calls {
            Some(calls) => calls.push(&call, Some(&place)),
            None => Ok(()),
        },
        Verdict::Rejected(diagnostic) => rejects.push(&diagnostic),
        Verdict::RejectedCall(call) | Verdict::NotACall(call) => rejects.push(&call.diagnostic),
        Verdict::Ask(_) => unreachable!("nothing is repaired"),
    })?;
    Ok(())
}

/// Writes a valid record, or says why it does not fit its columns.
pub(super) fn write(record: &Record<Value<'_>>, records: &mut RecordColumns) -> Result<Made<()>, Full> {
    match records.push(record) {
        Ok(()) => Ok(Ok(record.map(|_| ()))),
        Err(PushError::Full(full)) => Err(full),
        Err(PushError::Misfit(violation)) => Ok(Err(Box::new(record.diagnose(*violation)))),
    }
}
