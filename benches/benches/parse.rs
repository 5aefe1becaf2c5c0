//! Criterion bench of the `parse` group.

use criterion::{Criterion, criterion_group, criterion_main};
use tokenline_benches::contenders::{CORPUS_BYTES, parse};
use tokenline_benches::criterion_group;

fn contenders(criterion: &mut Criterion) {
    criterion_group::measure(criterion, &parse::group(CORPUS_BYTES));
}

criterion_group!(benches, contenders);
criterion_main!(benches);
