//! Tables of figures in Markdown, written and read back.

use std::fmt;

/// The figures of one group.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The name of the group.
    pub name: String,
    /// A short description of the measurement.
    pub title: String,
    /// The unit of the figures, without a comma.
    pub unit: String,
    /// The names of the corpora.
    pub columns: Vec<String>,
    /// A row per contender.
    pub rows: Vec<Row>,
}

/// The figures of one contender.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The name of the contender.
    pub label: String,
    /// A cell per corpus.
    pub cells: Vec<Cell>,
}

/// The figures of one contender on one corpus.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Median over the rounds, in the table's unit.
    pub value: f64,
    /// The speed relative to the first contender: the median of the ratios within each round. `None` if the figure
    /// is not a time.
    pub ratio: Option<f64>,
}

/// After the unit, if the cells have ratios.
const RATIOS: &str = " (times as fast as the first row)";

impl Table {
    /// The row with this label.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[must_use]
    pub fn row(&self, label: &str) -> &Row {
        let row = self.rows.iter().find(|row| row.label == label);
        row.unwrap_or_else(|| panic!("`{}` has no row {label}", self.name))
    }
}

/// Reads every table that follows a heading as written by [`Table`]'s `Display`. Other text and tables are skipped.
///
/// # Panics
///
/// If a heading has no unit or no table, a row has the wrong number of cells, or a cell is not a figure.
#[must_use]
pub fn read(markdown: &str) -> Vec<Table> {
    let mut lines = markdown.lines();
    let mut tables = Vec::new();
    while let Some(line) = lines.next() {
        if let Some((name, title)) = line.strip_prefix('`').and_then(|line| line.split_once("`: ")) {
            assert_eq!(lines.next(), Some(""), "a blank line below the heading of `{name}`");
            let rows = lines.by_ref().take_while(|line| !line.is_empty());
            tables.push(read_table(name, title, rows));
        }
    }
    tables
}

fn read_table<'l>(name: &str, title: &str, mut lines: impl Iterator<Item = &'l str>) -> Table {
    let title = title.strip_suffix(RATIOS).unwrap_or(title);
    let (title, unit) =
        title.rsplit_once(", ").unwrap_or_else(|| panic!("the heading of `{name}` has no unit"));
    let (_, columns) = read_row(lines.next().unwrap_or_else(|| panic!("`{name}` has no table")));
    let rule = lines.next();
    assert!(rule.is_some_and(|rule| rule.starts_with("|---|")), "`{name}` has no line below its columns");
    let rows = lines.map(|line| {
        let (label, cells) = read_row(line);
        assert_eq!(cells.len(), columns.len(), "cells of {label} in `{name}`");
        Row { label: label.to_owned(), cells: cells.into_iter().map(Cell::read).collect() }
    });
    Table {
        name: name.to_owned(),
        title: title.to_owned(),
        unit: unit.to_owned(),
        rows: rows.collect(),
        columns: columns.into_iter().map(str::to_owned).collect(),
    }
}

/// The first cell of a line, and the others.
fn read_row(line: &str) -> (&str, Vec<&str>) {
    let cells = line.strip_prefix('|').and_then(|line| line.strip_suffix('|'));
    let mut cells = cells.unwrap_or_else(|| panic!("not a row: {line}")).split('|').map(str::trim);
    (cells.next().unwrap_or_default(), cells.collect())
}

impl Cell {
    fn read(cell: &str) -> Self {
        let figure = |text: &str| text.parse().unwrap_or_else(|_| panic!("not a figure: {cell}"));
        match cell.split_once(" (") {
            Some((value, ratio)) => {
                Self { value: figure(value), ratio: Some(figure(ratio.trim_end_matches(')'))) }
            }
            None => Self { value: figure(cell), ratio: None },
        }
    }
}

impl fmt::Display for Table {
    /// A heading, a blank line and the rows.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_ratios = self.rows.iter().flat_map(|row| &row.cells).any(|cell| cell.ratio.is_some());
        let ratios = if has_ratios { RATIOS } else { "" };
        writeln!(formatter, "`{}`: {}, {}{ratios}\n", self.name, self.title, self.unit)?;
        writeln!(formatter, "| | {} |", self.columns.join(" | "))?;
        writeln!(formatter, "|---|{}", "--:|".repeat(self.columns.len()))?;
        for Row { label, cells } in &self.rows {
            write!(formatter, "| {label} |")?;
            for cell in cells {
                write!(formatter, " {cell} |")?;
            }
            writeln!(formatter)?;
        }
        Ok(())
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", figure(self.value))?;
        self.ratio.map_or(Ok(()), |ratio| write!(formatter, " ({ratio:.2})"))
    }
}

/// A value in at least two significant digits.
#[must_use]
pub fn figure(value: f64) -> String {
    let one_decimal = format!("{value:.1}");
    if one_decimal.len() < "100.0".len() { one_decimal } else { format!("{value:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(ratio: Option<f64>) -> Table {
        let cell = |value| Cell { value, ratio };
        Table {
            name: "parse".to_owned(),
            title: "lines to parsed JSON, nothing validated".to_owned(),
            unit: "MB/s".to_owned(),
            columns: vec!["mixed".to_owned(), "half a line, 50 B".to_owned()],
            rows: vec![
                Row { label: "serde_json `Value`".to_owned(), cells: vec![cell(457.0), cell(8.5)] },
                Row { label: "tokenline, records".to_owned(), cells: vec![cell(1849.0), cell(0.3)] },
            ],
        }
    }

    #[test]
    fn tables_are_read_back() {
        let tables = [table(Some(4.05)), table(None)];
        let markdown =
            format!("Some text.\n\n{}\n| another | table |\n|---|--:|\n\n{}", tables[0], tables[1]);
        assert_eq!(read(&markdown), tables);
    }

    #[test]
    fn a_heading_names_the_ratios() {
        let markdown = table(Some(1.0)).to_string();
        assert!(markdown.starts_with(
            "`parse`: lines to parsed JSON, nothing validated, MB/s (times as fast as the first row)\n\n| | mixed |"
        ));
        assert!(
            table(None).to_string().starts_with("`parse`: lines to parsed JSON, nothing validated, MB/s\n")
        );
    }

    #[test]
    fn figures_that_are_rounded_up_are_read_back() {
        for value in [0.04, 9.96, 99.94, 99.96, 100.4, 1_376_040.3] {
            let printed = figure(value);
            assert_eq!(figure(printed.parse().expect("a number")), printed);
        }
        assert_eq!(figure(99.96), "100");
    }

    #[test]
    #[should_panic(expected = "cells of tokenline in `parse`")]
    fn a_row_without_a_cell_is_not_read() {
        let _ = read("`parse`: lines, MB/s\n\n| | a | b |\n|---|--:|--:|\n| tokenline | 1 |\n");
    }
}
