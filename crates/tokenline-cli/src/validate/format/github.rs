//! GitHub workflow commands.

use tokenline::conversations::LineError;

use super::{Format, Writes, message};

pub(super) const FORMAT: Format = Format {
    name: "github",
    help: "GitHub workflow annotations, immediately",
    writes: Writes::EachError(|error| Ok(annotation(error))),
    has_excerpts: false,
};

fn annotation(error: &LineError) -> String {
    let escaped = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |text: &str| escaped(text).replace(':', "%3A").replace(',', "%2C");
    let file = property(&error.input_path);
    let line = match error.line_number {
        0 => String::new(),
        line => format!(",line={line},col={}", error.column),
    };
    format!("::error file={file}{line},title={}::{}", error.code, escaped(&message(error)))
}
