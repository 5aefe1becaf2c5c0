//! `tokenline continuation`: continues JSON documents that were cut off.

use std::error::Error;
use std::io::Write as _;

use serde::Serialize;
use tokenline::AskContinued as _;
use tokenline::AskContinuedError;
use tokenline::continuation::{
    self, ContextOptions, Document, Finish, Finished, IterationOptions, Join, MergeFailure, MergeOptions,
    Status,
};
use tokenline::llm::ResponseError;

use crate::args::{ContextsArgs, ContinuationCommand, ContinuationRunArgs, MergeArgs, SizeArgs};
use crate::failure::{Failure, Verdict};
use crate::log::log_verdict;
use crate::output::stdout;
use crate::{in_runtime, load, model};

pub(crate) fn run(command: &ContinuationCommand) -> Result<Verdict, Failure> {
    match command {
        ContinuationCommand::Contexts(args) => contexts(args),
        ContinuationCommand::Merge(args) => merge(args),
        ContinuationCommand::Run(args) => in_runtime(request_document(args)),
    }
}

fn contexts(args: &ContextsArgs) -> Result<Verdict, Failure> {
    let (source, text) = load::response(&args.file)?;
    let document = Document::of(&text);
    let contexts = document.contexts(&options(&args.sizes));
    write_json(&contexts)?;
    if contexts.json_parsing_success {
        return Ok(Verdict::Success);
    }
    match document.status() {
        Status::Malformed(fault) => {
            log_verdict(format_args!("{source}: malformed JSON: {fault} of the JSON"));
        }
        Status::Empty => log_verdict(format_args!("{source}: no JSON found")),
        Status::Open | Status::Complete => log_verdict(format_args!("{source}: no value is complete yet")),
    }
    Ok(Verdict::Rejected)
}

fn merge(args: &MergeArgs) -> Result<Verdict, Failure> {
    if args.base == args.fragment && args.base.as_os_str() == "-" {
        return Err(Failure::Usage("only one of BASE and FRAGMENT can be standard input".to_owned()));
    }
    let (base_name, base) = load::response(&args.base)?;
    let (fragment_name, fragment) = load::response(&args.fragment)?;
    let options = MergeOptions { requested_overlap: args.requested_overlap, ..MergeOptions::default() };
    let merged = continuation::merge(&base, &fragment, &options);
    write_json(&merged)?;
    match merged.join {
        Join::Failed(failure) => {
            let source = match failure {
                MergeFailure::BaseComplete | MergeFailure::BaseMalformed => base_name,
                _ => fragment_name,
            };
            log_verdict(format_args!("{source}: {failure}"));
            Ok(Verdict::Rejected)
        }
        _ => Ok(Verdict::Success),
    }
}

async fn request_document(args: &ContinuationRunArgs) -> Result<Verdict, Failure> {
    let (source, prompt) = load::response(&args.file)?;
    if prompt.trim().is_empty() {
        return Err(Failure::Usage(format!("{source}: the prompt is empty")));
    }
    let mut request = model::request(&args.model)?;
    if let Some(system) = &args.system {
        request = request.system(system);
    }
    let options = IterationOptions {
        contexts: options(&args.sizes),
        max_requests: args.max_requests as usize,
        ..IterationOptions::default()
    };
    let client = model::client(&args.model)?;
    match client.ask_continued(&request.user(prompt.trim_end()), options).await {
        Ok(Finished { document, finish }) => {
            let mut out = stdout();
            writeln!(out, "{document}").map_err(Failure::output)?;
            match finish {
                Finish::Complete => return Ok(Verdict::Success),
                Finish::AfterFailures(failure) => {
                    let reason = with_causes(&failure);
                    log_verdict(format_args!("{}: the document is incomplete: {reason}", args.model.model));
                }
                Finish::TooLarge => log_verdict(format_args!(
                    "{}: the document is incomplete: it would exceed the limit of {} MiB",
                    args.model.model,
                    IterationOptions::default().max_bytes >> 20
                )),
                Finish::AfterTooManyRequests => log_verdict(format_args!(
                    "{}: the document is incomplete after {} requests",
                    args.model.model, args.max_requests
                )),
            }
            Ok(Verdict::Rejected)
        }
        Err(AskContinuedError::Llm(ResponseError::Source(error))) => Err(model::failure(&error)),
        Err(AskContinuedError::Iteration(error)) => {
            log_verdict(format_args!("{}: {}", args.model.model, with_causes(&error)));
            Ok(Verdict::Rejected)
        }
        Err(error) => Err(Failure::Source(error.to_string())),
    }
}

fn options(sizes: &SizeArgs) -> ContextOptions {
    ContextOptions { overlap_bytes: sizes.overlap, prompt_budget_bytes: sizes.budget }
}

/// An error and its causes.
fn with_causes(error: &dyn Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        message = format!("{message}: {error}");
        cause = error.source();
    }
    message
}

fn write_json(value: &impl Serialize) -> Result<(), Failure> {
    let json = serde_json::to_string(value).map_err(|error| Failure::Source(error.to_string()))?;
    writeln!(stdout(), "{json}").map_err(Failure::output)
}
