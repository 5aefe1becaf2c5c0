//! Output streams that refuse messages.

use std::time::Duration;

use tokenline_nats::Worker;
use tokenline_nats::async_nats::jetstream::consumer::pull;

use crate::fixtures::{messages, publish, texts};
use crate::output::all_stored;
use crate::server::{Server, create_streams};
use crate::undisturbed;
use crate::worker::options;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_stream_holds_the_chunks_back() {
    const MOST: usize = 20;
    let sources = texts(4, 60, 40);
    let expected = undisturbed::run(&sources, options()).await;
    let server = Server::start().await;
    let context = server.context().await;
    create_streams(&context, Duration::from_secs(120)).await;
    let mut config = context.get_stream("records").await.unwrap().cached_info().config.clone();
    config.max_messages = 3;
    context.update_stream(config.clone()).await.unwrap();
    publish(&context, &messages(&sources)).await;

    let options = options().max_ack_pending(MOST as u32);
    let worker = tokio::spawn(Worker::new(server.client().await, options).await.unwrap().run());
    let stream = context.get_stream("chunks").await.unwrap();
    let mut consumer = stream.get_consumer::<pull::Config>("tokenline-test").await.unwrap();
    let mut pending = Vec::new();
    for _ in 0..40 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let info = consumer.info().await.unwrap();
        assert!(info.num_ack_pending <= MOST, "{} chunks are not acknowledged", info.num_ack_pending);
        // The worker lives, and says so.
        assert_eq!(info.num_redelivered, 0);
        pending.push(info.num_ack_pending);
    }
    assert_eq!(pending[20..], [MOST; 20], "the worker holds as many as it may");
    assert_eq!(context.get_stream("records").await.unwrap().cached_info().state.messages, 3);

    config.max_messages = -1;
    context.update_stream(config).await.unwrap();
    let output = all_stored(&context, sources.len(), Duration::from_secs(20)).await;
    assert_eq!(output, expected);
    assert!(!worker.is_finished());
    worker.abort();
}
