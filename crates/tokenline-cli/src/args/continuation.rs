//! `tokenline continuation`.

use std::path::PathBuf;

use clap::Subcommand;

use super::{ModelArgs, examples};

#[derive(Debug, Subcommand)]
pub(crate) enum ContinuationCommand {
    /// Print the context for a prompt that continues a cut-off JSON document, as one JSON object.
    ///
    /// Its members: overlap_context (the text that the model repeats first; empty if the document is complete),
    /// hierarchy_context (the document), hierarchy_context_for_prompt (the document, shortened to --budget),
    /// complete_part (the complete values, with all brackets closed) and json_parsing_success. Exits with 1 if
    /// json_parsing_success is false.
    #[command(after_help = examples::CONTINUATION_CONTEXTS)]
    Contexts(ContextsArgs),
    /// Merge a cut-off JSON document with the text that continues it.
    ///
    /// Prints {"merged", "has_overlap", "join", "overlap", "confidence"}. `confidence` is `certain` if the text begins with the
    /// requested overlap or repeats the whole document, otherwise `likely`. If the merge fails, or there are several ways to
    /// merge, exits with 1, and `merged` is the cut-off document.
    #[command(after_help = examples::CONTINUATION_MERGE)]
    Merge(MergeArgs),
    /// Request a JSON document from a model, and continue it until it is complete.
    ///
    /// Prints the document. If it stays incomplete, prints its complete part and exits with 1.
    #[command(after_help = examples::CONTINUATION_RUN)]
    Run(Box<ContinuationRunArgs>),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ContextsArgs {
    /// File with the cut-off document, at most 64 MiB; `-` is standard input.
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) sizes: SizeArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SizeArgs {
    /// Maximum overlap in bytes: the part of the document's end that the model repeats first.
    #[arg(long, value_name = "BYTES", default_value = "200")]
    pub(crate) overlap: usize,
    /// Maximum number of bytes of the document to quote in a prompt.
    #[arg(long, value_name = "BYTES", default_value = "4000")]
    pub(crate) budget: usize,
}

#[derive(Debug, clap::Args)]
pub(crate) struct MergeArgs {
    /// File with the cut-off document, at most 64 MiB; `-` is standard input.
    pub(crate) base: PathBuf,
    /// File with the text that continues it, at most 64 MiB; `-` is standard input.
    pub(crate) fragment: PathBuf,
    /// Number of bytes that the model was asked to repeat. Without it, there may be several ways to merge.
    #[arg(long, value_name = "BYTES")]
    pub(crate) requested_overlap: Option<usize>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ContinuationRunArgs {
    /// File with the user prompt, at most 64 MiB; `-` is standard input.
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    /// System prompt.
    #[arg(long, value_name = "TEXT")]
    pub(crate) system: Option<String>,
    /// Maximum number of requests, at least 1.
    #[arg(long, value_name = "N", default_value = "100", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_requests: u32,
    #[command(flatten)]
    pub(crate) sizes: SizeArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}
