//! Repetition in the reasoning and the native calls of a response. Each text has a guard of its own.

use tokenline_core::adapter::{RecordRepetitionDetector, RepetitionDetector};
use tokenline_core::{CallDelta, Repeated, Repetition, RepetitionLimits, ToolCall};

/// Finds repetition in the reasoning and the native calls of a response.
pub(super) struct LoopGuard {
    limits: RepetitionLimits,
    choices: Vec<(u64, ChoiceGuard)>,
    found: Option<(u64, Repetition)>,
}

/// The channels of a choice.
#[derive(Default)]
struct ChoiceGuard {
    reasoning: Option<Box<RepetitionDetector>>,
    arguments: Option<Box<RepetitionDetector>>,
    /// The call of the arguments.
    call: Option<u64>,
    calls: Option<Box<RecordRepetitionDetector>>,
}

impl LoopGuard {
    pub(super) fn new(limits: RepetitionLimits) -> Self {
        Self { limits, choices: Vec::new(), found: None }
    }

    pub(super) fn reasoning(&mut self, choice: u64, text: &str) {
        let limits = self.limits;
        let detector = || Box::new(limits.detector(Repeated::Reasoning));
        let found = self.choice(choice).reasoning.get_or_insert_with(detector).push(text);
        self.note(choice, found);
    }

    /// Takes more arguments of a native call.
    pub(super) fn call_delta(&mut self, choice: u64, call: &CallDelta<'_>) {
        // Some servers repeat the name in each fragment.
        let begins = call.is_whole || (call.index.is_none() && call.name.is_some());
        self.arguments(choice, call.index, begins, call.arguments);
    }

    pub(super) fn arguments(&mut self, choice: u64, call: Option<u64>, begins: bool, text: &str) {
        let limits = self.limits;
        let channels = self.choice(choice);
        let detector =
            channels.arguments.get_or_insert_with(|| Box::new(limits.detector(Repeated::Arguments)));
        if begins || channels.call != call {
            detector.reset();
            channels.call = call;
        }
        let found = detector.push(text);
        self.note(choice, found);
    }

    /// Takes a whole native call.
    pub(super) fn call(&mut self, choice: u64, call: &ToolCall) {
        let limits = self.limits;
        let detector = || Box::new(RecordRepetitionDetector::new(Repeated::ToolCalls, &limits));
        let calls = self.choice(choice).calls.get_or_insert_with(detector);
        let found = calls.push(&[call.name.as_str(), call.parameters.as_str()]);
        self.note(choice, found);
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

    fn note(&mut self, choice: u64, found: Option<Repetition>) {
        self.found = self.found.or(found.map(|found| (choice, found)));
    }

    /// The repetition that reached its limit, and its choice.
    pub(super) fn found(&self) -> Option<(u64, &Repetition)> {
        self.found.as_ref().map(|(choice, found)| (*choice, found))
    }

    fn choice(&mut self, index: u64) -> &mut ChoiceGuard {
        let at = self.choices.iter().position(|(choice, _)| *choice == index).unwrap_or_else(|| {
            self.choices.push((index, ChoiceGuard::default()));
            self.choices.len() - 1
        });
        &mut self.choices[at].1
    }
}
