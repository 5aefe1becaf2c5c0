//! Imports the messages of an index, and goes on where it was when it is started again after it was killed.
//!
//! `import_opensearch URL KEY OUTPUT CHECKPOINT [SLICES [PAGE_SIZE [grouped]]]`

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;

use tokenline_import::{Importer, Mapping, OpenSearchSource, Output};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, key, output, checkpoint, options @ ..] = &arguments[..] else {
        return Err(
            "usage: import_opensearch URL KEY OUTPUT CHECKPOINT [SLICES [PAGE_SIZE [grouped]]]".into()
        );
    };
    let option = |at: usize, default| options.get(at).map_or(Ok(default), |text| text.parse());
    let source = OpenSearchSource::new(url)?.key(key).slices(option(0, 4)?).page_size(option(1, 1_000)?);
    let column = |name: &str| Some(name.to_owned());
    let mapping = Mapping {
        conversation_id: column("thread"),
        user_id: column("user"),
        timestamp: column("sent_at"),
        role: column("role"),
        content: vec!["text".to_owned()],
        metadata: BTreeMap::from([("channel".to_owned(), "channel".to_owned())]),
        ..Mapping::default()
    };
    let file = File::options().create(true).truncate(false).read(true).write(true).open(output)?;
    let mut importer = Importer::new(&mapping, Output::file(file))?
        .grouped(options.get(2).is_some_and(|option| option == "grouped"))
        .checkpoint(checkpoint, &source.name())?;
    source.read(&mut importer).await?;
    let report = importer.finish()?;
    eprintln!("{} rows, {} conversations", report.row_count, report.summary.conversation_count);
    Ok(())
}
