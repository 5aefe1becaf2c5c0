//! Reads a file of any kind.

use std::io::{self, Read};

use super::kind::separator;
#[cfg(feature = "parquet")]
use super::parquet;
use super::{FileKind, csv, json};
use crate::{Begin, ImportError, Importer};

/// The number of bytes that are read to detect the kind.
const START: usize = 16 * 1024;

impl Importer<'_> {
    /// Reads a file to its end. Its kind is detected if it is not given. Returns the kind.
    ///
    /// # Errors
    ///
    /// If the source cannot be read, has no known kind, lacks a column of the mapping, or if something cannot be written.
    pub fn read(
        &mut self,
        name: &str,
        kind: Option<FileKind>,
        mut source: impl Read,
    ) -> Result<FileKind, ImportError> {
        let mut start = Vec::new();
        // What is read before a failure is still imported.
        let failure = source.by_ref().take(START as u64).read_to_end(&mut start).err();
        let kind = match kind.or_else(|| FileKind::detect(&start)) {
            Some(kind) => kind,
            None if start.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&start).trim_ascii().is_empty()
                || failure.is_some() =>
            {
                FileKind::JsonLines
            }
            None => {
                return Err(ImportError::mapping(format!("{name} is neither JSON nor CSV: give its kind")));
            }
        };
        if self.begin(name, kind.as_str())? == Begin::Done {
            return Ok(kind);
        }
        let separator = if separator(&start) == Some(b';') { b';' } else { b',' };
        let source = io::Cursor::new(start).chain(Failed(failure)).chain(source);
        match kind {
            FileKind::JsonLines | FileKind::JsonArray | FileKind::SearchPages => {
                json::read(self, name, kind, source)?;
            }
            FileKind::Csv => csv::read(self, name, separator, source)?,
            #[cfg(feature = "parquet")]
            FileKind::Parquet => parquet::read(self, name, source)?,
            #[cfg(not(feature = "parquet"))]
            FileKind::Parquet => {
                return Err(ImportError::mapping(format!(
                    "{name} is a Parquet file, which only a build with the feature `parquet` reads"
                )));
            }
            FileKind::Tsv => csv::read(self, name, b'\t', source)?,
        }
        Ok(kind)
    }
}

/// Fails once, if there is a reason.
struct Failed(Option<io::Error>);

impl Read for Failed {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}
