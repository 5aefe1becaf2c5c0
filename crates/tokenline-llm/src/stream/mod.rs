//! Responses as streams, over any source of bytes.

mod error;
mod response_stream;
mod text;

pub use error::ResponseError;
pub use response_stream::{ResponseRecords, ResponseStream, ResponseToolCalls};
pub use text::TextPieces;
