//! Chunks of 64 KiB to validated records.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use tokio_util::codec::{FramedRead, LinesCodec};

use super::{CHUNK_BYTES, Contender, Group, Run, Unit, in_chunks, naive, parse, timed_pass, tokenline};
use crate::corpora::Corpus;

/// All read from memory.
pub const CONTENDERS: &[Contender] = &[
    Contender { name: "`FramedRead<LinesCodec>` + serde_json + jsonschema", prepare: framed_read },
    Contender { name: "memchr lines of the whole + serde_json + jsonschema", prepare: memchr_lines },
    Contender {
        name: "tokenline",
        prepare: |corpus| in_chunks(corpus, CHUNK_BYTES, tokenline::pipeline(corpus)),
    },
];

/// The group over corpora of `bytes` bytes.
#[must_use]
pub fn group(bytes: usize) -> Group {
    Group {
        name: "pipeline",
        title: "chunks of 64 KiB to validated records",
        unit: Unit::MegabytesPerSecond,
        contenders: CONTENDERS,
        corpora: Corpus::all(bytes),
    }
}

/// Polled without a runtime: a slice is always ready.
fn framed_read(corpus: &Corpus) -> Run<'_> {
    let validator = naive::validator(corpus);
    timed_pass(corpus, move || {
        let codec = LinesCodec::new();
        let mut frames = FramedRead::with_capacity(corpus.bytes.as_ref(), codec, CHUNK_BYTES);
        let mut context = Context::from_waker(Waker::noop());
        let mut records = 0;
        loop {
            match Pin::new(&mut frames).poll_next(&mut context) {
                Poll::Ready(Some(line)) => {
                    let line = line.expect("lines of UTF-8");
                    records += usize::from(naive::record(&validator, &line).is_some());
                }
                Poll::Ready(None) => break records,
                Poll::Pending => unreachable!("a slice is always ready"),
            }
        }
    })
}

/// The minimum cost of framing: no chunks, no copies, no `String` per line.
fn memchr_lines(corpus: &Corpus) -> Run<'_> {
    let validator = naive::validator(corpus);
    timed_pass(corpus, move || {
        parse::lines(&corpus.bytes)
            .filter(|line| {
                let line = str::from_utf8(line).expect("lines of UTF-8");
                naive::record(&validator, line).is_some()
            })
            .count()
    })
}
