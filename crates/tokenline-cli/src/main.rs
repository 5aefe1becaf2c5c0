//! The `tokenline` program. The library does the work; see the crate `tokenline`.
#![deny(unsafe_code)]

mod args;
mod batch;
mod chat_analysis;
mod compression;
mod continuation;
mod demo;
mod emit;
mod explain;
mod extract;
mod failure;
mod import;
mod input;
mod interrupt;
mod interruptible;
mod lines;
mod load;
mod log;
mod model;
mod output;
mod output_file;
mod parse;
mod progress;
mod prompt;
mod replay;
mod response;
mod serve;
mod snapshot;
mod source;
mod startup;
mod text_decoder;
mod tools;
mod validate;

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

use args::{Args, Command, ConversationsCommand};
use failure::{Failure, Verdict};

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return help_or_usage(&error),
    };
    log::configure(args.color, args.quiet);
    if let Err(failure) = interrupt::watch() {
        log::log_failure(failure.message().unwrap_or_default());
        return ExitCode::from(failure.code());
    }
    let outcome = match args.command {
        Command::Parse(args) => parse::run(&args),
        Command::Batch(args) => batch::run(&args),
        Command::Extract(args) => in_runtime(extract::run(&args)),
        Command::Prompt(command) => prompt::run(command),
        Command::Tools(command) => tools::run(&command),
        Command::ChatAnalysis(command) => chat_analysis::run(&command),
        Command::Continuation(command) => continuation::run(&command),
        Command::Validate(args) => validate::records(&args),
        Command::Conversations(ConversationsCommand::Validate(args)) | Command::ValidateInput(args) => {
            validate::conversations(&args)
        }
        Command::Conversations(ConversationsCommand::Snapshot(args)) | Command::Snapshot(args) => {
            snapshot::run(&args)
        }
        Command::Conversations(ConversationsCommand::Import(args)) | Command::Import(args) => {
            import::run(&args)
        }
        Command::Demo(args) => in_runtime(demo::run(args)),
        Command::Replay(args) => in_runtime(replay::run(args)),
        Command::Serve(args) => serve::run(args),
        Command::Explain(args) => explain::run(&args),
        Command::Completions(args) => {
            let mut script = Vec::new();
            clap_complete::generate(args.shell, &mut Args::command(), "tokenline", &mut script);
            print(&script)
        }
        Command::Man => manual_page().and_then(|page| print(&page)),
    };
    match outcome {
        Ok(Verdict::Success) => ExitCode::SUCCESS,
        Ok(Verdict::Rejected) => ExitCode::from(1),
        Err(failure) => {
            if let Some(message) = failure.message() {
                log::log_failure(message);
            }
            ExitCode::from(failure.code())
        }
    }
}

/// Prints help or the version to standard output, or a usage error to standard error.
fn help_or_usage(error: &clap::Error) -> ExitCode {
    let printed = match error.use_stderr() {
        true => error.print(),
        false => output::check_open().and_then(|()| error.print()).and_then(|()| io::stdout().flush()),
    };
    match printed.map_err(Failure::output) {
        Err(failure) if !error.use_stderr() => {
            if let Some(message) = failure.message() {
                log::log_failure(message);
            }
            ExitCode::from(failure.code())
        }
        _ => ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2)),
    }
}

/// The manual page of the program, with a section for each command.
fn manual_page() -> Result<Vec<u8>, Failure> {
    let mut page = Vec::new();
    let mut program = Args::command();
    program.build();
    clap_mangen::Man::new(program.clone()).render(&mut page).map_err(Failure::output)?;
    append_commands(&program, &mut page).map_err(Failure::output)?;
    Ok(page)
}

fn append_commands(parent: &clap::Command, page: &mut Vec<u8>) -> io::Result<()> {
    for command in parent.get_subcommands().filter(|command| !command.is_hide_set()) {
        if command.get_name() == "help" {
            continue;
        }
        let name = command.get_bin_name().unwrap_or(command.get_name()).to_uppercase();
        writeln!(page, ".SH \"{name}\"")?;
        let section = clap_mangen::Man::new(command.clone());
        section.render_description_section(page)?;
        section.render_synopsis_section(page)?;
        if command.has_subcommands() {
            append_commands(command, page)?;
        } else {
            section.render_options_section(page)?;
        }
    }
    Ok(())
}

fn print(text: &[u8]) -> Result<Verdict, Failure> {
    let mut out = output::stdout();
    out.write_all(text).and_then(|()| out.flush()).map_err(Failure::output)?;
    Ok(Verdict::Success)
}

pub(crate) fn in_runtime(future: impl Future<Output = Result<Verdict, Failure>>) -> Result<Verdict, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::io("cannot start", &error))?.block_on(future)
}
