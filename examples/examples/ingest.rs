//! An HTTP endpoint that takes JSON Lines of any length: each line is validated as it arrives, and counted or reported.
//!
//! `cargo run -p tokenline-examples --example ingest`
//! Then: `curl -N -H 'content-type: application/x-ndjson' -T file.jsonl URL`

use std::error::Error;

use axum::extract::DefaultBodyLimit;
use axum::{Router, routing::put};
use futures_util::TryStreamExt;
use schemars::JsonSchema;
use serde::Deserialize;
use tokenline::Event;
use tokenline_axum::{JsonLines, JsonLinesError};

#[derive(Deserialize, JsonSchema)]
struct Measurement {
    sensor: String,
    #[schemars(range(min = -273.15))]
    celsius: f64,
}

/// Keeps the good lines, and returns the places and reasons of the others.
async fn store(mut measurements: JsonLines<Measurement>) -> Result<String, JsonLinesError> {
    let (mut stored, mut rejected) = (0, String::new());
    while let Some(event) = measurements.try_next().await? {
        match event {
            Event::Record(record) => {
                println!("{}: {} at {} °C", record.line, record.value.sensor, record.value.celsius);
                stored += 1;
            }
            Event::Rejected(diagnostic) => rejected += &format!("{diagnostic}\n"),
            _ => {}
        }
    }
    Ok(format!("{stored} stored\n{rejected}"))
}

/// All or nothing: the first bad line is the response, with status 422.
async fn check(measurements: JsonLines<Measurement>) -> Result<String, JsonLinesError> {
    let measurements: Vec<Measurement> = measurements.values().try_collect().await?;
    Ok(format!("{} valid\n", measurements.len()))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let router =
        Router::new().route("/measurements", put(store).post(check)).layer(DefaultBodyLimit::max(1 << 30));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/measurements", listener.local_addr()?);
    Ok(axum::serve(listener, router).await?)
}
