//! Where stored answers are kept.

mod file;

use std::error::Error;
use std::{fmt, io};

pub use file::FileStore;

/// Attachments of messages, an XML document for each.
///
/// Nothing is kept for a message unless it is complete: what is stored is there as a whole, or not at all.
pub trait AttachmentStore {
    /// Stores the attachment of a message, in place of the one it may have.
    ///
    /// # Errors
    ///
    /// If it cannot be kept. What was there before still is.
    fn store(&self, topic: &str, message: &str, xml: &str) -> Result<(), StoreError>;

    /// The attachment of a message, if it has one.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    fn load(&self, topic: &str, message: &str) -> Result<Option<String>, StoreError>;

    /// Removes the attachment of a message. Returns whether it had one.
    ///
    /// # Errors
    ///
    /// If it cannot be removed.
    fn remove(&self, topic: &str, message: &str) -> Result<bool, StoreError>;

    /// The messages of a topic that have attachments, in the order of their names.
    ///
    /// # Errors
    ///
    /// If they cannot be listed.
    fn messages(&self, topic: &str) -> Result<Vec<String>, StoreError>;
}

/// Why an attachment cannot be stored or loaded.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// The name of a topic or a message is empty, or too long for a file.
    Name(String),
    /// The file system refuses.
    Io {
        /// What could not be done, and with which file.
        action: String,
        /// Why.
        error: io::Error,
    },
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(message) => f.write_str(message),
            Self::Io { action, error } => write!(f, "{action}: {error}"),
        }
    }
}

impl Error for StoreError {}
