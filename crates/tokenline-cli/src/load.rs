//! Reads whole files, each within a size limit.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use tokenline::json::{Parser, Raw, Value};
use tokenline::llm::request::Message;
use tokenline::schema::{SchemaErrorKind, SchemaOptions, SchemaValidator, ToolSet};

use crate::encoding::decoded;
use crate::failure::Failure;
use crate::log::log;

/// The size limit of a response or user prompt, in bytes.
pub(crate) const MAX_RESPONSE: u64 = 64 << 20;
/// The size limit of a configuration file (schema, tools, variable), in bytes.
const MAX_CONFIGURATION: u64 = 16 << 20;

/// Loads a JSON Schema, which may refer to those in a directory.
pub(crate) fn schema(
    path: &Path,
    directory: Option<&Path>,
    shows_names: bool,
) -> Result<SchemaValidator, Failure> {
    let validator = schema_of(&text("the schema", path)?, path, directory)?;
    Ok(validator.show_names(shows_names))
}

/// Compiles the text of a JSON Schema, which may refer to those in a directory.
pub(crate) fn schema_of(
    main: &str,
    path: &Path,
    directory: Option<&Path>,
) -> Result<SchemaValidator, Failure> {
    if let Some(place) = wrapped_schema(main) {
        let reason = format!(
            "this is a response format, which as a schema accepts everything; use its `{place}` alone"
        );
        return Err(Failure::Usage(format!("schema {}: {reason}", path.display())));
    }
    let mut options = SchemaOptions::default();
    if let Some(directory) = directory {
        for file in schema_files(directory)? {
            let schema =
                Raw::new(&text("the schema", &file)?).map_err(|error| invalid("schema", &file, &error))?;
            for uri in schema_uris(path, directory, &file) {
                options = options.resource(uri, &schema);
            }
        }
    }
    options.build_str(main).map_err(|error| {
        let is_alone = directory.is_none() && error.kind() == SchemaErrorKind::Reference;
        let hint = match error.kind() {
            SchemaErrorKind::Syntax if is_yaml(path, main) => ": this is YAML, convert it to JSON first",
            _ if is_alone => ": to refer to other files, use --schema-dir",
            _ => "",
        };
        Failure::Usage(format!("schema {}: {error}{hint}", path.display()))
    })
}

/// Whether a text that is not JSON is YAML: by the file's name, or by its first line.
fn is_yaml(path: &Path, text: &str) -> bool {
    let has_name = path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
    let is_content = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let first = text.lines().map(str::trim_end).find(is_content).unwrap_or_default();
    let key = first.split_once(':').map_or("", |(key, _)| key);
    let is_word = |char: char| char.is_ascii_alphanumeric() || matches!(char, '$' | '_' | '-');
    has_name || first == "---" || (!key.is_empty() && key.chars().all(is_word))
}

/// Where the schema is in a response format of a provider: `{"name": .., "schema": {..}}`, perhaps in a `json_schema`.
fn wrapped_schema(text: &str) -> Option<&'static str> {
    let mut parser = Parser::new();
    let file = parser.parse(text).ok()?;
    let (format, place) = match file.get("json_schema") {
        Some(format) => (format, "json_schema.schema"),
        None => (file, "schema"),
    };
    let is_known = |name: &str| matches!(name, "type" | "name" | "description" | "strict" | "schema");
    let is_format = format.as_object()?.into_iter().all(|(name, _)| is_known(name));
    (is_format && format.get("schema")?.as_object().is_some()).then_some(place)
}

/// The JSON files in a directory and those below it.
pub(crate) fn schema_files(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let (mut files, mut open) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(directory) = open.pop() {
        let unreadable = |error| Failure::unreadable(&directory, &error);
        for entry in fs::read_dir(&directory).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let path = entry.path();
            // Links to directories are not followed: they may lead back.
            if entry.file_type().map_err(unreadable)?.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// The URIs by which a schema refers to a file: relative to the schema, and absolute from the directory.
fn schema_uris(schema: &Path, directory: &Path, file: &Path) -> Vec<String> {
    let uri = |path: &Path| {
        let parts = path.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
        parts.collect::<Vec<_>>().join("/")
    };
    let Ok(from_directory) = file.strip_prefix(directory).map(uri) else { return Vec::new() };
    let parent = schema.canonicalize().ok().and_then(|schema| schema.parent().map(Path::to_owned));
    let root = directory.canonicalize().ok();
    let inside =
        parent.zip(root).and_then(|(parent, root)| parent.strip_prefix(&root).ok().map(Path::to_owned));
    let depth = inside.map_or(0, |inside| inside.components().count());
    vec![format!("{}{from_directory}", "../".repeat(depth)), format!("/{from_directory}")]
}

/// Loads tool definitions.
pub(crate) fn tools(path: &Path) -> Result<ToolSet, Failure> {
    let text = text("the list of tools", path)?;
    let tools = ToolSet::from_json_str(&text).map_err(|error| invalid("tools", path, &error))?;
    for warning in tools.warnings() {
        log(format_args!("{}: warning: {warning}", path.display()));
    }
    Ok(tools)
}

/// Loads a JSON value, unchanged.
pub(crate) fn json(path: &Path) -> Result<Raw, Failure> {
    Raw::new(&text("the JSON", path)?).map_err(|error| invalid("JSON", path, &error))
}

/// Loads a conversation: an array of messages, or an object with such an array as `messages`.
pub(crate) fn messages(path: &Path) -> Result<Vec<Message>, Failure> {
    let text = text_or_stdin("the conversation", path)?;
    let mut parser = Parser::new();
    let root = parser.parse(&text).map_err(|error| invalid("messages", path, &error))?;
    let messages = root.get("messages").unwrap_or(root);
    let not_an_array =
        || Failure::Usage(format!("messages {}: expected an array of messages", path.display()));
    let read = |(at, message): (usize, Value<'_>)| {
        let failure = |error| Failure::Usage(format!("messages {}: message {at}: {error}", path.display()));
        message.deserialize().map_err(failure)
    };
    messages.as_array().ok_or_else(not_an_array)?.iter().enumerate().map(read).collect()
}

pub(crate) fn invalid(kind: &str, path: &Path, error: &dyn std::error::Error) -> Failure {
    Failure::Usage(format!("{kind} {}: {error}", path.display()))
}

/// Loads a configuration text from a file or, for `-`, from standard input. `kind` names it in messages.
pub(crate) fn text_or_stdin(kind: &str, path: &Path) -> Result<String, Failure> {
    if path.as_os_str() == "-" { stdin(kind) } else { text(kind, path) }
}

/// Loads a configuration text from standard input.
pub(crate) fn stdin(kind: &str) -> Result<String, Failure> {
    let bytes = read(io::stdin().lock(), MAX_CONFIGURATION)
        .map_err(|error| Failure::io("cannot read standard input", &error))?
        .ok_or_else(|| Failure::Usage(too_large(kind, "standard input", MAX_CONFIGURATION)))?;
    decoded("standard input", bytes).map_err(Failure::Usage)
}

/// Loads a configuration text from a file.
pub(crate) fn text(kind: &str, path: &Path) -> Result<String, Failure> {
    let bytes = File::open(path)
        .and_then(|file| read(file, MAX_CONFIGURATION))
        .map_err(|error| Failure::unreadable(path, &error))?
        .ok_or_else(|| Failure::Usage(too_large(kind, path.display(), MAX_CONFIGURATION)))?;
    let text = decoded(path.display(), bytes).map_err(Failure::Usage)?;
    match text.strip_prefix('\u{feff}') {
        Some(rest) => Ok(rest.to_owned()),
        None => Ok(text),
    }
}

/// Loads a response or user prompt from a file or, for `-`, from standard input. Returns its name in messages and its
/// text, which must be UTF-8.
pub(crate) fn response(file: &Path) -> Result<(String, String), Failure> {
    let (name, bytes) = response_bytes(file)?;
    let text = decoded(&name, bytes).map_err(Failure::Source)?;
    let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
    Ok((name, text))
}

/// Loads a response of which each line that is not UTF-8 is rejected on its own. Drops an incomplete UTF-8 character at
/// the end: a response that ends there is cut off anyway.
pub(crate) fn response_bytes(file: &Path) -> Result<(String, Vec<u8>), Failure> {
    let (name, bytes) = if file.as_os_str() == "-" {
        let bytes = read(io::stdin().lock(), MAX_RESPONSE);
        ("stdin".to_owned(), bytes.map_err(|error| Failure::io("cannot read standard input", &error))?)
    } else {
        let bytes = File::open(file).and_then(|file| read(file, MAX_RESPONSE));
        (file.display().to_string(), bytes.map_err(|error| Failure::unreadable(file, &error))?)
    };
    let mut bytes = bytes.ok_or_else(|| Failure::Source(too_large("the text", &name, MAX_RESPONSE)))?;
    let last = bytes.utf8_chunks().last().map_or(0, |chunk| chunk.invalid().len());
    let end = bytes.len() - last;
    if std::str::from_utf8(&bytes[end..]).is_err_and(|error| error.error_len().is_none()) {
        bytes.truncate(end);
    }
    Ok((name, bytes))
}

/// Reads a source to its end; `None` if it is larger than `limit` bytes. Reads at most one byte beyond the limit.
pub(crate) fn read(source: impl Read, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    source.take(limit + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

fn too_large(kind: &str, source: impl Display, limit: u64) -> String {
    format!("{source}: {kind} has more than {} MiB, the limit; shorten it or split it", limit >> 20)
}
