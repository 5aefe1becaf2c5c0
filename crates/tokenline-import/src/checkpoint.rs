//! The state that an import needs to continue after the program ended.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::rejects::RejectCounts;
use crate::report::Totals;
use crate::{ImportError, ImportedSource, entry};

/// A checkpoint file, written about once a second.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    path: PathBuf,
    /// The source and the settings of the import. A checkpoint of another import is not accepted.
    import: String,
    last_written: Option<Instant>,
}

/// The state of an import at a place from which it can go on.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct State {
    version: u32,
    import: String,
    /// Whether all sources were read, and the rows only need to be sorted.
    pub(crate) is_read: bool,
    /// Where the last source goes on.
    pub(crate) position: String,
    pub(crate) sources: Vec<ImportedSource>,
    pub(crate) rows: u64,
    pub(crate) totals: Totals,
    pub(crate) rejects: RejectCounts,
    pub(crate) output_bytes: u64,
    pub(crate) reject_bytes: u64,
    /// The fingerprints of both: another file must not be shortened.
    pub(crate) output_end: u64,
    pub(crate) reject_end: u64,
    pub(crate) spool_bytes: u64,
    pub(crate) id_bytes: u64,
}

const VERSION: u32 = 2;
const INTERVAL: Duration = Duration::from_secs(1);

impl Checkpoint {
    pub(crate) fn new(path: PathBuf, import: String) -> Self {
        Self { path, import, last_written: None }
    }

    /// The file of the rows that are not sorted yet.
    pub(crate) fn spool_path(&self) -> PathBuf {
        self.path_with(".rows")
    }

    /// The file of the ids of grouped conversations.
    pub(crate) fn id_path(&self) -> PathBuf {
        self.path_with(".ids")
    }

    fn path_with(&self, suffix: &str) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(suffix);
        path.into()
    }

    /// The state in the file; `None` if there is no file.
    pub(crate) fn load(&self) -> Result<Option<State>, ImportError> {
        let name = self.path.display();
        let text = match fs::read(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(ImportError::unreadable(&name.to_string(), error)),
        };
        let state: State = serde_json::from_slice(&text)
            .map_err(|_| ImportError::mapping(format!("{name} is not a checkpoint of an import")))?;
        if state.version != VERSION || state.import != self.import {
            return Err(ImportError::mapping(format!(
                "{name} is the checkpoint of another import: use its mapping and options, or remove it"
            )));
        }
        Ok(Some(state))
    }

    pub(crate) fn is_due(&self) -> bool {
        self.last_written.is_none_or(|last| last.elapsed() >= INTERVAL)
    }

    pub(crate) fn state(&self) -> State {
        State {
            version: VERSION,
            import: self.import.clone(),
            is_read: false,
            position: String::new(),
            sources: Vec::new(),
            rows: 0,
            totals: Totals::default(),
            rejects: RejectCounts::default(),
            output_bytes: 0,
            reject_bytes: 0,
            output_end: 0,
            reject_end: 0,
            spool_bytes: 0,
            id_bytes: 0,
        }
    }

    /// Replaces the file.
    pub(crate) fn write(&mut self, state: &State) -> Result<(), ImportError> {
        let written = || -> std::io::Result<()> {
            let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
            serde_json::to_writer(&mut file, state)?;
            file.write_all(b"\n")?;
            file.as_file().sync_data()?;
            file.persist(&self.path).map_err(|error| error.error)?;
            Ok(())
        };
        written().map_err(|error| ImportError::output("the checkpoint", error))?;
        self.last_written = Some(Instant::now());
        Ok(())
    }

    /// Removes the files: the import is complete. The others have no meaning without the first.
    pub(crate) fn remove(&self) {
        for path in [self.path.clone(), self.spool_path(), self.id_path()] {
            let _ = fs::remove_file(path);
        }
    }
}

/// Hashes of the ids of grouped conversations, each 16 bytes.
#[derive(Debug)]
pub(crate) struct IdFile {
    file: BufWriter<File>,
    pub(crate) len: u64,
}

impl IdFile {
    /// Opens the file after its first bytes, and gives the ids in them.
    pub(crate) fn open(path: &Path, len: u64, mut id: impl FnMut(u128)) -> std::io::Result<Self> {
        let mut file = open_after(path, len)?;
        file.rewind()?;
        let mut ids = BufReader::new(&mut file);
        for _ in 0..len / 16 {
            let mut bytes = [0; 16];
            ids.read_exact(&mut bytes)?;
            id(u128::from_le_bytes(bytes));
        }
        file.seek(SeekFrom::End(0))?;
        Ok(Self { file: BufWriter::new(file), len })
    }

    pub(crate) fn push(&mut self, id: u128) -> std::io::Result<()> {
        self.len += 16;
        self.file.write_all(&id.to_le_bytes())
    }

    pub(crate) fn sync(&mut self) -> std::io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_data()
    }
}

/// Opens a file, and removes what is after its first bytes.
fn open_after(path: &Path, len: u64) -> std::io::Result<File> {
    let mut file = File::options().create(true).read(true).write(true).truncate(false).open(path)?;
    if file.try_lock().is_err() {
        let path = path.display();
        return Err(std::io::Error::other(format!("another import uses the checkpoint of {path}")));
    }
    if file.metadata()?.len() < len {
        return Err(std::io::Error::other(format!("{} is shorter than its checkpoint", path.display())));
    }
    file.set_len(len)?;
    file.seek(SeekFrom::End(0))?;
    Ok(file)
}

/// Rows on disk, until all are there to be sorted.
#[derive(Debug)]
pub(crate) struct Spool {
    file: BufWriter<File>,
    pub(crate) len: u64,
}

impl Spool {
    pub(crate) fn open(path: &Path, len: u64) -> std::io::Result<Self> {
        Ok(Self { file: BufWriter::with_capacity(1 << 16, open_after(path, len)?), len })
    }

    pub(crate) fn push(&mut self, entry: &[u8]) -> std::io::Result<()> {
        self.len += 4 + entry.len() as u64;
        crate::sort::write_entry(&mut self.file, entry)
    }

    pub(crate) fn sync(&mut self) -> std::io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_data()
    }

    /// The rows.
    pub(crate) fn read(path: &Path) -> std::io::Result<impl Iterator<Item = std::io::Result<Box<[u8]>>>> {
        let mut file = BufReader::with_capacity(1 << 16, File::open(path)?);
        Ok(std::iter::from_fn(move || match file.fill_buf() {
            Ok([]) => None,
            Ok(_) => Some(crate::sort::read_entry(&mut file).and_then(|entry| {
                if entry::is_complete(&entry) {
                    Ok(entry)
                } else {
                    Err(std::io::Error::other("the file is damaged"))
                }
            })),
            Err(error) => Some(Err(error)),
        }))
    }
}
