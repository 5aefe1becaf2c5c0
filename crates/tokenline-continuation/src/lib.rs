//! Continues JSON documents and lists of records that a token limit cut off.
//!
//! A model that hits its token limit stops in the midst of its answer. Then it is asked to go on: it is shown where it
//! stopped, and what it writes next is merged with what there is. This crate has the parts of that, each without I/O:
//!
//! | part | what it does |
//! |---|---|
//! | [`Document`], [`Contexts`] | one JSON document: what is complete of it, and what the model has to see |
//! | [`Document::merge`], [`merge`] | joins a fragment of a document, however the model continues |
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
//! - **Nothing is invented.** A number, literal, escape or name that was cut is never completed by guessing, and
//!   what was merged on a guess says so ([`Confidence`]).
//! - **Nothing is spoiled.** A fragment that cannot be joined leaves the document as it was.
//! - **The bytes stay.** Number literals, escapes, the order of members and white space are the model's. Only
//!   prose, think blocks and fences around the document are left out: where it is, the core's scanner says, as it
//!   does for records.
//! - **Linear.** Text is read once, by the core's parser, also if it arrives in pieces, and once more by the scanner
//!   when the value is whole; a fragment is merged in time in proportion to it, however long the document is. (The
//!   white space or fence behind a cut text can make it be read once more.)
//! - **Private.** Errors tell what went wrong, never what the document says.
//!
//! What it is not for: JSON with faults *before* its end. A document that is malformed there is reported, not
//! mended.
//!
//! # Where a fragment of a document is joined
//!
//! The overlap that was asked for is looked for first. A fragment that begins with exactly that, perhaps within a
//! fence or after prose, is joined behind it, if what follows is JSON there: this is `exact` and `certain`.
//!
//! Otherwise all seams are gathered: each tail of the document that the fragment begins with, byte for byte or
//! with other white space between tokens; nothing repeated at all; the whole document repeated; the containers
//! that lead to the cut opened again, and in them members repeated or not. Each is put to the grammar: a seam stays
//! if the parser, in the state in which it is at the cut, accepts the fragment from there on. So a seam behind
//! which a number, a literal or a string would break falls away by itself. Where a single one stays, that is it,
//! and it is `certain`; but only `likely` if it goes on with a number that may have been whole (`[12` and `3]`),
//! repeats a name of the same object, needs a comma put in, or was found behind prose.
//!
//! If several stay, none is `certain`, since each gives another document. Taken is, in this order: what repeats at
//! least 8 bytes (4, if overlap was asked for), white space apart, and not by chance; what starts over; what makes the
//! document whole while others do not; what repeats nothing and goes on with the next token, or within a string; the
//! rest. The longest overlap is not the best one: among equal rows each row repeats the one before, so an overlap does
//! not count where going on would look the same, and `[1,1,1,1` with `,1,1]` has six ones. A seam is `likely` if it
//! repeats at least 16 bytes that are nowhere else near the cut, with no equal rows before or behind them, and no other
//! repeats a quarter as much, otherwise `ambiguous`.
//! White space between tokens makes no seam another one. `ambiguous` is also a seam at which nothing is repeated, where
//! the fragment begins with values of the document's beginning and then differs: it may be the document once more.
//!
//! A fence, prose or a byte order mark is left out only where it cannot be part of the document: between tokens, or in
//! a string because it holds a raw line feed, which no string may. Prose is only considered where the fragment as it
//! stands continues nothing. In a string, prose on one line is text like any other; where overlap was asked for and the
//! fragment has none of it, such text is `ambiguous`. A byte order mark in a string may be one of its characters, so
//! there nothing is certain behind it but a requested overlap.
//!
//! All of it is linear: overlaps are found by the prefix function of Knuth, Morris and Pratt in the last 64 KiB (with
//! other white space, 16 KiB), a restart by comparing from the beginning; of many overlaps a fixed number is tried, over
//! 4 KiB each, and of those that hold so far the best first to the end, until one holds there. In place of the document
//! a short text is parsed that leads to the same state: the open containers with the names of their last members, and
//! the open token, shortened if it is long.
//!
//! # What the description of the flow leaves open
//!
//! **The missing step.** The steps are numbered 1, 2, 4, 5 and 6. What lies between calling the model and merging is
//! taking its answer out of what surrounds it: fences, think blocks and prose. [`Document`] and [`Document::merge`] do that.
//!
//! **The normalised result.** A result that is "normalised" might be printed anew, with other numbers, another order
//! of members, or other escapes. Here it is the text as the model wrote it, without fences and prose and without
//! white space at its end.
//!
//! **Global and consecutive failures.** The counter of failures is called global, and is reset by each success. Both
//! cannot bound the same thing: here failures are counted in a row ([`max_failures`](IterationOptions::max_failures)),
//! and what bounds the whole is the number of requests ([`max_requests`](IterationOptions::max_requests)). A
//! continuation that adds nothing is a failure, so that a model that repeats itself ends after three of them.
//!
//! **Seams without overlap.** A merge that found no overlap counts as failed there. [`Document::merge`] merges the fragment
//! even then, and reports its confidence; [`has_overlap`](Merge::has_overlap) tells whether anything was repeated.
//! [`Iteration`] runs unattended, so it is stricter: it uses a response only if it begins with the overlap, repeats the
//! whole document, or continues directly at the cut, outside strings, where the grammar allows nothing else.
//!
//! **The fallback that may be absent.** The last closed part is said to be always there. It is not, if the first
//! answers hold no JSON: that is an [`IterationError`]. Otherwise what is whole of the document is the fallback, and
//! as failures leave the document alone, it is the one of the last success.
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
pub use merge::{Confidence, Join, Merge, MergeFailure, MergeOptions, MergeReport, merge, merge_with};
pub use records::{
    Checkpoint, ContinuationError, ContinuationFailure, ContinuationMessages, ContinuationOptions,
    ContinuationStep, RecordContinuation, ResponseEnd,
};
