//! JSON Pointers (RFC 6901) and their form in URI fragments.

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

/// A pointer extended by one token.
pub(crate) fn join(pointer: &str, token: &str) -> String {
    let mut joined = String::with_capacity(pointer.len() + token.len() + 1);
    joined.push_str(pointer);
    push(&mut joined, token);
    joined
}

/// A pointer as a URI's fragment, without the `#`.
pub(crate) fn to_fragment(pointer: &str) -> String {
    let mut fragment = String::with_capacity(pointer.len());
    for &byte in pointer.as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/~-._$".contains(&byte) {
            fragment.push(char::from(byte));
        } else {
            fragment.push_str(&format!("%{byte:02X}"));
        }
    }
    fragment
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
