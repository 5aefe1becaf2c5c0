//! `tokenline explain`: the meaning of a diagnostic code.

use std::fmt::Write as _;
use std::io::Write as _;

use tokenline::conversations::ErrorCode;
use tokenline::{Code, Example};
use tokenline_import::ImportCode;

use crate::args::ExplainArgs;
use crate::failure::{Failure, Verdict};

pub(crate) fn run(args: &ExplainArgs) -> Result<Verdict, Failure> {
    let text = match &args.code {
        Some(name) => {
            let normalized = name.to_lowercase().replace('-', "_");
            let line_code = || ErrorCode::ALL.into_iter().find(|code| code.as_str() == normalized);
            let import_code = || ImportCode::ALL.into_iter().find(|code| code.as_str() == normalized);
            Code::from_name(&normalized)
                .map(explanation)
                .or_else(|| line_code().map(line_explanation))
                .or_else(|| import_code().map(import_explanation))
                .ok_or_else(|| unknown(name))?
        }
        None => listing(),
    };
    std::io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::output)?;
    Ok(Verdict::Success)
}

fn unknown(name: &str) -> Failure {
    let line_codes = ErrorCode::ALL.iter().map(|code| code.as_str());
    let import_codes = ImportCode::ALL.iter().map(|code| code.as_str());
    let codes = Code::ALL.iter().map(|code| code.as_str());
    let names: Vec<&str> = codes.chain(line_codes).chain(import_codes).collect();
    Failure::Usage(format!("unknown diagnostic code `{name}`; the codes are {}", names.join(", ")))
}

fn listing() -> String {
    let mut out = String::new();
    let codes = Code::ALL.iter().map(|code| (code.as_str(), code.explanation()));
    let line_codes = ErrorCode::ALL.iter().map(|code| (code.as_str(), code.explanation()));
    let import_codes = ImportCode::ALL.iter().map(|code| (code.as_str(), code.explanation()));
    for (name, explanation) in codes.chain(line_codes).chain(import_codes) {
        let first = explanation.split_once(". ").map_or(explanation, |(first, _)| first);
        let _ = writeln!(out, "{name:<27}{}", first.trim_end_matches('.'));
    }
    out
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
    let _ = match code.example() {
        Example::Text(text) if code == Code::Truncated => {
            writeln!(out, "For example, an input that ends with this, without a line feed:\n\n    {text}")
        }
        Example::Text(text) => writeln!(out, "For example, this line:\n\n    {text}"),
        Example::Schema { schema, text } => {
            writeln!(out, "For example, with --schema\n\n    {schema}\n\nthis line:\n\n    {text}")
        }
        Example::Tools { tools, text } => {
            writeln!(
                out,
                "For example, with --emit tool-calls and --tools\n\n    {tools}\n\nthis line:\n\n    {text}"
            )
        }
        Example::OpenAiChat(events) => {
            let events = events.trim_end().replace('\n', "\n    ");
            writeln!(out, "For example, with --from openai-chat, these events:\n\n    {events}")
        }
        Example::Described(description) => writeln!(out, "For example, {description}."),
        _ => Ok(()),
    };
    out
}
