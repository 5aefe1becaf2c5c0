//! `tokenline explain`: what a code means.

use std::fmt::Write as _;
use std::io::Write as _;

use tokenline::{Code, Example};

use crate::args::ExplainArgs;
use crate::failure::{Failure, Verdict};

pub(crate) fn run(args: &ExplainArgs) -> Result<Verdict, Failure> {
    let text = match &args.code {
        Some(name) => {
            explanation(Code::from_name(&name.to_lowercase().replace('-', "_")).ok_or_else(|| unknown(name))?)
        }
        None => listing(),
    };
    std::io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::output)?;
    Ok(Verdict::Good)
}

fn unknown(name: &str) -> Failure {
    let names: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    Failure::Usage(format!("no diagnostic has the code `{name}`; the codes are {}", names.join(", ")))
}

fn listing() -> String {
    let mut out = String::new();
    for code in Code::ALL {
        let first = code.explanation().split_once(". ").map_or(code.explanation(), |(first, _)| first);
        let _ = writeln!(out, "{:<20}{}", code.as_str(), first.trim_end_matches('.'));
    }
    out
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
