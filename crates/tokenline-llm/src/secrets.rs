//! Secrets that must not appear in messages.

use std::borrow::Cow;
#[cfg(feature = "client")]
use std::collections::VecDeque;

/// Texts masked wherever a server repeats them, such as an error message that quotes the rejected key.
#[derive(Clone, Default)]
pub(crate) struct Secrets {
    /// The longest first: one secret may be a prefix of another, whose rest would stay visible.
    all: Vec<String>,
    /// Those of `all` that were issued, the latest last.
    #[cfg(feature = "client")]
    issued: VecDeque<String>,
}

/// Shorter secrets would match inside ordinary words.
#[cfg(feature = "client")]
const MIN_LENGTH: usize = 6;

/// The most keys that are remembered of those that were issued.
#[cfg(feature = "client")]
const MAX_ISSUED: usize = 64;

const MASK: &str = "[secret]";

impl Secrets {
    #[cfg(feature = "client")]
    pub(crate) fn add(&mut self, secret: &str) {
        let secret = secret.trim().to_ascii_lowercase();
        if secret.len() >= MIN_LENGTH && !self.all.contains(&secret) {
            self.all.push(secret);
            self.all.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        }
    }

    /// Adds a key that others will replace: requests that are open may still repeat the ones before.
    #[cfg(feature = "client")]
    pub(crate) fn add_issued(&mut self, key: &str) {
        let key = key.trim().to_ascii_lowercase();
        if let Some(at) = self.issued.iter().position(|issued| *issued == key) {
            self.issued.remove(at);
            self.issued.push_back(key);
            return;
        }
        if key.len() < MIN_LENGTH || self.all.contains(&key) {
            return;
        }
        if self.issued.len() >= MAX_ISSUED
            && let Some(oldest) = self.issued.pop_front()
        {
            self.all.retain(|secret| *secret != oldest);
        }
        self.add(&key);
        self.issued.push_back(key);
    }

    /// Adds the value of a header, and the value without its scheme: `Bearer ...`.
    #[cfg(feature = "client")]
    pub(crate) fn add_header(&mut self, value: &str) {
        self.add(value);
        self.add(value.trim().split_once(' ').map_or("", |(_scheme, credentials)| credentials));
    }

    /// The first `max_chars` characters of a text from outside, with secrets masked.
    pub(crate) fn excerpt(&self, text: &str, max_chars: usize) -> String {
        // Mask first: a secret cut in two would not be found.
        let masked = self.masked(text);
        let mut shown: String = masked.chars().take(max_chars).collect();
        if shown.len() < masked.len() {
            shown.push('…');
        }
        shown
    }

    /// Masks the secrets in a text.
    pub(crate) fn mask(&self, text: &mut String) {
        for secret in &self.all {
            if text.len() >= secret.len() {
                *text = mask(text, secret);
            }
        }
    }

    /// A name from outside, with secrets masked.
    pub(crate) fn masked<'a>(&self, name: &'a str) -> Cow<'a, str> {
        let mut masked = Cow::Borrowed(name);
        // Member names come with every event, and are too short to hold a key.
        if self.all.iter().any(|secret| secret.len() <= name.len()) {
            self.mask(masked.to_mut());
        }
        masked
    }

    /// Like [`excerpt`](Self::excerpt), for a text that was cut off: it may end inside a secret.
    #[cfg(feature = "client")]
    pub(crate) fn excerpt_of_truncated(&self, text: &str, max_chars: usize) -> String {
        let lower = text.to_ascii_lowercase();
        let truncated = |secret: &String| {
            let lengths = (MIN_LENGTH..secret.len()).rev();
            let mut beginnings = lengths.filter_map(|length| secret.get(..length));
            beginnings.find(|beginning| lower.ends_with(beginning)).map(str::len)
        };
        match self.all.iter().filter_map(truncated).max() {
            Some(length) => self.excerpt(&format!("{}{MASK}", &text[..text.len() - length]), max_chars),
            None => self.excerpt(text, max_chars),
        }
    }
}

/// Masks a secret regardless of case: host names and header names are lowercased on the way.
fn mask(text: &str, secret: &str) -> String {
    // ASCII lowercasing keeps every byte offset.
    let lower = text.to_ascii_lowercase();
    let (mut masked, mut end) = (String::with_capacity(text.len()), 0);
    for (at, found) in lower.match_indices(secret) {
        masked.push_str(&text[end..at]);
        masked.push_str(MASK);
        end = at + found.len();
    }
    masked.push_str(&text[end..]);
    masked
}

#[cfg(all(test, feature = "client"))]
mod tests {
    use super::Secrets;

    fn secrets() -> Secrets {
        let mut secrets = Secrets::default();
        for secret in ["sk-12345", " sk-1234567890 ", "short", "zwölf-ÄÖ"] {
            secrets.add(secret);
        }
        secrets
    }

    #[test]
    fn secrets_are_masked_in_any_case() {
        for (text, expected) in [
            ("no sk-1234567890!", "no [secret]!"),
            ("SK-12345, sK-1234567890sk-12345", "[secret], [secret][secret]"),
            ("sk-1234 is short", "sk-1234 is short"),
            ("ä zwölf-ÄÖ", "ä [secret]"),
            ("", ""),
        ] {
            assert_eq!(secrets().excerpt(text, 100), expected);
        }
        assert_eq!(secrets().excerpt("sk-1234567890 and more", 9), "[secret] …");
    }

    #[test]
    fn a_truncated_secret_is_masked() {
        for (text, expected) in [
            ("no sk-123456789", "no [secret]"),
            ("no sk-123", "no [secret]"),
            ("no sk-12345", "no [secret]"),
            ("no sk-12", "no sk-12"),
            ("zwölf-", "[secret]"),
            ("whole", "whole"),
        ] {
            assert_eq!(secrets().excerpt_of_truncated(text, 100), expected);
        }
    }
}
