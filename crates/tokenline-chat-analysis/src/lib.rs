//! One JSON value for a chat response and its analysis: requested with a schema, checked, shown while it streams, and
//! stored as XML.
//!
//! The model replies to the user and describes the exchange in one response, so that a chat page needs no second
//! request:
//!
//! ```json
//! {
//!   "response": "A 529 plan is a good start.",
//!   "analysis": {
//!     "subjects": [
//!       {
//!         "name": "college-savings",
//!         "description": "How to save for college",
//!         "isNew": true,
//!         "keywords": [
//!           {"term": "529-plan", "confidence": 0.90}
//!         ]
//!       }
//!     ],
//!     "summaryUpdate": "User asked how to save for college."
//!   }
//! }
//! ```
//!
//! | step | by |
//! |---|---|
//! | request | [`AnalysisRequest`]: the body for Ollama's `/api/chat`, with the [schema](RESPONSE_SCHEMA) as its `format`, the [system prompt](SYSTEM_PROMPT) and temperature 0 |
//! | read | `tokenline::llm` extracts the text from the response's body, and knows whether it is complete |
//! | show | [`AnalysisStream`], or [`ResponseReader`] without I/O: the `response` text as it streams |
//! | check | both of these at the end, or [`check`] and [`review`] for a complete response |
//! | store | [`LlmResponse::to_xml`], into an [`AttachmentStore`] such as [`FileStore`] |
//! | read again | [`LlmResponse::from_xml`] |
//!
//! ```
//! use tokenline_chat_analysis::{AttachmentStore, FileStore, LlmResponse, ResponseReader};
//!
//! let mut reader = ResponseReader::new();
//! for piece in [
//!     "{\"response\":\"A 529 plan is a go",
//!     "od start.\",\"analysis\":{\"subjects\":[{\"name\":\"college-savings\",",
//!     "\"description\":\"How to save for college\",\"isNew\":true,\"keywords\":[",
//!     "{\"term\":\"529-plan\",\"confidence\":0.90}]}],\"summaryUpdate\":\"User asked about college.\"}}",
//! ] {
//!     print!("{}", reader.push(piece)?);
//! }
//! let response = reader.finish()?.response;
//!
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! let store = FileStore::new(folder);
//! store.store("college", "message-7", &response.to_xml()?)?;
//!
//! let xml = store.load("college", "message-7")?.unwrap();
//! assert_eq!(xml.lines().nth(4), Some("      <keyword term=\"529-plan\" confidence=\"0.90\" />"));
//! assert_eq!(LlmResponse::from_xml(&xml)?.response, response);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Why it checks again
//!
//! A server that receives the schema constrains the model's structure, but not everything: bounds of numbers and
//! patterns are commonly missing from the grammar, the model may run out of tokens, and other servers may ignore
//! `format` entirely. So this crate checks every response against the complete schema, and beyond it: a blank
//! `response` text is an [error](CheckError::Blank), a summary without subjects a
//! [warning](AnalysisWarning::NoSubjects).
//!
//! A response passes, or there is a typed error with a position. Nothing is requested again, and no response is made
//! up; for one that was cut off, the error has [the received part](Received).
//!
//! # XML
//!
//! Numbers are stored as written, subjects and keywords in order. Line breaks and tabs survive, markup is escaped. XML
//! 1.0 cannot represent most control characters: a response with one is [not stored](InvalidXmlCharacter) rather than
//! changed. Members unknown to the schema are not stored; a [warning](AnalysisWarning::UnknownMember) reports them when
//! the response is checked.
#![forbid(unsafe_code)]

mod check;
mod error;
mod json;
mod reader;
mod request;
mod response;
mod schema;
mod store;
mod stream;
mod xml;

pub use check::{AnalysisWarning, Checked, Review, check, review};
pub use error::{AnalysisError, CheckError, Received};
pub use reader::ResponseReader;
pub use request::{AnalysisRequest, Role, SYSTEM_PROMPT};
pub use response::{ConfidenceScore, InvalidConfidence, LlmAnalysis, LlmKeyword, LlmResponse, LlmSubject};
pub use schema::{RESPONSE_SCHEMA, RESPONSE_SCHEMA_TYPESCRIPT, validator};
pub use store::{AttachmentStore, FileStore, StoreError};
pub use stream::{AnalysisEvent, AnalysisStream};
pub use xml::{InvalidXmlCharacter, XmlError};
