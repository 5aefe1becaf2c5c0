//! Malformed arguments, held until their call ends, and repaired if the text proves how.

use super::ToolCallAssembler;
use super::call::{Call, CallDelta, State, trim_start};
use super::repetition::AfterArguments;
use crate::feature::RepairFeature;
use crate::json::{Parser, Value};
use crate::syntax_repair::{Edit, EditKind, RepairOptions, RepairedSyntax, Unrepaired, repair_syntax};
use crate::{CompletedBy, Recovered, ToolCall, Violation};

impl ToolCallAssembler {
    /// Holds a call whose arguments are malformed; rejects it if nothing is repaired. Balanced arguments that go on with a
    /// surplus closer are not held: where a server names the tool in each fragment, they may be a part of others.
    #[cold]
    pub(super) fn hold_or_reject(&mut self, at: usize, fault: Violation) {
        let call = &mut self.calls[at];
        // What was in a string is not the text that came.
        match &mut call.state {
            State::Open(arguments) if self.repairs_syntax && call.encoded.is_empty() => {
                arguments.fault = RepairFeature::boxed(|| fault);
            }
            _ => self.reject(at, fault),
        }
    }

    /// Takes more of malformed arguments, for which there is room, or the header of another call and its arguments.
    #[cold]
    pub(super) fn feed_malformed(&mut self, at: usize, delta: &CallDelta<'_>) {
        let call = &mut self.calls[at];
        if trim_start(delta.arguments).is_empty() && delta.name.is_some() {
            call.repeat_header(delta);
        } else if delta.is_start() && matches!(call.after_arguments, AfterArguments::Named) {
            self.held -= delta.arguments.len() as u64;
            call.after_arguments = AfterArguments::Nothing;
            let name = call.name.clone();
            return self.push(CallDelta { name: name.as_deref(), ..*delta });
        }
        if let State::Open(arguments) = &mut self.calls[at].state {
            arguments.text.push_str(delta.arguments);
        }
    }

    /// Delivers a malformed call if its text proves how it is repaired; otherwise rejects it.
    pub(super) fn repair(&mut self, at: usize, completion: CompletedBy) {
        let Some(mut fault) = self.calls[at].take_fault() else { return };
        match self.repaired(at, completion) {
            Ok(call) => self.deliver(at, call),
            Err(why) => {
                if why.has_edits() {
                    fault.message = format!("{}; {why}", fault.message);
                }
                self.reject(at, fault);
            }
        }
    }

    fn repaired(&self, at: usize, completion: CompletedBy) -> Result<ToolCall, Unrepaired> {
        let (call, tools) = (&self.calls[at], self.validator());
        let read = |value: Value<'_>| {
            value.as_object()?;
            call.read(value, tools, completion).ok()
        };
        let mut is_valid = |value: Value<'_>| read(value).is_some();
        // A truncated call looks like a complete one.
        let options = RepairOptions { limits: self.limits, is_end_confirmed: false };
        let repair = repair_syntax(call.text(), &options, tools.map(|_| &mut is_valid as _))?;
        // Where fragments have no index and no id, a truncated call and the next one are one text.
        let is_structural =
            |edit: &Edit| matches!(edit.kind, EditKind::MissingComma | EditKind::MismatchedCloser);
        if repair.edits.iter().any(is_structural) {
            return Err(Unrepaired::NoEdit);
        }
        let mut parser = Parser::new().with_limits(&self.limits);
        let repaired = parser.parse(&repair.text).ok().and_then(read).ok_or(Unrepaired::NoEdit)?;
        Ok(ToolCall {
            recovered: Recovered::NONE.with_syntax(RepairedSyntax::new(&repair.edits)),
            ..repaired
        })
    }
}

impl Call {
    /// Whether its arguments are malformed and held.
    pub(super) fn is_malformed(&self) -> bool {
        matches!(&self.state, State::Open(arguments) if arguments.fault.is_some())
    }

    pub(super) fn take_fault(&mut self) -> Option<Violation> {
        let State::Open(arguments) = &mut self.state else { return None };
        arguments.fault.take().map(RepairFeature::unboxed)
    }
}
