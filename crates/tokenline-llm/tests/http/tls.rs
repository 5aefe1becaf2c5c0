//! TLS: untrusted servers are rejected.

use std::sync::Arc;

use futures_util::StreamExt;
use rcgen::CertifiedKey;
use reqwest::Certificate;
use tokenline_llm::Provider;
use tokenline_llm::client::{ApiKey, ClientErrorKind, install_crypto_provider};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::common::text;
use crate::server::{ScriptedServer, events};
use crate::{client, fail, send, soon};

/// A server with an untrusted certificate.
async fn strange_server() -> (ScriptedServer, Certificate) {
    let CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).expect("a key");
    install_crypto_provider();
    let config =
        ServerConfig::builder().with_no_client_auth().with_single_cert(vec![cert.der().clone()], key);
    let acceptor = TlsAcceptor::from(Arc::new(config.expect("a configuration")));
    let response = || events(&(text("{\"n\":1}\n") + "data: [DONE]\n\n"));
    let server = ScriptedServer::tls(acceptor, response).await;
    (server, Certificate::from_der(cert.der()).expect("a certificate"))
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
    let known = certificate.clone();
    let client_of = |base_url: &str, known: Certificate| {
        client(Provider::OpenAiChat, base_url).http(|http| http.tls_certs_only([known]))
    };
    let mut records = send(client_of(&base_url, known)).await.expect("a response").records();
    soon(records.next()).await.expect("a record").expect("a record");
    assert!(soon(records.next()).await.is_none() && records.report().is_complete());

    // For this host name only.
    let base_url = base_url.replace("localhost", "127.0.0.1");
    let error = fail(client_of(&base_url, certificate).retries(0)).await;
    assert_eq!(error.kind(), ClientErrorKind::Connect, "{error:?}");
    assert!(error.to_string().contains("invalid peer certificate"), "{error}");
    assert_eq!(server.requests(), 1);
}
