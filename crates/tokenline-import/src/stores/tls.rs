//! The cryptography for TLS.

use rustls::crypto::{CryptoProvider, ring};

/// Installs ring for the process, unless the program has already installed a provider.
pub(super) fn install_crypto_provider() {
    if CryptoProvider::get_default().is_none() {
        // This fails only if another thread has just installed one.
        let _ = ring::default_provider().install_default();
    }
}
