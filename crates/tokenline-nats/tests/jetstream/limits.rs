//! Limits of the worker, and errors that need a person.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokenline::adapter::SourceEnd;
use tokenline_nats::async_nats::jetstream::Context;
use tokenline_nats::async_nats::jetstream::consumer::pull;
use tokenline_nats::async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy};
use tokenline_nats::{Error, Worker, WorkerOptions};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::fixtures::{Source, messages, publish, texts};
use crate::output::{all_stored, decoded, payloads, stored};
use crate::server::{Server, create_streams};
use crate::undisturbed;
use crate::worker::options;

const PATIENCE: Duration = Duration::from_secs(20);

async fn server() -> (Server, Context) {
    let server = Server::start().await;
    let context = server.context().await;
    create_streams(&context, Duration::from_secs(120)).await;
    (server, context)
}

/// The error of a worker that reads what is there.
async fn failure(server: &Server, options: WorkerOptions) -> String {
    let worker = Worker::new(server.client().await, options).await;
    let error: Error = match worker {
        Ok(worker) => timeout(PATIENCE, worker.run()).await.expect("the worker does not end").unwrap_err(),
        Err(error) => error,
    };
    error.to_string()
}

/// Why the source `a` is set aside by a worker that reads another source to its end.
async fn source_failure(server: &Server, context: &Context, options: WorkerOptions) -> String {
    static OTHERS: AtomicUsize = AtomicUsize::new(0);
    let number = OTHERS.fetch_add(1, Ordering::Relaxed);
    let (good, consumer) = (format!("good.{number}"), format!("consumer-{number}"));
    let (sender, mut failed) = mpsc::unbounded_channel();
    // One chunk at a time: chunks of the failed source must not stay unacknowledged.
    let options = options.consumer(&consumer).max_ack_pending(1);
    let options = options.on_source_failed(move |name, error| {
        sender.send((name.to_owned(), error.to_string())).unwrap();
    });
    let worker = Worker::new(server.client().await, options).await.unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let worker = tokio::spawn(worker.run_until(async { stopped.await.unwrap() }));
    let (name, error) = timeout(PATIENCE, failed.recv()).await.expect("no source fails").unwrap();
    assert_eq!(name, "a");
    publish(context, &messages(&[Source::cut(good.clone(), b"{\"n\":7}\n", 3)])).await;
    let subject = format!("records.{good}");
    while stored(context).await.get(&subject).is_none_or(|records| records.len() < 2) {
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(!worker.is_finished());
    }
    tokio::time::sleep(Duration::from_millis(600)).await;
    let mut consumer =
        context.get_stream("chunks").await.unwrap().get_consumer::<pull::Config>(&consumer).await.unwrap();
    let info = consumer.info().await.unwrap();
    assert_eq!((info.num_ack_pending, info.num_pending), (0, 0));
    stop.send(()).unwrap();
    let counts = worker.await.unwrap().unwrap();
    assert_eq!(counts.failed as usize, 1 + failed.len(), "{counts:?}");
    error
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forgotten_sources_are_read_again() {
    let sources = texts(5, 20, 60);
    let expected = undisturbed::run(&sources, options()).await;
    assert_eq!(undisturbed::run(&sources, options().max_sources(2)).await, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_the_server_refuses_is_a_reject() {
    let (server, context) = server().await;
    let mut config = context.get_stream("records").await.unwrap().cached_info().config.clone();
    config.max_message_size = 8_192;
    context.update_stream(config).await.unwrap();
    let text = format!("{{\"n\":1}}\n{{\"n\":2,\"x\":\"{}\"}}\n{{\"n\":3}}\n", "x".repeat(8_000));
    publish(&context, &messages(&[Source::cut("a", text.as_bytes(), 500)])).await;
    let worker = tokio::spawn(Worker::new(server.client().await, options()).await.unwrap().run());
    let output = payloads(&all_stored(&context, 1, PATIENCE).await);
    assert_eq!(output["records.a"], ["{\"n\":1}", "{\"n\":3}"]);
    let rejects = &output["rejects.a"];
    assert!(
        rejects.len() == 1 && rejects[0].contains(r#""code":"record_too_large","line":2,"#),
        "{rejects:?}"
    );
    worker.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chunks_after_the_end_are_ignored() {
    let (server, context) = server().await;
    let late = Source { name: "a".to_owned(), chunks: vec![b"{\"n\":2}\n".to_vec()], end: SourceEnd::Failed };
    publish(&context, &messages(&[Source::cut("a", b"{\"n\":1}\n", 9)])).await;
    publish(&context, &messages(&[late])).await;
    let mut worker = tokio::spawn(Worker::new(server.client().await, options()).await.unwrap().run());
    assert_eq!(payloads(&all_stored(&context, 1, PATIENCE).await)["records.a"], ["{\"n\":1}"]);
    assert!(timeout(Duration::from_millis(300), &mut worker).await.is_err());
    assert_eq!(stored(&context).await["records.a"].len(), 2);
    worker.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_streams_and_retention_are_errors_with_advice() {
    let server = Server::start().await;
    let context = server.context().await;
    let error = failure(&server, options()).await;
    assert_eq!(
        error,
        "no stream stores `chunks.>`; create one: nats stream add chunks --subjects 'chunks.>' --retention limits --defaults"
    );
    let subjects = ["chunks.>", "records.>", "rejects.>"].map(str::to_owned);
    let config = Config { name: "all".to_owned(), subjects: subjects.to_vec(), ..Config::default() };
    let work = Config { retention: RetentionPolicy::WorkQueue, ..config.clone() };
    context.create_stream(work).await.unwrap();
    let error = failure(&server, options()).await;
    assert!(error.starts_with("the stream `all` must keep the chunks of a source"), "{error}");
    context.delete_stream("all").await.unwrap();

    // One stream for everything.
    context.create_stream(config).await.unwrap();
    let sources = texts(3, 20, 60);
    publish(&context, &messages(&sources)).await;
    let worker = tokio::spawn(Worker::new(server.client().await, options()).await.unwrap().run());
    let mut all = context.get_stream("all").await.unwrap();
    let expected = decoded(&sources, None, None).values().map(Vec::len).sum::<usize>()
        + sources.len()
        + messages(&sources).len();
    let arrived = async {
        while all.info().await.unwrap().state.messages < expected as u64 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, arrived).await.unwrap();
    assert_eq!(all.info().await.unwrap().state.messages, expected as u64);
    worker.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn foreign_and_removed_messages_set_one_source_aside() {
    let (server, context) = server().await;
    let mut source = Source::cut("a", b"{\"n\":1}\n{\"n\":2}\n{\"n\":", 6);
    source.end = SourceEnd::Failed;
    let messages = messages(&[source]);
    let (chunks, end) = messages.split_at(messages.len() - 1);
    publish(&context, chunks).await;
    let worker = tokio::spawn(Worker::new(server.client().await, options()).await.unwrap().run());
    while stored(&context).await.get("records.a").is_none_or(|records| records.len() < 2) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    worker.abort();

    let other = WorkerOptions::new("other").ack_wait(Duration::from_millis(250));
    let error = source_failure(&server, &context, other.clone()).await;
    assert!(error.starts_with("`records.a` holds output of the run `test`; continue that run"), "{error}");

    let records = context.get_stream("records").await.unwrap();
    records.purge().filter("records.a").await.unwrap();
    let error = source_failure(&server, &context, options()).await;
    assert!(error.starts_with("messages were removed from `records.a`"), "{error}");

    // Repaired: another consumer reads the source again.
    let worker = Worker::new(server.client().await, other.clone().consumer("repaired")).await.unwrap();
    let worker = tokio::spawn(worker.run());
    while stored(&context).await.get("records.a").is_none_or(|records| records.len() < 2) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    worker.abort();

    context.get_stream("chunks").await.unwrap().delete_message(1).await.unwrap();
    publish(&context, end).await;
    let error = source_failure(&server, &context, other).await;
    assert!(error.starts_with("the first chunk of `chunks.a`, sequence 1, was removed"), "{error}");
    assert_eq!(stored(&context).await["records.a"].len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_is_deleted_ends_the_worker() {
    let (server, context) = server().await;
    let worker = Worker::new(server.client().await, options()).await.unwrap();
    context.delete_stream("records").await.unwrap();
    publish(&context, &messages(&texts(1, 5, 60))).await;
    let error = timeout(PATIENCE, worker.run()).await.expect("the worker does not end").unwrap_err();
    assert!(error.to_string().starts_with("no stream stores `records.>`; create one: "), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_that_remove_messages_are_errors_with_advice() {
    let (server, context) = server().await;
    let update = async |name: &str, change: &dyn Fn(&mut Config)| {
        let subjects = vec![format!("{name}.>")];
        let mut config = Config { name: name.to_owned(), subjects, ..Config::default() };
        config.duplicate_window = Duration::from_secs(1);
        change(&mut config);
        context.update_stream(config).await.unwrap();
    };
    let day = Duration::from_secs(86_400);
    type Change<'a> = &'a dyn Fn(&mut Config);
    let cases: [(&str, Change<'_>, &str); 5] = [
        ("chunks", &|config| config.max_messages = 9, "beyond `max_msgs` (9) it removes its oldest messages"),
        (
            "chunks",
            &|config| config.max_messages_per_subject = 9,
            "beyond `max_msgs_per_subject` (9) it removes",
        ),
        (
            "records",
            &|config| config.max_bytes = 999,
            "beyond `max_bytes` (999) it removes its oldest messages",
        ),
        (
            "rejects",
            &|config| config.max_messages = 9,
            "beyond `max_msgs` (9) it removes its oldest messages",
        ),
        (
            "rejects",
            &|config| config.max_age = day,
            "expire after 86400s (`max_age`), but chunks never expire",
        ),
    ];
    for (name, change, says) in cases {
        update(name, change).await;
        let error = failure(&server, options()).await;
        assert!(
            error.starts_with(&format!("the stream `{name}` must keep")) && error.contains(says),
            "{error}"
        );
        update(name, &|_| ()).await;
    }
    update("chunks", &|config| config.max_age = day).await;
    for name in ["records", "rejects"] {
        update(name, &|config| {
            (config.max_age, config.max_messages, config.discard) = (day, 99, DiscardPolicy::New);
        })
        .await;
    }
    Worker::new(server.client().await, options()).await.map(drop).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn removed_output_is_stored_again_beyond_the_duplicate_window() {
    let server = Server::start().await;
    let context = server.context().await;
    create_streams(&context, Duration::from_millis(200)).await;
    let messages = messages(&[Source::cut("a", b"{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n", 6)]);
    let (first, rest) = messages.split_at(messages.len() - 2);
    publish(&context, first).await;
    let worker = Worker::new(server.client().await, options()).await.unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let worker = tokio::spawn(worker.run_until(async { stopped.await.unwrap() }));
    while stored(&context).await.get("records.a").is_none_or(|records| records.len() < 2) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(Duration::from_millis(600)).await;
    context.get_stream("records").await.unwrap().purge().filter("records.a").await.unwrap();
    publish(&context, rest).await;
    let output = payloads(&all_stored(&context, 1, PATIENCE).await);
    assert_eq!(output["records.a"], [r#"{"n":1}"#, r#"{"n":2}"#, r#"{"n":3}"#]);
    stop.send(()).unwrap();
    assert_eq!(worker.await.unwrap().unwrap().failed, 0);
}
