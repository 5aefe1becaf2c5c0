//! What must not be shown.

use std::borrow::Cow;

/// Texts that are masked where others repeat them, such as a provider that names the key it refuses.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<String>);

/// Shorter ones would be found in any message, and hide nothing.
#[cfg(feature = "client")]
const SHORTEST: usize = 6;

const MASK: &str = "[secret]";

impl Secrets {
    #[cfg(feature = "client")]
    pub(crate) fn add(&mut self, secret: &str) {
        let secret = secret.trim().to_ascii_lowercase();
        if secret.len() >= SHORTEST && !self.0.contains(&secret) {
            self.0.push(secret);
            // One may be the beginning of another, of which the rest would stay.
            self.0.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        }
    }

    /// Adds the value of a header, and what it is without its scheme: `Bearer ...`.
    #[cfg(feature = "client")]
    pub(crate) fn add_header(&mut self, value: &str) {
        self.add(value);
        self.add(value.trim().split_once(' ').map_or("", |(_scheme, credentials)| credentials));
    }

    /// So much of a text that others wrote as is shown, with the secrets in it masked.
    pub(crate) fn shown(&self, text: &str, max_chars: usize) -> String {
        // Masked first: a secret that is cut in two would not be found.
        let masked = self.masked(text);
        let mut shown: String = masked.chars().take(max_chars).collect();
        if shown.len() < masked.len() {
            shown.push('…');
        }
        shown
    }

    /// Masks the secrets in a text.
    pub(crate) fn mask(&self, text: &mut String) {
        for secret in &self.0 {
            if text.len() >= secret.len() {
                *text = mask(text, secret);
            }
        }
    }

    /// A name that others gave, with the secrets in it masked.
    pub(crate) fn masked<'a>(&self, name: &'a str) -> Cow<'a, str> {
        let mut masked = Cow::Borrowed(name);
        // Names of fields come with every event, and are too short to hold a key.
        if self.0.iter().any(|secret| secret.len() <= name.len()) {
            self.mask(masked.to_mut());
        }
        masked
    }

    /// As [`shown`](Self::shown), of a text that broke off: it may end in the middle of a secret.
    #[cfg(feature = "client")]
    pub(crate) fn shown_of_cut(&self, text: &str, max_chars: usize) -> String {
        let lower = text.to_ascii_lowercase();
        let begun = |secret: &String| {
            let lengths = (SHORTEST..secret.len()).rev();
            let mut beginnings = lengths.filter_map(|length| secret.get(..length));
            beginnings.find(|beginning| lower.ends_with(beginning)).map(str::len)
        };
        match self.0.iter().filter_map(begun).max() {
            Some(length) => self.shown(&format!("{}{MASK}", &text[..text.len() - length]), max_chars),
            None => self.shown(text, max_chars),
        }
    }
}

/// Masks a secret in whatever case it comes: hosts and names of headers lose theirs on the way.
fn mask(text: &str, secret: &str) -> String {
    // This leaves every character at its place.
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
    fn secrets_are_masked_whole_and_in_any_case() {
        for (text, expected) in [
            ("no sk-1234567890!", "no [secret]!"),
            ("SK-12345, sK-1234567890sk-12345", "[secret], [secret][secret]"),
            ("sk-1234 is short", "sk-1234 is short"),
            ("ä zwölf-ÄÖ", "ä [secret]"),
            ("", ""),
        ] {
            assert_eq!(secrets().shown(text, 100), expected);
        }
        assert_eq!(secrets().shown("sk-1234567890 and more", 9), "[secret] …");
    }

    #[test]
    fn a_secret_that_broke_off_is_masked() {
        for (text, expected) in [
            ("no sk-123456789", "no [secret]"),
            ("no sk-123", "no [secret]"),
            ("no sk-12345", "no [secret]"),
            ("no sk-12", "no sk-12"),
            ("zwölf-", "[secret]"),
            ("whole", "whole"),
        ] {
            assert_eq!(secrets().shown_of_cut(text, 100), expected);
        }
    }
}
