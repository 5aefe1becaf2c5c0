//! Workers in tasks and in processes.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokenline::Provider;
use tokenline_nats::{Format, Worker, WorkerOptions};

use crate::fixtures::SCHEMA;
use crate::server::client;

pub(crate) fn options() -> WorkerOptions {
    WorkerOptions::new("test").schema(SCHEMA.parse().unwrap()).ack_wait(Duration::from_millis(250))
}

/// Starts this test program again as a worker. The caller ends it with SIGKILL.
pub(crate) fn spawn(url: &str, is_response: bool) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "worker::process", "--ignored", "--nocapture"]);
    command.env("TOKENLINE_NATS_URL", url).stdin(Stdio::null()).stdout(Stdio::null());
    if is_response {
        command.env("TOKENLINE_NATS_RESPONSE", "1");
    }
    command.spawn().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the worker process of other tests"]
async fn process() {
    let Ok(url) = std::env::var("TOKENLINE_NATS_URL") else { return };
    let options = match std::env::var_os("TOKENLINE_NATS_RESPONSE") {
        Some(_) => WorkerOptions::new("test").format(Format::Provider(Provider::OpenAiChat)),
        None => options(),
    };
    let options = options.ack_wait(Duration::from_millis(250));
    let mut tries = 0;
    loop {
        match Worker::new(client(&url).await, options.clone()).await {
            Ok(worker) => match worker.run().await {
                Ok(_) => unreachable!("nothing stops it"),
                Err(error) => eprintln!("worker: {error}"),
            },
            Err(error) => eprintln!("worker: {error}"),
        }
        // The server may have been restarted in between.
        tries += 1;
        assert!(tries < 20, "the worker cannot run");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
