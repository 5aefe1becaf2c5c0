//! The events of a run that are not taken yet, and the steps that they are written from.

use std::collections::VecDeque;
use std::mem;

use tokenline::json::Raw;
use tokenline::llm::writer::{PartKind, Step, StepWriter};

use super::{AgUiEvent, AgUiRole, RunOutcome, TokenUsage};
use crate::ai_sdk::error_text;

pub(super) struct Events {
    queue: VecDeque<AgUiEvent>,
    thread_id: String,
    run_id: String,
    stage: Stage,
    /// The number of steps so far.
    steps: u64,
    has_step: bool,
    /// The number of messages so far.
    messages: u64,
    /// The message that calls belong to: the latest text of the step.
    parent: Option<String>,
    /// The calls of the response that have started, by their index, and whether they are open.
    calls: Vec<(String, bool)>,
    /// The calls without a result.
    pending: Vec<String>,
    usage: Vec<TokenUsage>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Before,
    Started,
    Ended,
}

impl Events {
    pub(super) fn new(thread_id: String, run_id: String) -> Self {
        Self {
            queue: VecDeque::new(),
            thread_id,
            run_id,
            stage: Stage::Before,
            steps: 0,
            has_step: false,
            messages: 0,
            parent: None,
            calls: Vec::new(),
            pending: Vec::new(),
            usage: Vec::new(),
        }
    }

    pub(super) fn next(&mut self) -> Option<AgUiEvent> {
        self.queue.pop_front()
    }

    pub(super) fn is_ended(&self) -> bool {
        self.stage == Stage::Ended
    }

    pub(super) fn send(&mut self, event: AgUiEvent) {
        if self.is_ended() {
            return;
        }
        if mem::replace(&mut self.stage, Stage::Started) == Stage::Before {
            let (thread_id, run_id) = (self.thread_id.clone(), self.run_id.clone());
            self.queue.push_back(AgUiEvent::RunStarted { thread_id, run_id });
        }
        self.queue.push_back(event);
    }

    pub(super) fn open_step(&mut self) {
        if !mem::replace(&mut self.has_step, true) {
            self.steps += 1;
            self.calls.clear();
            self.parent = None;
            let step_name = self.step_name();
            self.send(AgUiEvent::StepStarted { step_name });
        }
    }

    pub(super) fn end_step(&mut self) {
        if mem::take(&mut self.has_step) {
            let step_name = self.step_name();
            self.send(AgUiEvent::StepFinished { step_name });
        }
    }

    pub(super) fn count(&mut self, usage: TokenUsage) {
        self.usage.push(usage);
    }

    /// A tool gives a result.
    pub(super) fn result(&mut self, tool_call_id: String, content: String) {
        self.pending.retain(|id| *id != tool_call_id);
        self.messages += 1;
        let message_id = self.message_id();
        self.send(AgUiEvent::ToolCallResult { message_id, tool_call_id, content, role: AgUiRole::Tool });
    }

    /// Ends the run.
    pub(super) fn finish(&mut self, failure: Option<(String, Option<String>)>) {
        let usage = mem::take(&mut self.usage);
        let event = match failure {
            Some((message, code)) => AgUiEvent::RunError { message, code, usage },
            None => {
                let (thread_id, run_id) = (self.thread_id.clone(), self.run_id.clone());
                let outcome = RunOutcome::Success { pending_tool_call_ids: mem::take(&mut self.pending) };
                AgUiEvent::RunFinished { thread_id, run_id, outcome, usage }
            }
        };
        self.send(event);
        self.stage = Stage::Ended;
    }

    fn step_name(&self) -> String {
        format!("step-{}", self.steps)
    }

    /// The id of the latest message: no other run of the thread has it.
    fn message_id(&self) -> String {
        format!("{}-{}", self.run_id, self.messages)
    }

    fn start_part(&mut self, kind: PartKind) {
        self.messages += 1;
        let message_id = self.message_id();
        if kind == PartKind::Reasoning {
            self.send(AgUiEvent::ReasoningStart { message_id: message_id.clone() });
            return self.send(AgUiEvent::ReasoningMessageStart { message_id, role: AgUiRole::Reasoning });
        }
        self.parent = Some(message_id.clone());
        self.send(AgUiEvent::TextMessageStart { message_id, role: AgUiRole::Assistant });
    }

    fn end_part(&mut self, kind: PartKind) {
        let message_id = self.message_id();
        if kind == PartKind::Reasoning {
            self.send(AgUiEvent::ReasoningMessageEnd { message_id: message_id.clone() });
            return self.send(AgUiEvent::ReasoningEnd { message_id });
        }
        self.send(AgUiEvent::TextMessageEnd { message_id });
    }

    fn start_call(&mut self, id: &str, name: &str) {
        let parent_message_id = self.parent.clone();
        let (tool_call_id, tool_call_name) = (id.to_owned(), name.to_owned());
        self.send(AgUiEvent::ToolCallStart { tool_call_id, tool_call_name, parent_message_id });
    }

    /// Ends a call that does not run, with the reason as its result.
    fn reject_call(&mut self, id: &str, name: &str, arguments: Option<&str>, reason: String) {
        match self.calls.iter_mut().find(|(open, is_open)| *is_open && open == id) {
            Some((_, is_open)) => *is_open = false,
            None => {
                self.start_call(id, name);
                // Clients read them as JSON.
                let delta =
                    arguments.filter(|arguments| Raw::new(arguments).is_ok()).unwrap_or("{}").to_owned();
                self.send(AgUiEvent::ToolCallArgs { tool_call_id: id.to_owned(), delta });
            }
        }
        self.send(AgUiEvent::ToolCallEnd { tool_call_id: id.to_owned() });
        self.result(id.to_owned(), reason);
    }
}

impl StepWriter for Events {
    fn write(&mut self, _: u64, step: Step<'_>) {
        match step {
            Step::Start => self.open_step(),
            Step::PartStart(kind) => self.start_part(kind),
            Step::PartDelta(PartKind::Reasoning, delta) => {
                let (message_id, delta) = (self.message_id(), delta.to_owned());
                self.send(AgUiEvent::ReasoningMessageContent { message_id, delta });
            }
            Step::PartDelta(_, delta) => {
                let (message_id, delta) = (self.message_id(), delta.to_owned());
                self.send(AgUiEvent::TextMessageContent { message_id, delta });
            }
            Step::PartEnd(kind) => self.end_part(kind),
            Step::Record(record) => {
                self.send(AgUiEvent::Custom { name: "record".to_owned(), value: record.clone() });
            }
            Step::CallStart { index, id, name } => {
                self.calls.resize(index as usize + 1, (String::new(), false));
                self.calls[index as usize] = (id.to_owned(), true);
                self.start_call(id, name);
            }
            Step::CallArguments { index, text } => {
                if let Some((id, _)) = self.calls.get(index as usize) {
                    let (tool_call_id, delta) = (id.clone(), text.to_owned());
                    self.send(AgUiEvent::ToolCallArgs { tool_call_id, delta });
                }
            }
            Step::CallEnd { index, id, arguments, name } => {
                match self.calls.get_mut(index as usize).filter(|(open, is_open)| *is_open && open == id) {
                    Some((_, is_open)) => *is_open = false,
                    None => {
                        self.start_call(id, name);
                        let delta = arguments.to_single_line().into_owned();
                        self.send(AgUiEvent::ToolCallArgs { tool_call_id: id.to_owned(), delta });
                    }
                }
                self.pending.push(id.to_owned());
                self.send(AgUiEvent::ToolCallEnd { tool_call_id: id.to_owned() });
            }
            Step::CallRejected { id, name, call } => {
                self.reject_call(id, name, Some(&call.received), error_text(call));
            }
            Step::CallDiscarded { id, name, reason } => self.reject_call(id, name, None, reason.to_owned()),
            // The ends are those of the run.
            _ => {}
        }
    }
}
