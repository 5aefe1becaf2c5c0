//! The `tokenline` program. The library does the work; see the crate `tokenline`.
#![deny(unsafe_code)]

/// Lists commands: a row is a command, its arguments, and the function that takes them.
macro_rules! commands {
    ($(#[$about:meta])* $commands:ident {
        $($(#[$attribute:meta])* $command:ident($arguments:ty) => $run:path,)+
    }) => {
        $(#[$about])*
        #[derive(Debug, clap::Subcommand)]
        pub(crate) enum $commands {
            $($(#[$attribute])* $command(Box<$arguments>),)+
        }

        impl $commands {
            pub(crate) fn run(&self) -> Result<crate::failure::Verdict, crate::failure::Failure> {
                match self {
                    $(Self::$command(arguments) => $run(arguments),)+
                }
            }
        }
    };
}

mod args;
mod batch;
mod chat_analysis;
mod completions;
mod compression;
mod continuation;
mod conversations;
mod demo;
mod emit;
mod encoding;
mod excerpt;
mod explain;
mod extract;
mod failure;
mod help;
mod http_server;
mod import;
mod input;
mod interrupt;
mod interruptible;
mod lines;
mod load;
mod log;
mod man;
mod model;
mod output;
mod output_file;
mod parse;
mod progress;
mod prompt;
mod proxy;
mod read_ahead;
mod replay;
mod response;
mod schema;
mod serve;
mod snapshot;
mod source;
mod startup;
mod text_decoder;
mod tools;
mod validate;

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{FromArgMatches as _, Parser};

use args::Color;
use failure::{Failure, Verdict};

/// Turns a language model's output into validated records and tool calls.
///
/// Data goes to standard output, messages to standard error.
///
/// Exit codes: 0 success; 1 invalid data (an invalid line or response, a failed merge, more rejections than --max-errors,
/// fewer records than --min-records or, with --deny, any reject or warning); 2 bad usage, configuration or schema; 3 I/O or
/// provider error, incomplete source, or no standard output; 130 and 143 after Ctrl-C and SIGTERM.
///
/// The first Ctrl-C or SIGTERM ends the input: what was read is written, with reports and reject files. A second one ends
/// the program at once. `serve`, `proxy`, `replay` and --follow end in no other way, and exit as usual. A reader of standard output
/// that leaves, such as `head`, ends the command quietly.
///
/// Standard output is data byte for byte, but on a terminal control characters are escaped.
#[derive(Debug, Parser)]
#[command(
    name = "tokenline",
    version,
    after_help = "\
Examples:
  tokenline demo
  tokenline parse response.txt
  curl -sN URL -d @request.json | tokenline parse --from openai-chat
  tokenline extract --provider ollama --model gemma3 --prompt 'List three rivers as JSON Lines.'
  tokenline parse --help"
)]
struct Args {
    /// When to color messages.
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t)]
    color: Color,
    /// Suppress messages except the final error.
    #[arg(short, long, global = true)]
    quiet: bool,
    #[command(subcommand)]
    command: Command,
}

commands! {
    Command {
        Parse(parse::ParseArgs) => parse::run,
        Batch(batch::BatchArgs) => batch::run,
        Extract(extract::ExtractArgs) => extract::run,
        #[command(subcommand)]
        Prompt(prompt::Command) => prompt::Command::run,
        #[command(subcommand)]
        Tools(tools::Command) => tools::Command::run,
        #[command(subcommand, alias = "structured")]
        ChatAnalysis(chat_analysis::Command) => chat_analysis::Command::run,
        #[command(subcommand)]
        Continuation(continuation::Command) => continuation::Command::run,
        Validate(validate::ValidateArgs) => validate::records,
        #[command(subcommand)]
        Schema(schema::Command) => schema::Command::run,
        #[command(subcommand)]
        Conversations(conversations::Command) => conversations::Command::run,
        /// The same as `conversations validate`.
        #[command(hide = true, after_help = None)]
        ValidateInput(validate::ConversationsArgs) => validate::conversations,
        /// The same as `conversations snapshot`.
        #[command(hide = true, after_help = None)]
        Snapshot(snapshot::SnapshotArgs) => snapshot::run,
        /// The same as `conversations import`.
        #[command(hide = true, after_help = None)]
        Import(import::ImportArgs) => import::run,
        Demo(demo::DemoArgs) => demo::run,
        Serve(serve::ServeArgs) => serve::run,
        Proxy(proxy::ProxyArgs) => proxy::run,
        Replay(replay::ReplayArgs) => replay::run,
        Explain(explain::ExplainArgs) => explain::run,
        Completions(completions::CompletionsArgs) => completions::run,
        Man(man::ManArgs) => man::run,
    }
}

fn main() -> ExitCode {
    let args = match help::command().try_get_matches().and_then(|found| Args::from_arg_matches(&found)) {
        Ok(args) => args,
        Err(mut error) => {
            help::hide_in_tips(&mut error);
            return help_or_usage(&error);
        }
    };
    log::configure(args.color, args.quiet);
    if let Err(failure) = interrupt::watch() {
        log::log_failure(failure.message().unwrap_or_default());
        return ExitCode::from(failure.code());
    }
    match args.command.run() {
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
    let printed = if error.use_stderr() {
        error.print()
    } else {
        output::check_open().and_then(|()| error.print()).and_then(|()| io::stdout().flush())
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

pub(crate) fn in_runtime(future: impl Future<Output = Result<Verdict, Failure>>) -> Result<Verdict, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::io("cannot start", &error))?.block_on(future)
}
