//! Answers as streams, over whatever gives their bytes.

mod answer_stream;
mod error;
mod text;

pub use answer_stream::{AnswerStream, Records, ToolCalls};
pub use error::AnswerError;
pub use text::TextPieces;
