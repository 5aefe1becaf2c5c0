//! Criterion bench of the `continuation` and `appended` groups.

use criterion::{Criterion, criterion_group, criterion_main};
use tokenline_benches::contenders::continuation;
use tokenline_benches::criterion_group;

fn contenders(criterion: &mut Criterion) {
    criterion_group::measure(criterion, &continuation::group());
    criterion_group::measure(criterion, &continuation::appended_group());
}

criterion_group!(benches, contenders);
criterion_main!(benches);
