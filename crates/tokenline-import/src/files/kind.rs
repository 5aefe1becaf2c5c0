//! The kinds of files.

use std::fmt;

use super::json;

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

    /// The names of the kinds whose documents may share a line.
    pub(crate) const ARRAYS: [&'static str; 2] = [Self::JsonArray.as_str(), Self::SearchPages.as_str()];

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
pub(super) fn separator(start: &[u8]) -> Option<u8> {
    let header = start.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
    let count = |separator: u8| header.iter().filter(|byte| **byte == separator).count();
    let most = [b';', b'\t', b','].into_iter().max_by_key(|separator| count(*separator))?;
    (count(most) > 0).then_some(most)
}
