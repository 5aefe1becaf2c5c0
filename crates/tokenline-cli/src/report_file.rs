//! The report as a file: whole or not at all.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use tokenline::Report;

use crate::failure::Failure;

/// A report to be written. The file beside it is made at once, so that a wrong path is noticed
/// before any work is done; it takes the report's name when it is complete.
pub(crate) struct ReportFile {
    file: NamedTempFile,
    path: PathBuf,
}

impl ReportFile {
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        if path.is_dir() {
            return Err(Failure::Source(format!("cannot write {}: it is a directory", path.display())));
        }
        let file = tempfile::Builder::new().prefix(".tokenline-report").tempfile_in(folder);
        let file = file.map_err(|error| cannot_write(path, &error))?;
        Ok(Self { file, path: path.to_owned() })
    }

    pub(crate) fn write(mut self, report: &Report) -> Result<(), Failure> {
        let text =
            serde_json::to_string_pretty(report).map_err(|error| cannot_write(&self.path, &error.into()))?;
        writeln!(self.file, "{text}").map_err(|error| cannot_write(&self.path, &error))?;
        // Temporary files are private; a report is as readable as any file.
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let readable = std::fs::Permissions::from_mode(0o644);
            self.file
                .as_file()
                .set_permissions(readable)
                .map_err(|error| cannot_write(&self.path, &error))?;
        }
        self.file.persist(&self.path).map_err(|error| cannot_write(&self.path, &error.error))?;
        Ok(())
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::io(format_args!("cannot write {}", path.display()), error)
}
