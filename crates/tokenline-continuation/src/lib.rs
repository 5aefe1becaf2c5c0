//! Continues JSON documents and lists of records that a token limit cut off.
//!
//! A model that hits its token limit stops in the midst of its answer. Then it is asked to go on: it is shown where it
//! stopped, and what it writes next is merged with what there is. This crate has the parts of that, each without I/O:
//!
//! | part | what it does |
//! |---|---|
//! | [`Document`], [`Contexts`] | one JSON document: what is complete of it, and what the model has to see |
//! | [`Document::merge`], [`merge`] | joins a fragment of a document where it proves, or allows only, one place |
//! | [`Iteration`] | requests a document: says what to send, takes what comes back, and knows when to stop |
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
//! # What holds
//!
//! - **Nothing is invented.** A number, literal, escape or name that was cut is never completed by guessing.
//! - **Nothing is spoiled.** A fragment that cannot be joined leaves the document as it was.
//! - **The bytes stay.** Number literals, escapes, the order of members and white space are the model's. Only
//!   prose, think blocks and fences around the document are left out: where it is, the core's scanner says, as it
//!   does for records.
//! - **Linear.** Text is read once, by the core's parser, also if it arrives in pieces, and once more by the scanner
//!   when the value is whole; a fragment is merged in time in proportion to it, also into a document of many megabytes.
//! - **Private.** Errors tell what went wrong, never what the document says.
//!
//! What it is not for: JSON with faults *before* its end. A document that is malformed there is reported, not
//! mended.
//!
//! # Where a fragment of a document is joined
//!
//! A fragment is read from its beginning on, and from behind a byte order mark, the line that opens a fence, and lines of
//! prose. There are three rules, tried in this order:
//!
//! 1. It begins with the overlap that was requested, perhaps behind white space. White space between tokens may differ
//!    if the overlap has 16 other bytes.
//! 2. It repeats the whole document, of 16 bytes or more apart from white space.
//! 3. There is one way to join it so that both are JSON: behind an end of the document, of up to 1,024 bytes, that it
//!    begins with, or where the document ends.
//!
//! If there are several ways by the third rule, the merge fails as [ambiguous](MergeFailure::Ambiguous). A way that repeats
//! fewer than 4 bytes of a string (or of a number, if an overlap was requested) does not count if there is another, and
//! one that repeats 16 bytes which are nowhere else nearby counts alone. The rule does not join a fragment that
//! [starts over](MergeFailure::StartedOver): one that begins with 8 bytes of the
//! document, a value among them, or with the name of a container that is open.
//!
//! The first two rules are [certain](Confidence::Certain). The third is [likely](Confidence::Likely): a fragment that
//! begins elsewhere in the document may fit as well. [`Iteration`], which goes on by itself, uses only what is certain.
//!
//! To try a way, the parser reads the fragment behind a short text that leads to the same state: the open containers and
//! the open token.
//!
//! # What the description of the flow leaves open
//!
//! **Global and consecutive failures.** The counter of failures is called global, and is reset by each success. Both
//! cannot bound the same thing: here failures are counted in a row ([`max_failures`](IterationOptions::max_failures)),
//! and what bounds the whole is the number of requests ([`max_requests`](IterationOptions::max_requests)). A
//! continuation that adds nothing is a failure, so that a model that repeats itself ends after three of them.
//!
//! **The fallback that may be absent.** The last closed part is said to be always there. It is not, if the first
//! answers hold no JSON: that is an [`IterationError`].
//!
//! **Complete without overlap.** An empty overlap context stands for "complete", and is also what a text has in which
//! no JSON begins, or of which no overlap is asked. [`Status`] tells them apart.
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod contexts;
mod document;
mod iteration;
mod merge;
mod outline;
mod records;
mod text;
mod tokens;

pub use contexts::{ContextOptions, Contexts};
pub use document::{Document, Status};
pub use iteration::{
    Decision, Finish, Finished, Iteration, IterationError, IterationOptions, Progress, Request, StepFailure,
    continuation_prompt,
};
pub use merge::{Confidence, Join, Merge, MergeFailure, MergeOptions, MergeReport, merge};
pub use records::{
    Checkpoint, ContinuationError, ContinuationFailure, ContinuationMessages, ContinuationOptions,
    ContinuationStep, RecordContinuation, ResponseEnd,
};
