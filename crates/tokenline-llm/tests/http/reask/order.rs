//! The order of events: right records do not wait, and errors come last.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::json;
use tokenline_llm::client::{ReaskOptions, extract};
use tokenline_llm::{ResponseError, ResponseEvent, ResponseOptions};

use super::calls::seen;
use super::{Item, ONE_WRONG, client_of, list, request, server, sse};
use crate::server::{Request, ScriptedServer, Step, chunk, events, head};
use crate::soon;

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

/// Prints when the last right record comes, with further requests and without. Each of these takes 50 ms.
#[tokio::test]
async fn records_that_are_right_come_no_later() {
    let line = |id: u64| match id % 10 {
        3 => format!("{{\"id\":{id},\"n\":\"{id}\"}}\n"),
        _ => format!("{{\"id\":{id},\"n\":1}}\n"),
    };
    let lines: String = (0..200).map(line).collect();
    let server = ScriptedServer::new(move |_, request: &Request| {
        let is_first = !request.body.contains("rejected");
        if !is_first {
            std::thread::sleep(Duration::from_millis(50));
        }
        events(&list(if is_first { &lines } else { "{\"id\":3,\"n\":1}" }))
    })
    .await;
    let client = client_of(&server);
    let mut last = [Vec::new(), Vec::new()];
    for round in 0..6 {
        let reask = round % 2;
        let extraction =
            extract::<Item>(&client, request(false)).reask(ReaskOptions::new(reask).max_in_flight(1));
        let mut items = soon(extraction.send()).await.expect("a response").records();
        let start = Instant::now();
        let (mut right, mut again) = (Duration::ZERO, 0);
        while let Some(item) = soon(items.next()).await {
            match item.expect("a record").recovered.attempts() {
                0 => right = start.elapsed(),
                _ => again += 1,
            }
        }
        assert_eq!(again, 20 * reask);
        last[reask as usize].push(right);
    }
    let [without, with] = last.map(|mut times| {
        times.sort();
        times[times.len() / 2]
    });
    println!("the last of 180 right records: {without:?} without further requests, {with:?} with 20");
    // The further requests take a second.
    assert!(with < without + Duration::from_millis(500), "{without:?} {with:?}");
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

#[tokio::test]
async fn what_has_grown_ends_before_it_is_asked_for_again() {
    let server = server(list(ONE_WRONG), |_| events(&list("{\"id\":1,\"n\":2}"))).await;
    let seen = seen(&server, false, ResponseOptions::partials).await;
    assert_eq!(seen, ["record 0", "discarded", "record 2", "record 3", "record 1"]);
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
