//! Conversion of responses to XML and back.

mod escape;
mod place;
mod read;
mod write;

pub use escape::InvalidXmlCharacter;
pub use read::XmlError;
