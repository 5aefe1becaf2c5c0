//! The gateway over real sockets: clients in front, scripted servers behind.

mod common;
mod faults;
mod forwarding;
mod guard;
mod json;
#[path = "../../../tokenline-core/tests/common/random.rs"]
mod random;
#[path = "../../../tokenline-llm/tests/http/server.rs"]
mod server;
mod translation;

use std::time::Duration;

/// Waits for something that must happen.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("too late")
}
