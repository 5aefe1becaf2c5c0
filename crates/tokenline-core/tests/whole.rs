//! Any value as a record: hostile texts, split at every position.

mod common;
#[path = "common/random.rs"]
#[allow(dead_code, reason = "a part is enough here")]
mod random;

use common::{Seen, at_every_split};
use random::{Random, VALUE_PARTS};
use tokenline_core::Options;

#[test]
fn the_split_does_not_change_the_events() {
    let mut random = Random::new(7);
    let options = Options::lenient().whole_values(true);
    for _ in 0..3000 {
        let len = 1 + random.below(14);
        let text: String = (0..len).map(|_| *random.pick(&VALUE_PARTS)).collect();
        let mut end = 0;
        for event in at_every_split(&options, text.as_bytes()) {
            if let Seen::Record { raw, record } = event {
                assert_eq!(raw, text[record.span.start as usize..record.span.end as usize], "{text:?}");
                assert!(record.span.start >= end, "{text:?}");
                end = record.span.end;
            }
        }
    }
}
