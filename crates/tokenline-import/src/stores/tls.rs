//! The TLS configuration of HTTP clients. Nothing is installed for the process: other crates have settings of their own.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::{ClientConfig, Error, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;

/// TLS with the system's trusted certificates, or, for a client that does not use TLS, with none.
pub(super) fn config(is_used: bool) -> Result<ClientConfig, Error> {
    let installed = CryptoProvider::get_default().cloned();
    let provider = installed.unwrap_or_else(|| Arc::new(ring::default_provider()));
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let config = if is_used {
        config.with_platform_verifier()?
    } else {
        // A system without certificates, such as a bare container, must not prevent plain HTTP.
        config.with_root_certificates(RootCertStore::empty())
    };
    let mut config = config.with_no_client_auth();
    // Whether reqwest can speak HTTP/2 depends on the features that other crates ask for.
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
