//! The cryptography behind TLS.

use rustls::crypto::CryptoProvider;
#[cfg(feature = "aws-lc")]
use rustls::crypto::aws_lc_rs as cryptography;
#[cfg(not(feature = "aws-lc"))]
use rustls::crypto::ring as cryptography;

/// Installs the cryptography of TLS for the process, unless the program has installed another: ring, or aws-lc-rs with
/// the feature `aws-lc`.
///
/// Building an [`LlmClient`](super::LlmClient) does this. Call it before you build a [`reqwest`](super::reqwest) client
/// of your own: without the feature `aws-lc`, reqwest panics where no cryptography is installed.
pub fn install_crypto_provider() {
    if CryptoProvider::get_default().is_none() {
        // It fails only if another thread has just installed one.
        let _ = cryptography::default_provider().install_default();
    }
}
