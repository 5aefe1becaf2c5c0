//! Imports the messages of an index, and resumes where it stopped if it was killed.
//!
//! `import_opensearch URL KEY MAPPING OUTPUT CHECKPOINT [SLICES [PAGE_SIZE [grouped]]]`

use std::error::Error;
use std::fs::{self, File};

use tokenline_import::{Importer, Mapping, OpenSearchSource, Output};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, key, mapping, output, checkpoint, options @ ..] = &arguments[..] else {
        return Err(
            "usage: import_opensearch URL KEY MAPPING OUTPUT CHECKPOINT [SLICES [PAGE_SIZE [grouped]]]"
                .into(),
        );
    };
    let option = |at: usize, default| options.get(at).map_or(Ok(default), |text| text.parse());
    let source = OpenSearchSource::new(url)?.key(key).slices(option(0, 4)?).page_size(option(1, 1_000)?);
    let mapping: Mapping = toml::from_str(&fs::read_to_string(mapping)?)?;
    let file = File::options().create(true).truncate(false).write(true).open(output)?;
    let mut importer = Importer::new(&mapping, Output::file(file))?
        .grouped(options.get(2).is_some_and(|option| option == "grouped"))
        .checkpoint(checkpoint, &source.identity())?;
    source.read(&mut importer).await?;
    let report = importer.finish()?;
    eprintln!("{} rows, {} conversations", report.row_count, report.summary.conversation_count);
    Ok(())
}
