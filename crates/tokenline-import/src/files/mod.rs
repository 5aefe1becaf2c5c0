//! Files.

mod csv;
pub(crate) mod json;
#[cfg(feature = "parquet")]
mod parquet;

use std::fmt;
use std::io::{self, Read};

use crate::{Begin, ImportError, Importer};

/// How a file holds rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileKind {
    /// A JSON object per line: a row, a document, or a hit with `_source`. Columns of a hit are those of its `_source`,
    /// then its own, such as `_id`.
    JsonLines,
    /// A JSON array of objects, on one or several lines.
    JsonArray,
    /// Values with a header, separated by commas, or by semicolons if the header has more of them; quoted as in RFC
    /// 4180. Empty lines are not rows. Of columns with the same name, the first one counts.
    Csv,
    /// Tab-separated values with a header, else as CSV.
    Tsv,
    /// Apache Parquet. Reading it needs the feature `parquet`.
    Parquet,
    /// Responses of a search, each an object with `hits.hits`, as Elasticsearch and OpenSearch send them.
    SearchPages,
}

impl FileKind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::JsonLines, Self::JsonArray, Self::Csv, Self::Tsv, Self::Parquet, Self::SearchPages];

    /// The name in options and reports, such as `jsonl`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::JsonLines => "jsonl",
            Self::JsonArray => "json-array",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Parquet => "parquet",
            Self::SearchPages => "search-pages",
        }
    }

    /// The kind of a file that starts like this. `None` if it is none of these kinds.
    #[must_use]
    pub fn detect(start: &[u8]) -> Option<Self> {
        if start.starts_with(b"PAR1") {
            return Some(Self::Parquet);
        }
        let start = start.strip_prefix("\u{feff}".as_bytes()).unwrap_or(start).trim_ascii_start();
        match start.first()? {
            b'[' => Some(Self::JsonArray),
            b'{' => Some(if json::begins_as_page(start) { Self::SearchPages } else { Self::JsonLines }),
            _ => match separator(start)? {
                b'\t' => Some(Self::Tsv),
                _ => Some(Self::Csv),
            },
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The separator of most names in a header: the first of commas, tabs and semicolons.
fn separator(start: &[u8]) -> Option<u8> {
    let header = start.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
    let count = |separator: u8| header.iter().filter(|byte| **byte == separator).count();
    let most = [b';', b'\t', b','].into_iter().max_by_key(|separator| count(*separator))?;
    (count(most) > 0).then_some(most)
}

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
