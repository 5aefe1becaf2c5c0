//! The text of a whole answer.

use std::future::poll_fn;
use std::pin::pin;

use futures_core::Stream as _;
use tokenline_core::{Code, Diagnostic, Span};
use tokenline_llm::ResponseError;
use tokenline_llm::client::{ClientError, LlmClient};
use tokenline_llm::request::ChatRequest;

/// The most bytes of a text that is gathered.
const MAX_BYTES: usize = 64 << 20;

/// Asks a model, and gathers its text, which is incomplete if it has more than [`MAX_BYTES`]. An error ends it; `is_enough` says, of the error and the text so far, whether
/// that is the text nevertheless.
pub(crate) async fn response_text(
    client: &LlmClient,
    request: &ChatRequest,
    is_enough: impl Fn(&ResponseError<ClientError>, &str) -> bool,
) -> Result<String, ResponseError<ClientError>> {
    let source = ResponseError::Source;
    let answer = client.stream(request).map_err(source)?.send().await.map_err(source)?;
    let mut pieces = pin!(answer.text());
    let mut text = String::new();
    while let Some(piece) = poll_fn(|cx| pieces.as_mut().poll_next(cx)).await {
        match piece {
            Ok(piece) if piece.len() > MAX_BYTES - text.len() => {
                let error = too_large();
                return if is_enough(&error, &text) { Ok(text) } else { Err(error) };
            }
            Ok(piece) => text.push_str(&piece),
            Err(error) if is_enough(&error, &text) => break,
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
