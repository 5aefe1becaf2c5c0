//! The ids of calls and results as they are sent: each call of a conversation has one of its own.

use std::collections::{HashMap, HashSet, VecDeque};

use super::history::HistoryRules;

/// The ids of the messages so far. Those of a response may repeat earlier ones: synthetic ids are unique within a response
/// only, and so are the ids of some servers. A repeated id gets a number, which depends on earlier messages alone, so that
/// what was sent once stays the same in later requests.
#[derive(Default)]
pub(super) struct SentIds {
    used: HashSet<String>,
    latest: HashMap<String, Latest>,
}

/// The calls that results with an id are for.
#[derive(Default)]
struct Latest {
    /// The message with the calls.
    message: usize,
    /// How many calls of the conversation have the id.
    count: usize,
    /// The ids sent for this one: several if the message repeats it.
    sent: VecDeque<String>,
}

impl SentIds {
    /// The id that is sent for a call of this message.
    pub(super) fn of_call(&mut self, rules: &HistoryRules, message: usize, id: &str) -> String {
        let latest = self.latest.entry(id.to_owned()).or_default();
        if latest.message != message {
            latest.message = message;
            latest.sent.clear();
        }
        latest.count += 1;
        let first = rules.id(id);
        let mut sent = match latest.count {
            1 => first.clone().into_owned(),
            count => rules.id(&format!("{first}_{count}")).into_owned(),
        };
        // Another call may have that id, too.
        while !self.used.insert(sent.clone()) {
            latest.count += 1;
            sent = rules.id(&format!("{first}_{}", latest.count)).into_owned();
        }
        latest.sent.push_back(sent.clone());
        sent
    }

    /// The id that is sent for a result: that of the latest call with its id. If a message repeats the id, the results are
    /// in the order of the calls.
    pub(super) fn of_result(&mut self, rules: &HistoryRules, id: &str) -> String {
        match self.latest.get_mut(id).map(|latest| &mut latest.sent) {
            Some(sent) if sent.len() > 1 => sent.pop_front().expect("it has several"),
            Some(sent) => sent[0].clone(),
            None => rules.id(id).into_owned(),
        }
    }
}
