//! `tokenline explain`: what a code means.

use std::fmt::Write as _;
use std::io::Write as _;

use tokenline::conversations::ErrorCode;
use tokenline::{Code, Example};

use crate::args::ExplainArgs;
use crate::failure::{Failure, Verdict};

pub(crate) fn run(args: &ExplainArgs) -> Result<Verdict, Failure> {
    let text = match &args.code {
        Some(name) => {
            let plain = name.to_lowercase().replace('-', "_");
            let of_lines = || ErrorCode::ALL.into_iter().find(|code| code.as_str() == plain);
            match Code::from_name(&plain) {
                Some(code) => explanation(code),
                None => explanation_of_lines(of_lines().ok_or_else(|| unknown(name))?),
            }
        }
        None => listing(),
    };
    std::io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::output)?;
    Ok(Verdict::Good)
}

fn unknown(name: &str) -> Failure {
    let of_lines = ErrorCode::ALL.iter().map(|code| code.as_str());
    let names: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).chain(of_lines).collect();
    Failure::Usage(format!("no diagnostic has the code `{name}`; the codes are {}", names.join(", ")))
}

fn listing() -> String {
    let mut out = String::new();
    let codes = Code::ALL.iter().map(|code| (code.as_str(), code.explanation()));
    let of_lines = ErrorCode::ALL.iter().map(|code| (code.as_str(), code.explanation()));
    for (name, explanation) in codes.chain(of_lines) {
        let first = explanation.split_once(". ").map_or(explanation, |(first, _)| first);
        let _ = writeln!(out, "{name:<27}{}", first.trim_end_matches('.'));
    }
    out
}

fn explanation_of_lines(code: ErrorCode) -> String {
    let head = format!("{} (error of validate-input)\n\n{}\n\n", code.as_str(), code.explanation());
    match code.example() {
        "" => head + "For example, an empty input.\n",
        example => format!("{head}For example, this input:\n\n    {}\n", example.replace('\n', "\n    ")),
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
        Example::Described(what) => writeln!(out, "For example, {what}."),
        _ => Ok(()),
    };
    out
}
