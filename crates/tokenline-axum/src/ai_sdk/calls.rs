//! The ids of tool calls in a message.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use tokenline::{Origin, RejectedCall, ToolCall};

/// The ids of a message's tool calls as the page knows them. They are those of the provider, unless one repeats:
/// synthetic ids are unique within a response only, and a message may show several responses.
#[derive(Debug, Default)]
pub(super) struct CallIds {
    /// All ids of the message.
    used: HashSet<String>,
    /// Calls that have begun and not ended, by number.
    open: BTreeMap<u64, OpenCall>,
    /// The calls of the step that have ended, by the provider's id or, without one, by their own.
    ended: HashMap<String, EndedCalls>,
    has_text_calls: bool,
    /// The number of ids made up.
    made: u64,
}

#[derive(Debug)]
struct OpenCall {
    shown_id: String,
    name: String,
}

impl OpenCall {
    fn missing(self) -> MissingCall {
        MissingCall { tool_call_id: self.shown_id, tool_name: self.name }
    }
}

/// Calls with the same id, in order.
#[derive(Debug, Default)]
struct EndedCalls {
    calls: Vec<EndedCall>,
    /// The number of calls at the start that have a result.
    with_result: usize,
}

#[derive(Debug)]
struct EndedCall {
    shown_id: String,
    is_in_text: bool,
    /// The reject is its result.
    is_rejected: bool,
}

/// Where a call of a response is.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallPlace {
    /// Its number in the response.
    pub(super) number: Option<u64>,
    pub(super) is_in_text: bool,
}

impl CallPlace {
    pub(super) fn rejected(number: Option<u64>, call: &RejectedCall) -> Self {
        Self { number, is_in_text: call.diagnostic.origin == Origin::Text }
    }
}

/// A call that began and has no end.
pub(super) struct MissingCall {
    pub(super) tool_call_id: String,
    pub(super) tool_name: String,
}

impl CallIds {
    /// Starts the next response.
    pub(super) fn start_step(&mut self) {
        self.open.clear();
        self.ended.clear();
        self.has_text_calls = false;
    }

    /// A call begins. Returns the id to show.
    pub(super) fn begin(&mut self, number: u64, call_id: Option<&str>, name: &str) -> String {
        let shown_id = self.unused(call_id);
        let call = OpenCall { shown_id: shown_id.clone(), name: name.to_owned() };
        self.open.insert(number, call);
        shown_id
    }

    /// The id of an open call.
    pub(super) fn open_id(&self, number: u64) -> Option<String> {
        self.open.get(&number).map(|call| call.shown_id.clone())
    }

    /// A call ends. Returns the id to show.
    pub(super) fn end(&mut self, place: CallPlace, call_id: Option<&str>, is_rejected: bool) -> String {
        let CallPlace { number, is_in_text } = place;
        self.has_text_calls |= is_in_text;
        let open = number.and_then(|number| self.open.remove(&number));
        let shown_id = open.map_or_else(|| self.unused(call_id), |call| call.shown_id);
        let same = self.ended.entry(call_id.unwrap_or(&shown_id).to_owned()).or_default();
        same.calls.push(EndedCall { shown_id: shown_id.clone(), is_in_text, is_rejected });
        shown_id
    }

    /// Takes the calls that have not ended.
    pub(super) fn take_open(&mut self) -> Vec<MissingCall> {
        std::mem::take(&mut self.open).into_values().map(OpenCall::missing).collect()
    }

    /// Takes this call, if it has not ended.
    pub(super) fn take_one(&mut self, number: u64) -> Option<MissingCall> {
        self.open.remove(&number).map(OpenCall::missing)
    }

    /// A call gets a result. Returns the id that the page knows it by, and whether the model wrote it in its text. Calls
    /// with the same id get theirs in order. A call from elsewhere has its own id.
    pub(super) fn next_result(&mut self, call: &ToolCall) -> (String, bool) {
        let own = call.call_id.as_deref().unwrap_or_default();
        let Some(EndedCalls { calls, with_result }) = self.ended.get_mut(own) else {
            return (own.to_owned(), false);
        };
        while calls.get(*with_result).is_some_and(|call| call.is_rejected) {
            *with_result += 1;
        }
        // Another result of the last one replaces the one before.
        let ended = &calls[(*with_result).min(calls.len() - 1)];
        *with_result += 1;
        (ended.shown_id.clone(), ended.is_in_text)
    }

    /// Gives the native calls of a message the ids that the page knows them by.
    pub(super) fn show<'a>(&mut self, calls: impl Iterator<Item = &'a mut ToolCall>) {
        let mut shown: HashMap<String, VecDeque<String>> = HashMap::new();
        for (id, ended) in &self.ended {
            let native = ended.calls.iter().filter(|call| !call.is_in_text);
            shown.insert(id.clone(), native.map(|call| call.shown_id.clone()).collect());
        }
        for call in calls {
            let ids = call.call_id.as_ref().and_then(|id| shown.get_mut(id));
            let id = ids.and_then(VecDeque::pop_front);
            call.call_id = Some(id.unwrap_or_else(|| self.unused(call.call_id.as_deref())));
        }
    }

    pub(super) fn has_text_calls(&self) -> bool {
        self.has_text_calls
    }

    fn unused(&mut self, call_id: Option<&str>) -> String {
        let mut id = match call_id {
            Some(id) if !self.used.contains(id) => id.to_owned(),
            _ => String::new(),
        };
        while id.is_empty() || self.used.contains(&id) {
            self.made += 1;
            id = format!("{}_{}", call_id.unwrap_or("call"), self.made);
        }
        self.used.insert(id.clone());
        id
    }
}
