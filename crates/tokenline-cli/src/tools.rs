//! `tokenline tools`: describes tools to a model, and parses the calls in its response.

mod formats;

use std::io::Write as _;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use tokenline::llm::Provider;
use tokenline::llm::request::Message;
use tokenline::prompt::tools::{
    Language, ToolCallParser, ToolCalling, ToolPrompt, ToolPromptError, ToolPrompter,
};

use crate::args::{CallingParser, EmitKind, ReasoningArg, provider};
use crate::emit::{Emitter, EventOrigin};
use crate::failure::{Failure, Verdict};
use crate::load;
use crate::output::stdout;
use crate::parse::{Demands, conclude};

commands! {
    /// Describe tools to a model, and parse the tool calls in its response.
    Command {
        Prompt(ToolsPromptArgs) => prompt,
        Parse(ToolsParseArgs) => parse,
        Formats(formats::ToolsFormatsArgs) => formats::run,
    }
}

/// Print a prompt that describes tools to a model, or the results of its calls.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokenline tools prompt --tools tools.json
  tokenline tools prompt --tools tools.json --call-format qwen3-coder
  tokenline tools prompt --results conversation.json --call-format qwen3-coder
  tokenline tools prompt --tools tools.json --call-format function_calling --provider anthropic")]
#[command(group = clap::ArgGroup::new("what").required(true).args(["tools", "results"]))]
pub(crate) struct ToolsPromptArgs {
    /// Tool definitions: a JSON array of {name, description?, parameters}, OpenAI's {type, function} or Anthropic's
    /// {name, input_schema}; at most 16 MiB.
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    /// Print the results of calls instead: those at the end of a conversation, a JSON array of messages as in OpenAI's
    /// chat completions, {role: "tool", name?, tool_call_id?, content}; `-` is standard input. Only for a model family.
    #[arg(long, value_name = "FILE", conflicts_with = "provider")]
    results: Option<PathBuf>,
    /// jsonl, single_json, a model family or the syntax of one: the part about tools of its chat template, for a server
    /// of raw completions; function_calling: the `tools` member of a request.
    #[arg(long, alias = "format", value_name = "FORMAT", default_value = "jsonl", value_parser = CallingParser::new(), hide_possible_values = true)]
    call_format: ToolCalling,
    /// Language of the prompt. Default: en. Only with --call-format jsonl or single_json; the prompts of model families are
    /// in English.
    #[arg(long, value_parser = PossibleValuesParser::new(["en", "zh"]))]
    language: Option<String>,
    /// Provider that the request is for. Default: openai-chat. Only with --call-format function_calling.
    #[arg(long, value_parser = provider())]
    provider: Option<Provider>,
}

/// Parse the tool calls in a complete response; write them as JSON Lines.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokenline tools parse response.txt --tools tools.json
  tokenline tools parse response.json --call-format function_calling")]
pub(crate) struct ToolsParseArgs {
    /// File with the response, at most 64 MiB; `-` is standard input.
    #[arg(default_value = "-")]
    file: PathBuf,
    /// Syntax of the calls in the text: one that `tools formats` lists, a model family, or a file that describes one.
    /// function_calling parses a provider's complete, non-streamed response body.
    #[arg(long, alias = "format", value_name = "FORMAT", default_value = "auto", value_parser = CallingParser::new(), hide_possible_values = true)]
    call_format: ToolCalling,
    #[command(flatten)]
    reasoning: ReasoningArg,
    /// Tool definitions: a JSON array of {name, description?, parameters}, OpenAI's {type, function} or Anthropic's
    /// {name, input_schema}; at most 16 MiB. Calls of other tools or with invalid parameters are rejected.
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    /// Exit with 1 if anything was rejected.
    #[arg(long)]
    deny: bool,
}

fn prompt(args: &ToolsPromptArgs) -> Result<Verdict, Failure> {
    let prompter = prompter(args)?;
    let failed = |error: ToolPromptError| Failure::Usage(error.to_string());
    let mut out = stdout();
    if let Some(path) = &args.results {
        let messages = load::messages(path)?;
        let results = prompter.results(&args.call_format, &messages).map_err(failed)?;
        if !matches!(messages.last(), Some(Message::Tool(_))) {
            return Err(Failure::Usage(format!(
                "messages {}: the last message must be a result, with the role \"tool\"",
                path.display()
            )));
        }
        // Whole turns: a newline is part of some, and foreign to others.
        write!(out, "{results}").map_err(Failure::output)?;
    }
    if let Some(path) = &args.tools {
        let tools = load::tools(path)?;
        let prompt = prompter.prompt(&args.call_format, tools.definitions()).map_err(failed)?;
        let (ToolPrompt::Text(text) | ToolPrompt::Tools(text)) = prompt;
        writeln!(out, "{text}").map_err(Failure::output)?;
    }
    Ok(Verdict::Success)
}

/// A prompter with the options, each of which must have an effect.
fn prompter(args: &ToolsPromptArgs) -> Result<ToolPrompter, Failure> {
    let refuse = |message: &str| Err(Failure::Usage(message.to_owned()));
    let mut prompter = ToolPrompter::new();
    if let Some(code) = &args.language {
        let language = Language::from_code(code).expect("clap knows the languages");
        let has_languages =
            matches!(&args.call_format, ToolCalling::Text(format) if language.template(format).is_some());
        if !has_languages {
            return refuse(
                "--language needs --call-format jsonl or single_json: no other prompt is in several languages",
            );
        }
        prompter = prompter.with_language(language);
    }
    if let Some(provider) = args.provider {
        if args.call_format != ToolCalling::FunctionCalling {
            return refuse(
                "--provider needs --call-format function_calling: a prompt is the same for all providers",
            );
        }
        prompter = prompter.with_provider(provider);
    }
    Ok(prompter)
}

fn parse(args: &ToolsParseArgs) -> Result<Verdict, Failure> {
    let mut parser = ToolCallParser::new(args.call_format.clone()).in_reasoning(args.reasoning.in_reasoning);
    if let Some(path) = &args.tools {
        parser = parser.with_tools(load::tools(path)?);
    }
    let (source, response) = load::response_bytes(&args.file)?;
    let parsed = parser.parse_bytes(&response);
    let mut emitter = Emitter::new(EmitKind::ToolCalls, source);
    let is_body = || std::str::from_utf8(&response).is_ok_and(|body| Provider::of_body(body).is_some());
    if args.call_format == ToolCalling::FunctionCalling && !is_body() {
        emitter.remark(
            "not a complete response of a known provider; parsed as text. For a stream, use `parse --from`",
        );
    }
    for call in &parsed.calls {
        emitter.tool_call(EventOrigin::Input, call, None)?;
    }
    for rejected in &parsed.rejected {
        emitter.rejected_call(EventOrigin::Input, rejected)?;
    }
    conclude(Ok(()), &mut emitter, None, Demands { deny: args.deny, ..Demands::default() })
}
