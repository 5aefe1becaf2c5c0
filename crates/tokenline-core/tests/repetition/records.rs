//! The detector of equal records reaches the limit at the record where the definition says it is reached.

use tokenline_core::adapter::RecordRepetitionDetector;
use tokenline_core::{Repeated, RepetitionLimit, RepetitionLimits};

use crate::random::Random;

/// The first record at which the end of the list has a cycle with enough copies: the number of records, the cycle, and
/// the bytes of the run.
fn first_loop(records: &[String], limit: RepetitionLimit) -> Option<(usize, usize, usize)> {
    (1..=records.len()).find_map(|count| {
        let records = &records[..count];
        (1..=RecordRepetitionDetector::MAX_CYCLE.min(count - 1)).find_map(|cycle| {
            let equal = (cycle..count).rev().take_while(|at| records[*at] == records[at - cycle]).count();
            let run = &records[count - equal - cycle..];
            let bytes = run.iter().map(String::len).sum::<usize>();
            let is_loop =
                equal > 0 && run.len() / cycle >= limit.copies as usize && bytes >= limit.bytes as usize;
            is_loop.then_some((count, cycle, bytes))
        })
    })
}

#[test]
fn random_records_are_loops_by_the_definition() {
    let limit = RepetitionLimit::new(5, 600);
    let limits = RepetitionLimits { records: limit, ..RepetitionLimits::default() };
    let mut loops = 0;
    for seed in 0..500 {
        let random = &mut Random::new(seed);
        let kinds = *random.pick(&[1, 2, 3, 50]);
        let mut records: Vec<String> = Vec::new();
        for _ in 0..1 + random.below(4) {
            let longest = *random.pick(&[1, 3, 34]);
            let cycle = 1 + random.below(longest);
            let cycle: Vec<String> =
                (0..cycle).map(|_| format!("{{\"kind\":{}}}", random.below(kinds))).collect();
            let count = cycle.len() * random.below(30);
            records.extend(cycle.into_iter().cycle().take(count + random.below(3)));
        }
        let mut detector = RecordRepetitionDetector::new(Repeated::Records, &limits);
        let found = (1..).zip(&records).find_map(|(count, record)| Some((count, detector.push(&[record])?)));
        let seen = found.map(|(count, found)| (count, found.items as usize, found.span.len() as usize));
        assert_eq!(seen, first_loop(&records, limit), "{records:?}");
        loops += usize::from(seen.is_some());
    }
    assert!(loops > 50, "{loops} loops");
}

/// A name and arguments that are another name and other arguments, put together.
#[test]
fn parts_are_compared_one_by_one() {
    let mut detector = RecordRepetitionDetector::new(Repeated::ToolCalls, &RepetitionLimits::default());
    for _ in 0..63 {
        assert_eq!(detector.push(&["read", &"a".repeat(300)]), None);
    }
    assert_eq!(detector.push(&["reada", &"a".repeat(299)]), None);
    assert_eq!(detector.push(&["read", &"a".repeat(300)]), None);
}
