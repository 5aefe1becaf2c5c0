//! `tokenline explain`: the meaning of diagnostic codes, and of the words in `recovered`, `completion` and `repaired`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use tokenline::conversations::ErrorCode;
use tokenline::syntax_repair::EditKind;
use tokenline::{Code, CompletedBy, Example, Recovery};
use tokenline_import::ImportCode;

use crate::failure::{Failure, Verdict};
use crate::output::print;

/// Explain a diagnostic code, or a word in the `recovered` or `completion` of an event, with an input that triggers it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokenline explain
  tokenline explain trailing_data
  tokenline explain call_end_missing")]
pub(crate) struct ExplainArgs {
    /// Diagnostic code, such as trailing_data, or a word in `recovered` or `completion`, such as call_end_missing. Default:
    /// list all.
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

pub(crate) fn run(args: &ExplainArgs) -> Result<Verdict, Failure> {
    let text = match &args.name {
        Some(name) => explanations(name)?,
        None => listing(),
    };
    print(text)
}

/// All meanings of a name.
fn explanations(name: &str) -> Result<String, Failure> {
    let normalized = name.to_lowercase().replace('-', "_");
    let line_code = own_line_codes().find(|code| code.as_str() == normalized);
    let old_name = ErrorCode::OLD_NAMES.into_iter().find(|(old, _)| *old == normalized);
    let import_code = ImportCode::ALL.into_iter().find(|code| code.as_str() == normalized);
    let found = [
        Code::from_name(&normalized).map(explanation),
        line_code.map(line_explanation),
        old_name.map(old_name_explanation),
        import_code.map(import_explanation),
        Recovery::from_name(&normalized).map(recovery_explanation),
        CompletedBy::from_name(&normalized).map(completion_explanation),
        EditKind::from_name(&normalized).map(edit_explanation),
    ];
    let found: Vec<String> = found.into_iter().flatten().collect();
    if found.is_empty() {
        let names: BTreeSet<&str> = all().map(|(name, ..)| name).collect();
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        return Err(Failure::Usage(format!("unknown name `{name}`; the names are {names}")));
    }
    Ok(found.join("\n"))
}

/// Each name with its explanation, and its place if it is not a code.
fn all() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let codes = Code::ALL.iter().map(|code| (code.as_str(), code.explanation(), ""));
    let line_codes = own_line_codes().map(|code| (code.as_str(), code.explanation(), ""));
    let import_codes = ImportCode::ALL.iter().map(|code| (code.as_str(), code.explanation(), ""));
    let recoveries = Recovery::ALL.iter().map(|it| (it.as_str(), it.explanation(), " (recovered)"));
    let completions = CompletedBy::ALL.iter().map(|it| (it.as_str(), it.explanation(), " (completion)"));
    let edits = EditKind::ALL.iter().map(|it| (it.as_str(), it.explanation(), " (repaired)"));
    codes.chain(line_codes).chain(import_codes).chain(recoveries).chain(completions).chain(edits)
}

fn listing() -> String {
    let mut out = String::new();
    for (name, explanation, place) in all() {
        let first = explanation.split_once(". ").map_or(explanation, |(first, _)| first);
        let _ = writeln!(out, "{name:<27}{}{place}", first.trim_end_matches('.'));
    }
    out
}

/// The codes that only `validate` and `conversations` have.
fn own_line_codes() -> impl Iterator<Item = ErrorCode> {
    ErrorCode::ALL.into_iter().filter(|code| !matches!(code, ErrorCode::Record(_)))
}

fn old_name_explanation((old, codes): (&str, &[Code])) -> String {
    let names = codes.iter().map(|code| code.as_str()).collect::<Vec<_>>().join(", ");
    match codes {
        [code] => format!("{old} is the old name of {names}.\n\n{}", explanation(*code)),
        _ => {
            format!("{old} is the old name of several codes, each of which `explain` explains:\n\n{names}\n")
        }
    }
}

fn line_explanation(code: ErrorCode) -> String {
    let head =
        format!("{} (error of `validate` and `conversations`)\n\n{}\n\n", code.as_str(), code.explanation());
    match code.example() {
        "" => head + "For example, an empty input.\n",
        example => format!("{head}For example, this input:\n\n    {}\n", example.replace('\n', "\n    ")),
    }
}

fn import_explanation(code: ImportCode) -> String {
    let head = format!("{} (reject of `conversations import`)\n\n{}\n", code.as_str(), code.explanation());
    match code.example() {
        (_, "") => head,
        ("", rows) => format!("{head}\nFor example, this input:\n\n    {}\n", rows.replace('\n', "\n    ")),
        (options, rows) => {
            let rows = rows.replace('\n', "\n    ");
            format!("{head}\nFor example, with {options}, this input:\n\n    {rows}\n")
        }
    }
}

fn explanation(code: Code) -> String {
    let mut out = format!("{} ({})\n\n{}\n\n", code.as_str(), code.severity().as_str(), code.explanation());
    let emit = if matches!(code.example(), Example::Tools { .. }) { "--emit tool-calls" } else { "" };
    write_example(&mut out, code.example(), emit, code == Code::Truncated);
    out
}

fn recovery_explanation(recovery: Recovery) -> String {
    let mut out = format!("{recovery} (in the `recovered` of an event)\n\n{}\n\n", recovery.explanation());
    write_example(&mut out, recovery.example(), "--emit events", false);
    out
}

fn edit_explanation(edit: EditKind) -> String {
    let mut out = format!("{edit} (in the `repaired` of an event)\n\n{}\n\n", edit.explanation());
    write_example(&mut out, edit.example(), "--emit events", false);
    out
}

fn completion_explanation(completion: CompletedBy) -> String {
    let mut out =
        format!("{completion} (in the `completion` of an event)\n\n{}\n\n", completion.explanation());
    let is_end = completion == CompletedBy::EndOfInput;
    write_example(&mut out, completion.example(), "--emit events", is_end);
    out
}

/// Writes an example that is read with the option `emit`, unless that is empty. `is_end`: only at the end of the input.
fn write_example(out: &mut String, example: Example, emit: &str, is_end: bool) {
    let indented = |text: &str| text.trim_end().replace('\n', "\n    ");
    let with = |options: &[&str]| {
        let options: Vec<&str> = options.iter().copied().filter(|it| !it.is_empty()).collect();
        if options.is_empty() { String::new() } else { format!("with {}, ", options.join(" ")) }
    };
    let input = |text: &str| match text {
        _ if is_end => "an input that ends with this, without a line feed",
        _ if text.trim_end().contains('\n') => "these lines",
        _ => "this line",
    };
    let _ = match example {
        Example::Text(text) => {
            writeln!(out, "For example, {}{}:\n\n    {}", with(&[emit]), input(text), indented(text))
        }
        Example::Options { options, text } => {
            let with = with(&[options, emit]);
            writeln!(out, "For example, {with}{}:\n\n    {}", input(text), indented(text))
        }
        Example::Schema { schema, text } => {
            writeln!(out, "For example, with --schema\n\n    {schema}\n\nthis line:\n\n    {text}")
        }
        Example::Tools { tools, text } => {
            writeln!(out, "For example, with {emit} and --tools\n\n    {tools}\n\nthis line:\n\n    {text}")
        }
        Example::OpenAiChat(events) => {
            let with = with(&["--from openai-chat", emit]);
            writeln!(out, "For example, {with}these events:\n\n    {}", indented(events))
        }
        Example::Described(description) => writeln!(out, "For example, {description}."),
        _ => Ok(()),
    };
}
