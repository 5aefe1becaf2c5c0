//! Conversion of responses to XML and back.

mod escape;
mod place;
mod read;
mod write;

pub use escape::InvalidXmlCharacter;
pub use read::XmlError;

/// The version in the root element.
const VERSION: &str = "1.0.0";
/// The format in the root element.
const FORMAT: &str = "ollama-structured";
