//! Writes the events of a run from the events of its responses. No I/O.

use std::error::Error;
use std::fmt;

use serde::Serialize;
use tokenline::json::Raw;
use tokenline::llm::writer::{CallIds, StepRules, Steps};
use tokenline::{ResponseEvent, ToolCall};

use super::events::Events;
use super::{AgUiEvent, TokenUsage};
use crate::DataLoss;

/// Writes the events of one or more responses as the events of one run. Does no I/O.
///
/// The events are well-formed whatever the responses are: a run starts once, and ends with `RUN_FINISHED` or `RUN_ERROR`;
/// each message, step and call that starts ends before `RUN_FINISHED`.
///
/// | event | events of AG-UI |
/// |---|---|
/// | text, refusal | `TEXT_MESSAGE_*` |
/// | reasoning | `REASONING_*` |
/// | tool call | `TOOL_CALL_START`, `TOOL_CALL_ARGS` as it grows, `TOOL_CALL_END` |
/// | rejected call | the same, and the reason as its `TOOL_CALL_RESULT` |
/// | record | `CUSTOM` with the name `record` |
/// | usage | the `usage` of the run's end |
/// | failure of the provider, incomplete response | `RUN_ERROR` |
/// | other rejects, notes, growing records | none; see the parser's report |
///
/// Only the first choice is written. Its parser needs the settings of [`chat_options`](crate::ai_sdk::chat_options).
pub struct EventWriter {
    steps: Steps,
    events: Events,
    usage: Option<TokenUsage>,
    failure: Option<(String, Option<String>)>,
    shows_errors: bool,
}

/// The text of `RUN_ERROR` by default: the error may contain what is not for the page.
const MASKED_ERROR: &str = "An error occurred.";

impl EventWriter {
    /// A writer at the start of a run. The ids are those of the request.
    pub fn new(thread_id: impl Into<String>, run_id: impl Into<String>) -> Self {
        let mut rules = StepRules::default();
        rules.is_interleaved = true;
        rules.has_whole_calls = true;
        rules.shows_rejects = true;
        Self {
            steps: Steps::new(rules, CallIds::with_synthetic()),
            events: Events::new(thread_id.into(), run_id.into()),
            usage: None,
            failure: None,
            shows_errors: false,
        }
    }

    /// Shows the texts of errors. By default, they are masked: they may contain what is not for the page.
    #[must_use]
    pub fn show_errors(self) -> Self {
        Self { shows_errors: true, ..self }
    }

    /// The next event, if one is ready.
    pub fn next_event(&mut self) -> Option<AgUiEvent> {
        self.events.next()
    }

    /// Writes an event of the current response. Opens a step if none is open.
    pub fn push<T: Serialize + 'static>(&mut self, event: &ResponseEvent<T>) {
        match event {
            ResponseEvent::Usage(usage) => self.usage = Some(usage.into()),
            ResponseEvent::Rejected { choice: None | Some(0), diagnostic, .. }
                if DataLoss::is_failure(diagnostic) =>
            {
                self.events.open_step();
                self.fail_with(diagnostic.message.clone(), diagnostic.error_code().map(str::to_owned));
            }
            event => {
                self.steps.push(event, &mut self.events);
                // A record that cannot be serialized.
                if let Some(failure) = self.steps.failure().cloned() {
                    self.fail_with(failure.message, failure.code);
                }
            }
        }
    }

    /// Writes any other event, such as a [`StateSnapshot`](AgUiEvent::StateSnapshot) or one of the
    /// [application](AgUiEvent::Custom).
    pub fn send(&mut self, event: AgUiEvent) {
        self.events.send(event);
    }

    /// Begins the next step, and ends the one before. A step is a response of the model, with the results of its tools.
    pub fn start_step(&mut self) {
        self.end_step();
        self.steps.next_response();
        self.events.open_step();
    }

    /// Ends the response of the current step: closes its messages and calls. The results of its tools may follow.
    pub fn end_response(&mut self) {
        self.steps.close(&mut self.events);
        if let Some(usage) = self.usage.take() {
            self.events.count(usage);
        }
    }

    /// Writes the result of a tool: of a call in this run.
    pub fn tool_result(&mut self, call: &ToolCall, content: impl Into<String>) {
        let (id, _) = self.steps.ids_mut().next_result(call);
        self.events.result(id, content.into());
    }

    /// Writes the state, complete. Changes of it may follow.
    pub fn state(&mut self, snapshot: Raw) {
        self.send(AgUiEvent::StateSnapshot { snapshot });
    }

    /// Notes that the run ends with an error. [`finish`](Self::finish) writes it. The first error counts.
    pub fn fail(&mut self, error: &(dyn Error + 'static)) {
        self.fail_with(error.to_string(), None);
    }

    fn fail_with(&mut self, message: String, code: Option<String>) {
        let shows = self.shows_errors;
        self.failure
            .get_or_insert_with(|| if shows { (message, code) } else { (MASKED_ERROR.to_owned(), None) });
    }

    /// Ends the run. The calls without a result are for the front end.
    pub fn finish(&mut self) {
        if self.events.is_ended() {
            return;
        }
        self.end_step();
        self.events.finish(self.failure.take());
    }

    fn end_step(&mut self) {
        self.end_response();
        self.events.end_step();
    }
}

impl fmt::Debug for EventWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventWriter").field("steps", &self.steps).finish_non_exhaustive()
    }
}
