//! A filter over standard input without async: JSON Lines in, valid records out, findings aside.
//!
//! `cargo run -p tokenline-examples --example validate_stdin <answer.txt`

use std::error::Error;
use std::io::{Read, Write};

use tokenline::schema::SchemaValidator;
use tokenline::{Event, LentEvent, Options, RecordDecoder};

fn main() -> Result<(), Box<dyn Error>> {
    let schema = r#"{"type":"object","properties":{"entity":{"type":"string"}},"required":["entity"]}"#;
    let validator: SchemaValidator = schema.parse()?;
    let mut decoder = RecordDecoder::new(Options::strict());
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());

    let mut handle = |event: LentEvent<'_>| -> std::io::Result<()> {
        match event {
            Event::Record(record) => match record.validate(&validator) {
                Ok(()) => writeln!(output, "{}", record.value.raw()),
                Err(diagnostic) => writeln!(std::io::stderr(), "{diagnostic}"),
            },
            Event::Rejected(diagnostic) => writeln!(std::io::stderr(), "{diagnostic}"),
            _ => Ok(()),
        }
    };

    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = input.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        // Records that lie within the buffer are lent from there, without a copy.
        let mut rest = &buffer[..read];
        loop {
            let decoded = decoder.decode(rest);
            rest = &rest[decoded.consumed..];
            match decoded.event {
                Some(event) => handle(event)?,
                None => break,
            }
        }
    }
    while let Some(event) = decoder.finish() {
        handle(event)?;
    }
    Ok(())
}
