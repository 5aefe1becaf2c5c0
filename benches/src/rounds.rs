//! Interleaved rounds: each contender once per round, so that changes of the machine's speed affect all of them alike.

use std::time::Duration;

use crate::contenders::{Contender, Group, TOKEN_BYTES, Unit};
use crate::corpora::Corpus;
use crate::tables::{Cell, Row, Table};

/// Runs `rounds` rounds after a warm-up round.
///
/// # Panics
///
/// If `rounds` is 0.
#[must_use]
pub fn measure(group: &Group, rounds: usize) -> Table {
    let row = |contender: &Contender| Row { label: contender.name.to_owned(), cells: Vec::new() };
    let mut rows: Vec<Row> = group.contenders.iter().map(row).collect();
    for corpus in &group.corpora {
        let times = times(group, corpus, rounds);
        for (row, own) in rows.iter_mut().zip(&times) {
            let ratios = times[0].iter().zip(own).map(|(first, own)| first / own);
            row.cells.push(Cell {
                value: in_unit(group.unit, corpus, median(own.iter().copied())),
                ratio: Some(median(ratios)),
            });
        }
    }
    Table {
        name: group.name.to_owned(),
        title: group.title.to_owned(),
        unit: group.unit.symbol().to_owned(),
        columns: group.corpora.iter().map(|corpus| corpus.name.to_owned()).collect(),
        rows,
    }
}

/// The seconds of each contender in each round.
fn times(group: &Group, corpus: &Corpus, rounds: usize) -> Vec<Vec<f64>> {
    let mut runs: Vec<_> = group.contenders.iter().map(|contender| (contender.prepare)(corpus)).collect();
    for run in &mut runs {
        run();
    }
    let mut times = vec![Vec::with_capacity(rounds); runs.len()];
    for round in 0..rounds {
        // Each round starts with a different contender, so that none always follows the same one.
        for step in 0..runs.len() {
            let index = (round + step) % runs.len();
            // A coarse clock must not make a ratio infinite.
            let time = runs[index]().max(Duration::from_nanos(1));
            times[index].push(time.as_secs_f64());
        }
    }
    times
}

fn in_unit(unit: Unit, corpus: &Corpus, seconds: f64) -> f64 {
    let bytes = corpus.bytes.len();
    match unit {
        Unit::MegabytesPerSecond => bytes as f64 / seconds / 1e6,
        Unit::NanosecondsPerToken => seconds * 1e9 / bytes.div_ceil(TOKEN_BYTES) as f64,
        Unit::NanosecondsPerEvent => seconds * 1e9 / corpus.wire.events as f64,
        Unit::Microseconds => seconds * 1e6,
    }
}

/// The median of the values; the upper one for an even number.
///
/// # Panics
///
/// If there are none.
pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contenders::parse;

    #[test]
    fn a_row_per_contender_and_a_cell_per_corpus() {
        let group = parse::group(10_000);
        let table = measure(&group, 3);
        assert_eq!(table.columns.len(), group.corpora.len());
        assert_eq!(table.rows.len(), group.contenders.len());
        for row in &table.rows {
            assert_eq!(row.cells.len(), group.corpora.len());
            assert!(row.cells.iter().all(|cell| cell.value > 0.0 && cell.ratio > Some(0.0)));
        }
        assert!(table.rows[0].cells.iter().all(|cell| cell.ratio == Some(1.0)));
    }

    #[test]
    fn median_of_odd_and_even_counts() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0].into_iter()), 3.0);
    }
}
