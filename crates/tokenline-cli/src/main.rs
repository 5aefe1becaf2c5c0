//! The `tokenline` program. The library does the work; see the crate `tokenline`.
#![forbid(unsafe_code)]

mod answer;
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
mod input;
mod interrupt;
mod load;
mod log;
mod model;
mod output_file;
mod parse;
mod progress;
mod prompt;
mod replay;
mod snapshot;
mod source;
mod tools;
mod validate;

use std::process::ExitCode;

use clap::Parser as _;

use args::{Args, Command};
use failure::{Failure, Verdict};

fn main() -> ExitCode {
    let outcome = match Args::parse().command {
        Command::Parse(args) => parse::run(&args),
        Command::Extract(args) => in_runtime(extract::run(&args)),
        Command::Prompt(command) => prompt::run(command),
        Command::Tools(command) => tools::run(&command),
        Command::ChatAnalysis(command) => chat_analysis::run(&command),
        Command::Continuation(command) => continuation::run(&command),
        Command::ValidateInput(args) => validate::conversations(&args),
        Command::Validate(args) => validate::records(&args),
        Command::Snapshot(args) => snapshot::run(&args),
        Command::Demo(args) => in_runtime(demo::run(args)),
        Command::Replay(args) => in_runtime(replay::run(args)),
        Command::Explain(args) => explain::run(&args),
    };
    match outcome {
        Ok(Verdict::Good) => ExitCode::SUCCESS,
        Ok(Verdict::Rejected) => ExitCode::from(1),
        Err(failure) => {
            if let Some(message) = failure.message() {
                log::log(format_args!("tokenline: {message}"));
            }
            ExitCode::from(failure.code())
        }
    }
}

pub(crate) fn in_runtime(future: impl Future<Output = Result<Verdict, Failure>>) -> Result<Verdict, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::io("cannot start", &error))?.block_on(future)
}
