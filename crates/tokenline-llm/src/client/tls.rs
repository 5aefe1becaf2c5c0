//! The cryptography for TLS.

use rustls::crypto::CryptoProvider;
#[cfg(feature = "aws-lc")]
use rustls::crypto::aws_lc_rs as cryptography;
#[cfg(not(feature = "aws-lc"))]
use rustls::crypto::ring as cryptography;

/// Installs the TLS cryptography for the process, unless the program has already installed one: ring, or aws-lc-rs with
/// the feature `aws-lc`.
///
/// Building an [`LlmClient`](super::LlmClient) does this. Call it before building a [`reqwest`](super::reqwest) client
/// of your own: without the feature `aws-lc`, reqwest panics if no cryptography is installed.
pub fn install_crypto_provider() {
    if CryptoProvider::get_default().is_none() {
        // This fails only if another thread has just installed one.
        let _ = cryptography::default_provider().install_default();
    }
}
