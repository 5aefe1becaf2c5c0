//! Imports conversations from files, databases and search stores.
//!
//! Exports hold a row for each message, documents with `$date` and `$oid`, hits with `_source`. An [`Importer`] turns
//! them into the lines that `tokenline-conversations` validates: one conversation per line, in bounded memory. A
//! [`Mapping`] says which column holds which part of a message.
//!
//! | input | result |
//! |---|---|
//! | a row whose conversation cannot be read | is rejected; whether a conversation lacks it is unknown |
//! | any other row that cannot be read | is rejected, and so is its conversation |
//! | a row with an invalid time, role, text or order | is rejected, and so is its conversation: no line has a gap |
//! | a message without text | is left out and counted, kept or rejected: [`EmptyMessages`] |
//! | an unknown role | rejects the conversation, or is kept: [`UnknownRoles`] |
//! | a row without a time | is rejected if the time orders the messages; else the conversation has the earliest of its others |
//! | several users in a conversation | reject it, or the first one counts: [`SeveralUsers`] |
//! | no user, no time | rejects the conversation, unless the mapping has a default |
//! | messages with the same order | stay in the order of the input |
//! | a conversation that appears again | is rejected, if the rows are said to be grouped; else its rows are sorted |
//! | a conversation without messages, or longer than 8 MiB | is rejected |
//!
//! Times are written in UTC. What is rejected is named in the [`ImportReport`] by its place and an [`ImportCode`], without
//! its content. Every line that is written is valid.
//!
//! Rows come from [files](Importer::read), from [stores](STORES), each with a feature of the crate, or from any other source
//! that [pushes](Importer::row) them.
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod assemble;
mod cell;
mod checkpoint;
mod entry;
mod error;
mod files;
mod importer;
mod mapping;
mod output;
mod plan;
mod reject;
mod rejects;
mod report;
mod sort;
mod stores;
mod time;

pub use cell::{Cell, Row};
pub use error::{ErrorKind, ImportError};
pub use files::FileKind;
pub use importer::{Begin, Importer, Progress};
pub use mapping::{DEFAULT_ROLES, EmptyMessages, Mapping, SeveralUsers, UnknownRoles};
pub use output::Output;
pub use plan::Columns;
pub use reject::{ImportCode, ImportReject, Place};
pub use report::{ImportReport, ImportSummary, ImportedSource};
pub use stores::*;

/// Runs the README's example as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
