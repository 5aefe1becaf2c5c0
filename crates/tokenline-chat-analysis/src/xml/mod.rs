//! Answers as XML, to be stored, and back.

mod escape;
mod place;
mod read;
mod write;

pub use escape::NoXmlCharacter;
pub use read::XmlError;

/// The version that the root element names.
const VERSION: &str = "1.0.0";
/// The format that the root element names.
const FORMAT: &str = "ollama-structured";
