//! Criterion bench of the `latency` group.

use criterion::{Criterion, criterion_group, criterion_main};
use tokenline_benches::contenders::latency;
use tokenline_benches::criterion_group;

fn contenders(criterion: &mut Criterion) {
    criterion_group::measure(criterion, &latency::group());
}

criterion_group!(benches, contenders);
criterion_main!(benches);
