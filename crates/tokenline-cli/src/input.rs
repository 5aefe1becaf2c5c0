//! Input files, compressed or not.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use indicatif::ProgressBar;

use crate::compression::{decompressed, is_compressed};
use crate::encoding::Checked;
use crate::failure::Failure;

/// Expands paths and patterns into files, in order.
pub(crate) fn expand(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut all = Vec::new();
    for path in paths {
        let pattern = path.to_str().filter(|text| text.contains(['*', '?', '[']) && !path.exists());
        let Some(pattern) = pattern else {
            all.push(path.clone());
            continue;
        };
        let matches =
            glob::glob(pattern).map_err(|error| Failure::Usage(format!("{pattern}: {}", error.msg)))?;
        let before = all.len();
        for file in matches {
            let file = file.map_err(|error| Failure::unreadable(error.path(), error.error()))?;
            if !file.is_dir() && matches_hidden(&file, pattern) {
                all.push(file);
            }
        }
        if all.len() == before {
            return Err(Failure::Source(format!("{pattern}: no file matches")));
        }
    }
    if all.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(Failure::Usage("standard input can only be read once".to_owned()));
    }
    // Fail now, not after the files before it.
    for path in all.iter().filter(|path| path.as_os_str() != "-") {
        reject_directory(path, path.metadata())?;
    }
    Ok(all)
}

/// As in a shell, a pattern matches hidden files only if it begins with a dot.
fn matches_hidden(file: &Path, pattern: &str) -> bool {
    let is_hidden =
        |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    is_hidden(Path::new(pattern)) || !is_hidden(file)
}

/// The name of an input in messages.
pub(crate) fn name(path: &Path) -> String {
    if path.as_os_str() == "-" { "stdin".to_owned() } else { path.display().to_string() }
}

/// The total size of the inputs in bytes, if known.
pub(crate) fn size(paths: &[PathBuf]) -> Option<u64> {
    paths
        .iter()
        .map(|path| path.metadata().ok().filter(std::fs::Metadata::is_file).map(|data| data.len()))
        .sum()
}

/// Opens a file or standard input, and decompresses it. The bar counts the bytes read.
pub(crate) fn open(path: &Path, bar: &ProgressBar) -> Result<Box<dyn Read + Send>, Failure> {
    let source: Box<dyn Read + Send> =
        if path.as_os_str() == "-" { Box::new(io::stdin()) } else { Box::new(open_file(path)?) };
    Ok(Box::new(Checked::new(decompressed(bar.wrap_read(source)), name(path), bar)))
}

pub(crate) fn open_file(path: &Path) -> Result<File, Failure> {
    let file = File::open(path).map_err(|error| Failure::unreadable(path, &error))?;
    reject_directory(path, file.metadata())?;
    Ok(file)
}

fn reject_directory(path: &Path, metadata: io::Result<Metadata>) -> Result<Metadata, Failure> {
    let metadata = metadata.map_err(|error| Failure::unreadable(path, &error))?;
    if metadata.is_dir() {
        Err(Failure::Source(format!("cannot read {}: it is a directory", path.display())))
    } else {
        Ok(metadata)
    }
}

/// A file that may still grow.
pub(crate) struct Followed {
    file: File,
    is_over: Arc<AtomicBool>,
    was_truncated: Arc<AtomicBool>,
}

/// How often to look for new data.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(100);

impl Followed {
    /// Opens a file to be read until `is_over` is set. If the file is truncated, sets `was_truncated` and ends.
    pub(crate) fn open(
        path: &Path,
        is_over: Arc<AtomicBool>,
        was_truncated: Arc<AtomicBool>,
    ) -> Result<Self, Failure> {
        if path.as_os_str() == "-" {
            return Err(Failure::Usage(
                "--follow needs a file: standard input is read to its end anyway".to_owned(),
            ));
        }
        // Check before opening: opening a pipe blocks until it has a writer.
        if !reject_directory(path, path.metadata())?.is_file() {
            let path = path.display();
            return Err(Failure::Usage(format!(
                "--follow needs a regular file: {path} is read to its end anyway"
            )));
        }
        let mut file = open_file(path)?;
        if is_compressed(&mut file).map_err(|error| Failure::unreadable(path, &error))? {
            let path = path.display();
            return Err(Failure::Usage(format!("--follow needs an uncompressed file: {path} is compressed")));
        }
        file.rewind().map_err(|error| Failure::unreadable(path, &error))?;
        Ok(Self { file, is_over, was_truncated })
    }
}

impl Read for Followed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            // Load the flag first, so that data written before it was set is read.
            let is_over = self.is_over.load(Ordering::Acquire);
            let read = self.file.read(buffer)?;
            if read > 0 || is_over {
                return Ok(read);
            }
            if self.file.metadata()?.len() < self.file.stream_position()? {
                self.was_truncated.store(true, Ordering::Release);
                return Ok(0);
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}
