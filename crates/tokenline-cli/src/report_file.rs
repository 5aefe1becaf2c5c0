//! The report as a file: whole or not at all.

use std::fs::{File, Permissions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use tokenline::Report;

use crate::args::ReadingArgs;
use crate::failure::Failure;

/// A report to be written. What can be wrong with its path is noticed before any work is done.
pub(crate) struct ReportFile {
    target: Target,
    path: PathBuf,
}

enum Target {
    /// A file beside the report, which takes its name when it is complete.
    Beside(NamedTempFile),
    /// Something that is no regular file, such as a pipe or a device, is written to as it is.
    InPlace(File),
}

impl ReportFile {
    /// Prepares what the command line asks for; `input` is what is read meanwhile.
    pub(crate) fn asked_for(args: &ReadingArgs, input: &Path) -> Result<Option<Self>, Failure> {
        args.report_json.as_deref().map(|path| Self::create(path, input)).transpose()
    }

    /// Prepares to write to `path`; `input` is what is read meanwhile.
    fn create(path: &Path, input: &Path) -> Result<Self, Failure> {
        if path.as_os_str() == "-" {
            return Err(Failure::Usage("--report-json needs a file: standard output is for data".to_owned()));
        }
        // A link stays a link.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if input.canonicalize().is_ok_and(|input| input == path) {
            return Err(Failure::Usage(format!("--report-json {}: that is the input", path.display())));
        }
        let target = Self::target(&path).map_err(|error| cannot_write(&path, &error))?;
        Ok(Self { target, path })
    }

    fn target(path: &Path) -> io::Result<Target> {
        let existing = path.metadata().ok();
        if let Some(existing) = &existing
            && !existing.is_file()
        {
            return Ok(Target::InPlace(File::options().write(true).open(path)?));
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        folder.metadata()?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".tokenline-report");
        // As readable as any file that is made here, or as the one that it replaces.
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            builder.permissions(Permissions::from_mode(0o666));
        }
        let file = builder.tempfile_in(folder)?;
        if let Some(existing) = existing {
            file.as_file().set_permissions(existing.permissions())?;
        }
        Ok(Target::Beside(file))
    }

    pub(crate) fn write(self, report: &Report) -> Result<(), Failure> {
        let Self { target, path } = self;
        let failed = |error: &io::Error| cannot_write(&path, error);
        let text = serde_json::to_string_pretty(report).map_err(|error| failed(&error.into()))? + "\n";
        match target {
            Target::InPlace(mut file) => file.write_all(text.as_bytes()).map_err(|error| failed(&error)),
            Target::Beside(mut file) => {
                file.write_all(text.as_bytes()).map_err(|error| failed(&error))?;
                file.persist(&path).map_err(|error| failed(&error.error))?;
                Ok(())
            }
        }
    }
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::io(format_args!("cannot write {}", path.display()), error)
}
