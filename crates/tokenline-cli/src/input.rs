//! The inputs of a command that reads whole files, compressed or not.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use indicatif::ProgressBar;

use crate::failure::Failure;

/// The files that paths and patterns name, in order.
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
        for found in matches {
            let found = found.map_err(|error| Failure::unreadable(error.path(), error.error()))?;
            if !found.is_dir() {
                all.push(found);
            }
        }
        if all.len() == before {
            return Err(Failure::Source(format!("{pattern}: no file is named so")));
        }
    }
    if all.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(Failure::Usage("standard input can be read once".to_owned()));
    }
    Ok(all)
}

/// What to call an input.
pub(crate) fn name(path: &Path) -> String {
    if path.as_os_str() == "-" { "stdin".to_owned() } else { path.display().to_string() }
}

/// How many bytes there are to read, if that is known of all.
pub(crate) fn size(paths: &[PathBuf]) -> Option<u64> {
    paths
        .iter()
        .map(|path| path.metadata().ok().filter(std::fs::Metadata::is_file).map(|data| data.len()))
        .sum()
}

/// Opens a file, or standard input, and what is compressed in it. The bar is told of the bytes that are read.
pub(crate) fn open(path: &Path, bar: &ProgressBar) -> Result<Box<dyn Read + Send>, Failure> {
    let source: Box<dyn Read + Send> = match path.as_os_str() == "-" {
        true => Box::new(io::stdin()),
        false => Box::new(open_file(path)?),
    };
    decompressed(bar.wrap_read(source)).map_err(|error| Failure::unreadable(path, &error))
}

fn open_file(path: &Path) -> Result<File, Failure> {
    let file = File::open(path).map_err(|error| Failure::unreadable(path, &error))?;
    match file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        true => Err(Failure::Source(format!("cannot read {}: it is a directory", path.display()))),
        false => Ok(file),
    }
}

/// Longest mark by which a compressed file is known.
const LONGEST_MARK: usize = 6;

fn decompressed(mut source: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let mut head = Vec::with_capacity(LONGEST_MARK);
    source.by_ref().take(LONGEST_MARK as u64).read_to_end(&mut head)?;
    let (is_gzip, is_zstd) = (head.starts_with(b"\x1f\x8b"), head.starts_with(b"\x28\xb5\x2f\xfd"));
    let is_xz = head.starts_with(b"\xfd7zXZ\0");
    let source = io::Cursor::new(head).chain(source);
    Ok(match (is_gzip, is_zstd, is_xz) {
        (true, ..) => {
            Box::new(flate2::read::MultiGzDecoder::new(BufReader::with_capacity(64 * 1024, source)))
        }
        (_, true, _) => Box::new(zstd::Decoder::with_buffer(BufReader::with_capacity(64 * 1024, source))?),
        (.., true) => Box::new(liblzma::read::XzDecoder::new_multi_decoder(source)),
        _ => Box::new(source),
    })
}

/// A file that still grows.
pub(crate) struct Followed {
    file: File,
    is_over: Arc<AtomicBool>,
}

/// How long to wait for more.
const PAUSE: Duration = Duration::from_millis(100);

impl Followed {
    /// Opens a file, to be read on at its end until that is over.
    pub(crate) fn open(path: &Path, is_over: Arc<AtomicBool>) -> Result<Self, Failure> {
        if path.as_os_str() == "-" {
            return Err(Failure::Usage(
                "--follow is for files: standard input is read to its end anyway".to_owned(),
            ));
        }
        Ok(Self { file: open_file(path)?, is_over })
    }
}

impl Read for Followed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            // In this order, so that what was there when it was over is read.
            let is_over = self.is_over.load(Ordering::Acquire);
            let read = self.file.read(buffer)?;
            if read > 0 || is_over {
                return Ok(read);
            }
            if self.file.metadata()?.len() < self.file.stream_position()? {
                return Err(io::Error::other("it became shorter while it was followed"));
            }
            thread::sleep(PAUSE);
        }
    }
}
