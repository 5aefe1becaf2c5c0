//! The URL of a request.

use std::borrow::Cow;
use std::env;
use std::net::IpAddr;

use reqwest::Url;

use super::ClientError;
use crate::Provider;
use crate::providers::Endpoint;

/// The base URL in the environment, or else the provider's own.
pub(super) fn default_from_env(provider: Provider) -> Result<Url, ClientError> {
    let endpoint = &provider.info().endpoint;
    let variable = endpoint.base_url_variable;
    match env::var(variable) {
        Ok(url) if !url.trim().is_empty() => {
            parse(provider, &url).map_err(|error| error.in_variable(variable))
        }
        // The key must not be sent elsewhere instead.
        Err(env::VarError::NotUnicode(_)) => {
            Err(ClientError::configuration(format!("the environment variable {variable} is not UTF-8")))
        }
        Ok(_) | Err(env::VarError::NotPresent) => parse(provider, endpoint.base_url),
    }
}

/// Parses a base URL. The error does not repeat it: it may contain a password.
pub(super) fn parse(provider: Provider, base_url: &str) -> Result<Url, ClientError> {
    let base_url = base_url.trim();
    let url = if base_url.contains("://") {
        base_url.to_owned()
    } else {
        provider.requests().complete_base_url(base_url)
    };
    let url =
        Url::parse(&url).map_err(|error| ClientError::configuration(format!("invalid base URL: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(ClientError::configuration("the base URL must begin with http:// or https://"));
    }
    Ok(url)
}

/// The secrets in a base URL.
pub(super) fn secrets(base_url: &Url) -> Vec<String> {
    // A user without a password is a token: `https://TOKEN@gateway.example.com`.
    let userinfo = base_url.password().unwrap_or(base_url.username());
    // Gemini's key may be in the query, whose other parameters are not secret: `api-version`.
    let query =
        base_url.query_pairs().filter(|(name, _)| is_secret(name)).map(|(_, value)| value.into_owned());
    let all = query.chain([userinfo.to_owned(), decoded(userinfo)]);
    all.filter(|secret| !secret.is_empty()).collect()
}

/// Parameters of the query that are never secret.
const PUBLIC_PARAMETERS: [&str; 5] = ["alt", "api-version", "limit", "pageSize", "version"];

/// Whether a parameter of the query holds a secret, by its name.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["key", "token", "secret", "password", "sig", "auth"].iter().any(|word| name.contains(word))
}

/// The URL without its user, its password, and the values in its query that may be secret.
pub(super) fn without_secrets(url: &Url) -> Url {
    let mut shown = url.clone();
    // Only URLs without a host refuse it, and these have none.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    let is_public = |name: &str| PUBLIC_PARAMETERS.contains(&name);
    if url.query_pairs().any(|(name, _)| !is_public(&name)) {
        let value = |name: &str, value| if is_public(name) { value } else { Cow::Borrowed("...") };
        let pairs = url.query_pairs().map(|(name, given)| (name.clone(), value(&name, given)));
        shown.query_pairs_mut().clear().extend_pairs(pairs);
    }
    shown
}

/// The URL of the list of models; `None` if the server has none.
pub(super) fn models(provider: Provider, base_url: &Url) -> Option<Url> {
    let endpoint = &provider.info().endpoint;
    let list = endpoint.models.as_ref()?;
    let mut url = url(provider, base_url, "model");
    let mut path = url.path_segments_mut().ok()?;
    for _ in 0..list.replaced {
        path.pop();
    }
    path.extend(list.path);
    drop(path);
    let added = |name: &str| endpoint.query.is_some_and(|(added, _)| added == name);
    let given: Vec<(String, String)> =
        url.query_pairs().into_owned().filter(|(name, _)| !added(name)).collect();
    url.set_query(None);
    let more = list.query.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let pairs: Vec<(String, String)> = given.into_iter().chain(more).collect();
    if !pairs.is_empty() {
        url.query_pairs_mut().extend_pairs(pairs);
    }
    Some(url)
}

/// Decodes the percent escapes in a part of a URL.
fn decoded(text: &str) -> String {
    let mut pieces = text.split('%');
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        match piece.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend_from_slice(&piece.as_bytes()[2..]);
            }
            None => bytes.extend_from_slice(piece.as_bytes()),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The URL for requests to this model.
///
/// Providers disagree whether the version is a part of the base URL, and so do users. Any part of the path that the
/// base URL already has is not added again.
pub(super) fn url(provider: Provider, base_url: &Url, model: &str) -> Url {
    let mut url = base_url.clone();
    let has: Vec<String> = segments(base_url.path()).map(str::to_owned).collect();
    let endpoint = &provider.info().endpoint;
    let wanted: Vec<&str> = segments(endpoint.path).collect();
    let known = known(endpoint, &has, &wanted);
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty();
        for segment in &wanted[known..] {
            match segment.split_once('*') {
                None => path.push(segment),
                // The model may have a prefix: `models/gemini`, `tunedModels/mine`.
                Some((_, method)) => match model.split_once('/') {
                    None => path.push(&format!("{model}{method}")),
                    Some((kind, model)) => path.pop().push(kind).push(&format!("{model}{method}")),
                },
            };
        }
    }
    if let Some((name, value)) = endpoint.query
        && !url.query_pairs().any(|(key, _)| key == name)
    {
        url.query_pairs_mut().append_pair(name, value);
    }
    url
}

/// The number of wanted segments that the base path already ends with.
fn known(endpoint: &Endpoint, has: &[String], wanted: &[&str]) -> usize {
    let ends_with = |count: &usize| {
        let (end, wanted) = (has.len().checked_sub(*count).map(|start| &has[start..]), &wanted[..*count]);
        end.is_some_and(|end| end.iter().zip(wanted).all(|(segment, wanted)| is_like(segment, wanted)))
    };
    let known = (1..=wanted.len()).rev().find(ends_with).unwrap_or(0);
    if known == 0 && endpoint.has_free_version {
        let end = has.iter().map(String::as_str).collect::<Vec<_>>();
        if end.ends_with(&wanted[1..]) {
            return wanted.len();
        }
        return usize::from(has.iter().any(|segment| is_version(segment)));
    }
    known
}

fn is_like(segment: &str, wanted: &str) -> bool {
    segment == wanted
        || (is_version(segment) && is_version(wanted))
        || (wanted.contains('*') && segment.contains(':'))
}

fn is_version(segment: &str) -> bool {
    let number = segment.strip_prefix('v').unwrap_or_default();
    number.starts_with(|first: char| first.is_ascii_digit()) && number.len() < 10
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|segment| !segment.is_empty())
}

/// Whether the URL is of a server on this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    match host.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// The host and port, for messages: a URL may contain secrets elsewhere.
pub(super) fn authority(url: &Url) -> String {
    match (url.host_str(), url.port()) {
        (Some(host), Some(port)) => format!("{host}:{port}"),
        (Some(host), None) => host.to_owned(),
        (None, _) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_on_this_machine_are_known() {
        for (base, expected) in [
            ("http://127.0.0.1:8080", true),
            ("http://[::1]:8080", true),
            ("http://localhost", true),
            ("http://a.localhost/v1", true),
            ("http://localhost.example.com", false),
            ("http://192.168.0.1", false),
            ("https://api.openai.com/v1", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(base).unwrap()), expected, "{base}");
        }
    }

    #[test]
    fn existing_path_segments_are_not_added_again() {
        let chat = Provider::OpenAiChat;
        for (provider, base, expected) in [
            (chat, "http://[::1]:8080", "http://[::1]:8080/v1/chat/completions"),
            (chat, "localhost:8080/", "http://localhost:8080/v1/chat/completions"),
            (chat, "https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
            (chat, "https://api.openai.com/v1/", "https://api.openai.com/v1/chat/completions"),
            (chat, "https://api.groq.com/openai", "https://api.groq.com/openai/v1/chat/completions"),
            (chat, "https://g.com/v1beta/openai/", "https://g.com/v1beta/openai/chat/completions"),
            (chat, "https://z.ai/api/paas/v4", "https://z.ai/api/paas/v4/chat/completions"),
            (chat, "https://p.ai/chat/completions", "https://p.ai/chat/completions"),
            (chat, "https://p.ai/v1/chat/completions", "https://p.ai/v1/chat/completions"),
            (chat, "https://a.com/x?api-version=1", "https://a.com/x/v1/chat/completions?api-version=1"),
            (Provider::OpenAiResponses, "http://h/v1", "http://h/v1/responses"),
            (Provider::Anthropic, "https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
            (Provider::Anthropic, "https://gate/v1/me/anthropic", "https://gate/v1/me/anthropic/v1/messages"),
            (Provider::Anthropic, "https://api.anthropic.com/v1/", "https://api.anthropic.com/v1/messages"),
            (
                Provider::Gemini,
                "https://g.com",
                "https://g.com/v1beta/models/m:streamGenerateContent?alt=sse",
            ),
            (Provider::Gemini, "https://g.com/v1", "https://g.com/v1/models/m:streamGenerateContent?alt=sse"),
            (Provider::Ollama, "http://localhost:11434", "http://localhost:11434/api/chat"),
            (Provider::Ollama, "http://localhost:11434/api", "http://localhost:11434/api/chat"),
            (Provider::Ollama, "0.0.0.0:11434", "http://0.0.0.0:11434/api/chat"),
            (Provider::Ollama, "localhost", "http://localhost:11434/api/chat"),
            (Provider::Ollama, ":8080/", "http://127.0.0.1:8080/api/chat"),
            (Provider::Ollama, "[::1]/llm", "http://[::1]:11434/llm/api/chat"),
            (Provider::Ollama, "host:80", "http://host/api/chat"),
            (Provider::Ollama, "https://ollama.com", "https://ollama.com/api/chat"),
        ] {
            let base_url = parse(provider, base).unwrap();
            assert_eq!(url(provider, &base_url, "m").as_str(), expected, "{base}");
        }
    }

    #[test]
    fn a_model_stays_a_part_of_the_path() {
        let base = parse(Provider::Gemini, "http://h").unwrap();
        for (model, expected) in [
            ("gemini-2.5", "/v1beta/models/gemini-2.5:streamGenerateContent"),
            ("models/gemini-2.5", "/v1beta/models/gemini-2.5:streamGenerateContent"),
            ("tunedModels/mine", "/v1beta/tunedModels/mine:streamGenerateContent"),
            ("a?b#c/d", "/v1beta/a%3Fb%23c/d:streamGenerateContent"),
            ("a/../../b", "/v1beta/a/..%2F..%2Fb:streamGenerateContent"),
        ] {
            assert_eq!(url(Provider::Gemini, &base, model).path(), expected, "{model}");
        }
    }

    #[test]
    fn the_list_of_models_is_beside_the_requests() {
        for (provider, base, expected) in [
            (Provider::OpenAiChat, "http://h", "http://h/v1/models"),
            (Provider::OpenAiChat, "https://z.ai/api/paas/v4", "https://z.ai/api/paas/v4/models"),
            (Provider::OpenAiChat, "https://p.ai/chat/completions", "https://p.ai/models"),
            (
                Provider::OpenAiChat,
                "https://a.com/x?api-version=1",
                "https://a.com/x/v1/models?api-version=1",
            ),
            (Provider::OpenAiResponses, "http://h/v1", "http://h/v1/models"),
            (Provider::Anthropic, "http://h", "http://h/v1/models?limit=1000"),
            (Provider::Gemini, "http://h/v1", "http://h/v1/models?pageSize=1000"),
            (Provider::GeminiInteractions, "http://h", "http://h/v1beta/models?pageSize=1000"),
            (Provider::Cohere, "http://h", "http://h/v1/models?page_size=1000"),
            (Provider::Ollama, "0.0.0.0:11434", "http://0.0.0.0:11434/api/tags"),
        ] {
            let base_url = parse(provider, base).unwrap();
            assert_eq!(models(provider, &base_url).unwrap().as_str(), expected, "{base}");
        }
        let base_url = parse(Provider::Bedrock, "http://h").unwrap();
        assert_eq!(models(Provider::Bedrock, &base_url), None);
    }

    #[test]
    fn a_url_is_shown_without_its_secrets() {
        for (url, shown) in [
            ("https://me:pass@h/v1?api-version=1&key=abc", "https://h/v1?api-version=1&key=..."),
            ("https://h/v1?code=%20b", "https://h/v1?code=..."),
            ("https:///me@h/v1?alt=sse", "https://h/v1?alt=sse"),
        ] {
            assert_eq!(without_secrets(&Url::parse(url).unwrap()).as_str(), shown);
        }
    }

    #[test]
    fn a_bad_base_url_is_not_repeated() {
        for bad in ["", "ftp://me:SECRET@h", "http://", "https://me:SECRET@h:99999", "SECRET@:"] {
            for provider in Provider::ALL {
                let error = parse(*provider, bad).unwrap_err();
                assert!(!format!("{error} {error:?}").contains("SECRET"), "{error:?}");
            }
        }
    }

    #[test]
    fn secrets_in_a_base_url_are_found() {
        for (base, expected) in [
            ("https://me:pass%2Fword@h", &["pass%2Fword", "pass/word"][..]),
            ("https://token@h/?api-version=2024-10-21", &["token", "token"]),
            ("https://h/?key=abc&alt=sse&X-Auth=a+b", &["abc", "a b"]),
        ] {
            assert_eq!(secrets(&parse(Provider::Gemini, base).unwrap()), expected, "{base}");
        }
    }
}
