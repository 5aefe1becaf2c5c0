//! The inputs and outputs of a run.

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::ProgressBar;
use tokenline::conversations::Warnings;

use super::args::ReportingArgs;
use super::errors::{ErrorWriter, RejectFile};
use super::summary::Summary;
use crate::emit::count;
use crate::failure::{Failure, Verdict};
use crate::input::{self, Followed};
use crate::interrupt;
use crate::interruptible::Interruptible;
use crate::log::{self, log};
use crate::output_file::{OutputFile, reject_as_stdout, reject_same};

/// The inputs and outputs of a run.
pub(super) struct Session<'a> {
    args: &'a ReportingArgs,
    inputs: Vec<PathBuf>,
    /// The inputs and the schemas.
    sources: Vec<PathBuf>,
    report_file: Option<OutputFile>,
    bar: ProgressBar,
    /// Set if the followed file was truncated.
    was_truncated: Arc<AtomicBool>,
}

impl<'a> Session<'a> {
    /// Checks the command before anything is read.
    pub(super) fn new(
        args: &'a ReportingArgs,
        inputs: &[PathBuf],
        schemas: &[PathBuf],
    ) -> Result<Self, Failure> {
        let inputs = input::expand(inputs)?;
        if args.follow && inputs.len() > 1 {
            return Err(Failure::Usage("--follow supports one file only".to_owned()));
        }
        if args.show_values && !(args.format.has_excerpts && io::stdout().is_terminal()) {
            let message =
                "--show-values needs --format text on a terminal; --reject-content writes lines to a file";
            return Err(Failure::Usage(message.to_owned()));
        }
        let sources: Vec<_> = inputs.iter().chain(schemas).cloned().collect();
        reject_as_stdout(&sources)?;
        let report_file = OutputFile::from_option("--report-json", args.report_json.as_deref(), &sources)?;
        let bar = if args.follow { ProgressBar::hidden() } else { progress_bar(&inputs) };
        Ok(Self { args, inputs, sources, report_file, bar, was_truncated: Arc::default() })
    }

    pub(super) fn errors(&self) -> ErrorWriter {
        ErrorWriter::new(self.args, self.bar.clone())
    }

    pub(super) fn rejects(&self) -> Result<Option<RejectFile>, Failure> {
        let path = self.args.reject_file.as_deref();
        let file = OutputFile::from_option("--reject-file", path, &self.sources)?;
        reject_same(&[("--report-json", self.report_file.as_ref()), ("--reject-file", file.as_ref())])?;
        Ok(file.map(|file| RejectFile::new(file, self.args.reject_content)))
    }

    pub(super) fn read(
        &self,
        mut read: impl FnMut(&Path, Box<dyn io::Read + Send>) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let is_interrupted = interrupt::flag();
        for path in &self.inputs {
            let source: Box<dyn io::Read + Send> = if self.args.follow {
                Box::new(Followed::open(path, is_interrupted.clone(), self.was_truncated.clone())?)
            } else {
                Box::new(Interruptible::open(path, &self.bar, &is_interrupted)?)
            };
            match read(path, source) {
                // What was read is reported.
                Err(_) if interrupt::is_interrupted() => break,
                read => read.map_err(|error| Failure::unreadable(Path::new(&input::name(path)), &error))?,
            }
        }
        self.bar.finish_and_clear();
        Ok(())
    }

    pub(super) fn conclude(
        self,
        mut errors: ErrorWriter,
        rejects: Option<RejectFile>,
        summary: &Summary<'_>,
        hint: Option<&str>,
    ) -> Result<Verdict, Failure> {
        // Write each output even if another one fails.
        let written = errors.finish(summary);
        let rejects = rejects.map_or(Ok(()), RejectFile::complete);
        self.report_file.map_or(Ok(()), |file| file.write_json(&summary.report))?;
        rejects.and(written)?;
        let errors = match (summary.error_count, summary.dropped) {
            (all, 0) => count(all, "error"),
            (all, dropped) => format!("{}, {dropped} of them not shown", count(all, "error")),
        };
        let name = match &*self.inputs {
            [_] => summary.input_path.to_owned(),
            inputs => count(inputs.len() as u64, "file"),
        };
        log(format_args!("{name}: {}, {errors}", summary.valid));
        if let (Some(hint), Some(first)) = (hint, summary.first_input()) {
            log(format_args!("{first}: {hint}"));
        }
        let Warnings { unusual_role_count: roles, missing_metadata_count: metadata, .. } = summary.warnings;
        if roles > 0 {
            let roles = count(roles, "message");
            log(format_args!("{name}: {roles} with a role other than user or assistant"));
        }
        if metadata > 0 {
            log(format_args!("{name}: {} without metadata", count(metadata, "conversation")));
        }
        if self.was_truncated.load(Ordering::Acquire) {
            return Err(Failure::Source(format!("{name}: the file was truncated while it was followed")));
        }
        // Only a signal ends a file that is followed.
        if interrupt::is_interrupted() && !self.args.follow {
            return Err(Failure::Interrupted(format!("interrupted: {name} was not read to its end")));
        }
        Ok(if summary.error_count == 0 { Verdict::Success } else { Verdict::Rejected })
    }
}

/// A bar with the rate and the remaining time, on a terminal.
pub(crate) fn progress_bar(inputs: &[impl AsRef<Path>]) -> ProgressBar {
    let inputs: Vec<PathBuf> = inputs.iter().map(|input| input.as_ref().to_owned()).collect();
    let bar = match input::size(&inputs) {
        Some(size) => ProgressBar::new(size),
        None => ProgressBar::new_spinner(),
    };
    bar.set_style(log::progress_style(match bar.length() {
        Some(_) => &[
            (80, "{bar:30} {bytes}/{total_bytes} {bytes_per_sec}, {eta} left "),
            (50, "{bytes}/{total_bytes} {bytes_per_sec}, {eta} left "),
            (5, "{percent}% "),
        ],
        None => &[(42, "{spinner} {bytes} {bytes_per_sec} [{elapsed}] "), (14, "{spinner} {bytes} ")],
    }));
    log::progress(bar)
}
