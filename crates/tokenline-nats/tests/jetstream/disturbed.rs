//! Workers that are killed, a server that is restarted, workers that race.

use std::process::{Child, Command};
use std::time::Duration;

use tokenline::Provider;
use tokenline_nats::{Format, Worker, WorkerOptions};
use tokio::sync::oneshot;

use crate::fixtures::{Source, messages, publish, responses, texts};
use crate::output::{Output, all_stored};
use crate::server::{Server, create_streams};
use crate::worker::{options, spawn};
use crate::{output, undisturbed};

const PATIENCE: Duration = Duration::from_secs(30);

/// A random number below `end`.
fn random(end: u64) -> u64 {
    getrandom::u64().unwrap() % end
}

/// Kills one of the workers a hundred times and restarts the server twice, while chunks arrive.
async fn disturb(sources: &[Source], workers: usize, is_response: bool, window: Duration) -> Output {
    const KILLS: usize = 100;
    let server = Server::start().await;
    let context = server.context().await;
    create_streams(&context, window).await;
    let messages = messages(sources);
    let mut processes: Vec<Child> = (0..workers).map(|_| spawn(&server.url(), is_response)).collect();
    let (mut progress, mut last) = (0, 0);
    for (at, messages) in messages.chunks(messages.len().div_ceil(KILLS)).enumerate() {
        publish(&context, messages).await;
        if at == KILLS / 3 || at == 2 * KILLS / 3 {
            tokio::time::sleep(Duration::from_millis(random(100))).await;
            server.restart().await;
        }
        tokio::time::sleep(Duration::from_millis(30 + random(160))).await;
        let victim = random(workers as u64) as usize;
        processes[victim].kill().unwrap();
        processes[victim].wait().unwrap();
        processes[victim] = spawn(&server.url(), is_response);
        let stored = context.get_stream("records").await.unwrap().cached_info().state.messages;
        progress += u32::from(stored > last);
        last = stored;
    }
    let output = all_stored(&context, sources.len(), PATIENCE).await;
    // What a worker that was late could still add.
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(output, output::stored(&context).await, "output after the end");
    for process in &mut processes {
        process.kill().unwrap();
        process.wait().unwrap();
    }
    assert!(progress > 20, "records were stored between {progress} kills only");
    output
}

/// Compares, with a message of bearable length.
fn assert_same(disturbed: &Output, undisturbed: &Output) {
    assert_eq!(disturbed.keys().collect::<Vec<_>>(), undisturbed.keys().collect::<Vec<_>>());
    for (subject, messages) in undisturbed {
        let found = &disturbed[subject];
        let differs = messages.iter().zip(found).position(|(a, b)| a != b);
        if let Some(at) = differs {
            panic!("{subject}: message {at} is {:?}, not {:?}", found[at], messages[at]);
        }
        assert_eq!(found.len(), messages.len(), "{subject}: the number of messages");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_worker_goes_on() {
    let sources = texts(7, 120, 60);
    let expected = undisturbed::run(&sources, options()).await;
    assert_same(&disturb(&sources, 1, false, Duration::from_secs(120)).await, &expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_workers_race_beyond_the_duplicate_window() {
    let sources = texts(7, 120, 60);
    let expected = undisturbed::run(&sources, options()).await;
    assert_same(&disturb(&sources, 2, false, Duration::from_millis(500)).await, &expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_workers_race_over_responses() {
    let mut sources = responses();
    for round in 0..3 {
        sources.extend(responses().into_iter().map(|source| Source {
            name: format!("{}.{round}", source.name),
            ..Source::cut("", &source.body(), 300 + 50 * round)
        }));
    }
    let wire = WorkerOptions::new("test").format(Format::Provider(Provider::OpenAiChat));
    let expected = undisturbed::run(&sources, wire).await;
    assert_same(&disturb(&sources, 2, true, Duration::from_secs(120)).await, &expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_workers_race() {
    let sources = texts(5, 150, 60);
    let expected = undisturbed::run(&sources, options()).await;
    let server = Server::start().await;
    let context = server.context().await;
    create_streams(&context, Duration::from_secs(120)).await;
    let mut workers = Vec::new();
    for _ in 0..2 {
        // Few at a time, so that each gets a part of every source.
        let worker = Worker::new(server.client().await, options().max_ack_pending(12)).await.unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        workers.push((stop, tokio::spawn(worker.run_until(async { stopped.await.unwrap() }))));
    }
    publish(&context, &messages(&sources)).await;
    let output = all_stored(&context, sources.len(), PATIENCE).await;
    let mut stored = 0;
    for (stop, worker) in workers {
        stop.send(()).unwrap();
        let counts = worker.await.unwrap().unwrap();
        assert!(counts.chunks > 50 && counts.records > 0, "no race: {counts:?}");
        stored += counts.records;
    }
    let records = expected.iter().filter(|(subject, _)| subject.starts_with("records."));
    assert_eq!(stored, records.map(|(_, messages)| messages.len() as u64).sum::<u64>());
    assert_same(&output, &expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_stops_while_the_server_is_down() {
    let server = Server::start().await;
    let context = server.context().await;
    create_streams(&context, Duration::from_secs(120)).await;
    let worker = Worker::new(server.client().await, options()).await.unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let worker = tokio::spawn(worker.run_until(async { stopped.await.unwrap() }));
    // A source that has not ended.
    publish(&context, &messages(&texts(1, 50, 60))[..10]).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    server.kill();
    tokio::time::sleep(Duration::from_millis(200)).await;
    stop.send(()).unwrap();
    let counts = tokio::time::timeout(Duration::from_secs(10), worker).await.expect("it stops");
    assert!(counts.unwrap().unwrap().chunks > 0);
}

/// A worker that stands still with messages on their way, and goes on when the server has forgotten their ids.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_worker_wakes_up_beyond_the_duplicate_window() {
    const WINDOW: Duration = Duration::from_millis(200);
    let server = Server::start().await;
    let context = server.context().await;
    create_streams(&context, WINDOW).await;
    let sources = texts(24, 60, 60);
    let mut late = spawn(&server.url(), false);
    let signal = |process: &Child, signal: &str| {
        let status = Command::new("kill").args([signal, &process.id().to_string()]).status().unwrap();
        assert!(status.success());
    };
    tokio::time::sleep(Duration::from_millis(300)).await;
    let mut done = 0;
    for messages in sources.chunks(4).map(messages) {
        publish(&context, &messages).await;
        tokio::time::sleep(Duration::from_millis(random(40))).await;
        signal(&late, "-STOP");
        let mut other = spawn(&server.url(), false);
        done += 4;
        all_stored(&context, done, PATIENCE).await;
        other.kill().unwrap();
        other.wait().unwrap();
        tokio::time::sleep(2 * WINDOW).await;
        signal(&late, "-CONT");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    late.kill().unwrap();
    late.wait().unwrap();
    let output = output::stored(&context).await;
    // The chunks came in another order than from one producer: their numbers in the stream differ, and nothing else.
    let expected = undisturbed::run(&sources, options()).await;
    let without_numbers = |output: Output| -> Output {
        let is_number = |header: &String| header.contains("Chunk: ");
        let strip = |messages: Vec<(Vec<String>, String)>| {
            let strip = |(shown, payload): (Vec<String>, String)| {
                (shown.into_iter().filter(|header| !is_number(header)).collect(), payload)
            };
            messages.into_iter().map(strip).collect()
        };
        output.into_iter().map(|(subject, messages)| (subject, strip(messages))).collect()
    };
    assert_same(&without_numbers(output), &without_numbers(expected));
}
