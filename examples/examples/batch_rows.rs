//! Converts the result file of a batch to rows of a table, on all cores.
//!
//! `cargo run -p tokenline-examples --example batch_rows RESULTS`, where RESULTS is an output file of OpenAI's batch API

use std::error::Error;
use std::thread;

use serde::Deserialize;
use tokenline::json::Parser;
use tokenline::llm::batch::{BatchFormat, BatchReader};
use tokenline::{Options, ResponseEvent, ResponseParser};

#[derive(Deserialize)]
struct Definition {
    entity: String,
    definition: String,
}

/// The rows of some lines, as tab-separated values.
fn rows(lines: &[&str]) -> String {
    let mut reader = BatchReader::<Definition>::new(BatchFormat::OpenAi, |provider| {
        ResponseParser::new(provider, Options::lenient())
    });
    let (mut parser, mut rows) = (Parser::new(), String::new());
    for line in lines {
        let Ok(line) = parser.parse(line) else { continue };
        let mut result = reader.read(line);
        let id = result.custom_id.take().unwrap_or_default();
        if let Some(error) = &result.error {
            eprintln!("{id}: {error}");
        }
        while let Some(event) = result.next_event() {
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
