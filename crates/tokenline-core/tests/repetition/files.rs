//! The files of this repository, and recorded responses, have no loops.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::Value;
use tokenline_core::{Repeated, RepetitionLimits};

/// The files below a folder, without what is built.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files = Vec::new();
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && name != "target" && name != "node_modules" {
            files.extend(self::files(&path));
        } else if path.is_file() {
            files.push(path);
        }
    }
    files
}

fn loops_in(folder: &Path) -> (usize, Vec<String>) {
    let files = files(folder);
    let loops = files.iter().filter_map(|path| {
        let bytes = fs::read(path).ok()?;
        let text = str::from_utf8(&bytes).ok()?;
        let found = RepetitionLimits::default().detector(Repeated::Text).push(text)?;
        let span = found.span.start as usize..found.span.start as usize + found.period as usize;
        let copy = String::from_utf8_lossy(&bytes[span]).into_owned();
        Some(format!("{}: {found:?} {:.300}", path.display(), copy.escape_debug()))
    });
    let loops = loops.collect();
    (files.len(), loops)
}

#[test]
#[ignore = "x"]
fn any_folder() {
    let folder: PathBuf = env::var_os("TOKENLINE_TEXTS").expect("TOKENLINE_TEXTS is set").into();
    let (count, loops) = loops_in(&folder);
    println!("{} of {count}:\n{}", loops.len(), loops.join("\n"));
}
