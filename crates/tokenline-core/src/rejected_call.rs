//! Rejected parts of a text that look like tool calls.

use std::sync::Arc;

use crate::json::{Parser, Step};
use crate::{CheckedChunk, Diagnostic, Options, RecordDecoder, RejectedCall, ValidateCall};

/// A rejected part of a text as a call, if it looks like one: in any syntax, up to its name at least, or an object with a
/// member named like one of a call's. Among records, an object does so only with the name of a defined tool. `markup` is
/// what precedes it.
pub(crate) fn rejected_call(
    diagnostic: &Diagnostic,
    (markup, text): (&str, &str),
    options: &Options,
    tools: Option<&Arc<dyn ValidateCall + Send + Sync>>,
) -> Option<Box<RejectedCall>> {
    let object = object_with_call(text).filter(|_| !options.keeps_records_beside_calls());
    let name = object.clone().flatten().or_else(|| {
        // A call in a list of Python calls stands without its bracket.
        let is_bare = |first: char| first.is_alphabetic() || first == '_';
        let bare = || text.starts_with(is_bare).then(|| name_after("[", text, options, tools))?;
        name_after(markup, text, options, tools).or_else(bare)
    });
    if object.is_none() && name.is_none() {
        return None;
    }
    let mut call = RejectedCall::new(diagnostic.clone(), text);
    call.name = name;
    Some(Box::new(call))
}

/// Characters of a rejected text in which the name of a call is looked for.
const MAX_BEFORE_NAME: usize = 4096;

/// The name of the last call that is open when the text arrives by single characters.
fn name_after(
    markup: &str,
    text: &str,
    options: &Options,
    tools: Option<&Arc<dyn ValidateCall + Send + Sync>>,
) -> Option<String> {
    let mut alone = RecordDecoder::new(options.clone().text(false).partials(false).in_reasoning(false));
    if let Some(tools) = tools {
        alone = alone.with_tools(Arc::clone(tools));
    }
    let mut name = None;
    for piece in [markup].into_iter().chain(text.split_inclusive(|_| true).take(MAX_BEFORE_NAME)) {
        let mut rest = CheckedChunk::from(piece);
        while alone.next_event(&mut rest).is_some() {}
        if let Some(call) = alone.open_call() {
            name = Some(call.name.into_owned());
        }
    }
    name
}

/// The call's name, as far as it was read, if the text has an object with a member named like one of a call's.
fn object_with_call(text: &str) -> Option<Option<String>> {
    const NAMES: [&str; 2] = ["name", "parameters"];
    let object = &text[text.find('{')?..];
    let mut parser = Parser::new();
    let read = match parser.resume(object) {
        Step::Malformed(error) => {
            parser.reset();
            // Up to the error it is well-formed.
            let _ = parser.resume(&object[..error.offset]);
            &object[..error.offset]
        }
        _ => object,
    };
    let open =
        parser.cut().filter(|_| parser.open_containers().count() == 1).map_or("", |cut| &read[cut.member..]);
    let is_open_member = NAMES.iter().any(|name| {
        let quoted = format!("\"{name}\"");
        open.starts_with(&quoted) || (open.len() > 1 && quoted.starts_with(open))
    });
    let value = parser.snapshot(read)?;
    let is_call = is_open_member || NAMES.iter().any(|name| value.get(name).is_some());
    is_call.then(|| Some(value.get("name")?.as_str()?.into_owned()))
}
