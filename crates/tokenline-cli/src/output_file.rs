//! Output files, written completely or not at all.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Seek as _, Write};
use std::path::{Path, PathBuf};

use same_file::Handle;
use serde::Serialize;
use tempfile::NamedTempFile;

use crate::failure::Failure;
use crate::{input, interrupt};

/// A file to write. Its path is checked up front; the file appears under its name only when it is complete.
pub(crate) struct OutputFile {
    target: Target,
    path: PathBuf,
}

enum Target {
    /// A temporary file in the same directory, to be renamed.
    Temporary(BufWriter<NamedTempFile>),
    /// A buffer for a target that is not a regular file, such as a pipe or a device.
    Buffered(BufWriter<File>, File),
}

impl OutputFile {
    /// Prepares the file that an option names, if given. It must not be one of `inputs`.
    pub(crate) fn from_option(
        option: &str,
        path: Option<&Path>,
        inputs: &[impl AsRef<Path>],
    ) -> Result<Option<Self>, Failure> {
        path.map(|path| Self::create(option, path, inputs)).transpose()
    }

    pub(crate) fn create(option: &str, path: &Path, inputs: &[impl AsRef<Path>]) -> Result<Self, Failure> {
        if path.as_os_str() == "-" {
            return Err(Failure::Usage(format!("{option} needs a file: standard output is for data")));
        }
        let path = resolved(path).map_err(|error| cannot_write(path, &error))?;
        if let Some(output) = regular_file(open, &path) {
            if let Some(input) = same_input(&output, inputs) {
                return Err(Failure::Usage(format!(
                    "{option} {} would overwrite the input {input}",
                    path.display()
                )));
            }
            if regular_file(|_| Handle::stdout(), Path::new("-")).is_some_and(|stdout| stdout == output) {
                let message = format!("{option} {}: standard output is the same file", path.display());
                return Err(Failure::Usage(message));
            }
        }
        let target = Self::target(&path).map_err(|error| cannot_write(&path, &error))?;
        Ok(Self { target, path })
    }

    fn target(path: &Path) -> io::Result<Target> {
        let existing = path.metadata().ok();
        if let Some(existing) = &existing
            && !existing.is_file()
        {
            let target = File::options().write(true).open(path)?;
            return Ok(Target::Buffered(BufWriter::new(tempfile::tempfile()?), target));
        }
        let folder = folder(path);
        folder.metadata()?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".tokenline-");
        // Permissions of a new file, or those of the file that it replaces.
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            builder.permissions(Permissions::from_mode(0o666));
        }
        let file = builder.tempfile_in(folder)?;
        if let Some(existing) = existing {
            file.as_file().set_permissions(existing.permissions())?;
        }
        interrupt::add_unfinished(file.path().to_owned());
        Ok(Target::Temporary(BufWriter::new(file)))
    }

    /// Whether both are the same file.
    fn is_same_file(&self, other: &Self) -> bool {
        matches!(self.target, Target::Temporary(_)) && self.path == other.path
    }

    /// The failure of writing this file.
    pub(crate) fn failed(&self, error: &io::Error) -> Failure {
        cannot_write(&self.path, error)
    }

    /// Writes a value as pretty-printed JSON, and completes the file.
    pub(crate) fn write_json(mut self, value: &impl Serialize) -> Result<(), Failure> {
        let path = self.path.clone();
        let failed = |error: io::Error| cannot_write(&path, &error);
        serde_json::to_writer_pretty(&mut self, value).map_err(|error| failed(error.into()))?;
        self.write_all(b"\n").map_err(failed)?;
        self.complete()
    }

    /// Moves the complete file to its path.
    pub(crate) fn complete(self) -> Result<(), Failure> {
        let Self { target, path } = self;
        let failed = |error: io::Error| cannot_write(&path, &error);
        match target {
            Target::Temporary(file) => {
                let file = file.into_inner().map_err(|error| failed(error.into_error()))?;
                file.persist(&path).map_err(|error| failed(error.error))?;
            }
            Target::Buffered(buffer, mut target) => {
                let mut buffer = buffer.into_inner().map_err(|error| failed(error.into_error()))?;
                buffer.rewind().and_then(|()| io::copy(&mut buffer, &mut target)).map_err(failed)?;
            }
        }
        Ok(())
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.target {
            Target::Temporary(file) => file.write(bytes),
            Target::Buffered(file, _) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            Target::Temporary(file) => file.flush(),
            Target::Buffered(file, _) => file.flush(),
        }
    }
}

/// Fails if two options name the same file.
pub(crate) fn reject_same(files: &[(&str, Option<&OutputFile>)]) -> Result<(), Failure> {
    for (at, (option, file)) in files.iter().enumerate() {
        for (other_option, other) in &files[..at] {
            if let (Some(file), Some(other)) = (file, other)
                && file.is_same_file(other)
            {
                return Err(Failure::Usage(format!("{other_option} and {option} name the same file")));
            }
        }
    }
    Ok(())
}

/// Fails if standard output is one of the inputs: the command would read or overwrite its own output.
pub(crate) fn reject_as_stdout(inputs: &[impl AsRef<Path>]) -> Result<(), Failure> {
    let stdout = regular_file(|_| Handle::stdout(), Path::new("-"));
    match stdout.and_then(|stdout| same_input(&stdout, inputs)) {
        Some(input) => {
            Err(Failure::Usage(format!("standard output is the input {input}: redirect it to another file")))
        }
        None => Ok(()),
    }
}

/// The name in messages of the input that is this file.
fn same_input(file: &Handle, inputs: &[impl AsRef<Path>]) -> Option<String> {
    let is_same = |input: &&Path| regular_file(open, input).is_some_and(|input| input == *file);
    inputs.iter().map(AsRef::as_ref).find(is_same).map(input::name)
}

fn open(path: &Path) -> io::Result<Handle> {
    if path.as_os_str() == "-" { Handle::stdin() } else { Handle::from_path(path) }
}

/// Opens a regular file; `-` is a standard stream. Other files, such as pipes and terminals, hold nothing to overwrite,
/// and opening one may block.
fn regular_file(open: impl Fn(&Path) -> io::Result<Handle>, path: &Path) -> Option<Handle> {
    if path.as_os_str() != "-" && !path.metadata().ok()?.is_file() {
        return None;
    }
    let handle = open(path).ok()?;
    handle.as_file().metadata().is_ok_and(|metadata| metadata.is_file()).then_some(handle)
}

/// The canonical path of a file, which need not exist.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    if let Ok(path) = path.canonicalize() {
        return Ok(path);
    }
    if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    Ok(folder(path).canonicalize()?.join(name))
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    // The error of a temporary file ends with its name.
    let reason = error.to_string();
    let reason = reason.split_once(" at path \"").map_or(&*reason, |(reason, _)| reason);
    Failure::Source(format!("cannot write {}: {reason}", path.display()))
}
