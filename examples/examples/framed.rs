//! The tokio-util codec: typed records over any reader or writer.
//!
//! `cargo run -p tokenline-examples --example framed`

use std::error::Error;

use futures_util::{SinkExt, StreamExt};
use serde::{Deserialize, Serialize};
use tokenline::{Event, JsonlCodec};
use tokio_util::codec::{FramedRead, FramedWrite};

#[derive(Debug, Deserialize, Serialize)]
struct Point {
    x: f64,
    y: f64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut file = Vec::new();
    let mut writer = FramedWrite::new(&mut file, JsonlCodec::<Point>::new());
    writer.send(Point { x: 1.0, y: 2.5 }).await?;
    writer.send(Point { x: -3.0, y: 0.0 }).await?;
    file.extend_from_slice(b"{\"x\":1}\n");

    let mut reader = FramedRead::new(&file[..], JsonlCodec::<Point>::new());
    while let Some(event) = reader.next().await {
        match event? {
            Event::Record(record) => println!("line {}: {:?}", record.line, record.value),
            Event::Rejected(diagnostic) => println!("rejected: {diagnostic}"),
            _ => {}
        }
    }
    Ok(())
}
