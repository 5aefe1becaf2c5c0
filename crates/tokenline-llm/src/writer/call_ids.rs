//! The ids of tool calls, as the provider and as the client know them.

use std::collections::{HashMap, HashSet, VecDeque};

use tokenline_core::ToolCall;
use tokenline_core::adapter::SYNTHETIC_ID_PREFIX;

/// The ids of the calls of a message, as a client knows them: those of the provider, unless one is missing or repeated. A
/// message may be made of several responses, whose synthetic ids are the same.
#[derive(Debug)]
pub struct CallIds {
    made_ids: MadeIds,
    used: HashSet<String>,
    /// The number of ids made up.
    made: u64,
    /// The calls of the current response that have ended, by the provider's id or, without one, by their own.
    ended: HashMap<String, EndedCalls>,
    has_text_calls: bool,
    latest: String,
}

/// How an id is made up.
#[derive(Debug)]
enum MadeIds {
    /// `call_7f3a_1`, also in place of synthetic ids: the client does not know of these.
    WithPrefix(String),
    /// `synthetic_1_2`, `call_3`: the provider's id, and a number.
    WithNumber,
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
    id: String,
    is_in_text: bool,
    /// The reject is its result.
    is_rejected: bool,
}

impl CallIds {
    /// No ids so far. Ids that are made up, also in place of synthetic ones, begin with `prefix`; they are as unique as it is.
    pub fn with_prefix(prefix: impl Into<String>) -> Self {
        Self::new(MadeIds::WithPrefix(prefix.into()))
    }

    /// No ids so far. Synthetic ids stay, so that they are known when they come back; repeated ones get a number.
    #[must_use]
    pub fn with_synthetic() -> Self {
        Self::new(MadeIds::WithNumber)
    }

    fn new(made_ids: MadeIds) -> Self {
        Self {
            made_ids,
            used: HashSet::new(),
            made: 0,
            ended: HashMap::new(),
            has_text_calls: false,
            latest: String::new(),
        }
    }

    /// The id of the next call: the provider's, if there is one and no call has it.
    pub(super) fn next(&mut self, provided: Option<&str>) -> String {
        let provided = provided.filter(|id| !id.is_empty());
        let kept = provided.filter(|id| match self.made_ids {
            MadeIds::WithPrefix(_) => !id.starts_with(SYNTHETIC_ID_PREFIX),
            MadeIds::WithNumber => true,
        });
        if let Some(id) = kept
            && self.used.insert(id.to_owned())
        {
            return id.to_owned();
        }
        loop {
            self.made += 1;
            let id = match &self.made_ids {
                MadeIds::WithPrefix(prefix) => format!("{prefix}{}", self.made),
                MadeIds::WithNumber => format!("{}_{}", provided.unwrap_or("call"), self.made),
            };
            if self.used.insert(id.clone()) {
                return id;
            }
        }
    }

    /// A call has ended, which the client knows by this id.
    pub(super) fn end(&mut self, id: &str, provided: Option<&str>, is_in_text: bool, is_rejected: bool) {
        self.has_text_calls |= is_in_text;
        id.clone_into(&mut self.latest);
        let same = self.ended.entry(provided.unwrap_or(id).to_owned()).or_default();
        same.calls.push(EndedCall { id: id.to_owned(), is_in_text, is_rejected });
    }

    /// The next response begins.
    pub(super) fn next_response(&mut self) {
        self.ended.clear();
        self.has_text_calls = false;
    }

    /// The id of the call that ended last; empty if there is none.
    #[must_use]
    pub fn latest(&self) -> &str {
        &self.latest
    }

    /// Whether the model wrote a call of the response in its text.
    #[must_use]
    pub fn has_text_calls(&self) -> bool {
        self.has_text_calls
    }

    /// A call gets a result. Returns the id that the client knows it by, and whether the model wrote it in its text. Calls with
    /// the same id get theirs in order. A call from elsewhere has its own id.
    pub fn next_result(&mut self, call: &ToolCall) -> (String, bool) {
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
        (ended.id.clone(), ended.is_in_text)
    }

    /// The ids of the response's native calls, by the provider's id, in order; `with_rejected` says whether rejected ones
    /// are among them.
    fn shown(&self, with_rejected: bool) -> HashMap<String, VecDeque<String>> {
        let shown = self.ended.iter().map(|(provided, ended)| {
            let native = ended.calls.iter().filter(|call| !call.is_in_text);
            let native = native.filter(|call| with_rejected || !call.is_rejected);
            (provided.clone(), native.map(|call| call.id.clone()).collect())
        });
        shown.collect()
    }

    /// Gives the native calls of a message the ids that the client knows them by.
    pub fn show<'a>(&mut self, calls: impl Iterator<Item = &'a mut ToolCall>) {
        let mut shown = self.shown(true);
        for call in calls {
            let ids = call.call_id.as_ref().and_then(|id| shown.get_mut(id));
            let id = ids.and_then(VecDeque::pop_front);
            call.call_id = Some(id.unwrap_or_else(|| self.next(call.call_id.as_deref())));
        }
    }

    /// The ids of the calls that were delivered.
    pub(super) fn delivered_ids(&self) -> DeliveredIds {
        DeliveredIds(self.shown(false))
    }
}

/// The ids of delivered calls that are not taken yet, by the provider's id.
pub(super) struct DeliveredIds(HashMap<String, VecDeque<String>>);

impl DeliveredIds {
    /// The id by which the client knows a native call of the message. `None` if it was not delivered.
    pub(super) fn take(&mut self, call: &ToolCall) -> Option<String> {
        self.0.get_mut(call.call_id.as_deref()?)?.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_the_provider_and_unique() {
        let provided = [Some("a"), None, Some("a"), Some(""), Some("x4"), Some("synthetic_1"), Some("b")];
        let of = |mut ids: CallIds| provided.map(|id| ids.next(id));
        assert_eq!(of(CallIds::with_prefix("x")), ["a", "x1", "x2", "x3", "x4", "x5", "b"]);
        let numbered = ["a", "call_1", "a_2", "call_3", "x4", "synthetic_1", "b"];
        assert_eq!(of(CallIds::with_synthetic()), numbered);
    }
}
