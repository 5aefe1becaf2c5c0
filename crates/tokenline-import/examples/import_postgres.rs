//! Imports a query of PostgreSQL into a file:
//!
//! ```text
//! PGPASSWORD=... cargo run -p tokenline-import --example import_postgres --features postgres -- \
//!     postgres://reader@db.example/shop 'SELECT * FROM messages' id mapping.toml conversations.jsonl [--grouped]
//! ```

use std::error::Error;
use std::fs::{self, File};

use tokenline_import::{Importer, Mapping, Output, PostgresSource};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (url, query, key, mapping, output, is_grouped) = match &arguments[..] {
        [url, query, key, mapping, output] => (url, query, key, mapping, output, false),
        [url, query, key, mapping, output, option] if option == "--grouped" => {
            (url, query, key, mapping, output, true)
        }
        _ => return Err("arguments: URL QUERY KEY MAPPING OUTPUT [--grouped]".into()),
    };
    let mapping: Mapping = toml::from_str(&fs::read_to_string(mapping)?)?;
    let source = PostgresSource::new(url, query)?.key(key);
    let mut importer = Importer::new(&mapping, Output::file(File::create(output)?))?.grouped(is_grouped);
    source.read(&mut importer).await?;
    println!("{}", serde_json::to_string(&importer.finish()?)?);
    Ok(())
}
