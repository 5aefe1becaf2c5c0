//! Imports the messages of a collection, and goes on where it was when it is started again after it was killed.
//!
//! `import_mongodb URL COLLECTION OUTPUT CHECKPOINT [BATCH_SIZE [grouped]]`

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;

use tokenline_import::{Importer, Mapping, MongoSource, Output};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, collection, output, checkpoint, options @ ..] = &arguments[..] else {
        return Err("usage: import_mongodb URL COLLECTION OUTPUT CHECKPOINT [BATCH_SIZE [grouped]]".into());
    };
    let batch_size = options.first().map_or(Ok(1_000), |size| size.parse())?;
    let source = MongoSource::new(url)?.collection(collection).batch_size(batch_size);
    let column = |name: &str| Some(name.to_owned());
    let mapping = Mapping {
        conversation_id: column("thread"),
        user_id: column("/user/name"),
        timestamp: column("sent_at"),
        role: column("role"),
        content: vec!["text".to_owned()],
        metadata: BTreeMap::from([("channel".to_owned(), "channel".to_owned())]),
        ..Mapping::default()
    };
    let file = File::options().create(true).truncate(false).read(true).write(true).open(output)?;
    let mut importer = Importer::new(&mapping, Output::file(file))?
        .grouped(options.get(1).is_some_and(|option| option == "grouped"))
        .checkpoint(checkpoint, &source.name())?;
    source.read(&mut importer).await?;
    let report = importer.finish()?;
    eprintln!("{} rows, {} conversations", report.row_count, report.summary.conversation_count);
    Ok(())
}
