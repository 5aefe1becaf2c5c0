//! TLS, with the modes of libpq.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::ImportError;

/// How much of the server's certificate is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verification {
    /// Nothing, as libpq's `prefer` and `require`: the connection is encrypted, but the server is not verified.
    None,
    /// Who signed it.
    Authority,
    /// Who signed it, and that it is the host's.
    Full,
}

/// The connector that encrypts connections. `root_cert` is a PEM file of authorities instead of those of the system.
pub(super) fn connector(
    verification: Verification,
    root_cert: Option<&str>,
) -> Result<MakeRustlsConnect, ImportError> {
    let provider = Arc::new(ring::default_provider());
    let roots = match verification {
        Verification::None => None,
        _ => {
            let roots = Arc::new(roots(root_cert)?);
            let verifier = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider)).build();
            Some(
                verifier
                    .map_err(|error| ImportError::source(format!("cannot verify certificates: {error}")))?,
            )
        }
    };
    let verifier = Verifier { provider: Arc::clone(&provider), roots, verification };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring has the cipher suites of both versions")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

fn roots(root_cert: Option<&str>) -> Result<RootCertStore, ImportError> {
    let mut roots = RootCertStore::empty();
    let name = root_cert.filter(|path| *path != "system");
    match name {
        Some(path) => {
            let failed =
                |error| ImportError::source(format!("cannot read the certificates in {path}: {error:?}"));
            for certificate in CertificateDer::pem_file_iter(path).map_err(failed)? {
                let added = roots.add(certificate.map_err(failed)?);
                added.map_err(|error| {
                    ImportError::source(format!("cannot use a certificate in {path}: {error}"))
                })?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    if roots.is_empty() {
        let name = name.unwrap_or("the system");
        return Err(ImportError::source(format!(
            "there are no root certificates in {name}: set sslrootcert"
        )));
    }
    Ok(roots)
}

#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    roots: Option<Arc<WebPkiServerVerifier>>,
    verification: Verification,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(roots) = &self.roots else { return Ok(ServerCertVerified::assertion()) };
        match roots.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // The name is verified last.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.verification == Verification::Authority => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
