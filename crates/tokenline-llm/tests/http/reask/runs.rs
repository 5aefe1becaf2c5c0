//! Random runs against an oracle.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokenline_core::{Reasks, Recovery, RepetitionLimits};
use tokenline_llm::client::{LlmClient, ReaskOptions, extract};
use tokenline_llm::{Provider, ResponseEvent, ResponseOptions};

use super::{Item, asked, request, schema, sse};
use crate::model::Random;
use crate::server::{Request, ScriptedServer, events};
use crate::{client, soon};

const RUNS: u64 = 1000;

/// The model's reply in place of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reply {
    Right,
    InAFence,
    InASentence,
    Schema,
    Syntax,
    OwnRule,
    UnknownTool,
    Prose,
    Twice,
    /// A right record of another item beside a wrong one.
    AnotherToo,
    Loop,
    Cut,
}

/// Those that a list, or the calls of a response, may have.
const FIRST: [Reply; 6] =
    [Reply::Right, Reply::Right, Reply::Schema, Reply::Syntax, Reply::OwnRule, Reply::UnknownTool];
const LATER: [Reply; 11] = [
    Reply::Right,
    Reply::InAFence,
    Reply::InASentence,
    Reply::Schema,
    Reply::Syntax,
    Reply::OwnRule,
    Reply::Prose,
    Reply::Twice,
    Reply::AnotherToo,
    Reply::Loop,
    Reply::Cut,
];

impl Reply {
    fn is_right(self) -> bool {
        matches!(self, Self::Right | Self::InAFence | Self::InASentence)
    }

    /// The item's JSON.
    fn json(self, id: u64, attempt: usize) -> String {
        let tag = format!("\"id\":{id},\"tag\":\"item-{id}-\",\"try\":{attempt}");
        match self {
            Self::Schema => format!("{{{tag},\"n\":\"seven\"}}"),
            Self::Syntax => format!("{{{tag},\"n\":NaN}}"),
            Self::OwnRule => format!("{{{tag},\"n\":1000}}"),
            _ => format!("{{{tag},\"n\":7}}"),
        }
    }

    /// The text of a response with this record.
    fn text(self, id: u64, attempt: usize) -> String {
        let json = self.json(id, attempt);
        match self {
            Self::InAFence => format!("Here you are:\n```json\n{json}\n```\n"),
            Self::InASentence => format!("The record is {json}, as you wished."),
            Self::Prose => "I am sorry, I cannot do that.".to_owned(),
            Self::Twice => format!("{json}\n{json}\n"),
            Self::AnotherToo => {
                format!("{}\n{}\n", Self::Right.json(0, attempt), Self::Schema.json(id, attempt))
            }
            Self::Loop => "Let me think about that again. ".repeat(100),
            Self::Cut => json[..json.len() - 3].to_owned(),
            _ => json,
        }
    }

    /// The native call of this item, as a member of `tool_calls`.
    fn call(self, index: usize, id: u64, attempt: usize) -> Value {
        let name = if self == Self::UnknownTool { "nonsense" } else { "put" };
        let arguments = match self {
            Self::Cut => self.text(id, attempt),
            _ => self.json(id, attempt),
        };
        json!({ "index": index, "id": format!("c{id}-{attempt}"), "function": { "name": name, "arguments": arguments } })
    }
}

/// A run: what the model writes, how it is asked again, and what must come of it.
struct Run {
    of_calls: bool,
    plans: BTreeMap<u64, Vec<Reply>>,
    attempts: u32,
    reask: ReaskOptions,
    max_requests: Option<u64>,
    is_in_place: bool,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let of_calls = random.below(3) == 0;
        let attempts = random.below(4) as u32;
        let mut plans = BTreeMap::new();
        for id in 0..4 + random.below(12) as u64 {
            let first = FIRST[random.below(if of_calls { 6 } else { 5 })];
            // An own rule is for records.
            let first = if of_calls && first == Reply::OwnRule { Reply::Schema } else { first };
            let later = (0..attempts).map(|_| {
                loop {
                    let reply = LATER[random.below(LATER.len())];
                    if !of_calls || !matches!(reply, Reply::OwnRule | Reply::InAFence | Reply::InASentence) {
                        break reply;
                    }
                }
            });
            let plan: Vec<Reply> = [first].into_iter().chain(later).collect();
            plans.insert(id, plan);
        }
        let mut reask = ReaskOptions::new(attempts).max_in_flight(1 + random.below(4));
        let is_in_place = random.below(2) == 0;
        if is_in_place {
            reask = reask.in_place();
        }
        if random.below(3) == 0 {
            reask = reask.item_only();
        }
        let max_requests = (random.below(4) == 0).then(|| random.below(6) as u64);
        if let Some(max) = max_requests {
            reask = reask.max_requests(max);
        }
        Self { of_calls, plans, attempts, reask, max_requests, is_in_place }
    }

    /// The request at which an item is right, 0 for the first response, and the further requests for it. The same
    /// response again is the last.
    fn outcome(plan: &[Reply]) -> (Option<usize>, usize) {
        for (at, reply) in plan.iter().enumerate() {
            let is_same = matches!(reply, Reply::Prose | Reply::Loop) && plan[at - 1] == *reply;
            if reply.is_right() || is_same {
                return (reply.is_right().then_some(at), at);
            }
        }
        (None, plan.len() - 1)
    }

    fn delivered(&self) -> BTreeMap<u64, usize> {
        self.plans.iter().filter_map(|(id, plan)| Some((*id, Self::outcome(plan).0?))).collect()
    }

    /// The further requests if there is no bound on them.
    fn requests(&self) -> u64 {
        self.plans.values().map(|plan| Self::outcome(plan).1 as u64).sum()
    }

    /// The wire of the first response.
    fn first(&self) -> String {
        if self.of_calls {
            let calls: Vec<Value> =
                self.plans.iter().map(|(id, plan)| plan[0].call(*id as usize, *id, 0)).collect();
            return sse(&json!({ "tool_calls": calls }), "tool_calls");
        }
        let lines: String = self.plans.iter().map(|(id, plan)| plan[0].text(*id, 0) + "\n").collect();
        sse(&json!({ "content": lines }), "stop")
    }

    /// The wire of the response to a further request for an item.
    fn again(&self, id: u64, attempt: usize) -> String {
        let reply = self.plans[&id][attempt];
        let reason = match reply {
            Reply::Cut => "length",
            _ if self.of_calls => "tool_calls",
            _ => "stop",
        };
        if !self.of_calls || matches!(reply, Reply::Prose | Reply::Loop) {
            return sse(&json!({ "content": reply.text(id, attempt) }), reason);
        }
        let mut calls = vec![reply.call(0, id, attempt)];
        if matches!(reply, Reply::Twice | Reply::AnotherToo) {
            let second = if reply == Reply::Twice { reply } else { Reply::Schema };
            let mut other = second.call(1, id, attempt);
            other["id"] = json!("other");
            calls.push(other);
        }
        sse(&json!({ "tool_calls": calls }), reason)
    }
}

/// The outcome of a run.
#[derive(Default)]
struct Seen {
    delivered: Vec<(u64, u32)>,
    rejected: Vec<String>,
}

async fn read(client: &LlmClient, run: &Run, reask: ReaskOptions) -> (Seen, Reasks) {
    let options = |options: ResponseOptions| {
        options.validator(schema()).stop_on_repetition(RepetitionLimits::default())
    };
    let rule =
        |item: &Item| if item.n < 100 { Ok(()) } else { Err(format!("n of {} is too large", item.id)) };
    let extraction = extract::<Item>(client, request(run.of_calls))
        .with_options(options)
        .validated_with(rule)
        .reask(reask);
    let mut events = soon(extraction.send()).await.expect("a response");
    let mut seen = Seen::default();
    while let Some(event) = soon(events.next()).await {
        match event.expect("no error") {
            ResponseEvent::Record { record, .. } => {
                let attempts = record.recovered.attempts();
                assert_eq!(record.recovered.contains(Recovery::Reasked), attempts > 0);
                assert_eq!(record.line, 1 + record.value.id, "the line of the original");
                seen.delivered.push((record.value.id, attempts));
            }
            ResponseEvent::ToolCall { call, .. } => {
                let item: Item = call.parameters.deserialize().expect("an item");
                seen.delivered.push((item.id, call.recovered.attempts()));
            }
            ResponseEvent::Rejected { diagnostic, .. } => seen.rejected.push(diagnostic.to_string()),
            ResponseEvent::RejectedCall { call, .. } => seen.rejected.push(call.diagnostic.to_string()),
            _ => {}
        }
    }
    let report = events.report();
    assert_eq!(report.records() + report.tool_calls(), seen.delivered.len() as u64);
    assert_eq!(report.rejected(), seen.rejected.len() as u64);
    assert!(report.is_complete());
    (seen, report.reasks())
}

#[tokio::test]
async fn what_is_right_in_the_end_is_delivered_once_and_nothing_else() {
    let (mut reasked, mut failed) = (0, 0);
    for seed in 0..RUNS {
        let run = Arc::new(Run::new(seed));
        let counts = Mutex::new(HashMap::<u64, usize>::new());
        let script = {
            let run = Arc::clone(&run);
            move |number: usize, request: &Request| {
                if number == 0 {
                    return events(&run.first());
                }
                let id = asked(request).expect("an item");
                let mut counts = counts.lock().expect("a lock");
                let attempt = counts.entry(id).or_default();
                *attempt += 1;
                events(&run.again(id, *attempt))
            }
        };
        let server = ScriptedServer::new(script).await;
        let client = client(Provider::OpenAiChat, &server.url()).build().expect("a client");
        let (seen, counts) = read(&client, &run, run.reask.clone()).await;

        let expected = run.delivered();
        let delivered: BTreeMap<u64, u32> = seen.delivered.iter().copied().collect();
        assert_eq!(delivered.len(), seen.delivered.len(), "seed {seed}: none twice");
        assert_eq!(server.requests() as u64, 1 + counts.requests, "seed {seed}");
        let first: BTreeSet<u64> = expected.iter().filter(|(_, at)| **at == 0).map(|(id, _)| *id).collect();
        assert!(first.iter().all(|id| delivered.get(id) == Some(&0)), "seed {seed}");
        match run.max_requests {
            Some(max) => {
                assert!(counts.requests <= max, "seed {seed}");
                assert!(
                    delivered.iter().all(|(id, at)| expected.get(id) == Some(&(*at as usize))),
                    "seed {seed}"
                );
            }
            None => {
                let expected: BTreeMap<u64, u32> =
                    expected.iter().map(|(id, at)| (*id, *at as u32)).collect();
                assert_eq!(delivered, expected, "seed {seed}: {:?}\n{:?}", run.plans, seen.rejected);
                assert_eq!(counts.requests, run.requests(), "seed {seed}: {:?}", run.plans);
                let asked_for = |reject: &String| run.attempts == 0 || reject.contains("; asked again: ");
                assert!(seen.rejected.iter().all(asked_for), "seed {seed}: {:?}", seen.rejected);
            }
        }
        let total = run.plans.len();
        assert_eq!(delivered.len() + seen.rejected.len(), total, "seed {seed}: {:?}", seen.rejected);
        assert_eq!(counts.delivered as usize, delivered.values().filter(|at| **at > 0).count());
        assert_eq!(counts.output_tokens, 5 * counts.requests, "seed {seed}");
        if run.is_in_place {
            assert!(seen.delivered.is_sorted(), "seed {seed}: {:?}", seen.delivered);
        }
        reasked += counts.delivered;
        failed += seen.rejected.len();
    }
    println!("{RUNS} runs: {reasked} delivered after they were asked for again, {failed} rejected");
    assert!(reasked > 1000 && failed > 1000);
}
