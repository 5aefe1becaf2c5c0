//! JSON Pointers (RFC 6901) and their form in URI fragments.

use serde_json::Value;
use tokenline_core::json;

/// Appends a token to a pointer.
pub(crate) fn push(pointer: &mut String, token: &str) {
    pointer.push('/');
    for character in token.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            _ => pointer.push(character),
        }
    }
}

/// A token as a name.
pub(crate) fn unescape(token: &str) -> String {
    let mut name = String::with_capacity(token.len());
    let mut rest = token;
    while let Some((before, after)) = rest.split_once('~') {
        name.push_str(before);
        rest = after.strip_prefix(['0', '1']).unwrap_or(after);
        name.push(match after.as_bytes().first() {
            Some(b'1') => '/',
            _ => '~',
        });
    }
    name.push_str(rest);
    name
}

/// The part of a value to which a token leads.
pub(crate) fn step<'v>(value: &'v Value, token: &str) -> Option<&'v Value> {
    match value {
        Value::Object(members) => members.get(&unescape(token)),
        Value::Array(elements) => elements.get(token.parse::<usize>().ok()?),
        _ => None,
    }
}

/// The same on the tape.
pub(crate) fn step_on_tape<'t>(value: json::Value<'t>, token: &str) -> Option<json::Value<'t>> {
    match value.as_array() {
        Some(elements) => elements.iter().nth(token.parse().ok()?),
        None => value.get(&unescape(token)),
    }
}

/// The part of a value to which a pointer leads.
pub(crate) fn find<'v>(value: &'v Value, pointer: &str) -> Option<&'v Value> {
    let is_pointer = pointer.is_empty() || pointer.starts_with('/');
    if is_pointer { pointer.split('/').skip(1).try_fold(value, step) } else { None }
}

/// A pointer extended by one token.
pub(crate) fn join(pointer: &str, token: &str) -> String {
    let mut joined = String::with_capacity(pointer.len() + token.len() + 1);
    joined.push_str(pointer);
    push(&mut joined, token);
    joined
}

/// A URI's fragment, decoded; `None` if an escape in it is malformed.
pub(crate) fn from_fragment(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first == b'%' {
            let (digits, tail) = tail.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = tail;
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}
