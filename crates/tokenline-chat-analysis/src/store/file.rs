//! Attachments as files.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::{AttachmentStore, StoreError};

/// Attachments as files: a folder for each topic, with `MESSAGE.xml` for each message.
///
/// A file is written under a temporary name, flushed to disk, and renamed, so that readers see it completely or not at
/// all, even after a crash. In names, characters other than `a` to `z`, `0` to `9`, `-` and `_` are encoded as `%41`,
/// byte by byte: a name never leads out of the folder, and names that differ in case do not collide. Only their owner
/// can read the files. A killed process may leave a file called `.new-*`, which can be deleted.
///
/// ```
/// use tokenline_chat_analysis::{AttachmentStore, FileStore};
///
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// let store = FileStore::new(folder);
/// store.store("college", "message-7", "<llmResponse/>")?;
/// assert_eq!(store.load("college", "message-7")?.as_deref(), Some("<llmResponse/>"));
/// assert_eq!(store.messages("college")?, ["message-7"]);
/// assert_eq!(std::fs::read_to_string(folder.join("college/message-7.xml"))?, "<llmResponse/>");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Files above 64 MiB are not read: loading them is an error. All calls block on the disk; in async code use
/// `spawn_blocking` or similar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStore {
    root: PathBuf,
}

const EXTENSION: &str = ".xml";
/// The maximum size of a file: eight times that of any valid response as JSON.
const MAX_BYTES: u64 = 64 << 20;
/// File systems commonly allow 255 bytes.
const MAX_NAME: usize = 240;

impl FileStore {
    /// A store in this folder, which is created when first needed.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The file of a message's attachment, whether it exists or not.
    ///
    /// # Errors
    ///
    /// If the name of the topic or the message is empty, or too long for a file.
    pub fn path(&self, topic: &str, message: &str) -> Result<PathBuf, StoreError> {
        Ok(self.folder(topic)?.join(file_name("message", message)? + EXTENSION))
    }

    fn folder(&self, topic: &str) -> Result<PathBuf, StoreError> {
        Ok(self.root.join(file_name("topic", topic)?))
    }
}

impl AttachmentStore for FileStore {
    fn store(&self, topic: &str, message: &str, xml: &str) -> Result<(), StoreError> {
        let (folder, file) = (self.folder(topic)?, self.path(topic, message)?);
        let write = || {
            fs::create_dir_all(&folder)?;
            let mut new = tempfile::Builder::new().prefix(".new-").tempfile_in(&folder)?;
            new.write_all(xml.as_bytes())?;
            new.as_file().sync_all()?;
            new.persist(&file).map_err(|error| error.error)?;
            // The directory entries must be durable, too.
            sync(&folder)?;
            sync(&self.root)
        };
        write().map_err(|error| failed("write", &file, error))
    }

    fn load(&self, topic: &str, message: &str) -> Result<Option<String>, StoreError> {
        let file = self.path(topic, message)?;
        match read(&file) {
            Ok(xml) => Ok(Some(xml)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("read", &file, error)),
        }
    }

    fn remove(&self, topic: &str, message: &str) -> Result<bool, StoreError> {
        let file = self.path(topic, message)?;
        match fs::remove_file(&file) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(failed("remove", &file, error)),
        }
    }

    fn messages(&self, topic: &str) -> Result<Vec<String>, StoreError> {
        let folder = self.folder(topic)?;
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed("list", &folder, error)),
        };
        let mut messages = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| failed("list", &folder, error))?;
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let name = entry.file_name();
            let name = name.to_str().and_then(|name| name.strip_suffix(EXTENSION));
            messages.extend(name.and_then(name_of_file));
        }
        messages.sort_unstable();
        Ok(messages)
    }
}

/// Reads a file, at most one byte beyond the limit.
fn read(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        let reason = format!("the attachment exceeds the limit of {} MiB", MAX_BYTES >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

/// Flushes the entries of a folder. Some systems cannot open folders.
fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder).and_then(|folder| folder.sync_all()).or_else(|error| match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported => Ok(()),
        _ => Err(error),
    })
}

fn failed(action: &str, path: &Path, error: io::Error) -> StoreError {
    StoreError::Io { action: format!("cannot {action} {}", path.display()), error }
}

/// Encodes the name of a topic or message as a file name.
fn file_name(what: &str, name: &str) -> Result<String, StoreError> {
    if name.is_empty() {
        return Err(StoreError::Name(format!("the name of a {what} is empty")));
    }
    let mut file_name = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => file_name.push(char::from(byte)),
            byte => {
                let _ = write!(file_name, "%{byte:02X}");
            }
        }
    }
    if file_name.len() > MAX_NAME {
        let message = format!(
            "the name of a {what} needs {} bytes as a file name, more than {MAX_NAME}",
            file_name.len()
        );
        return Err(StoreError::Name(message));
    }
    Ok(file_name)
}

/// Decodes a file name, if this store could have written it.
fn name_of_file(file_name: &str) -> Option<String> {
    let mut parts = file_name.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    let name = String::from_utf8(bytes).ok()?;
    (self::file_name("message", &name).ok()? == file_name).then_some(name)
}
