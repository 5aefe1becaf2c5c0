//! Reads JSON Lines into SQLite: each record once, however often the program is killed.
//!
//! `cargo run -p tokenline-examples --example restart FILE DATABASE`

use std::error::Error;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};

use rusqlite::{Connection, OptionalExtension as _, params};
use serde::Deserialize;
use tokenline::{JsonlParser, LentEvent, Options};

/// SQLite has no unsigned integers.
#[derive(Deserialize)]
struct Order {
    id: i64,
    product: String,
}

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS orders (id INTEGER, product TEXT);
    CREATE TABLE IF NOT EXISTS place (only INTEGER PRIMARY KEY, line INTEGER, line_start INTEGER, record_end INTEGER);";
const PLACE: &str = "SELECT line, line_start, record_end FROM place";
const SET_PLACE: &str = "INSERT OR REPLACE INTO place VALUES (1, ?1, ?2, ?3)";

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, path, database] = &*args else { return Err("usage: restart FILE DATABASE".into()) };
    let mut database = Connection::open(database)?;
    database.execute_batch(TABLES)?;

    // The place of the record that was stored last.
    let place =
        database.query_row(PLACE, [], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?])).optional()?;
    let [line, line_start, end] = place.unwrap_or([1, 0, 0]).map(i64::cast_unsigned);
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(line_start))?;
    let mut parser = JsonlParser::new(Options::lenient()).starting_at(line, line_start);

    let mut chunk = vec![0; 64 * 1024];
    loop {
        let len = file.read(&mut chunk)?;
        parser.push(&chunk[..len]);
        if len == 0 {
            // Leave this out if another program still writes to the file: the next run reads its last line.
            parser.finish();
        }
        while let Some(event) = parser.next_event() {
            match event {
                // Several records may be on the line: those up to `end` are stored.
                LentEvent::Record(record) if record.span.end > end => match record.deserialize::<Order>() {
                    Ok(order) => {
                        let place = [order.line, order.line_start(), order.span.end].map(u64::cast_signed);
                        let transaction = database.transaction()?;
                        let Order { id, product } = order.value;
                        transaction.execute("INSERT INTO orders VALUES (?1, ?2)", params![id, product])?;
                        transaction.execute(SET_PLACE, place)?;
                        transaction.commit()?;
                    }
                    Err(diagnostic) => eprintln!("{path}:{diagnostic}"),
                },
                LentEvent::Rejected(diagnostic) => eprintln!("{path}:{diagnostic}"),
                _ => {}
            }
        }
        if len == 0 {
            return Ok(());
        }
    }
}
