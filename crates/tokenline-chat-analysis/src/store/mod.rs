//! Storage for responses.

mod attachment;
mod file;

pub use attachment::{AttachmentStore, StoreError};
pub use file::FileStore;
