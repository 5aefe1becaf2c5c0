//! Records in a layout, with garbage between them.

use std::ops::Range;

use super::kinds::Kind;
use super::layouts::Layout;

/// The position of garbage among the units.
#[derive(Clone, Copy, Debug)]
pub(super) enum Placement {
    First,
    Between,
    Last,
    Everywhere,
}

impl Placement {
    pub(super) const ALL: [Self; 4] = [Self::First, Self::Between, Self::Last, Self::Everywhere];

    /// Whether garbage is before the unit with this index; `units` means after the last.
    fn is_before(self, index: usize, units: usize) -> bool {
        match self {
            Self::First => index == 0,
            Self::Between => index == units / 2,
            Self::Last => index == units,
            Self::Everywhere => {
                let places = [0, 1, 2, units / 3, units / 3 + 1, 2 * units / 3, units - 1, units];
                places.contains(&index)
            }
        }
    }
}

/// An input, and the ranges of its garbage.
pub(super) struct Case {
    pub(super) input: Vec<u8>,
    pub(super) garbage: Vec<Range<usize>>,
    pub(super) expected: Vec<String>,
}

impl Case {
    /// `count` records with garbage of one kind.
    pub(super) fn of_kind(layout: &Layout, kind: &Kind, placement: Placement, count: usize) -> Self {
        let units = layout.units(count).len();
        Self::new(
            layout,
            count,
            |index| if placement.is_before(index, units) { vec![kind.text] } else { Vec::new() },
        )
    }

    /// `count` records, with `garbage(index)` before each unit and after the last.
    pub(super) fn new(
        layout: &Layout,
        count: usize,
        mut garbage: impl FnMut(usize) -> Vec<&'static [u8]>,
    ) -> Self {
        let units = layout.units(count);
        let mut case =
            Self { input: layout.head().into(), garbage: Vec::new(), expected: layout.expected(count) };
        for index in 0..=units.len() {
            for text in garbage(index) {
                let from = case.input.len();
                case.add_lines(layout.indent, text);
                case.garbage.push(from..case.input.len());
            }
            if let Some(unit) = units.get(index) {
                case.add_lines(layout.indent, unit.as_bytes());
            }
        }
        case.input.extend_from_slice(layout.tail().as_bytes());
        case
    }

    fn add_lines(&mut self, indent: &str, lines: &[u8]) {
        for line in lines.split(|byte| *byte == b'\n') {
            self.input.extend_from_slice(indent.as_bytes());
            self.input.extend_from_slice(line);
            self.input.push(b'\n');
        }
    }

    /// The same input with CRLF at the end of each line.
    pub(super) fn with_crlf(&self) -> Self {
        let with_crlf = |bytes: &[u8]| -> Vec<u8> {
            bytes.split_inclusive(|byte| *byte == b'\n').fold(Vec::new(), |mut all, line| {
                match line.strip_suffix(b"\n") {
                    Some(line) => all.extend_from_slice(&[line, b"\r\n"].concat()),
                    None => all.extend_from_slice(line),
                }
                all
            })
        };
        let moved = |at: usize| with_crlf(&self.input[..at]).len();
        Self {
            input: with_crlf(&self.input),
            garbage: self.garbage.iter().map(|range| moved(range.start)..moved(range.end)).collect(),
            expected: self.expected.iter().map(|record| record.replace('\n', "\r\n")).collect(),
        }
    }

    /// The lines of one range of garbage.
    pub(super) fn lines(&self, garbage: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let mut at = garbage.start;
        self.input[garbage.clone()].split_inclusive(|byte| *byte == b'\n').map(move |line| {
            at += line.len();
            at - line.len()..at
        })
    }
}
