//! `tokenline tools`.

use std::path::PathBuf;

use clap::Subcommand;
use clap::builder::PossibleValuesParser;
use tokenline::llm::Provider;
use tokenline::prompt::tools::ToolCalling;

use super::call_format::CallingParser;
use super::{ReasoningArg, examples, provider};

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// Print a prompt that describes tools to a model, or the results of its calls.
    #[command(after_help = examples::TOOLS_PROMPT)]
    Prompt(ToolsPromptArgs),
    /// Parse the tool calls in a complete response; write them as JSON Lines.
    #[command(after_help = examples::TOOLS_PARSE)]
    Parse(ToolsParseArgs),
    /// List the names that --call-format takes: syntaxes of tool calls with their model families, each with an example.
    ///
    /// An asterisk marks the names that `tools prompt` has a prompt for. A name stands in two entries if the family writes
    /// both; the line below it says when.
    #[command(after_help = examples::TOOLS_FORMATS)]
    Formats(ToolsFormatsArgs),
}

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["tools", "results"]))]
pub(crate) struct ToolsPromptArgs {
    /// Tool definitions: a JSON array of {name, description?, parameters}, OpenAI's {type, function} or Anthropic's
    /// {name, input_schema}; at most 16 MiB.
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
    /// Print the results of calls instead: those at the end of a conversation, a JSON array of messages as in OpenAI's
    /// chat completions, {role: "tool", name?, tool_call_id?, content}; `-` is standard input. Only for a model family.
    #[arg(long, value_name = "FILE", conflicts_with = "provider")]
    pub(crate) results: Option<PathBuf>,
    /// jsonl, single_json, a model family or the syntax of one: the part about tools of its chat template, for a server
    /// of raw completions; function_calling: the `tools` member of a request.
    #[arg(long, alias = "format", value_name = "FORMAT", default_value = "jsonl", value_parser = CallingParser::new(), hide_possible_values = true)]
    pub(crate) call_format: ToolCalling,
    /// Language of the prompt. Default: en. Only with --call-format jsonl or single_json; the prompts of model families are
    /// in English.
    #[arg(long, value_parser = PossibleValuesParser::new(["en", "zh"]))]
    pub(crate) language: Option<String>,
    /// Provider that the request is for. Default: openai-chat. Only with --call-format function_calling.
    #[arg(long, value_parser = provider())]
    pub(crate) provider: Option<Provider>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ToolsFormatsArgs {
    /// Only this name or model family.
    pub(crate) name: Option<String>,
    /// Write JSON Lines, each a syntax in the form of a file that describes one. Those without such a form are left out:
    /// auto, jsonl, single_json and function_calling.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ToolsParseArgs {
    /// File with the response, at most 64 MiB; `-` is standard input.
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    /// Syntax of the calls in the text: one that `tools formats` lists, a model family, or a file that describes one.
    /// function_calling parses a provider's complete, non-streamed response body.
    #[arg(long, alias = "format", value_name = "FORMAT", default_value = "auto", value_parser = CallingParser::new(), hide_possible_values = true)]
    pub(crate) call_format: ToolCalling,
    #[command(flatten)]
    pub(crate) reasoning: ReasoningArg,
    /// Tool definitions: a JSON array of {name, description?, parameters}, OpenAI's {type, function} or Anthropic's
    /// {name, input_schema}; at most 16 MiB. Calls of other tools or with invalid parameters are rejected.
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
    /// Exit with 1 if anything was rejected.
    #[arg(long)]
    pub(crate) deny: bool,
}
