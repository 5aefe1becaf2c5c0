//! Asking a model again for what was rejected, beside the response that goes on.

mod asking;
mod attempt;
mod events;
mod extraction;
mod options;
mod requests;

pub(crate) use asking::Asking;
pub use events::{ExtractionEvents, ExtractionRecords, ExtractionToolCalls};
pub use extraction::{Extracted, Extraction, extract};
pub use options::ReaskOptions;
pub(crate) use requests::Setup;
