//! The complete text of a response.

use std::future::poll_fn;
use std::pin::pin;

use futures_core::Stream as _;
use tokenline_core::{Code, Diagnostic, Span};
use tokenline_llm::ResponseError;
use tokenline_llm::client::{ClientError, LlmClient};
use tokenline_llm::request::ChatRequest;

/// The size limit of a collected text, in bytes.
const MAX_BYTES: usize = 64 << 20;

/// Sends a request and collects the text of the response, up to [`MAX_BYTES`]. After an error, `accept` decides
/// whether to return the text so far.
pub(crate) async fn response_text(
    client: &LlmClient,
    request: &ChatRequest,
    accept: impl Fn(&ResponseError<ClientError>) -> bool,
) -> Result<String, ResponseError<ClientError>> {
    let source = ResponseError::Source;
    let response = client.stream(request).map_err(source)?.send().await.map_err(source)?;
    let mut deltas = pin!(response.text());
    let mut text = String::new();
    while let Some(delta) = poll_fn(|cx| deltas.as_mut().poll_next(cx)).await {
        match delta {
            Ok(delta) if delta.len() > MAX_BYTES - text.len() => {
                let error = too_large();
                return if accept(&error) { Ok(text) } else { Err(error) };
            }
            Ok(delta) => text.push_str(&delta),
            Err(error) if accept(&error) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(text)
}

fn too_large() -> ResponseError<ClientError> {
    let message = format!("its text has more than {} MiB, the limit", MAX_BYTES >> 20);
    let span = Span::new(MAX_BYTES as u64, MAX_BYTES as u64);
    ResponseError::Incomplete(Box::new(Diagnostic::new(Code::StreamIncomplete, 1, span, 1, message)))
}
