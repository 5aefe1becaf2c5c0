//! What must not be shown.

/// Texts that are masked where others repeat them, such as a provider that names the key it refuses.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<String>);

/// Shorter ones would be found in any message, and hide nothing.
#[cfg(feature = "client")]
const SHORTEST: usize = 6;

impl Secrets {
    #[cfg(feature = "client")]
    pub(crate) fn add(&mut self, secret: &str) {
        if secret.len() >= SHORTEST {
            self.0.push(secret.to_owned());
        }
    }

    /// So much of a text that others wrote as is shown, with the secrets in it masked.
    pub(crate) fn shown(&self, text: &str, max_chars: usize) -> String {
        // Masked first: a secret that is cut in two would not be found.
        let masked = self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret, "[secret]"));
        let mut shown: String = masked.chars().take(max_chars).collect();
        if shown.len() < masked.len() {
            shown.push('…');
        }
        shown
    }
}
