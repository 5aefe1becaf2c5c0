//! Criterion bench of the `sse` groups.

use criterion::{Criterion, criterion_group, criterion_main};
use tokenline_benches::contenders::{CORPUS_BYTES, sse};
use tokenline_benches::criterion_group;

fn contenders(criterion: &mut Criterion) {
    criterion_group::measure(criterion, &sse::calls(CORPUS_BYTES));
    criterion_group::measure(criterion, &sse::records(CORPUS_BYTES));
}

criterion_group!(benches, contenders);
criterion_main!(benches);
