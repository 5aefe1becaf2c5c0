//! Runs a group of contenders with criterion.

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};

use crate::contenders::Group;

/// Measures every contender on every corpus; those that share a corpus run one after the other.
pub fn measure(criterion: &mut Criterion, group: &Group) {
    let mut benches = criterion.benchmark_group(group.name);
    benches.sample_size(20).sampling_mode(SamplingMode::Flat);
    for corpus in &group.corpora {
        benches.throughput(Throughput::Bytes(corpus.bytes.len() as u64));
        for contender in group.contenders {
            let mut run = (contender.prepare)(corpus);
            let id = BenchmarkId::new(contender.name.replace('`', ""), corpus.name);
            benches.bench_function(id, |bencher| {
                bencher.iter_custom(|runs| (0..runs).map(|_| run()).sum::<Duration>());
            });
        }
    }
    benches.finish();
}
