//! TLS: untrusted servers are rejected.

use std::sync::Arc;

use rcgen::CertifiedKey;
use tokenline_llm::Provider;
use tokenline_llm::client::rustls::crypto::ring;
use tokenline_llm::client::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokenline_llm::client::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokenline_llm::client::{ApiKey, ClientErrorKind};
use tokio_rustls::TlsAcceptor;

use crate::common::text;
use crate::server::{ScriptedServer, events};
use crate::{client, fail, send, soon};

/// A server with an untrusted certificate.
async fn strange_server() -> (ScriptedServer, CertificateDer<'static>) {
    let CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).expect("a key");
    let config = ServerConfig::builder_with_provider(ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .expect("the versions of ring")
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key);
    let acceptor = TlsAcceptor::from(Arc::new(config.expect("a configuration")));
    let response = || events(&(text("{\"n\":1}\n") + "data: [DONE]\n\n"));
    let server = ScriptedServer::tls(acceptor, response).await;
    (server, cert.der().clone())
}

#[tokio::test]
async fn an_untrusted_certificate_is_rejected() {
    let (server, _) = strange_server().await;
    let base_url = format!("https://localhost:{}", server.port());
    let client = client(Provider::OpenAiChat, &base_url).api_key(ApiKey::new("sk-12345").expect("a key"));
    let error = fail(client.retries(0)).await;
    assert_eq!(error.kind(), ClientErrorKind::Connect, "{error:?}");
    let expected = format!("cannot connect to localhost:{}: invalid peer certificate", server.port());
    assert!(error.to_string().starts_with(&expected), "{error}");
    assert_eq!(server.requests(), 0);
}

#[tokio::test]
async fn a_trusted_certificate_is_accepted() {
    let (server, certificate) = strange_server().await;
    let base_url = format!("https://localhost:{}", server.port());
    let mut trusted = RootCertStore::empty();
    trusted.add(certificate).expect("a root certificate");
    let tls = ClientConfig::builder_with_provider(ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .expect("the versions of ring")
        .with_root_certificates(trusted)
        .with_no_client_auth();
    let client_of = |base_url: &str| client(Provider::OpenAiChat, base_url).tls(tls.clone());
    let mut records = send(client_of(&base_url)).await.expect("a response").records();
    soon(records.next()).await.expect("a record").expect("a record");
    assert!(soon(records.next()).await.is_none() && records.report().is_complete());

    // For this host name only.
    let base_url = base_url.replace("localhost", "127.0.0.1");
    let error = fail(client_of(&base_url).retries(0)).await;
    assert_eq!(error.kind(), ClientErrorKind::Connect, "{error:?}");
    assert!(error.to_string().contains("invalid peer certificate"), "{error}");
    assert_eq!(server.requests(), 1);
}
