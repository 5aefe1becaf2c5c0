//! Converts the result file of a batch to rows of a table, on all cores.
//!
//! `cargo run -p tokenline-examples --example batch_rows RESULTS`, where RESULTS is an output file of a batch API

use std::error::Error;
use std::thread;

use serde::Deserialize;
use tokenline::llm::batch::{BatchFormat, BatchReader};
use tokenline::{Options, ResponseEvent};

#[derive(Deserialize)]
struct Definition {
    entity: String,
    definition: String,
}

/// The rows of some lines, as tab-separated values.
fn rows(format: BatchFormat, lines: &[&str]) -> String {
    let mut results = BatchReader::<Definition>::new(format, Options::lenient());
    let mut rows = String::new();
    for line in lines {
        let Ok(mut result) = results.read_line(line) else { continue };
        let id = result.custom_id.take().unwrap_or_default();
        if let Some(failure) = &result.failure {
            eprintln!("{id}: {}", failure.message);
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
    let format = lines.iter().find_map(|line| BatchFormat::detect(line)).ok_or("no batch results")?;
    let share = lines.len().div_ceil(thread::available_parallelism()?.get()).max(1);
    thread::scope(|scope| {
        let workers: Vec<_> =
            lines.chunks(share).map(|lines| scope.spawn(move || rows(format, lines))).collect();
        // In the order of the file.
        workers.into_iter().for_each(|worker| print!("{}", worker.join().unwrap_or_default()));
    });
    Ok(())
}
