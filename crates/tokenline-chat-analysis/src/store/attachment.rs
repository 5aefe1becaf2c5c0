//! The interface of a store.

use std::error::Error;
use std::{fmt, io};

/// Storage of XML attachments, one per message.
///
/// An attachment is stored completely or not at all.
pub trait AttachmentStore {
    /// Stores the attachment of a message, replacing an existing one.
    ///
    /// # Errors
    ///
    /// If it cannot be stored. An existing attachment is kept.
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

    /// The messages of a topic with attachments, sorted by name.
    ///
    /// # Errors
    ///
    /// If they cannot be listed.
    fn messages(&self, topic: &str) -> Result<Vec<String>, StoreError>;
}

/// The reason an attachment cannot be stored or loaded.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// The name of a topic or a message is empty, or too long for a file.
    Name(String),
    /// The file system reported an error.
    Io {
        /// The failed action, and its file.
        action: String,
        /// The error.
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
