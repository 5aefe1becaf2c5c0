//! The client and the request that the command line describes.

use std::path::Path;
use std::time::Duration;

use tokenline::llm::Provider;
use tokenline::llm::ResponseError;
use tokenline::llm::client::{
    ApiKey, ClientError, ClientErrorKind, ContinuedError, LlmClient, LlmClientBuilder,
};
use tokenline::llm::request::ChatRequest;

use crate::args::{ConnectionArgs, ModelArgs};
use crate::failure::Failure;
use crate::load;

/// The builder of a client.
pub(crate) fn builder(provider: Provider, args: &ConnectionArgs) -> Result<LlmClientBuilder, Failure> {
    let mut builder = LlmClient::builder(provider)
        .read_timeout(Duration::from_secs(u64::from(args.read_timeout)))
        .response_timeout(Duration::from_secs(u64::from(args.response_timeout)))
        .http(|http| http.user_agent(concat!("tokenline/", env!("CARGO_PKG_VERSION"))));
    if let Some(variable) = &args.api_key_env {
        check_variable("--api-key-env", variable)?;
        builder = builder.api_key(ApiKey::from_env(variable).map_err(|error| failure(&error))?);
    }
    for header in &args.header {
        let (name, value) = header_of(header)?;
        builder = builder.header(name, value);
    }
    Ok(builder)
}

/// The client.
pub(crate) fn client(args: &ModelArgs) -> Result<LlmClient, Failure> {
    let mut builder = builder(args.provider, &args.connection)?.retries(args.retries);
    if let Some(base_url) = &args.base_url {
        builder = builder.base_url(base_url);
    }
    let client = builder.build().map_err(|error| failure(&error))?;
    match client.missing_key() {
        Some(variable) => Err(Failure::Usage(format!(
            "{} needs an API key: set {variable}, or name the variable that has it with --api-key-env",
            args.provider.title()
        ))),
        None => Ok(client),
    }
}

/// Checks that this is the name of a variable. The message does not quote it: it may be a key by mistake.
pub(crate) fn check_variable(option: &str, name: &str) -> Result<(), Failure> {
    let is_name =
        name.len() <= 64 && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    if is_name || std::env::var_os(name).is_some() {
        return Ok(());
    }
    let message = "needs the name of an environment variable; the value is not shown because it may be a key";
    Err(Failure::Usage(format!("{option}: {message}")))
}

/// Parses a header, `NAME: VALUE` or `NAME: @VARIABLE`.
fn header_of(header: &str) -> Result<(&str, String), Failure> {
    let (name, value) =
        header.split_once(':').ok_or_else(|| Failure::Usage("--header needs NAME: VALUE".to_owned()))?;
    let value = match value.trim().strip_prefix('@') {
        Some(variable) => {
            check_variable(&format!("--header {name}"), variable)?;
            std::env::var(variable).map_err(|_| {
                Failure::Usage(format!("--header {name}: the environment variable {variable} is not set"))
            })?
        }
        None => value.trim().to_owned(),
    };
    Ok((name.trim(), value))
}

/// A request with its parameters, without messages.
pub(crate) fn request(args: &ModelArgs) -> Result<ChatRequest, Failure> {
    let mut request = ChatRequest::new(&args.model);
    (request.max_tokens, request.temperature, request.seed) = (args.max_tokens, args.temperature, args.seed);
    for member in &args.set {
        let (name, value) = member_of(member)?;
        request = request.extra(name, value);
    }
    Ok(request)
}

/// Parses a member of the request body, `NAME=JSON` or `NAME=@FILE`.
fn member_of(member: &str) -> Result<(&str, serde_json::Value), Failure> {
    let usage = |message: &str| Failure::Usage(format!("--set {message}"));
    let (name, value) = member.split_once('=').ok_or_else(|| usage("needs NAME=JSON"))?;
    if let Some(file) = value.strip_prefix('@') {
        return Ok((name, load::text(&format!("--set {name}"), Path::new(file))?.into()));
    }
    let value = serde_json::from_str(value)
        .map_err(|error| usage(&format!("{name}: not JSON (strings need double quotes): {error}")))?;
    Ok((name, value))
}

/// A bad configuration or request is a usage error; everything else is a source error.
pub(crate) fn failure(error: &ClientError) -> Failure {
    match error.kind() {
        ClientErrorKind::Configuration | ClientErrorKind::Request => Failure::Usage(error.to_string()),
        _ => Failure::Source(error.to_string()),
    }
}

/// A continued response failed.
pub(crate) fn continued_failure(error: ContinuedError) -> Failure {
    match error {
        ContinuedError::Client(error) => failure(&error),
        ContinuedError::Response(error) => match *error {
            ResponseError::Source(error) => failure(&error),
            error => Failure::Source(error.to_string()),
        },
        error => Failure::Source(error.to_string()),
    }
}
