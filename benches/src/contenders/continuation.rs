//! Cut-off documents: their contexts, and merging continuations.

use std::time::Instant;

use tokenline::json::Parser;
use tokenline_continuation::{ContextOptions, Document, Join, MergeOptions, Status};

use super::{Contender, Group, Run, Unit};
use crate::corpora::{Corpus, Kind};

/// The requested overlap in bytes.
const OVERLAP: usize = 200;
/// The size of a continuation in bytes.
const FRAGMENT: usize = 4096;

/// Passes over a cut-off document of 1 MB. For merging, base and fragment together have 1 MB plus the overlap.
pub const WHOLE: &[Contender] = &[
    Contender {
        name: "the parser alone",
        prepare: |corpus| {
            let mut parser = Parser::new();
            timed(move || {
                let text = cut(corpus, 9);
                parser.reset();
                let _ = parser.resume(text);
                assert!(parser.cut().is_some());
            })
        },
    },
    Contender {
        name: "contexts",
        prepare: |corpus| {
            timed(move || {
                let document = Document::of(cut(corpus, 9));
                assert!(document.contexts(&ContextOptions::default()).json_parsing_success);
            })
        },
    },
    Contender { name: "merge, the last 4 KB", prepare: |corpus| merged(corpus, FRAGMENT, Some(OVERLAP)) },
    Contender {
        name: "merge, the second half",
        prepare: |corpus| merged(corpus, corpus.bytes.len() / 2, Some(OVERLAP)),
    },
    Contender {
        name: "merge, the second half, no overlap requested",
        prepare: |corpus| merged(corpus, corpus.bytes.len() / 2, None),
    },
];

/// A fragment of 4 KB merged into a document that was parsed before.
pub const APPENDED: &[Contender] = &[
    Contender { name: "overlap as requested", prepare: |corpus| appended(corpus, Some(OVERLAP)) },
    Contender { name: "no overlap requested", prepare: |corpus| appended(corpus, None) },
];

/// The group over documents of 1 MB of each kind of record.
#[must_use]
pub fn group() -> Group {
    Group {
        name: "continuation",
        title: "a cut-off document of 1 MB, its contexts, and merging with the rest",
        unit: Unit::MegabytesPerSecond,
        contenders: WHOLE,
        corpora: Kind::ALL.map(|kind| Corpus::document(kind.name(), kind, 1_000_000)).into(),
    }
}

/// The group over documents of 1 MB and 10 MB.
#[must_use]
pub fn appended_group() -> Group {
    Group {
        name: "appended",
        title: "4 KB merged into a document that was parsed before",
        unit: Unit::Microseconds,
        contenders: APPENDED,
        corpora: vec![
            Corpus::document("1 MB", Kind::Mixed, 1_000_000),
            Corpus::document("10 MB", Kind::Mixed, 10_000_000),
        ],
    }
}

fn timed<'c>(mut pass: impl FnMut() + 'c) -> Run<'c> {
    Box::new(move || {
        let start = Instant::now();
        pass();
        start.elapsed()
    })
}

fn text(corpus: &Corpus) -> &str {
    std::str::from_utf8(&corpus.bytes).expect("the corpus is text")
}

/// The document without at least its last `bytes` bytes.
fn cut(corpus: &Corpus, bytes: usize) -> &str {
    let text = text(corpus);
    let mut end = text.len() - bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn tail(text: &str, bytes: usize) -> &str {
    let mut from = text.len() - bytes;
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}

fn merged(corpus: &Corpus, rest: usize, requested_overlap: Option<usize>) -> Run<'_> {
    let base = cut(corpus, rest);
    let fragment = tail(base, OVERLAP).to_owned() + &text(corpus)[base.len()..];
    let options = MergeOptions { requested_overlap, ..MergeOptions::default() };
    timed(move || {
        let merged = tokenline_continuation::merge(base, &fragment, &options);
        assert_eq!(merged.merged.len(), corpus.bytes.len());
    })
}

/// The document grows by the same fragment in each run.
fn appended(corpus: &Corpus, requested_overlap: Option<usize>) -> Run<'_> {
    let rows = cut(corpus, 2);
    let first =
        rows[rows.len() - FRAGMENT..].find("},{").expect("rows are shorter") + rows.len() - FRAGMENT + 1;
    let fragment = tail(rows, OVERLAP).to_owned() + &rows[first..];
    let mut document = Document::of(rows);
    let options = MergeOptions { requested_overlap, ..MergeOptions::default() };
    Box::new(move || {
        let start = Instant::now();
        let report = document.merge(&fragment, &options);
        let time = start.elapsed();
        assert_eq!((report.join, document.status()), (Join::Exact, Status::Open));
        time
    })
}
