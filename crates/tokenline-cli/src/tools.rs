//! `tokenline tools`: describes tools to a model, and parses the calls in its response.

mod formats;

use std::io::Write as _;

use tokenline::llm::Provider;
use tokenline::llm::request::Message;
use tokenline::prompt::tools::{
    Language, ToolCallParser, ToolCalling, ToolPrompt, ToolPromptError, ToolPrompter,
};

use crate::args::{EmitKind, ToolsCommand, ToolsParseArgs, ToolsPromptArgs};
use crate::emit::{Emitter, EventOrigin};
use crate::failure::{Failure, Verdict};
use crate::load;
use crate::output::stdout;
use crate::parse::{Demands, conclude};

pub(crate) fn run(command: &ToolsCommand) -> Result<Verdict, Failure> {
    match command {
        ToolsCommand::Prompt(args) => prompt(args),
        ToolsCommand::Parse(args) => parse(args),
        ToolsCommand::Formats(args) => formats::run(args),
    }
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
