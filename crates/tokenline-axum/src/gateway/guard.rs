//! Who may use the gateway.

use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_REQUEST_HEADERS, HOST, ORIGIN, VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use tokenline::llm::Provider;
use tokenline::llm::replay::is_own_host;

use super::Gateway;
use super::account::Account;
use super::fault::Fault;
use super::incoming::{Shared, key, new_id};
use super::router::{client_of, conclude};

/// Refuses requests that other servers' names, web pages, or missing tokens give away.
pub(super) async fn guard(State(gateway): State<Shared>, request: Request, next: Next) -> Response {
    let client = client_of(request.uri().path(), request.headers());
    let origin = match gateway.check_place(request.headers()) {
        Ok(origin) => origin.cloned(),
        Err(fault) => return refuse(&gateway, client, fault),
    };
    let is_preflight = origin.is_some() && request.method() == Method::OPTIONS;
    let asked_headers = request.headers().get(ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    // A browser sends no key with a preflight, and anyone may see that the server runs.
    let is_open = is_preflight || (request.method() == Method::HEAD && request.uri().path() == "/");
    let mut response = match gateway.check_token(request.headers()) {
        _ if is_preflight => {
            let mut response = Response::new(axum::body::Body::empty());
            *response.status_mut() = StatusCode::NO_CONTENT;
            response
        }
        Err(fault) if !is_open => refuse(&gateway, client, fault),
        _ => next.run(request).await,
    };
    if let Some(origin) = origin {
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(VARY, HeaderValue::from_static("origin"));
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("*"));
        if is_preflight {
            headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST"));
            if let Some(asked) = asked_headers {
                headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, asked);
            }
        }
    }
    response
}

fn refuse(gateway: &Shared, client: Provider, fault: Fault) -> Response {
    conclude(Err(fault), Account::new(gateway, new_id(), client))
}

impl Gateway {
    /// Checks the headers `Host` and `Origin`. Returns the origin of a page that may use the gateway.
    ///
    /// DNS rebinding: a site whose name suddenly resolves to this machine has the browser's permission to read the
    /// response, but its name stays in `Host`. Addresses cannot be rebound. Other pages can still send requests, and would
    /// spend the key: browsers send them with `Origin`.
    fn check_place<'h>(&self, headers: &'h HeaderMap) -> Result<Option<&'h HeaderValue>, Fault> {
        let mut hosts = headers.get_all(HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok()).unwrap_or_default();
        if hosts.next().is_some() || !is_own_host(host, &self.host_names) {
            let message = format!(
                "the gateway is not reached by the name {host:?} of the header Host: --host-name, or Gateway::host_names, allows it"
            );
            return Err(Fault::new(StatusCode::FORBIDDEN, message));
        }
        let Some(origin) = headers.get(ORIGIN) else { return Ok(None) };
        let listed = |origin: &str| self.origins.iter().any(|listed| listed.eq_ignore_ascii_case(origin));
        if headers.get_all(ORIGIN).iter().count() == 1 && origin.to_str().is_ok_and(listed) {
            return Ok(Some(origin));
        }
        let message = format!(
            "web pages of {origin:?} may not use this gateway: --origin, or Gateway::origins, allows them"
        );
        Err(Fault::new(StatusCode::FORBIDDEN, message))
    }

    fn check_token(&self, headers: &HeaderMap) -> Result<(), Fault> {
        let Some(token) = &self.token else { return Ok(()) };
        if key(headers).is_some_and(|key| is_equal(key.as_bytes(), token.as_bytes())) {
            return Ok(());
        }
        let message = "the request needs the token of this gateway as its API key";
        Err(Fault::new(StatusCode::UNAUTHORIZED, message))
    }
}

/// Compares in a time that does not depend on where they differ.
fn is_equal(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}
