//! Validates files of JSON Lines against a JSON Schema, on all cores, in constant memory.
//!
//! `cargo run -p tokenline-examples --example validate_files SCHEMA FILE...`

use std::error::Error;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;

use tokenline::SchemaValidator;
use tokenline::conversations::RecordValidator;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut args = std::env::args_os().skip(1).map(PathBuf::from);
    let schema: SchemaValidator =
        fs::read_to_string(args.next().ok_or("usage: validate_files SCHEMA FILE...")?)?.parse()?;
    let mut validator = RecordValidator::new(schema)
        .jobs(thread::available_parallelism()?.get())
        // Each error is printed as it is found, in the order of the lines.
        .on_invalid(|invalid| {
            println!("{}", invalid.error);
            Ok(())
        });
    for path in args {
        validator.read(path.display().to_string(), File::open(&path)?)?;
    }
    let report = validator.finish()?;
    println!("{} valid lines, {} errors", report.valid_line_count, report.error_count);
    Ok(if report.is_valid { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
