//! One JSON value for a chat answer and its analysis: asked for with a schema, checked, shown while it grows,
//! and stored as XML.
//!
//! A model answers the user and says in the same breath what the exchange was about, so that a chat page needs no
//! second request:
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
//! | ask | [`AnalysisRequest`]: the body for Ollama's `/api/chat`, with the [schema](RESPONSE_SCHEMA) as its `format`, the [system prompt](SYSTEM_PROMPT) and temperature 0 |
//! | read | the text out of the body that comes back: what `tokenline::llm` is for, which also knows whether it came whole |
//! | show | [`AnalysisStream`], or [`ResponseReader`] without I/O: the text of `response` as it grows |
//! | check | both of them in the end, or [`check`] and [`review`] for a whole answer |
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
//! let answer = reader.finish()?.response;
//!
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! let store = FileStore::new(folder);
//! store.store("college", "message-7", &answer.to_xml()?)?;
//!
//! let xml = store.load("college", "message-7")?.unwrap();
//! assert_eq!(xml.lines().nth(4), Some("      <keyword term=\"529-plan\" confidence=\"0.90\" />"));
//! assert_eq!(LlmResponse::from_xml(&xml)?.response, answer);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Checked here as well
//!
//! A server that is given the schema binds the model to its structure as it writes. It does not hold the answer
//! against all of it: bounds of numbers and patterns are commonly left out of the grammar, a model may run out of
//! tokens in the middle, and another server may not know `format` at all. So every answer is held against the
//! whole schema here, and against what a schema cannot say: a response of nothing but white space is an
//! [error](CheckError::Blank), a summary without subjects a [warning](AnalysisWarning::NoSubjects).
//!
//! An answer passes, or there is a typed error with the place. Nothing is asked for again and nothing is put in the
//! place of an answer that is not there; of one that was cut off, the error has [what came](Received).
//!
//! # As XML
//!
//! Numbers are stored as they were written, subjects and keywords in their order. Line breaks and tabs survive,
//! markup is escaped. XML 1.0 has no way to write most control characters: an answer with one of them is
//! [not stored](NoXmlCharacter) rather than changed. Members that the schema does not know are not in the XML; a
//! [warning](AnalysisWarning::UnknownMember) says so when the answer is checked.
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
pub use xml::{NoXmlCharacter, XmlError};
