//! Answers as streams, over whatever gives their bytes.

mod answer_stream;
mod error;
mod items;
mod text;

pub use answer_stream::AnswerStream;
pub use error::AnswerError;
pub use items::{Items, Records, ToolCalls};
pub use text::TextPieces;
