//! Runs that are resumed, stopped, left or slow.

use tokio::task::spawn_blocking;

use super::*;

/// Wherever the connection breaks.
#[tokio::test]
async fn a_run_goes_on_after_the_last_event() {
    let page = Page::start();
    let all = page.events(&recorded("mixed", 0)).await.len();
    for cut in (0..all).step_by(29).chain([all - 1, all]) {
        let mut first = Events::new(page.extract(&recorded("mixed", 0)).await);
        let mut events = first.take(cut).await;
        let run = match events.first() {
            Some(start) => start.data["run"].clone(),
            None => first.next().await.expect("the start").data["run"].clone(),
        };
        drop(first);
        let last_id = events.last().map_or(0, |event| event.id);
        let mut rest = Events::new(page.resume(run.as_str().expect("an id"), last_id).await);
        events.extend(rest.take(usize::MAX).await);
        let ids: Vec<u64> = events.iter().map(|event| event.id).collect();
        assert_eq!(ids, (1..=ids.len() as u64).collect::<Vec<_>>(), "cut after {cut}");
        assert_eq!(named(&events, "record").len(), 8, "cut after {cut}");
        assert_eq!(named(&events, "done")[0]["status"], "complete");
    }
    assert_eq!(page.resume("0123", 0).await.status(), 404);
}

#[tokio::test]
async fn the_latest_reader_has_the_run() {
    let gate = Gate::new();
    let texts = (0..8).map(|n| format!("{{\"n\":{n}}}\n"));
    let recording = Recording::new("m", chat(texts, STOP)).pace(Pace::events()).gate(&gate);
    let server = serve(recording).await;
    let page = Page::of(Some(&server));
    gate.release(1);
    let mut first = Events::new(page.extract(&request()).await);
    let run = first.next().await.expect("the start").data["run"].as_str().expect("an id").to_owned();
    first.find("record").await;
    let mut second = Events::new(page.resume(&run, 0).await);
    second.find("record").await;
    let rest = first.take(usize::MAX).await;
    assert!(named(&rest, "record").is_empty(), "{rest:?}");
    gate.open();
    assert_eq!(second.find("done").await.data["records"], 8);
    assert_eq!(server.traffic().requests, 1);
}

#[tokio::test]
async fn old_events_are_dropped_and_the_gap_is_said() {
    let texts = (0..40).map(|n| format!("{{\"n\":{n},\"text\":\"{}\"}}\n", "x".repeat(50_000)));
    let server = serve(Recording::new("m", chat(texts, STOP)).pace(Pace::events())).await;
    let page = Page::of(Some(&server));
    let mut first = Events::new(page.extract(&request()).await);
    let run = first.next().await.expect("the start").data["run"].as_str().expect("an id").to_owned();
    let done = first.find("done").await;
    assert_eq!(done.data["records"], 40);
    let events = Events::new(page.resume(&run, 3).await).take(usize::MAX).await;
    assert_eq!((&*events[0].name, &events[0].data["from"]), ("gap", &json!(4)));
    assert_eq!(events[0].data["to"], events[0].id);
    assert_eq!(events[1].id, events[0].id + 1);
    assert_eq!(events.last(), Some(&done));
    let kept: usize = events.iter().map(|event| event.data.to_string().len()).sum();
    assert!((900 << 10..1 << 20).contains(&kept), "{kept}");
}

#[tokio::test]
async fn stop_closes_the_connection_to_the_model() {
    let gate = Gate::new();
    let texts = (0..8).map(|n| format!("{{\"n\":{n}}}\n"));
    let server = serve(Recording::new("m", chat(texts, STOP)).pace(Pace::events()).gate(&gate)).await;
    let page = Page::of(Some(&server));
    gate.release(3);
    let mut events = Events::new(page.extract(&request()).await);
    let run = events.next().await.expect("the start").data["run"].as_str().expect("an id").to_owned();
    events.find("record").await;
    events.find("record").await;
    let stopped = Instant::now();
    assert_eq!(page.stop(&run).await, 204);
    server.wait_for(|traffic| traffic.bodies_dropped == 1).await;
    // The tests in a browser, which have the machine for themselves, allow 100 ms.
    assert!(stopped.elapsed() < Duration::from_secs(3), "{:?}", stopped.elapsed());
    let done = events.find("done").await;
    assert_eq!((&done.data["status"], events.next().await), (&json!("stopped"), None));
    // Twice is once.
    assert_eq!(page.stop(&run).await, 204);
    assert_eq!(page.stop("0123").await, 404);
}

/// Both wait for ten seconds.
#[tokio::test]
async fn a_page_that_leaves_stops_the_model_and_a_head_without_end_is_not_waited_for() {
    let head = spawn_blocking(crate::hosts::a_head_that_does_not_end_is_not_waited_for);
    a_page_that_leaves_stops_the_model_after_ten_seconds().await;
    head.await.expect("it is not waited for");
}

async fn a_page_that_leaves_stops_the_model_after_ten_seconds() {
    let gate = Gate::new();
    let texts = (0..8).map(|n| format!("{{\"n\":{n}}}\n"));
    let server = serve(Recording::new("m", chat(texts, STOP)).pace(Pace::events()).gate(&gate)).await;
    let page = Page::of(Some(&server));
    gate.release(2);
    let mut events = Events::new(page.extract(&request()).await);
    events.find("record").await;
    drop(events);
    let left = Instant::now();
    server.wait_for(|traffic| traffic.bodies_dropped == 1).await;
    let waited = left.elapsed();
    assert!((8.0..30.0).contains(&waited.as_secs_f64()), "{waited:?}");
}

#[tokio::test]
async fn a_page_that_does_not_read_slows_the_model_down() {
    let texts = (0..3_000).map(|n| format!("{{\"n\":{n},\"text\":\"{}\"}}\n", "x".repeat(7_000)));
    let body = chat(texts, STOP);
    let size = body.len() as u64;
    assert!(size > 20 << 20);
    let server = serve(Recording::new("m", body).pace(Pace::events())).await;
    let page = Page::of(Some(&server));
    let mut events = Events::new(page.extract(&request()).await);
    events.find("record").await;
    // Until nothing has moved for half a second.
    let mut before = 0;
    loop {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let now = server.traffic().body_bytes;
        if now == before {
            break;
        }
        before = now;
    }
    // What is on its way is in the buffers of the sockets.
    assert!(before < size / 2, "{before} of {size}");
    let mut records = 1;
    while let Some(event) = events.next().await {
        if event.name == "record" {
            assert_eq!(event.data["value"]["n"], records);
            records += 1;
        }
    }
    assert_eq!(records, 3_000);
}

/// A page that does not know where it is gets what is kept, never more than there is.
#[tokio::test]
async fn absurd_last_ids_and_methods_do_no_harm() {
    let page = Page::start();
    let mut first = Events::new(page.extract(&recorded("mixed", 0)).await);
    let run = first.next().await.expect("the start").data["run"].as_str().expect("an id").to_owned();
    let all = first.take(usize::MAX).await.len() + 1;
    assert!(Events::new(page.resume(&run, u64::MAX).await).take(usize::MAX).await.is_empty());
    let head = page.client.head(format!("{}/api/runs/{run}/events", page.url)).send().await;
    assert_eq!(head.expect("a response").status(), 405);
    let unknown = page.client.get(format!("{}/nowhere", page.url)).send().await.expect("a response");
    let body: Value = serde_json::from_str(&unknown.text().await.expect("a body")).expect("JSON");
    assert_eq!(body["error"], "there is nothing at this path");
    for id in ["", "-1", "x", "99999999999999999999"] {
        let request = page.client.get(format!("{}/api/runs/{run}/events", page.url));
        let response = request.header("last-event-id", id).send().await.expect("a response");
        assert_eq!(Events::new(response).take(usize::MAX).await.len(), all, "{id}");
    }
}

/// Nothing waits for the rules of another run, not even its own Stop.
#[tokio::test]
async fn slow_rules_slow_only_their_own_run_down() {
    let texts = [(0..2000).map(|n| format!("{{\"n\":\"{n}\"}}\n")).collect::<String>()];
    let server = serve(Recording::new("m", chat(texts, STOP))).await;
    let page = Page::of(Some(&server));
    let alternatives: Vec<Value> = (0..3000).map(|n| json!({"required": [format!("m{n}")]})).collect();
    let mut request = request();
    request["schema"] = json!({"anyOf": alternatives});
    let mut runs = Vec::new();
    for _ in 0..3 {
        let mut events = Events::new(page.extract(&request).await);
        let run = events.next().await.expect("the start").data["run"].as_str().expect("an id").to_owned();
        runs.push((events, run));
    }
    let others = Instant::now();
    for (_, run) in &runs {
        assert_eq!(page.stop(run).await, 204);
        assert_eq!(page.client.get(&page.url).send().await.expect("a response").status(), 200);
    }
    let waited = others.elapsed();
    assert!(waited < Duration::from_secs(8), "{waited:?}");
}
