//! Criterion bench of the `pipeline` group.

use criterion::{Criterion, criterion_group, criterion_main};
use tokenline_benches::contenders::{CORPUS_BYTES, pipeline};
use tokenline_benches::criterion_group;

fn contenders(criterion: &mut Criterion) {
    criterion_group::measure(criterion, &pipeline::group(CORPUS_BYTES));
}

criterion_group!(benches, contenders);
criterion_main!(benches);
