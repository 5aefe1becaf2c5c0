//! Criterion bench of the `partials` group.

use criterion::{Criterion, criterion_group, criterion_main};
use tokenline_benches::contenders::partials;
use tokenline_benches::criterion_group;

fn contenders(criterion: &mut Criterion) {
    criterion_group::measure(criterion, &partials::group());
}

criterion_group!(benches, contenders);
criterion_main!(benches);
