//! `tokenline tools formats`: the names that `--call-format` takes.

use std::fmt::Write as _;
use std::io::Write as _;

use tokenline::call_format::CallSyntax;
use tokenline::prompt::tools::{ToolCalling, ToolPrompter};

use crate::args::unknown_call_format;
use crate::failure::{Failure, Verdict};
use crate::output::stdout;

/// List the names that --call-format takes: syntaxes of tool calls with their model families, each with an example.
///
/// An asterisk marks the names that `tools prompt` has a prompt for. A name stands in two entries if the family writes
/// both; the line below it says when.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokenline tools formats
  tokenline tools formats qwen3-coder
  tokenline tools formats kimi-k2 --json")]
pub(crate) struct ToolsFormatsArgs {
    /// Only this name or model family.
    name: Option<String>,
    /// Write JSON Lines, each a syntax in the form of a file that describes one. Those without such a form are left out:
    /// auto, jsonl, single_json and function_calling.
    #[arg(long)]
    json: bool,
}

/// Names without a row in the table of syntaxes: the name, its meaning, an example.
const WITHOUT_ROW: [(&str, &str, &str); 4] = [
    ("auto", "The syntax of the first complete call, whichever it is. In a prompt, the same as jsonl.", ""),
    (
        "jsonl",
        "JSON Lines: each object is a call.",
        r#"    {"name": "weather", "parameters": {"city": "Paris"}}"#,
    ),
    (
        "single_json",
        "One JSON object: a call, or several as `tool_calls`.",
        r#"    {"name": "weather", "parameters": {"city": "Paris"}}"#,
    ),
    (
        "function_calling",
        "Not in text: tools in the request, calls in the response. Only for `tools prompt` and `tools parse`.",
        "",
    ),
];

pub(super) fn run(args: &ToolsFormatsArgs) -> Result<Verdict, Failure> {
    let asked = match &args.name {
        Some(name) => Some(ToolCalling::from_name(name).ok_or_else(|| {
            Failure::Usage(unknown_call_format(name, Some(ToolCalling::FunctionCalling.as_str())))
        })?),
        None => None,
    };
    let rows: Vec<serde_json::Value> =
        serde_json::from_str(CallSyntax::built_in_json()).expect("the library reads it");
    let is_asked = |row: &CallSyntax| args.name.as_ref().is_none_or(|name| row.is_named(name));
    let rows = rows.iter().zip(CallSyntax::built_in()).filter(|(_, row)| is_asked(row));
    let text = if args.json {
        rows.map(|(json, _)| format!("{json}\n")).collect()
    } else {
        let is_asked = |name: &str| asked.as_ref().is_none_or(|asked| asked.as_str() == name);
        let without_row = WITHOUT_ROW.iter().filter(|(name, ..)| is_asked(name)).map(without_row);
        let listed: Vec<_> = without_row.chain(rows.map(|(_, row)| with_row(row))).collect();
        let legend = if listed.iter().any(|it| it.contains(MARK)) { LEGEND } else { "" };
        listed.join("\n") + legend
    };
    if text.is_empty() {
        let name = args.name.as_deref().unwrap_or_default();
        return Err(Failure::Usage(format!("no file describes the call format '{name}': leave out --json")));
    }
    stdout().write_all(text.as_bytes()).map_err(Failure::output)?;
    Ok(Verdict::Success)
}

/// The mark after a name that has a prompt.
const MARK: char = '*';

const LEGEND: &str =
    "\n* `tools prompt` writes tools for it; for a model family, as its chat template does.\n";

/// The name, marked if there is a prompt for it.
fn marked(name: &str) -> String {
    let has_prompt = match ToolCalling::from_name(name) {
        Some(ToolCalling::Text(format)) => ToolPrompter::new().has_template(&format),
        calling => calling.is_some(),
    };
    if has_prompt { format!("{name}{MARK}") } else { name.to_owned() }
}

fn without_row((name, meaning, example): &(&str, &str, &str)) -> String {
    let separator = if example.is_empty() { "" } else { "\n" };
    format!("{}\n  {meaning}\n{example}{separator}", marked(name))
}

fn with_row(row: &CallSyntax) -> String {
    let mut text = marked(&row.name);
    for (index, model) in row.models.iter().enumerate() {
        let separator = if index == 0 { ": " } else { ", " };
        let _ = write!(text, "{separator}{}", marked(model));
    }
    text.push('\n');
    if !row.note.is_empty() {
        let _ = writeln!(text, "  {}", row.note);
    }
    for line in row.example.lines() {
        let _ = writeln!(text, "    {line}");
    }
    text
}
