//! The rules for records and calls: validators, tools and repair.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::adapter::RepairHook;
use crate::feature::{Boxed, RepairFeature};
use crate::json::{Raw, Value};
use crate::validate::Validators;
use crate::{
    Code, CompletedBy, Diagnostic, Limits, Record, Recovered, Recovery, Rejected, RejectedCall, ToolCall,
    Validate, ValidateCall,
};

/// The rules for the records of one or more texts: validators, tools and repair.
///
/// For authors of stream adapters. A [`Judge`](crate::adapter::Judge) applies them to one text; clones share the repair hook.
#[derive(Clone, Default)]
pub struct Rules {
    validator: Option<Arc<dyn Validate + Send + Sync>>,
    tools: Option<Arc<dyn ValidateCall + Send + Sync>>,
    repair: Option<Boxed<RepairFeature, Repair>>,
    reads: Reads,
}

/// How the objects of a text are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reads {
    /// As records.
    #[default]
    Records,
    /// As tool calls.
    ToolCalls,
    /// As both: an object is a call between the markers of calls, or if it names a defined tool and has arguments; every
    /// other object is a record. Validators are for records only, tools for calls. A
    /// [`RecordDecoder`](crate::RecordDecoder) needs [`Options::records_beside_calls`](crate::Options::records_beside_calls) for it.
    RecordsAndToolCalls,
}

/// How rejects are repaired.
#[derive(Clone, Default)]
struct Repair {
    asks: Option<Asks>,
    /// Whether malformed records are repaired first.
    syntax: bool,
}

/// Who is asked for replacements.
#[derive(Clone)]
enum Asks {
    Hook(Arc<Mutex<RepairHook>>),
    Caller,
}

impl Rules {
    /// Adds a validator: a record must pass all of them, in this order.
    pub fn add_validator(&mut self, validator: Arc<dyn Validate + Send + Sync>) {
        self.validator = Some(match self.validator.take() {
            None => validator,
            Some(before) => Arc::new(Validators([before, validator])),
        });
    }

    /// Sets the tools that calls are validated against.
    pub fn set_tools(&mut self, tools: Arc<dyn ValidateCall + Send + Sync>) {
        self.tools = Some(tools);
    }

    /// Asks a closure for replacements of rejects whose code [is repairable](Code::is_repairable).
    pub fn set_repair(&mut self, hook: RepairHook) {
        self.change_repair(|repair| repair.asks = Some(Asks::Hook(Arc::new(Mutex::new(hook)))));
    }

    /// Asks the caller for replacements, with [`Verdict::Ask`](crate::adapter::Verdict::Ask).
    pub fn set_repair_steps(&mut self) {
        self.change_repair(|repair| repair.asks = Some(Asks::Caller));
    }

    /// Sets whether malformed records are [repaired](crate::Options::repair_syntax), before the hook is asked.
    pub fn set_syntax_repair(&mut self, yes: bool) {
        if yes || self.repair.is_some() {
            self.change_repair(|repair| repair.syntax = yes);
        }
    }

    /// Whether malformed records are repaired.
    #[must_use]
    pub fn repairs_syntax(&self) -> bool {
        self.repair.as_ref().is_some_and(|repair| repair.syntax)
    }

    fn change_repair(&mut self, change: impl FnOnce(&mut Repair)) {
        if self.repair.is_none() {
            self.repair = RepairFeature::boxed(Repair::default);
        }
        if let Some(repair) = &mut self.repair {
            change(repair);
        }
    }

    /// Sets how objects are read.
    pub fn set_reads(&mut self, reads: Reads) {
        self.reads = reads;
    }

    /// How objects are read.
    #[must_use]
    pub fn reads(&self) -> Reads {
        self.reads
    }

    /// Whether every object is read as tool calls.
    #[must_use]
    pub(crate) fn reads_only_calls(&self) -> bool {
        self.reads == Reads::ToolCalls
    }

    /// Whether a complete object is read as tool calls.
    #[inline]
    pub(crate) fn reads_as_calls(&self, record: &Record<Value<'_>>) -> bool {
        match self.reads {
            Reads::Records => false,
            Reads::ToolCalls => true,
            Reads::RecordsAndToolCalls => {
                record.recovered.contains(Recovery::CallFormat)
                    || ToolCall::is_among_records(record.value, self.call_rules())
            }
        }
    }

    /// The tools, if they are set.
    #[must_use]
    pub fn tools(&self) -> Option<&Arc<dyn ValidateCall + Send + Sync>> {
        self.tools.as_ref()
    }

    /// The rules for calls.
    pub(crate) fn call_rules(&self) -> Option<&dyn ValidateCall> {
        self.tools.as_deref().map(|tools| tools as &dyn ValidateCall)
    }

    /// The validator of records.
    pub(crate) fn validator(&self) -> Option<&Arc<dyn Validate + Send + Sync>> {
        self.validator.as_ref()
    }

    /// Whether rejects may be repaired, by a hook or in their syntax.
    #[must_use]
    pub fn repairs(&self) -> bool {
        self.has_hook() || self.repairs_syntax()
    }

    /// Whether a hook is asked about rejects.
    pub(crate) fn has_hook(&self) -> bool {
        self.asks().is_some()
    }

    fn asks(&self) -> Option<&Asks> {
        self.repair.as_ref()?.asks.as_ref()
    }

    /// Whether the caller is asked for replacements; see [`set_repair_steps`](Self::set_repair_steps).
    #[must_use]
    pub fn has_repair_steps(&self) -> bool {
        matches!(self.asks(), Some(Asks::Caller))
    }

    /// Asks the hook for a replacement, if there is one.
    #[must_use]
    pub fn replacement(&self, rejected: Rejected) -> Option<String> {
        let Some(Asks::Hook(hook)) = self.asks() else { return None };
        hook.lock().unwrap_or_else(PoisonError::into_inner)(rejected)
    }

    /// Whether a replacement for a rejected record passes the validators and fits its type.
    #[must_use]
    pub fn accepts<T>(
        &self,
        replacement: &str,
        rejected: &Diagnostic,
        limits: &Limits,
        make: impl FnOnce(&Record<Value<'_>>) -> Made<T>,
    ) -> bool {
        let is_valid = place_of(rejected).repaired(replacement, limits, |record| {
            let validator = self.validator.as_ref();
            validator.is_none_or(|validator| record.validate(validator).is_ok()) && make(record).is_ok()
        });
        is_valid.unwrap_or(false)
    }

    /// The question about a rejected native call, whose arguments may be replaced. A call of an undefined tool stays
    /// rejected.
    #[must_use]
    pub fn native_question(&self, call: &RejectedCall) -> Option<Rejected> {
        let RejectedCall { name: Some(name), received, diagnostic, .. } = call else { return None };
        let is_asked = self.repairs() && diagnostic.code.is_repairable();
        (is_asked && diagnostic.code != Code::UnknownTool)
            .then(|| Rejected::new(received.as_str(), diagnostic.clone()).with_tool(name.as_str()))
    }

    /// A native call with these arguments instead of the rejected ones, if the tools accept them.
    #[cold]
    #[must_use]
    pub fn repaired_native_call(
        &self,
        call: &RejectedCall,
        arguments: &str,
        limits: &Limits,
    ) -> Option<ToolCall> {
        let name = call.name.as_ref()?;
        place_of(&call.diagnostic).repaired(arguments, limits, |record| {
            if let Some(tools) = &self.tools {
                tools.validate_call(name, record.value).ok()?;
            }
            let mut repaired = ToolCall::new(name.as_str(), Raw::from(record.value), record.completion);
            (repaired.call_id, repaired.is_synthetic_id) = (call.call_id.clone(), call.is_synthetic_id);
            repaired.recovered = record.recovered;
            Some(repaired)
        })?
    }
}

/// The place of a reject, for its replacement.
fn place_of(rejected: &Diagnostic) -> Record<()> {
    let &Diagnostic { line, span, column, .. } = rejected;
    let (completion, recovered) = (CompletedBy::EndOfInput, Recovered::default());
    Record { value: (), line, column, span, completion, recovered }
}

/// A record in its type, or why it does not fit.
pub type Made<T> = Result<Record<T>, Box<Diagnostic>>;

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules").field("reads", &self.reads).finish_non_exhaustive()
    }
}
