//! Converts the result file of a batch to rows of a table, on all cores.
//!
//! `cargo run -p tokenline-examples --example batch_rows RESULTS`, where RESULTS is an output file of a batch API

use std::error::Error;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Seek as _, Write as _};
use std::ops::ControlFlow;
use std::thread;

use serde::Deserialize;
use tokenline::conversations::{LineMapper, LineWorker};
use tokenline::llm::batch::{BatchFormat, BatchReader};
use tokenline::{Event, LentEvent, Options, ResponseEvent};

#[derive(Deserialize)]
struct Definition {
    entity: String,
    definition: String,
}

/// Writes the rows of results, as tab-separated values.
struct Rows(BatchReader<Definition>);

impl LineWorker for Rows {
    type Result = io::Result<()>;

    fn line(&mut self, event: LentEvent<'_>, output: &mut Vec<u8>) -> io::Result<()> {
        let Event::Record(line) = event else { return Ok(()) };
        let mut result = self.0.read(line.value, line.line, line.span);
        let id = result.custom_id.take().unwrap_or_default();
        if let Some(failure) = &result.failure {
            eprintln!("{id}: {}", failure.message);
        }
        while let Some(event) = result.next_event() {
            match event {
                ResponseEvent::Record { record, .. } => {
                    let Definition { entity, definition } = record.value;
                    writeln!(output, "{id}\t{entity}\t{definition}")?;
                }
                ResponseEvent::Rejected { diagnostic, .. } => eprintln!("{id}: {diagnostic}"),
                _ => {}
            }
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: batch_rows RESULTS")?;
    let mut file = File::open(path)?;
    let mut first = String::new();
    BufReader::new(&file).read_line(&mut first)?;
    let format = BatchFormat::detect(&first).ok_or("no batch results")?;
    file.rewind()?;
    let mapper = LineMapper::new(|| Rows(BatchReader::new(format, Options::lenient())))
        .jobs(thread::available_parallelism()?.get());
    // In the order of the file.
    mapper.read(file, |lines| {
        for (written, rows) in lines {
            written?;
            io::stdout().write_all(rows)?;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(())
}
