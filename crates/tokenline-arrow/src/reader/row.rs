//! A reader of rows, by their format.

use super::{batch, response, text};
use crate::error::Full;
use crate::options::{Format, Rules};
use crate::output::{Output, Status};

/// Reads rows, one after the other, with one set of machines.
pub(crate) enum RowReader {
    Text(Box<text::TextReader>),
    Response(Box<response::ResponseReader>),
    Batch(Box<batch::BatchReader>),
}

impl RowReader {
    pub(crate) fn new(rules: &Rules) -> Self {
        match rules.format {
            Format::Text => Self::Text(Box::new(text::TextReader::new(rules))),
            Format::Provider(provider) => {
                Self::Response(Box::new(response::ResponseReader::new(rules, provider)))
            }
            Format::Batch(format) => Self::Batch(Box::new(batch::BatchReader::new(rules, format))),
        }
    }

    pub(crate) fn read(&mut self, row: &[u8], out: &mut Output) -> Result<Status, Full> {
        match self {
            Self::Text(reader) => reader.read(row, out),
            Self::Response(reader) => reader.read(row, out),
            Self::Batch(reader) => reader.read(row, out),
        }
    }
}
