//! Continues JSON documents and lists of records that a token limit cut off.
//!
//! A model that hits its token limit stops in the middle of its response. It is then shown where it stopped and asked to
//! continue, and what it writes is merged with what has arrived. This crate provides the parts, all without I/O:
//!
//! | part | what it does |
//! |---|---|
//! | [`Document`], [`Contexts`] | one JSON document: its complete part, and the context for the model |
//! | [`Document::merge`], [`merge`] | joins a fragment of a document where it proves, or allows only, one place |
//! | [`DocumentContinuation`] | requests a document: says what to send, takes what comes back, and knows when to stop |
//! | [`RecordContinuation`] | requests a list of records, each delivered once and in order |
//! | [`Checkpoint`] | how far a list has come, to continue it in another process |
//!
//! ```
//! use tokenline_continuation::{ContextOptions, Document, MergeOptions, Status};
//!
//! let mut document = Document::of(r#"{"rows":[{"id":1,"name":"Ada"},{"id":2,"na"#);
//! let contexts = document.contexts(&ContextOptions::default());
//! assert_eq!(contexts.complete_part, r#"{"rows":[{"id":1,"name":"Ada"},{"id":2}]}"#);
//!
//! // The model starts over, in a fence and with other white space.
//! let fragment = "```json\n{\"rows\": [{\"id\": 1, \"name\": \"Ada\"}, {\"id\": 2, \"name\": \"Grace\"}]}\n```";
//! let report = document.merge(fragment, &MergeOptions::default());
//! assert_eq!((report.join.as_str(), report.confidence.as_str()), ("restarted", "certain"));
//! assert_eq!(document.text(), r#"{"rows":[{"id":1,"name":"Ada"},{"id":2,"name": "Grace"}]}"#);
//! assert_eq!(document.status(), Status::Complete);
//! ```
//!
//! # Guarantees
//!
//! - **Nothing is invented.** A number, literal, escape or name that was cut off is never completed by guessing.
//! - **Nothing is damaged.** A fragment that cannot be joined leaves the document unchanged.
//! - **The bytes stay.** Number literals, escapes, the order of members and white space are the model's. Only
//!   prose, think blocks and fences around the document are left out; the core's scanner locates the document, as it
//!   does records.
//! - **Linear.** Text is read once, by the core's parser, also if it arrives in pieces, and once more by the scanner
//!   when the value is complete; a fragment is merged in time in proportion to it and to an open string or number, also into a
//!   document of many megabytes.
//! - **Private.** Errors tell what went wrong, never what the document says.
//!
//! Not supported: JSON with errors *before* its end. A document that is malformed there is reported, not repaired.
//!
//! # Where a fragment of a document is joined
//!
//! A fragment is read from its beginning, and from after a byte order mark, or the thoughts and the line of an opening code
//! fence that the core's scanner finds there. Up to 12 lines of prose, without brackets, braces, quotes or values, may be
//! before it as well. A fragment that begins with the requested overlap begins with no thought, and the first two rules apply
//! after a list marker too. The rules, in this order:
//!
//! 1. It begins with the requested overlap, possibly after white space. White space between tokens may differ if the
//!    overlap has at least 16 other bytes.
//! 2. It repeats the whole document, if that has at least 16 bytes besides white space. A shorter one may be repeated by the
//!    third rule.
//! 3. There is only one way to join it that gives valid JSON: after it has repeated up to 1,024 bytes of the document's
//!    end, or where it repeats nothing.
//!
//! If there are several ways by the third rule, the merge fails as [ambiguous](ContinuationFailure::Ambiguous). A way that repeats
//! fewer than 4 bytes of a string does not count if there is another. A way that repeats at least 16 bytes which occur
//! nowhere else nearby wins. The third rule does not join a fragment that [starts over](ContinuationFailure::StartedOver): one
//! that begins with at least the first 8 bytes of the document, including a complete value, that is a beginning of the
//! document and nothing else, or whose first member has the name of an open container.
//!
//! If a tag that closes a thought follows what was read, or the overlap again, that was a draft: the merge fails.
//!
//! The first two rules are [certain](Confidence::Certain). The third is [likely](Confidence::Likely): a fragment that
//! begins elsewhere in the document may fit as well. [`DocumentContinuation`], which runs unattended, uses only what is certain.
//!
//! To try a way, the parser reads the fragment after a short text that leads to the same state: the open containers and
//! the open token.
//!
//! # When it ends
//!
//! Failures are counted in a row. A counter that each success resets cannot bound the whole run: the number of requests does
//! ([`max_requests`](ContinuationOptions::max_requests)). A response that adds nothing is a failure, so a model that only
//! repeats itself ends the run after [`max_failures`](ContinuationOptions::max_failures). What has arrived is kept: the
//! delivered records with a [`Checkpoint`], or the [complete part](Document::complete_part) of a document, which does not
//! exist if no response contained a complete value or an open container.
//!
//! The overlap context is empty if the document is complete, but also if no JSON has begun or an overlap of 0 bytes was
//! requested. Check the [`Status`] to know which.
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod beginning;
mod contexts;
mod document;
mod error;
mod merge;
mod options;
mod outline;
mod prompt;
mod records;
mod response_end;
mod text;
mod tokens;

pub use contexts::{ContextOptions, Contexts};
pub use document::{Decision, Document, DocumentContinuation, DocumentRequest, Status};
pub use error::{ContinuationError, ContinuationFailure};
pub use merge::{Confidence, Join, Merge, MergeOptions, MergeReport, merge};
pub use options::ContinuationOptions;
pub use prompt::continuation_prompt;
pub use records::{Checkpoint, ContinuationMessages, ContinuationStep, RecordContinuation};
pub use response_end::ResponseEnd;
