//! What `tokenline continuation` is told.

use std::path::PathBuf;

use clap::Subcommand;

use super::ModelArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum ContinuationCommand {
    /// Print what a cut-off JSON answer gives for going on with it, as one JSON object.
    ///
    /// Its members: overlap_context (what the model is asked to begin with; empty if the answer is complete),
    /// hierarchy_context (the cut text), hierarchy_context_for_prompt (the same within a budget), complete_part (what is
    /// whole, with all structures closed), json_parsing_success. Exits with 1 if the last is false.
    Contexts(ContextsArgs),
    /// Merge a cut-off JSON answer with what the model wrote next.
    ///
    /// Prints {"merged", "has_overlap", "join", "overlap", "confidence"}. Exits with 1 if it cannot be merged; then
    /// `merged` is the base.
    Merge(MergeArgs),
    /// Ask a model for a JSON document, and for the rest of it as often as it takes.
    ///
    /// Prints the document. Exits with 1 if it is not all there: then it is what is whole of it.
    Run(Box<ContinuationRunArgs>),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ContextsArgs {
    /// The answer, of at most 64 MiB; `-` is standard input.
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) sizes: SizeArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SizeArgs {
    /// The most bytes that the model is asked to repeat.
    #[arg(long, value_name = "BYTES", default_value = "200")]
    pub(crate) overlap: usize,
    /// The most bytes of the answer that a prompt holds.
    #[arg(long, value_name = "BYTES", default_value = "4000")]
    pub(crate) budget: usize,
}

#[derive(Debug, clap::Args)]
pub(crate) struct MergeArgs {
    /// What there is of the answer, at most 64 MiB; `-` is standard input.
    pub(crate) base: PathBuf,
    /// What the model wrote next, at most 64 MiB; `-` is standard input.
    pub(crate) fragment: PathBuf,
    /// How many bytes of the answer the model was asked to begin with.
    #[arg(long, value_name = "BYTES")]
    pub(crate) requested_overlap: Option<usize>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ContinuationRunArgs {
    /// What to ask, at most 64 MiB; `-` is standard input.
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    /// What the model is to keep to.
    #[arg(long, value_name = "TEXT")]
    pub(crate) system: Option<String>,
    /// The most requests to make.
    #[arg(long, value_name = "N", default_value = "100", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_requests: u32,
    #[command(flatten)]
    pub(crate) sizes: SizeArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}
