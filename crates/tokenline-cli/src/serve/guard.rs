//! Lets only requests of the page itself through, and adds the security headers to every response.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tokenline::llm::replay::is_own_host;

use super::app::App;
use super::routes::failed;

/// The page shows hostile text. Even if a script in it came to be markup, it would not run, and could send nothing.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

const HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// Rejects requests that come from other sites, and adds the headers.
pub(super) async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let mut response = match check(request.headers(), &app.host_names) {
        Ok(()) => next.run(request).await,
        Err(message) => failed(StatusCode::FORBIDDEN, message).into_response(),
    };
    for (name, value) in HEADERS {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// Checks the headers `Host` and `Origin`.
///
/// DNS rebinding: a site whose name suddenly resolves to this machine is same-origin for the browser, but the name stays
/// in `Host`. Addresses cannot be rebound. Another site's script can send simple requests, but not without `Origin`.
fn check(headers: &HeaderMap, host_names: &[String]) -> Result<(), &'static str> {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    if !is_own_host(host, host_names) {
        return Err("the header Host names another server: --host-name allows a name");
    }
    if let Some(origin) = headers.get(header::ORIGIN) {
        let origin = origin.to_str().unwrap_or_default();
        let own = ["http://", "https://"].iter().find_map(|scheme| origin.strip_prefix(scheme));
        if own.is_none_or(|own| !own.eq_ignore_ascii_case(host)) {
            return Err("the header Origin names another site");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_allowed(host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_str(host).expect("a value"));
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, HeaderValue::from_str(origin).expect("a value"));
        }
        check(&headers, &["page.example.com".to_owned()]).is_ok()
    }

    #[test]
    fn only_the_own_page_gets_through() {
        for host in ["127.0.0.1:8000", "localhost:8000", "[::1]:9", "192.0.2.7", "page.example.com"] {
            assert!(is_allowed(host, None), "{host}");
            assert!(is_allowed(host, Some(&format!("http://{host}"))), "{host}");
            assert!(!is_allowed(host, Some("http://evil.example")), "{host}");
            assert!(!is_allowed(host, Some("null")), "{host}");
        }
        for host in [
            "evil.example:8000",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "",
            "a b",
            "[::1].evil.com",
            "[::1]:80.evil.com",
            "[::1",
            "[evil.com]",
            "evil.com@127.0.0.1",
            "127.0.0.1:80@evil.com",
            "localhost:x",
        ] {
            assert!(!is_allowed(host, None), "{host}");
        }
        // Another port is another origin.
        assert!(!is_allowed("127.0.0.1:8000", Some("http://127.0.0.1:8001")));
        assert!(!is_allowed("127.0.0.1:8000", Some("file://127.0.0.1:8000")));
    }
}
