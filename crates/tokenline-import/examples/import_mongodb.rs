//! Imports the messages of a collection, and resumes where it stopped if it was killed.
//!
//! `import_mongodb URL COLLECTION MAPPING OUTPUT CHECKPOINT [BATCH_SIZE [grouped]]`

use std::error::Error;
use std::fs::{self, File};

use tokenline_import::{Importer, Mapping, MongoSource, Output};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, collection, mapping, output, checkpoint, options @ ..] = &arguments[..] else {
        return Err(
            "usage: import_mongodb URL COLLECTION MAPPING OUTPUT CHECKPOINT [BATCH_SIZE [grouped]]".into()
        );
    };
    let batch_size = options.first().map_or(Ok(1_000), |size| size.parse())?;
    let source = MongoSource::new(url)?.collection(collection).batch_size(batch_size);
    let mapping: Mapping = toml::from_str(&fs::read_to_string(mapping)?)?;
    let file = File::options().create(true).truncate(false).write(true).open(output)?;
    let mut importer = Importer::new(&mapping, Output::file(file))?
        .grouped(options.get(1).is_some_and(|option| option == "grouped"))
        .checkpoint(checkpoint, &source.identity())?;
    source.read(&mut importer).await?;
    let report = importer.finish()?;
    eprintln!("{} rows, {} conversations", report.row_count, report.summary.conversation_count);
    Ok(())
}
