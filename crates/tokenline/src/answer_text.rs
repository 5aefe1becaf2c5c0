//! The text of a whole answer.

use std::future::poll_fn;
use std::pin::pin;

use futures_core::Stream as _;
use tokenline_llm::AnswerError;
use tokenline_llm::client::{ClientError, LlmClient};
use tokenline_llm::request::ChatRequest;

/// Asks a model, and gathers its text. An error ends it; `is_enough` says, of the error and the text so far, whether
/// that is the text nevertheless.
pub(crate) async fn answer_text(
    client: &LlmClient,
    request: &ChatRequest,
    is_enough: impl Fn(&AnswerError<ClientError>, &str) -> bool,
) -> Result<String, AnswerError<ClientError>> {
    let source = AnswerError::Source;
    let answer = client.stream(request).map_err(source)?.send().await.map_err(source)?;
    let mut pieces = pin!(answer.text());
    let mut text = String::new();
    while let Some(piece) = poll_fn(|cx| pieces.as_mut().poll_next(cx)).await {
        match piece {
            Ok(piece) => text.push_str(&piece),
            Err(error) if is_enough(&error, &text) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(text)
}
