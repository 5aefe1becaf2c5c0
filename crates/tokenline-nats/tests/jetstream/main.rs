//! The worker on a real server. Needs `nats-server`; each test starts its own.

mod disturbed;
mod fixtures;
mod limits;
mod output;
mod pressure;
mod server;
mod undisturbed;
mod worker;
