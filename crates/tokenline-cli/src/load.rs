//! Reading the files that configure a command.

use std::io::Read as _;
use std::path::Path;

use tokenline::json::{Parser, Raw, Value};
use tokenline::llm::request::Message;
use tokenline::schema::{SchemaOptions, SchemaValidator, ToolSet};

use crate::failure::Failure;

/// A JSON Schema.
pub(crate) fn schema(path: &Path) -> Result<SchemaValidator, Failure> {
    let text = text(path)?;
    SchemaOptions::default().build_str(&text).map_err(|error| at_fault("schema", path, &error))
}

/// Tool definitions.
pub(crate) fn tools(path: &Path) -> Result<ToolSet, Failure> {
    let text = text(path)?;
    ToolSet::from_json_str(&text).map_err(|error| at_fault("tools", path, &error))
}

/// A JSON value, as it was written.
pub(crate) fn json(path: &Path) -> Result<Raw, Failure> {
    Raw::new(&text(path)?).map_err(|error| at_fault("JSON", path, &error))
}

/// A conversation: an array of messages, or an object that has one as `messages`.
pub(crate) fn messages(path: &Path) -> Result<Vec<Message>, Failure> {
    let text = if path.as_os_str() == "-" { stdin()? } else { text(path)? };
    let mut parser = Parser::new();
    let root = parser.parse(&text).map_err(|error| at_fault("messages", path, &error))?;
    let messages = root.get("messages").unwrap_or(root);
    let no_array = || Failure::Usage(format!("messages {}: expected an array of messages", path.display()));
    let read = |(at, message): (usize, Value<'_>)| {
        let told = |error| Failure::Usage(format!("messages {}: message {at}: {error}", path.display()));
        message.deserialize().map_err(told)
    };
    messages.as_array().ok_or_else(no_array)?.iter().enumerate().map(read).collect()
}

/// All of standard input, as text.
pub(crate) fn stdin() -> Result<String, Failure> {
    std::io::read_to_string(std::io::stdin()).map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidData => Failure::Usage("standard input is not UTF-8".to_owned()),
        _ => Failure::io("cannot read standard input", &error),
    })
}

fn at_fault(what: &str, path: &Path, error: &dyn std::error::Error) -> Failure {
    Failure::Usage(format!("{what} {}: {error}", path.display()))
}

/// A text.
pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    let bytes = std::fs::read(path).map_err(|error| Failure::unreadable(path, &error))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::Usage(format!("{}: not UTF-8: bad byte at offset {at}", path.display()))
    })?;
    match text.strip_prefix('\u{feff}') {
        Some(rest) => Ok(rest.to_owned()),
        None => Ok(text),
    }
}

/// What a model has answered, from a file or, as `-`, from standard input, after what messages call it. A
/// character that is cut at its end is left out: what it was part of is cut in any case.
pub(crate) fn response(file: &Path) -> Result<(String, String), Failure> {
    response_within(file, u64::MAX)
}

/// The same, but no more than so many bytes of it.
pub(crate) fn response_within(file: &Path, most: u64) -> Result<(String, String), Failure> {
    let mut bytes = Vec::new();
    let name = if file.as_os_str() == "-" {
        let read = std::io::stdin().lock().take(most).read_to_end(&mut bytes);
        read.map_err(|error| Failure::io("cannot read standard input", &error))?;
        "stdin".to_owned()
    } else {
        let read = std::fs::File::open(file).and_then(|file| file.take(most).read_to_end(&mut bytes));
        read.map_err(|error| Failure::unreadable(file, &error))?;
        file.display().to_string()
    };
    let text = String::from_utf8(bytes).or_else(|error| {
        let fault = error.utf8_error();
        let mut bytes = error.into_bytes();
        match fault.error_len() {
            None => {
                bytes.truncate(fault.valid_up_to());
                Ok(String::from_utf8(bytes).unwrap_or_default())
            }
            Some(_) => {
                Err(Failure::Source(format!("{name}: not UTF-8: bad byte at offset {}", fault.valid_up_to())))
            }
        }
    })?;
    let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
    Ok((name, text))
}
