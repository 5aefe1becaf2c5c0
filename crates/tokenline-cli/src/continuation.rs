//! `tokenline continuation`: continues JSON documents that were cut off.

use std::io::Write as _;
use std::path::PathBuf;

use serde::Serialize;
use tokenline::continuation::{
    self, ContextOptions, ContinuationFailure, Document, Join, MergeOptions, Status,
};
use tokenline::llm::ContinuationOptions;
use tokenline::llm::client::ContinuedError;

use crate::args::ModelArgs;
use crate::failure::{Failure, Verdict};
use crate::log::log_verdict;
use crate::output::stdout;
use crate::{in_runtime, load, model};

commands! {
    /// Continue JSON documents that a token limit cut off.
    Command {
        Contexts(ContextsArgs) => contexts,
        Merge(MergeArgs) => merge,
        Run(ContinuationRunArgs) => run,
    }
}

/// Print the context for a prompt that continues a cut-off JSON document, as one JSON object.
///
/// Its members: overlap_context (the text that the model repeats first; empty if the document is complete),
/// hierarchy_context (the document), hierarchy_context_for_prompt (the document, shortened to --budget),
/// complete_part (the complete values, with all brackets closed) and json_parsing_success. Exits with 1 if
/// json_parsing_success is false.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokenline continuation contexts cut.json")]
pub(crate) struct ContextsArgs {
    /// File with the cut-off document, at most 64 MiB; `-` is standard input.
    #[arg(default_value = "-")]
    file: PathBuf,
    #[command(flatten)]
    sizes: SizeArgs,
}

/// Merge a cut-off JSON document with the text that continues it.
///
/// Prints {"merged", "has_overlap", "join", "overlap", "confidence"}. `confidence` is `certain` if the text begins with the
/// requested overlap or repeats the whole document, otherwise `likely`. If the merge fails, or there are several ways to
/// merge, exits with 1, and `merged` is the cut-off document.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokenline continuation merge cut.json next.txt --requested-overlap 200")]
pub(crate) struct MergeArgs {
    /// File with the cut-off document, at most 64 MiB; `-` is standard input.
    base: PathBuf,
    /// File with the text that continues it, at most 64 MiB; `-` is standard input.
    fragment: PathBuf,
    /// Number of bytes that the model was asked to repeat. Without it, there may be several ways to merge.
    #[arg(long, value_name = "BYTES")]
    requested_overlap: Option<usize>,
}

/// Request a JSON document from a model, and continue it until it is complete.
///
/// Prints the document. If it stays incomplete, prints its complete part and exits with 1, or with 3 if a request failed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokenline continuation run --provider ollama --model llama3.1 question.txt > rows.json")]
pub(crate) struct ContinuationRunArgs {
    /// File with the user prompt, at most 64 MiB; `-` is standard input.
    #[arg(default_value = "-")]
    file: PathBuf,
    /// System prompt.
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
    /// Maximum number of requests, at least 1.
    #[arg(long, value_name = "N", default_value = "100", value_parser = clap::value_parser!(u32).range(1..))]
    max_requests: u32,
    #[command(flatten)]
    sizes: SizeArgs,
    #[command(flatten)]
    model: ModelArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SizeArgs {
    /// Maximum overlap in bytes: the part of the document's end that the model repeats first.
    #[arg(long, value_name = "BYTES", default_value = "200")]
    overlap: usize,
    /// Maximum number of bytes of the document to quote in a prompt.
    #[arg(long, value_name = "BYTES", default_value = "4000")]
    budget: usize,
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
                ContinuationFailure::BaseComplete | ContinuationFailure::BaseMalformed => base_name,
                _ => fragment_name,
            };
            log_verdict(format_args!("{source}: {failure}"));
            Ok(Verdict::Rejected)
        }
        _ => Ok(Verdict::Success),
    }
}

fn run(args: &ContinuationRunArgs) -> Result<Verdict, Failure> {
    in_runtime(request_document(args))
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
    let continuation = ContinuationOptions::new()
        .max_requests(args.max_requests)
        .overlap_bytes(args.sizes.overlap)
        .context_bytes(args.sizes.budget);
    let mut document = model::client(&args.model)?
        .continued(&request.user(prompt.trim_end()), continuation)
        .map_err(|error| model::failure(&error))?
        .document();
    let outcome = document.complete().await;
    let part = document.so_far().complete_part();
    if let Some(part) = &part {
        writeln!(stdout(), "{part}").map_err(Failure::output)?;
    }
    match outcome {
        Ok(_) => Ok(Verdict::Success),
        Err(ContinuedError::Continuation(error)) => {
            let what = if part.is_some() {
                "the document is incomplete"
            } else {
                "no part of the document is complete"
            };
            log_verdict(format_args!("{}: {what}: {error}", args.model.model));
            Ok(Verdict::Rejected)
        }
        Err(error) => Err(model::continued_failure(error)),
    }
}

fn options(sizes: &SizeArgs) -> ContextOptions {
    ContextOptions { overlap_bytes: sizes.overlap, prompt_budget_bytes: sizes.budget }
}

fn write_json(value: &impl Serialize) -> Result<(), Failure> {
    let json = serde_json::to_string(value).map_err(|error| Failure::Source(error.to_string()))?;
    writeln!(stdout(), "{json}").map_err(Failure::output)
}
