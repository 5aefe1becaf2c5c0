//! The files of the repository that show the figures. `benches/README.md` has the tables; the table and the plots of
//! `README.md` are made from these, so that they cannot differ.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::plots;
use crate::tables::{self, Table};

/// The file with the tables, in the repository.
const TABLES: &str = "benches/README.md";

/// The rows of the table in `README.md`: a label, a group, one of its contenders, and the peer that it is compared with.
const SUMMARY: [(&str, &str, &str, &str); 3] = [
    ("parsing, against serde_json `Value`", "parse", "tokenline tape", "serde_json `Value`"),
    ("parsing, against simd-json", "parse", "tokenline tape", "simd-json tape, reused, with its copy"),
    (
        "validated records, against `LinesCodec` + serde_json + jsonschema",
        "pipeline",
        "tokenline",
        "`FramedRead<LinesCodec>` + serde_json + jsonschema",
    ),
];

/// The root of the repository that this crate was built in.
#[must_use]
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is in a folder of the repository")
}

/// The tables in `benches/README.md` of the repository.
fn read_tables(repository: &Path) -> io::Result<Vec<Table>> {
    Ok(tables::read(between_marks(&fs::read_to_string(repository.join(TABLES))?, "tables").1))
}

/// Writes a run, its description and its tables, into `benches/README.md`; then [`draw`]s.
///
/// # Errors
///
/// If a file cannot be read or written.
///
/// # Panics
///
/// If `benches/README.md` has no marks around its tables, or they are malformed or lack what is drawn.
pub fn write(repository: &Path, run: &str) -> io::Result<()> {
    let path = repository.join(TABLES);
    let text = fs::read_to_string(&path)?;
    fs::write(path, with_between_marks(&text, "tables", &format!("\n{}\n\n", run.trim())))?;
    draw(repository)
}

/// Writes all that is made from the tables.
///
/// # Errors
///
/// If a file cannot be read or written.
///
/// # Panics
///
/// As `write`.
pub fn draw(repository: &Path) -> io::Result<()> {
    for (path, content) in drawn(repository)? {
        fs::write(path, content)?;
    }
    Ok(())
}

/// The files that are made from the tables, and their content: the plots, and `README.md` with its table.
fn drawn(repository: &Path) -> io::Result<Vec<(PathBuf, String)>> {
    let tables = read_tables(repository)?;
    let readme = repository.join("README.md");
    let text = with_between_marks(&fs::read_to_string(&readme)?, "speed", &summary(&tables));
    let plots = plots::draw_all(&tables).into_iter();
    Ok(plots.map(|(name, svg)| (repository.join("docs").join(name), svg)).chain([(readme, text)]).collect())
}

/// The table of this group.
///
/// # Panics
///
/// If there is none.
pub(crate) fn table<'t>(tables: &'t [Table], name: &str) -> &'t Table {
    tables.iter().find(|table| table.name == name).unwrap_or_else(|| panic!("no table `{name}`"))
}

fn summary(tables: &[Table]) -> String {
    let columns = &table(tables, SUMMARY[0].1).columns;
    let mut text =
        format!("| times as fast | {} |\n|---|{}\n", columns.join(" | "), "--:|".repeat(columns.len()));
    for (label, name, contender, peer) in SUMMARY {
        let table = table(tables, name);
        assert_eq!((&table.columns, &*table.unit), (columns, "MB/s"), "`{name}` is summarized");
        let compared_with_first = table.rows[0].label == peer;
        let ratios = table.row(contender).cells.iter().zip(&table.row(peer).cells).map(|(own, peer)| {
            let ratio = own.ratio.filter(|_| compared_with_first).unwrap_or(own.value / peer.value);
            format!(" {ratio:.2} |")
        });
        text.push_str(&format!("| {label} |{}\n", ratios.collect::<String>()));
    }
    text
}

/// The text before, between and after the lines `<!-- NAME -->` and `<!-- /NAME -->`, which belong to the outer parts.
fn between_marks<'t>(text: &'t str, name: &str) -> (&'t str, &'t str, &'t str) {
    let (opener, closer) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->\n"));
    let start = text.find(&opener).unwrap_or_else(|| panic!("no line {opener}")) + opener.len();
    let end = text[start..].find(&closer).unwrap_or_else(|| panic!("no line {closer}")) + start;
    (&text[..start], &text[start..end], &text[end..])
}

fn with_between_marks(text: &str, name: &str, content: &str) -> String {
    let (before, _, after) = between_marks(text, name);
    [before, content, after].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contenders::{groups, parse, streams};

    #[test]
    fn the_plots_and_the_readme_match_the_tables() {
        for (path, content) in drawn(repository()).expect("the files can be read") {
            let current = fs::read_to_string(&path).unwrap_or_default();
            assert!(
                current == content,
                "{} does not match {TABLES}: cargo run -p tokenline-benches --features peers --bin measure -- --draw",
                path.display()
            );
        }
    }

    #[test]
    fn the_tables_are_written_as_they_are_read() {
        let text = fs::read_to_string(repository().join(TABLES)).expect("a README");
        let (_, published, _) = between_marks(&text, "tables");
        let run = published.trim_start().lines().next().expect("a description of the run");
        let tables: Vec<String> = tables::read(published).iter().map(ToString::to_string).collect();
        assert_eq!(published, format!("\n{run}\n\n{}\n", tables.join("\n")));
    }

    #[test]
    fn every_group_has_its_table() {
        let tables = read_tables(repository()).expect("a README");
        let groups = groups(10_000);
        let names: Vec<_> =
            groups.iter().map(|group| group.name).chain([streams::NAME, streams::RESPONSES_NAME]).collect();
        assert_eq!(tables.iter().map(|table| &*table.name).collect::<Vec<_>>(), names);
        for (group, table) in groups.iter().zip(&tables) {
            assert_eq!((&*table.title, &*table.unit), (group.title, group.unit.symbol()));
            // Small corpora are for fewer streams.
            let columns: Vec<_> = group.corpora.iter().map(|corpus| corpus.name).collect();
            assert_eq!(table.columns[..columns.len()], columns);
            assert!(columns.len() == table.columns.len() || group.name.starts_with("streams_"));
            // In the same order. A contender that was not yet measured has no row, and simdjson may not be built here.
            let contenders = if group.name == "parse" { parse::CONTENDERS } else { group.contenders };
            let mut contenders = contenders.iter();
            for row in &table.rows {
                let known = contenders.any(|contender| contender.name == row.label);
                assert!(known, "`{}` has no contender {}", group.name, row.label);
            }
        }
        for (name, contenders) in
            [(streams::NAME, streams::CONTENDERS), (streams::RESPONSES_NAME, streams::RESPONSES)]
        {
            let rows: Vec<_> = table(&tables, name).rows.iter().map(|row| &*row.label).collect();
            assert_eq!(rows, contenders.iter().map(|contender| contender.name).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_run_replaces_all_figures() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("benches")).expect("made");
        fs::create_dir_all(at("docs")).expect("made");
        for name in [TABLES, "README.md"] {
            fs::copy(repository().join(name), at(name)).expect("copied");
        }
        let mut tables = read_tables(repository()).expect("a README");
        for row in tables.iter_mut().flat_map(|table| &mut table.rows) {
            row.cells.fill(tables::Cell { value: 1234.0, ratio: Some(7.89) });
        }
        let printed: Vec<String> = tables.iter().map(ToString::to_string).collect();
        write(folder.path(), &format!("3 rounds.\n\n{}", printed.join("\n"))).expect("written");

        let read = |name: &str| fs::read_to_string(at(name)).expect("written");
        assert_eq!(tables::read(between_marks(&read(TABLES), "tables").1), tables);
        assert!(read(TABLES).contains("<!-- tables -->\n\n3 rounds.\n\n`parse`: "));
        assert!(
            read("README.md")
                .contains("`Value` | 7.89 | 7.89 | 7.89 | 7.89 |\n| parsing, against simd-json | 1.00 |")
        );
        assert!(read("docs/speed-dark.svg").contains("7.89"));
    }
}
