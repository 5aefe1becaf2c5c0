//! Converts the result file of a batch to rows of a table, on all cores.
//!
//! `cargo run -p tokenline-examples --example batch_rows RESULTS`, where RESULTS is an output file of OpenAI's batch API

use std::error::Error;
use std::thread;

use serde::Deserialize;
use tokenline::llm::batch::{BatchFormat, BatchOutcome};
use tokenline::{Options, Provider, ResponseEvent, ResponseParser};

#[derive(Deserialize)]
struct Definition {
    entity: String,
    definition: String,
}

/// The rows of some lines, as tab-separated values.
fn rows(lines: &[&str]) -> String {
    let mut parser = ResponseParser::<Definition>::new(Provider::OpenAiChat, Options::lenient()).whole_body();
    let mut rows = String::new();
    for line in lines {
        let Ok(result) = BatchFormat::OpenAi.parse(line) else { continue };
        let id = result.custom_id.unwrap_or_default();
        match result.outcome {
            BatchOutcome::Response { body, .. } => {
                parser.reset();
                parser.push(body.as_str());
                parser.finish();
            }
            BatchOutcome::Failed { message } => eprintln!("{id}: {message}"),
            _ => {}
        }
        while let Some(event) = parser.next_event() {
            match event {
                ResponseEvent::Record { record, .. } => {
                    rows += &format!("{id}\t{}\t{}\n", record.value.entity, record.value.definition);
                }
                ResponseEvent::Rejected { diagnostic, .. } => eprintln!("{id}: {diagnostic}"),
                _ => {}
            }
        }
    }
    rows
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: batch_rows RESULTS")?;
    let text = std::fs::read_to_string(path)?;
    let lines: Vec<&str> = text.lines().collect();
    let share = lines.len().div_ceil(thread::available_parallelism()?.get()).max(1);
    thread::scope(|scope| {
        let workers: Vec<_> = lines.chunks(share).map(|lines| scope.spawn(|| rows(lines))).collect();
        // In the order of the file.
        workers.into_iter().for_each(|worker| print!("{}", worker.join().unwrap_or_default()));
    });
    Ok(())
}
