//! Continued lists with rejects, and their checkpoints.

use std::collections::BTreeSet;

use serde_json::json;
use tokenline_core::{Options, Recovery};
use tokenline_llm::ContinuationOptions;
use tokenline_llm::client::ReaskOptions;

use super::{Item, asked, client_of, list, request, schema, sse};
use crate::server::{Request, ScriptedServer, events};
use crate::soon;

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
