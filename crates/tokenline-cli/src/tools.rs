//! `tokenline tools`: describes tools to a model, and parses the calls in its response.

use std::io::Write as _;

use tokenline::call_format::CallSyntax;
use tokenline::llm::Provider;
use tokenline::llm::request::Message;
use tokenline::prompt::tools::{
    Language, ToolCallParser, ToolCalling, ToolPrompt, ToolPromptError, ToolPrompter,
};

use crate::args::{
    EmitKind, ToolsCommand, ToolsFormatsArgs, ToolsParseArgs, ToolsPromptArgs, unknown_call_format,
};
use crate::emit::{Emitter, EventOrigin};
use crate::failure::{Failure, Verdict};
use crate::load;
use crate::parse::conclude;

pub(crate) fn run(command: &ToolsCommand) -> Result<Verdict, Failure> {
    match command {
        ToolsCommand::Prompt(args) => prompt(args),
        ToolsCommand::Parse(args) => parse(args),
        ToolsCommand::Formats(args) => formats(args),
    }
}

fn prompt(args: &ToolsPromptArgs) -> Result<Verdict, Failure> {
    let prompter = ToolPrompter::new()
        .with_language(Language::from_code(&args.language).unwrap_or_default())
        .with_provider(args.provider);
    let failed = |error: ToolPromptError| Failure::Usage(error.to_string());
    let mut out = std::io::stdout().lock();
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

fn parse(args: &ToolsParseArgs) -> Result<Verdict, Failure> {
    let mut parser = ToolCallParser::new(args.call_format.clone());
    if let Some(path) = &args.tools {
        parser = parser.with_tools(load::tools(path)?);
    }
    let (source, response) = load::response(&args.file)?;
    let parsed = parser.parse(&response);
    let mut emitter = Emitter::new(EmitKind::ToolCalls, source);
    if args.call_format == ToolCalling::FunctionCalling && Provider::of_body(&response).is_none() {
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
    conclude(Ok(()), &mut emitter, None, args.deny)
}

fn formats(args: &ToolsFormatsArgs) -> Result<Verdict, Failure> {
    let rows: Vec<serde_json::Value> = serde_json::from_str(CallSyntax::built_in_json()).unwrap_or_default();
    let rows = rows.iter().zip(CallSyntax::built_in());
    let is_asked = |row: &CallSyntax| args.name.as_ref().is_none_or(|name| row.is_named(name));
    let rows: Vec<_> = rows.filter(|(_, row)| is_asked(row)).collect();
    if rows.is_empty() {
        let name = args.name.as_deref().unwrap_or_default();
        return Err(Failure::Usage(unknown_call_format(name, None)));
    }
    let mut out = std::io::stdout().lock();
    for (index, (json, row)) in rows.into_iter().enumerate() {
        let written = if args.json {
            writeln!(out, "{json}")
        } else {
            let gap = if index == 0 { "" } else { "\n" };
            let separator = if row.models.is_empty() { "" } else { ": " };
            let example = row.example.lines().map(|line| format!("    {line}\n")).collect::<String>();
            write!(out, "{gap}{}{separator}{}\n{example}", row.name, row.models.join(", "))
        };
        written.map_err(Failure::output)?;
    }
    Ok(Verdict::Success)
}
