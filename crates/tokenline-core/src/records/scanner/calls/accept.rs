//! Calls that a reader has found: accepted, or rejected.

use memchr::memchr_iter;

use super::unread::UNSETTLED;
use crate::call_format::CallText;
use crate::json::parser::RawStep;
use crate::json::{Kind, Parser};
use crate::records::scanner::state::Found;
use crate::records::scanner::{Outcome, Scanner, Step};
use crate::{Code, CompletedBy, Diagnostic, Recoveries, Recovery, Span};

/// The outcome for a complete call.
pub(super) enum Accepted {
    Call(Outcome),
    /// It is text; perhaps with a note.
    Text(Step),
    /// It is not a call.
    No,
}

impl Scanner {
    /// Accepts a complete call, if it counts as one; `from` is the offset of the text's first byte.
    pub(super) fn accept_call(
        &mut self,
        text: &str,
        from: u64,
        format: usize,
        call: CallText,
        end: Option<CompletedBy>,
    ) -> Accepted {
        let span = Span::new(from + call.start as u64, from + call.end as u64);
        let is_converted = call.json.is_some();
        let Some(calls) = &mut self.calls else { return Accepted::No };
        let written = &text[call.start..call.end];
        // The reader has already examined it.
        if !self.json.uncounted(|parser| parse(parser, call.json.as_deref().unwrap_or(written)))
            || !calls.detector.admit_call(format, self.json.value(call.json.as_deref().unwrap_or(written)))
        {
            if from == calls.opener && calls.detector.tools().is_some() && calls.detector.is_single(format) {
                return Accepted::No;
            }
            return Accepted::Text(self.pass_call(text, from, &call, UNSETTLED));
        }
        calls.unclosed = None;
        let json = match call.json {
            Some(json) => {
                calls.json = json;
                &calls.json
            }
            None => written,
        };
        let mut recovered = Recoveries::NONE
            .with(Recovery::CallFormat)
            .with_if(self.thinking.is_text, Recovery::ThinkUnclosed);
        if call.is_untyped
            && let Some(typed) = calls.detector.type_call(self.json.value(json))
            && self.json.uncounted(|parser| parse(parser, &typed))
        {
            calls.json = typed;
            recovered = recovered.with(Recovery::ParametersTyped);
        }
        self.pass_lines(text, from, 0, call.start);
        let (line, column) = (self.line.number, self.line.column(span.start));
        self.pass_lines(text, from, call.start, call.end);
        self.push_event(span);
        self.line.has_record = true;
        let at_end = if call.is_confirmed { self.end } else { end };
        let completion = at_end.unwrap_or(CompletedBy::Text);
        if call.is_end_missing {
            recovered = recovered.with(Recovery::CallEndMissing);
        }
        self.found = Found { line, column, span, completion, recovered };
        Accepted::Call(if is_converted { Outcome::Call } else { Outcome::Record })
    }

    /// Reports a malformed call: its first byte, the byte at fault, and its end.
    pub(super) fn call_fault(
        &mut self,
        text: &str,
        from: u64,
        code: Code,
        (start, fault, end): (usize, usize, usize),
        message: &str,
    ) -> Outcome {
        self.pass_lines(text, from, 0, fault);
        let (line, column) = (self.line.number, self.line.column(from + fault as u64));
        self.pass_lines(text, from, fault, end);
        self.pass_code(&text[..end]);
        self.line.is_markup_only = true;
        let span = Span::new(from + start as u64, from + end as u64);
        self.report(Diagnostic::new(code, line, span, column, message))
    }

    /// Skips a part of the text that begins at `from`, and the lines that end in it.
    pub(super) fn pass_lines(&mut self, text: &str, from: u64, start: usize, end: usize) {
        self.scanned += (end - start) as u64;
        let first_line = self.line.start;
        if let Some(calls) = self.calls.as_mut().filter(|_| start < end) {
            calls.end_run();
        }
        for line_feed in memchr_iter(b'\n', &text.as_bytes()[start..end]) {
            let next = from + (start + line_feed) as u64 + 1;
            let mut line = self.line.go_on(next);
            if line.has_fault() {
                // It is before the call, beside which a bare value is prose.
                line.has_record = true;
                self.first_lines().of_call = line.start;
                self.late_reject = line.diagnostic(next - 1).map(Box::new).or(self.late_reject.take());
            }
            self.line.first = Some(next);
            self.line.is_markup_only = true;
        }
        if let Some(calls) = &mut self.calls {
            calls.pass_line(first_line, self.line.start);
        }
    }
}

/// Parses a JSON document, which may have several lines.
pub(super) fn parse(parser: &mut Parser, json: &str) -> bool {
    parser.reset();
    loop {
        match parser.resume_bytes(json.as_bytes()) {
            RawStep::Complete { .. } => return parser.root_kind() == Kind::Object,
            RawStep::LineEnd(_) => parser.pass_line_feed(),
            RawStep::NeedMore | RawStep::Malformed(_) => return false,
        }
    }
}
