//! `tokenline schema`: checks JSON Schemas.

use std::fmt::Write as _;
use std::path::PathBuf;

use memchr::memchr_iter;
use tokenline::json::{Parser, Raw, Value};
use tokenline::prompt::tools::strict_violations;

use crate::failure::{Failure, Verdict};
use crate::load;
use crate::output::print;

commands! {
    /// Check JSON Schemas for what validators ignore, validate slowly, or providers refuse.
    Command {
        Check(SchemaCheckArgs) => check,
    }
}

/// Check a JSON Schema: print keywords that have no effect, what makes validation slow, and what a provider's strict mode
/// refuses.
///
/// A misspelled keyword is no error in JSON Schema: the schema accepts more than was meant. Annotations and members whose
/// names begin with `x-` are not reported. The rules of strict modes are those of OpenAI's structured outputs.
///
/// Exits with 1 if a keyword is unknown or, with --strict, a strict mode refuses the schema; with 2 if the schema is
/// invalid.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tokenline schema check fact.schema.json")]
pub(crate) struct SchemaCheckArgs {
    /// File with the JSON Schema, at most 16 MiB.
    file: PathBuf,
    /// Directory of the JSON Schemas (*.json) that it refers to, by their path or `$id`. Nothing else is read.
    #[arg(long, value_name = "DIR")]
    schema_dir: Option<PathBuf>,
    /// Exit with 1 also if a provider's strict mode refuses the schema.
    #[arg(long)]
    strict: bool,
}

fn check(args: &SchemaCheckArgs) -> Result<Verdict, Failure> {
    let text = load::text("the schema", &args.file)?;
    let validator = load::schema_of(&text, &args.file, args.schema_dir.as_deref())?;
    let mut parser = Parser::new();
    let root = parser.parse(&text).map_err(|error| load::invalid("schema", &args.file, &error))?;
    let file = args.file.display();
    let places = Places::new(root, &text);
    let place = |path: &str| {
        let (line, column) = places.of(path);
        format!("{file}:{line}:{column}")
    };
    let mut out = String::new();
    let unknown = validator.unknown_keywords();
    for keyword in &unknown {
        let _ = writeln!(out, "{}: {keyword}", place(&keyword.path));
    }
    let refused = strict_violations(&Raw::from(root));
    for violation in &refused {
        let _ = writeln!(out, "{}: strict mode: {violation}", place(&violation.pointer));
    }
    let _ = writeln!(out, "{file}: validation: {}", validator.plan());
    print(out)?;
    let is_rejected = !unknown.is_empty() || (args.strict && !refused.is_empty());
    Ok(if is_rejected { Verdict::Rejected } else { Verdict::Success })
}

/// The places of values in a JSON text.
pub(crate) struct Places<'a> {
    root: Value<'a>,
    line_ends: Vec<usize>,
}

impl<'a> Places<'a> {
    pub(crate) fn new(root: Value<'a>, text: &str) -> Self {
        Self { root, line_ends: memchr_iter(b'\n', text.as_bytes()).collect() }
    }

    /// The line and the column, in bytes, of the value at a JSON Pointer; both from 1.
    pub(crate) fn of(&self, pointer: &str) -> (usize, usize) {
        let at = self.root.pointer(pointer).map_or(0, |value| value.range().start);
        let line = self.line_ends.partition_point(|end| *end < at);
        let line_start = line.checked_sub(1).map_or(0, |before| self.line_ends[before] + 1);
        (1 + line, 1 + at - line_start)
    }
}
