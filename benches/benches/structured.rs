//! Criterion bench of the `structured` group.

use criterion::{Criterion, criterion_group, criterion_main};
use tokenline_benches::contenders::structured;
use tokenline_benches::criterion_group;

fn contenders(criterion: &mut Criterion) {
    criterion_group::measure(criterion, &structured::group());
}

criterion_group!(benches, contenders);
criterion_main!(benches);
