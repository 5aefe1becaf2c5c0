//! Repetition in the reasoning and the native calls of a response. Each text has a guard of its own.

use tokenline_core::adapter::{PartialArgument, PartialValue, RecordRepetitionDetector, RepetitionDetector};
use tokenline_core::{CallDelta, Repeated, Repetition, RepetitionLimits, ToolCall};

/// Finds repetition in the reasoning and the native calls of a response.
pub(super) struct LoopGuard {
    limits: RepetitionLimits,
    choices: Vec<(u64, ChoiceGuard)>,
}

/// The channels of a choice.
#[derive(Default)]
struct ChoiceGuard {
    reasoning: Option<Box<RepetitionDetector>>,
    /// The calls whose arguments arrive, the one that grew last at the end.
    arguments: Vec<OpenArguments>,
    calls: Option<Box<RecordRepetitionDetector>>,
    /// The first repetition that reached its limit.
    found: Option<Repetition>,
}

/// The arguments of a call that arrive.
struct OpenArguments {
    index: Option<u64>,
    id: Option<String>,
    /// The path of the value that arrived last, if the arguments come value by value.
    path: Option<String>,
    detector: RepetitionDetector,
}

/// The most parallel calls whose arguments are watched: those that grew last.
const MAX_OPEN_CALLS: usize = 8;

impl LoopGuard {
    pub(super) fn new(limits: RepetitionLimits) -> Self {
        Self { limits, choices: Vec::new() }
    }

    pub(super) fn reasoning(&mut self, choice: u64, text: &str) {
        let limits = self.limits;
        let channels = self.choice(choice);
        let detector = || Box::new(limits.detector(Repeated::Reasoning));
        let found = channels.reasoning.get_or_insert_with(detector).push(text);
        channels.note(found);
    }

    /// Takes more arguments of a native call.
    pub(super) fn call_delta(&mut self, choice: u64, call: &CallDelta<'_>) {
        let limits = self.limits;
        let channels = self.choice(choice);
        let open = channels.open_arguments(call.index, &limits);
        // Some servers number all calls alike, and some repeat the name, or the id, in each fragment.
        let begins = match (call.id, &open.id) {
            (Some(id), Some(open)) => id != open,
            (Some(_), None) => false,
            (None, _) => call.index.is_none() && call.name.is_some(),
        };
        if begins || call.is_whole {
            open.detector.reset();
        }
        if let Some(id) = call.id.filter(|id| open.id.as_deref() != Some(*id)) {
            open.id = Some(id.to_owned());
        }
        let found = open.detector.push(call.arguments);
        channels.note(found);
    }

    /// Takes more of a value of the arguments that a native call has in this block.
    pub(super) fn partial_argument(&mut self, choice: u64, block: u64, part: &PartialArgument<'_>) {
        let PartialValue::Text(text) = part.value else { return };
        let limits = self.limits;
        let channels = self.choice(choice);
        let open = channels.open_arguments(Some(block), &limits);
        if open.path.as_deref() != Some(part.path) {
            open.path = Some(part.path.to_owned());
            // As between the elements of an array in JSON: equal ones are rows.
            channels.push_arguments("\",\"");
        }
        channels.push_arguments(text);
    }

    /// Takes a whole native call.
    pub(super) fn call(&mut self, choice: u64, call: &ToolCall) {
        let limits = self.limits;
        let channels = self.choice(choice);
        let detector = || Box::new(RecordRepetitionDetector::new(Repeated::ToolCalls, &limits));
        let calls = channels.calls.get_or_insert_with(detector);
        let found = calls.push(&[call.name.as_str(), call.parameters.as_str()]);
        channels.note(found);
    }

    /// Separates the reasoning before from what follows.
    pub(super) fn separate(&mut self, choice: u64) {
        if let Some(reasoning) = &mut self.choice(choice).reasoning {
            reasoning.separate();
        }
    }

    /// The response starts over.
    pub(super) fn restart(&mut self) {
        self.choices.clear();
    }

    /// The repetition of this choice that reached its limit.
    pub(super) fn found(&self, choice: u64) -> Option<&Repetition> {
        self.choices.iter().find(|(index, _)| *index == choice)?.1.found.as_ref()
    }

    fn choice(&mut self, index: u64) -> &mut ChoiceGuard {
        let at = self.choices.iter().position(|(choice, _)| *choice == index).unwrap_or_else(|| {
            self.choices.push((index, ChoiceGuard::default()));
            self.choices.len() - 1
        });
        &mut self.choices[at].1
    }
}

impl ChoiceGuard {
    /// The arguments of the call with this index, which grow: they are now the last.
    fn open_arguments(&mut self, index: Option<u64>, limits: &RepetitionLimits) -> &mut OpenArguments {
        let at = self.arguments.iter().rposition(|open| open.index == index);
        let open = match at {
            Some(at) => self.arguments.remove(at),
            None => {
                let detector = limits.detector(Repeated::Arguments);
                OpenArguments { index, id: None, path: None, detector }
            }
        };
        if self.arguments.len() == MAX_OPEN_CALLS {
            self.arguments.remove(0);
        }
        self.arguments.push(open);
        self.arguments.last_mut().expect("it was pushed")
    }

    /// Takes more of the arguments that grew last.
    fn push_arguments(&mut self, text: &str) {
        let found = self.arguments.last_mut().and_then(|open| open.detector.push(text));
        self.note(found);
    }

    fn note(&mut self, found: Option<Repetition>) {
        self.found = self.found.or(found);
    }
}
