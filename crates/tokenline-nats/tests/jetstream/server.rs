//! A NATS server with JetStream on a free port of 127.0.0.1, with its own store.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use tempfile::TempDir;
use tokenline_nats::async_nats::jetstream::context::GetStreamByNameErrorKind;
use tokenline_nats::async_nats::jetstream::stream::{Config, DiscardPolicy};
use tokenline_nats::async_nats::{self, jetstream};

pub(crate) struct Server {
    port: u16,
    store: TempDir,
    process: Mutex<Child>,
}

impl Server {
    pub(crate) async fn start() -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let store = tempfile::tempdir().unwrap();
        let process = Mutex::new(spawn(port, &store));
        let server = Self { port, store, process };
        server.ready().await;
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub(crate) async fn client(&self) -> async_nats::Client {
        client(&self.url()).await
    }

    pub(crate) async fn context(&self) -> jetstream::Context {
        jetstream::new(self.client().await)
    }

    /// Ends the server with SIGKILL, and starts it again with the same store.
    pub(crate) async fn restart(&self) {
        self.kill();
        *self.process.lock().unwrap() = spawn(self.port, &self.store);
        self.ready().await;
    }

    /// Ends the server with SIGKILL.
    pub(crate) fn kill(&self) {
        let mut process = self.process.lock().unwrap();
        process.kill().unwrap();
        process.wait().unwrap();
    }

    /// Waits until JetStream responds.
    async fn ready(&self) {
        let context = self.context().await;
        for _ in 0..500 {
            match context.stream_by_subject("chunks.>").await {
                Ok(_) => return,
                Err(error) if error.kind() == GetStreamByNameErrorKind::NotFound => return,
                Err(_) => {}
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("nats-server does not respond");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let process = self.process.get_mut().unwrap();
        _ = process.kill();
        _ = process.wait();
    }
}

fn spawn(port: u16, store: &TempDir) -> Child {
    let mut command = Command::new("nats-server");
    command.args(["--addr", "127.0.0.1", "--port", &port.to_string(), "--jetstream", "--store_dir"]);
    command.arg(store.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap_or_else(|error| {
        panic!("cannot start nats-server: {error}; install it, on Debian with `apt-get install nats-server`")
    })
}

/// Connects, also to a server that is about to start.
pub(crate) async fn client(url: &str) -> async_nats::Client {
    let options = async_nats::ConnectOptions::new()
        .retry_on_initial_connect()
        .max_reconnects(None)
        .reconnect_delay_callback(|_| Duration::from_millis(20));
    let client = options.connect(url).await.unwrap();
    while client.connection_state() != async_nats::connection::State::Connected {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    client
}

/// Creates the streams `chunks`, `records` and `rejects`.
pub(crate) async fn create_streams(context: &jetstream::Context, duplicate_window: Duration) {
    for name in ["chunks", "records", "rejects"] {
        let config = Config {
            name: name.to_owned(),
            subjects: vec![format!("{name}.>")],
            duplicate_window,
            discard: DiscardPolicy::New,
            ..Config::default()
        };
        context.create_stream(config).await.unwrap();
    }
}
