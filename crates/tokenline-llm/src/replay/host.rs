//! The header `Host`.

use std::net::{IpAddr, Ipv6Addr};

/// Whether a request with this header `Host` was meant for a server of this machine: it names an address, `localhost` or
/// one of these names, with or without a port.
///
/// Against DNS rebinding: a site whose name suddenly resolves to this machine is same-origin for a browser, but the name
/// stays in `Host`. Addresses cannot be rebound.
///
/// ```
/// use tokenline_llm::replay::is_own_host;
///
/// assert!(is_own_host("[::1]:8080", &[]) && is_own_host("localhost", &[]));
/// assert!(!is_own_host("[::1].evil.example", &[]) && !is_own_host("page.example", &[]));
/// assert!(is_own_host("page.example:80", &["page.example".to_owned()]));
/// ```
#[must_use]
pub fn is_own_host(host: &str, names: &[String]) -> bool {
    let is_port = |rest: &str| {
        let port = rest.strip_prefix(':');
        rest.is_empty() || port.is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if let Some((address, rest)) = host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        return is_port(rest) && address.parse::<Ipv6Addr>().is_ok();
    }
    let (name, rest) = host.split_at(host.find(':').unwrap_or(host.len()));
    is_port(rest)
        && (name.parse::<IpAddr>().is_ok()
            || name.eq_ignore_ascii_case("localhost")
            || names.iter().any(|own| own.eq_ignore_ascii_case(name)))
}
