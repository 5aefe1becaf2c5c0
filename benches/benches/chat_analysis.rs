//! Criterion bench of the `chat_analysis` group.

use criterion::{Criterion, criterion_group, criterion_main};
use tokenline_benches::contenders::chat_analysis;
use tokenline_benches::criterion_group;

fn contenders(criterion: &mut Criterion) {
    criterion_group::measure(criterion, &chat_analysis::group());
}

criterion_group!(benches, contenders);
criterion_main!(benches);
