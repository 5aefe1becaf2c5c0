//! GitHub workflow commands.

use tokenline::conversations::LineError;

use super::{Format, Writes};

pub(super) const FORMAT: Format = Format {
    name: "github",
    help: "GitHub workflow annotations, immediately",
    writes: Writes::EachError(|error| Ok(annotation(error))),
    has_excerpts: false,
};

fn annotation(error: &LineError) -> String {
    let message = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |text: &str| message(text).replace(':', "%3A").replace(',', "%2C");
    let file = property(&error.input_path);
    let line = match error.line_number {
        0 => String::new(),
        line => format!(",line={line},col={}", error.column),
    };
    let pointer =
        if error.instance_path.is_empty() { String::new() } else { format!(" (at {})", error.instance_path) };
    format!(
        "::error file={file}{line},title={}::{}",
        error.code,
        message(&format!("{}{pointer}", error.message))
    )
}
