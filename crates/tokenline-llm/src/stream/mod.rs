//! Answers as streams, over whatever gives their bytes.

mod error;
mod response_stream;
mod text;

pub use error::ResponseError;
pub use response_stream::{Records, ResponseStream, ToolCalls};
pub use text::TextPieces;
