//! What is rejected is asked for again, beside the response that goes on.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use tokenline_core::json::Raw;
use tokenline_core::{Options, Recovery, RepetitionLimits, ToolDefinition};
use tokenline_llm::client::{LlmClient, ReaskOptions, extract};
use tokenline_llm::request::ChatRequest;
use tokenline_llm::{ContinuationOptions, Provider, ResponseError, ResponseEvent, ResponseOptions, TextMode};
use tokenline_schema::{SchemaValidator, ToolSet};

use crate::model::Random;
use crate::server::{Request, ScriptedServer, Step, chunk, events, head};
use crate::{client, soon};

const RUNS: u64 = 1000;

#[derive(Debug, Deserialize)]
struct Item {
    id: u64,
    n: u64,
}

/// What the model writes in place of an item.
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

fn sse(delta: &Value, reason: &str) -> String {
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 });
    let chunk = json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] });
    format!("data: {chunk}\n\ndata: {}\n\ndata: [DONE]\n\n", json!({ "choices": [], "usage": usage }))
}

/// The item that a further request is for.
fn asked(request: &Request) -> Option<u64> {
    let rest = request.body.split("item-").nth(1)?;
    rest.split('-').next()?.parse().ok()
}

fn schema() -> SchemaValidator {
    r#"{"required":["id","n"],"properties":{"id":{"type":"integer"},"n":{"type":"integer"}}}"#
        .parse()
        .expect("a schema")
}

fn request(of_calls: bool) -> ChatRequest {
    let request = ChatRequest::new("m").system("Put all of it.").user("What is in a cell?");
    if !of_calls {
        return request;
    }
    let parameters = Raw::new(schema_text()).expect("JSON");
    request.tools(ToolSet::new(&[ToolDefinition::new("put").with_parameters(parameters)]).expect("tools"))
}

fn schema_text() -> &'static str {
    r#"{"type":"object","required":["id","n"],"properties":{"id":{"type":"integer"},"n":{"type":"integer"}}}"#
}

/// What was seen of a run.
#[derive(Default)]
struct Seen {
    delivered: Vec<(u64, u32)>,
    rejected: Vec<String>,
}

async fn read(client: &LlmClient, run: &Run, reask: ReaskOptions) -> (Seen, tokenline_core::Reasks, u64) {
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
    (seen, report.reasks(), report.rejected())
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
        let (seen, counts, _) = read(&client, &run, run.reask.clone()).await;

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

/// A server whose first response is this wire, and every further one what `again` makes of the number of the request.
async fn server(first: String, again: impl Fn(usize) -> Vec<Step> + Send + Sync + 'static) -> ScriptedServer {
    ScriptedServer::new(move |number, _| if number == 0 { events(&first) } else { again(number) }).await
}

fn list(lines: &str) -> String {
    sse(&json!({ "content": lines }), "stop")
}

fn client_of(server: &ScriptedServer) -> LlmClient {
    client(Provider::OpenAiChat, &server.url()).build().expect("a client")
}

const ONE_WRONG: &str =
    "{\"id\":0,\"n\":1}\n{\"id\":1,\"n\":\"x\"}\n{\"id\":2,\"n\":3}\n{\"id\":3,\"n\":4}\n";

#[tokio::test]
async fn what_is_right_does_not_wait() {
    let server = server(list(ONE_WRONG), |_| vec![head("text/event-stream"), Step::Hold]).await;
    let mut items = soon(extract::<Item>(&client_of(&server), request(false)).reask(2).send())
        .await
        .expect("a response")
        .records();
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(soon(items.next()).await.expect("a record").expect("a record").value.id);
    }
    assert_eq!(ids, [0, 2, 3]);
    // The further request has been sent, and is still open: dropping the stream closes it.
    tokio::select! {
        item = items.next() => panic!("{item:?}"),
        _ = server.until(|log| log.requests.len() == 2) => {}
    }
    drop(items);
    server.until(|log| log.open == 0).await;
    assert_eq!(server.requests(), 2);
}

#[tokio::test]
async fn nothing_is_asked_again_unless_asked_for() {
    let server = ScriptedServer::always(|| events(&list(ONE_WRONG))).await;
    let extracted =
        soon(extract::<Item>(&client_of(&server), request(false)).list()).await.expect("a response");
    assert_eq!((extracted.records.len(), extracted.report.rejected()), (3, 1));
    let again = extract::<Item>(&client_of(&server), request(false)).reask(0);
    assert_eq!(soon(again.list()).await.expect("a response").report.reasks().requests, 0);
    assert_eq!(server.requests(), 2);
}

#[tokio::test]
async fn a_reject_has_the_reason_of_each_request_and_the_same_again_is_the_last() {
    let reject = |text: &'static str, reask: ReaskOptions| async move {
        let again = move |number: usize| events(&list(text.split('|').nth(number - 1).unwrap_or(text)));
        let server = server(list(ONE_WRONG), again).await;
        let extraction = extract::<Item>(&client_of(&server), request(false)).reask(reask);
        let extracted = soon(extraction.list()).await.expect("a response");
        let reject = extracted.report.rejects().next().expect("a reject").clone();
        assert_eq!(reject.message, "invalid type: a string, expected u64");
        assert_eq!(extracted.report.reasks().asked, u64::from(server.requests() > 1));
        (reject.attempts().join("; "), server.requests() - 1)
    };
    let wrong = "invalid type: a string, expected u64 (at /n)";
    assert_eq!(
        reject("{\"id\":1,\"n\":\"x\"}", ReaskOptions::new(3)).await,
        (format!("{wrong}; no more, because the model wrote the same again"), 1)
    );
    assert_eq!(
        reject("No.|{\"id\":1,\"n\":-1}", ReaskOptions::new(2)).await,
        ("the response had no record; invalid value: an integer, expected u64 (at /n)".to_owned(), 2)
    );
    // Without a further request, because the bound is 0; and after one, whose 5 tokens are the bound.
    assert_eq!(
        reject("No.", ReaskOptions::new(2).max_requests(0)).await,
        ("no more, because the limit of requests is reached".to_owned(), 0)
    );
    assert_eq!(
        reject("No.", ReaskOptions::new(2).max_output_tokens(5)).await,
        ("the response had no record; no more, because the limit of output tokens is reached".to_owned(), 1)
    );
}

#[tokio::test]
async fn a_further_request_has_the_conversation_or_only_the_item() {
    let sent = |reask: ReaskOptions| async move {
        let server = server(list(ONE_WRONG), |_| events(&list("{\"id\":1,\"n\":2}"))).await;
        let extraction = extract::<Item>(&client_of(&server), request(false).max_tokens(9)).reask(reask);
        assert_eq!(soon(extraction.list()).await.expect("a response").records.len(), 4);
        server.log().requests[1].json()
    };
    let body = sent(ReaskOptions::new(1).model("larger")).await;
    let roles: Vec<_> =
        body["messages"].as_array().expect("messages").iter().map(|its| &its["role"]).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
    assert_eq!((&body["model"], &body["max_tokens"]), (&json!("larger"), &json!(9)));
    assert_eq!(body["messages"][2]["content"], "{\"id\":1,\"n\":\"x\"}");
    assert_eq!(
        body["messages"][3]["content"],
        "This record was rejected: invalid type: a string, expected u64 (at /n)\n\n\
         Write this one record again, corrected, and nothing else."
    );
    let body = sent(ReaskOptions::new(1).item_only()).await;
    let roles: Vec<_> =
        body["messages"].as_array().expect("messages").iter().map(|its| &its["role"]).collect();
    assert_eq!(roles, ["system", "user"]);
    assert_eq!(body["model"], "m");
    assert!(body["messages"][1]["content"].as_str().expect("text").contains("{\"id\":1,\"n\":\"x\"}"));
}

#[tokio::test]
async fn quotas_count_what_is_decided() {
    let again = |_| events(&list("{\"id\":1,\"n\":2}"));
    // The reject is not final, so that the budget of 0 holds.
    let server = server(list(ONE_WRONG), again).await;
    let extraction =
        extract::<Item>(&client_of(&server), request(false)).with_options(|its| its.error_budget(0));
    let extracted = soon(extraction.reask(1).list()).await.expect("a response");
    assert!(extracted.error.is_none() && extracted.records.len() == 4, "{extracted:?}");
    // Without asking again it is exceeded.
    let extraction =
        extract::<Item>(&client_of(&server), request(false)).with_options(|its| its.error_budget(0));
    let _ = soon(extraction.list()).await;
    let server = self::server(list(ONE_WRONG), again).await;
    let extraction =
        extract::<Item>(&client_of(&server), request(false)).with_options(|its| its.max_records(2));
    let extracted = soon(extraction.reask(ReaskOptions::new(1).in_place()).list()).await.expect("a response");
    let ids: Vec<_> = extracted.records.iter().map(|record| record.value.id).collect();
    assert_eq!((ids, extracted.report.records()), (vec![0, 1], 2));
}

#[tokio::test]
async fn an_error_comes_after_what_was_asked_for_again() {
    let cut = sse(&json!({ "content": ONE_WRONG }), "stop").replace("data: [DONE]\n\n", "");
    let first = cut.replace("\"finish_reason\":\"stop\"", "\"finish_reason\":null");
    let server = ScriptedServer::new(move |number, _| match number {
        0 => vec![head("text/event-stream"), chunk(&first), Step::Close],
        _ => events(&list("{\"id\":1,\"n\":2}")),
    })
    .await;
    let extraction = extract::<Item>(&client_of(&server), request(false)).reask(1);
    let extracted = soon(extraction.list()).await.expect("a response");
    let ids: BTreeSet<_> = extracted.records.iter().map(|record| record.value.id).collect();
    assert_eq!(ids, BTreeSet::from([0, 1, 2, 3]));
    assert!(matches!(extracted.error, Some(ResponseError::Source(_))), "{:?}", extracted.error);
    assert!(!extracted.report.is_complete());
}

/// Prints how late the records that are right come, with further requests and without.
#[tokio::test]
async fn records_that_are_right_come_no_later() {
    let lines: String = (0..200)
        .map(|id| {
            if id % 10 == 3 {
                format!("{{\"id\":{id},\"n\":\"x\"}}\n")
            } else {
                format!("{{\"id\":{id},\"n\":1}}\n")
            }
        })
        .collect();
    let server = ScriptedServer::new(move |_, request: &Request| {
        let is_first = !request.body.contains("rejected");
        events(&list(if is_first { &lines } else { "{\"id\":3,\"n\":1}" }))
    })
    .await;
    let client = client_of(&server);
    let mut late = [Vec::new(), Vec::new()];
    for round in 0..40 {
        let reask = (round % 2) as u32;
        let extraction = extract::<Item>(&client, request(false)).reask(reask);
        let mut items = soon(extraction.send()).await.expect("a response").records();
        let start = Instant::now();
        let mut last = Duration::ZERO;
        while let Some(item) = soon(items.next()).await {
            if item.expect("a record").recovered.attempts() == 0 {
                last = start.elapsed();
            }
        }
        late[reask as usize].push(last);
    }
    let [without, with] = late.map(|mut times| {
        times.sort();
        times[times.len() / 2]
    });
    println!(
        "the last of 180 records that are right: {without:?} without further requests, {with:?} with 20"
    );
    // Other tests run beside it.
    assert!(with < without + Duration::from_millis(100), "{without:?} {with:?}");
}

/// A line of a list with records that break the schema, and perhaps malformed lines.
fn line(id: u64, has_malformed: bool) -> String {
    match id % 5 {
        3 if has_malformed => format!("{{\"id\":{id},\"tag\":\"item-{id}-\",\"n\":NaN}}\n"),
        1 | 3 => format!("{{\"id\":{id},\"tag\":\"item-{id}-\",\"n\":\"x\"}}\n"),
        _ => format!("{{\"id\":{id},\"n\":{id}}}\n"),
    }
}

/// A server of 30 lines, at most 10 new ones in a response: it goes on with the last record that it is shown. The response
/// to a further request for an item is right.
async fn continuing(has_malformed: bool) -> ScriptedServer {
    ScriptedServer::new(move |_, request: &Request| {
        if request.body.contains("rejected") {
            let id = asked(request).expect("an item");
            return events(&list(&format!("{{\"id\":{id},\"n\":{id}}}")));
        }
        let shown =
            request.body.rsplit("\\\"id\\\":").next().filter(|_| request.body.contains("\\\"id\\\":"));
        let shown = shown.and_then(|rest| rest.split([',', '}']).next()?.parse::<u64>().ok());
        let ids = shown.map_or(0..10, |last| last..(last + 11).min(30));
        let reason = if ids.end == 30 { "stop" } else { "length" };
        events(&sse(&json!({ "content": ids.map(|id| line(id, has_malformed)).collect::<String>() }), reason))
    })
    .await
}

#[tokio::test]
async fn a_continued_list_is_asked_for_again_as_well() {
    let continued = |server: &ScriptedServer, continuation: ContinuationOptions, reask: ReaskOptions| {
        let request = client_of(server).continued(&request(false), continuation).expect("a request");
        request.typed::<Item>().with_validator(schema()).reask(reask).records()
    };
    for reask in [ReaskOptions::new(1), ReaskOptions::new(1).in_place()] {
        let server = continuing(true).await;
        let mut items = continued(&server, ContinuationOptions::new(), reask);
        let mut ids = Vec::new();
        while let Some(item) = soon(items.next()).await {
            let item = item.expect("a record");
            assert_eq!(item.recovered.contains(Recovery::Reasked), matches!(item.value.id % 5, 1 | 3));
            ids.push(item.value.id);
        }
        let reasks = items.report().report().reasks();
        assert_eq!((reasks.delivered, reasks.requests, items.report().rejected()), (12, 12, 0), "{ids:?}");
        assert!(items.report().is_complete());
        assert_eq!(server.requests(), 3 + 12);
        ids.sort_unstable();
        assert_eq!(ids, (0..30).collect::<Vec<_>>());
    }
    // In place, the checkpoint after any record continues with the next one.
    for stop in 0..=30_u64 {
        let server = continuing(false).await;
        let reask = || ReaskOptions::new(1).in_place();
        let mut items = continued(&server, ContinuationOptions::new(), reask());
        let mut ids = Vec::new();
        for _ in 0..stop {
            ids.push(soon(items.next()).await.expect("a record").expect("a record").value.id);
        }
        let checkpoint = items.checkpoint();
        drop(items);
        let mut rest = continued(&server, ContinuationOptions::resume(checkpoint), reask());
        while let Some(item) = soon(rest.next()).await {
            ids.push(item.expect("a record").value.id);
        }
        assert_eq!(ids, (0..30).collect::<Vec<_>>(), "stopped after {stop}");
    }
    // As it comes, what came after the last checkpoint comes again, and nothing is lost.
    for stop in 0..=30_usize {
        let server = continuing(false).await;
        let mut items = continued(&server, ContinuationOptions::new(), ReaskOptions::new(1));
        let (mut saved, mut unsaved) = (BTreeSet::new(), Vec::new());
        let mut checkpoint = items.checkpoint();
        for _ in 0..stop {
            unsaved.push(soon(items.next()).await.expect("a record").expect("a record").value.id);
            let now = items.checkpoint();
            if now != checkpoint {
                saved.extend(unsaved.drain(..));
                checkpoint = now;
            }
        }
        drop(items);
        let mut rest = continued(&server, ContinuationOptions::resume(checkpoint), ReaskOptions::new(1));
        while let Some(item) = soon(rest.next()).await {
            assert!(saved.insert(item.expect("a record").value.id), "none twice, stopped after {stop}");
        }
        assert_eq!(saved, (0..30).collect(), "stopped after {stop}");
    }
}

/// The wire of native calls: an id, a tool, and its arguments.
fn calls(calls: &[(&str, &str, &str)]) -> String {
    let calls: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(index, (id, name, arguments))| {
            json!({ "index": index, "id": id, "function": { "name": name, "arguments": arguments } })
        })
        .collect();
    sse(&json!({ "tool_calls": calls }), "tool_calls")
}

/// The events of a response as short texts.
async fn seen(
    server: &ScriptedServer,
    of_calls: bool,
    options: fn(ResponseOptions) -> ResponseOptions,
) -> Vec<String> {
    let extraction = extract::<Item>(&client_of(server), request(of_calls)).with_options(options).reask(1);
    let mut events = soon(extraction.send()).await.expect("a response");
    let mut seen = Vec::new();
    while let Some(event) = soon(events.next()).await {
        seen.push(match event.expect("no error") {
            ResponseEvent::Record { record, .. } => format!("record {}", record.value.id),
            ResponseEvent::ToolCall { call, number, .. } => {
                format!("call {} {} {number:?}", call.call_id.unwrap_or_default(), call.parameters)
            }
            ResponseEvent::ToolCallDiscarded { number, .. } => format!("discarded {number}"),
            ResponseEvent::PartialDiscarded { .. } => "discarded".to_owned(),
            ResponseEvent::Rejected { diagnostic, .. } => format!("rejected {}", diagnostic.code),
            ResponseEvent::RejectedCall { call, .. } => format!("rejected {}", call.diagnostic.code),
            _ => continue,
        });
    }
    seen
}

#[tokio::test]
async fn a_call_keeps_its_id_and_is_shown_as_text() {
    let wrong = "{\"id\":2,\"n\":\"x\"}";
    let first = calls(&[("c1", "put", "{\"id\":1,\"n\":1}"), ("c2", "put", wrong)]);
    let again = |_| events(&calls(&[("c1", "put", "{\"id\":2,\"n\":2}")]));
    let server = self::server(first, again).await;
    let seen = seen(&server, true, ResponseOptions::call_updates).await;
    assert_eq!(
        seen,
        ["call c1 {\"id\":1,\"n\":1} Some(1)", "discarded 2", "call c2 {\"id\":2,\"n\":2} None"]
    );
    let body = server.log().requests[1].json();
    let messages = body["messages"].as_array().expect("messages");
    assert_eq!(messages.last().expect("one")["role"], "user", "no call without what its provider wants back");
    let content = messages.last().expect("one")["content"].to_string();
    assert!(
        content.contains("What is in a cell?") && content.contains(&wrong.replace('"', "\\\"")),
        "{content}"
    );
    assert!(content.contains("expected type integer, found a string (at /parameters/n)"), "{content}");
    assert!(!content.contains("call 2"), "{content}");
    // A call in the text, which has no id.
    let text = |n: &str| format!("{{\"name\":\"put\",\"parameters\":{{\"id\":2,\"n\":{n}}}}}\n");
    let again = text("2");
    let server = self::server(list(&text("\"x\"")), move |_| events(&list(&again))).await;
    let options = |options: ResponseOptions| options.text_as(TextMode::ToolCalls);
    assert_eq!(self::seen(&server, true, options).await, ["call  {\"id\":2,\"n\":2} None"]);
}

#[tokio::test]
async fn what_has_grown_ends_before_it_is_asked_for_again() {
    let server = server(list(ONE_WRONG), |_| events(&list("{\"id\":1,\"n\":2}"))).await;
    let seen = seen(&server, false, ResponseOptions::partials).await;
    assert_eq!(seen, ["record 0", "discarded", "record 2", "record 3", "record 1"]);
}

#[tokio::test]
async fn only_what_is_wanted_is_asked_for() {
    let both = sse(
        &json!({
            "content": ONE_WRONG,
            "tool_calls": [{ "index": 0, "id": "c", "function": { "name": "put", "arguments": "{}" } }],
        }),
        "stop",
    );
    let again = |_| events(&list("{\"id\":1,\"n\":2}"));
    let server = self::server(both.clone(), again).await;
    let extracted = soon(extract::<Item>(&client_of(&server), request(true)).reask(1).list()).await;
    let report = extracted.expect("a response").report;
    assert_eq!((report.records(), report.rejected(), report.reasks().requests), (4, 1, 1));
    let server = self::server(both, |_| events(&calls(&[("d", "put", "{\"id\":1,\"n\":2}")]))).await;
    let extraction = extract::<Item>(&client_of(&server), request(true)).reask(1);
    let mut calls = soon(extraction.send()).await.expect("a response").tool_calls();
    assert_eq!(soon(calls.next()).await.expect("a call").expect("a call").call_id.as_deref(), Some("c"));
    assert!(soon(calls.next()).await.is_none());
    assert_eq!((calls.report().reasks().requests, calls.report().rejected()), (1, 1));
}

#[tokio::test]
async fn a_hook_comes_first_and_what_it_cannot_repair_is_asked_for() {
    let lines = "{\"id\":0,\"n\":NaN}\n{\"id\":1,\"n\":\"x\"}\n";
    let server = server(list(lines), |_| events(&list("{\"id\":1,\"n\":2}"))).await;
    let options =
        |options: ResponseOptions| options.repair(|rejected| Some(rejected.text.replace("NaN", "7")));
    assert_eq!(seen(&server, false, options).await, ["record 0", "record 1"]);
    assert_eq!(server.requests(), 2);
}

#[tokio::test]
async fn nothing_begins_after_a_close_and_an_incomplete_response_ends_last() {
    let server = server(list(ONE_WRONG), |_| vec![head("text/event-stream"), Step::Hold]).await;
    let extraction = extract::<Item>(&client_of(&server), request(false)).reask(2);
    let mut events = soon(extraction.send()).await.expect("a response");
    tokio::select! {
        () = async { while soon(events.next()).await.is_some() {} } => panic!("the further request is open"),
        _ = server.until(|log| log.requests.len() == 2) => {}
    }
    events.close();
    let mut rejected = None;
    while let Some(event) = soon(events.next()).await {
        if let Ok(ResponseEvent::Rejected { diagnostic, .. }) = event {
            rejected = Some(diagnostic.attempts().join("; "));
        }
    }
    assert!(rejected.expect("a reject").ends_with("no more, because the response was closed"));
    // The connection of the response is free for another request.
    server.until(|log| log.open <= 1).await;
    assert_eq!(server.requests(), 2);

    let silent = list(ONE_WRONG).replace("data: [DONE]\n\n", "").replace("\"stop\"", "null");
    let server = self::server(silent, |_| self::events(&list("{\"id\":1,\"n\":2}"))).await;
    let extraction = extract::<Item>(&client_of(&server), request(false)).reask(1);
    let mut records = soon(extraction.send()).await.expect("a response").records();
    let mut ids = Vec::new();
    let error = loop {
        match soon(records.next()).await.expect("an error") {
            Ok(record) => ids.push(record.value.id),
            Err(error) => break error,
        }
    };
    ids.sort_unstable();
    assert_eq!(ids, [0, 1, 2, 3]);
    assert!(matches!(error, ResponseError::Incomplete(_)), "{error}");
    assert!(soon(records.next()).await.is_none());
}

#[tokio::test]
async fn a_quota_loses_nothing_of_a_checkpoint_and_partials_are_off() {
    for max in 1..30_u64 {
        let server = continuing(false).await;
        let make = |continuation: ContinuationOptions| {
            let request = client_of(&server).continued(&request(false), continuation).expect("a request");
            let request = request.with_options(Options::lenient().partials(true)).typed::<Item>();
            request.with_validator(schema()).reask(ReaskOptions::new(1).in_place())
        };
        let mut items = make(ContinuationOptions::new()).with_max_records(max).records();
        let mut ids = Vec::new();
        while let Some(item) = soon(items.next()).await {
            ids.push(item.expect("a record").value.id);
        }
        assert_eq!(
            items.report().report().reasks().delivered,
            ids.iter().filter(|id| matches!(*id % 5, 1 | 3)).count() as u64
        );
        let mut rest = make(ContinuationOptions::resume(items.checkpoint())).records();
        while let Some(item) = soon(rest.next()).await {
            ids.push(item.expect("a record").value.id);
        }
        assert_eq!(ids, (0..30).collect::<Vec<_>>(), "at most {max}");
    }
}

#[tokio::test]
async fn a_record_that_grows_is_ended_by_no_other() {
    // The third record grows while the second is asked for again.
    let part = |text: &str| {
        let chunk = json!({ "choices": [{ "index": 0, "delta": { "content": text } }] });
        crate::server::chunk(format!("data: {chunk}\n\n"))
    };
    let server = ScriptedServer::new(move |number, _| match number {
        0 => vec![
            head("text/event-stream"),
            part("{\"id\":0,\"n\":1}\n{\"id\":1,\"n\":\"x\"}\n{\"id\":2,\"te"),
            Step::Hold,
        ],
        _ => events(&list("{\"id\":1,\"n\":2}")),
    })
    .await;
    let extraction =
        extract::<Item>(&client_of(&server), request(false)).with_options(ResponseOptions::partials);
    let mut events = soon(extraction.reask(1).send()).await.expect("a response");
    let mut seen = Vec::new();
    let read = async {
        while let Some(Ok(event)) = events.next().await {
            seen.push(match event {
                ResponseEvent::Partial { .. } => "grows",
                ResponseEvent::PartialDiscarded { .. } => "discarded",
                ResponseEvent::Record { .. } => "record",
                _ => continue,
            });
        }
    };
    // The further response has come, and waits.
    assert!(tokio::time::timeout(Duration::from_millis(500), read).await.is_err());
    assert_eq!(server.requests(), 2);
    assert_eq!(seen.iter().filter(|seen| **seen == "record").count(), 1);
    assert_eq!(seen.last(), Some(&"grows"));
    events.close();
    let mut last = Vec::new();
    while let Some(Ok(event)) = soon(events.next()).await {
        if let ResponseEvent::Record { record, .. } = event {
            last.push(record.value.id);
        }
    }
    assert_eq!(last, [1]);
}

#[tokio::test]
async fn the_same_text_is_asked_for_once() {
    let wrong = "{\"id\":1,\"n\":\"x\"}\n".repeat(50);
    let server = server(list(&wrong), |_| events(&list("{\"id\":1,\"n\":2}"))).await;
    let extracted = soon(extract::<Item>(&client_of(&server), request(false)).reask(2).list()).await;
    let report = extracted.expect("a response").report;
    assert_eq!((report.records(), report.rejected(), report.reasks().requests), (1, 49, 1));
    let attempts = report.rejects().next().expect("a reject").attempts();
    assert_eq!(attempts, ["not asked again, because the same was asked for before"]);
}
