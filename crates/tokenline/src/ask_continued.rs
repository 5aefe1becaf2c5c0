//! JSON documents larger than a model's token limit, requested with the client.

use std::error::Error;
use std::fmt;

use tokenline_continuation::{Decision, Finished, Iteration, IterationError, IterationOptions};
use tokenline_llm::ResponseError;
use tokenline_llm::client::{ClientError, LlmClient};
use tokenline_llm::request::{ChatRequest, Message, UserPart};

use crate::response_text::response_text;

/// Requests a JSON document with an [`LlmClient`], and continues it until it is complete.
///
/// ```no_run
/// use tokenline::AskContinued;
/// use tokenline::continuation::IterationOptions;
/// use tokenline::llm::client::LlmClient;
/// use tokenline::llm::Provider;
/// use tokenline::llm::request::ChatRequest;
///
/// # async fn ask() -> Result<(), Box<dyn std::error::Error>> {
/// let client = LlmClient::new(Provider::Ollama, "http://127.0.0.1:11434")?;
/// let request = ChatRequest::new("llama3.1").user("List all chapters as one JSON array.").max_tokens(1000);
/// let finished = client.ask_continued(&request, IterationOptions::default()).await?;
/// assert!(finished.finish.is_complete());
/// println!("{}", finished.document);
/// # Ok(())
/// # }
/// ```
pub trait AskContinued {
    /// Sends a request and, while the response is cut off, requests to continue it: the last user message with the
    /// context of the document so far.
    ///
    /// A response that its token limit or a broken connection cuts off is used as far as it came. No request is sent
    /// twice unchanged, except after a useless response.
    ///
    /// # Errors
    ///
    /// If the last message is not a user message, a request cannot be sent, the provider rejects it or reports an error,
    /// or the [options](IterationOptions) end the iteration before there is a document.
    fn ask_continued(
        &self,
        request: &ChatRequest,
        options: IterationOptions,
    ) -> impl Future<Output = Result<Finished, AskContinuedError>> + Send;
}

/// Why no document was returned.
#[derive(Debug)]
#[non_exhaustive]
pub enum AskContinuedError {
    /// The last message is not a user message.
    NoPrompt,
    /// A request or its response failed.
    Llm(ResponseError<ClientError>),
    /// Too many responses were useless before there was a document.
    Iteration(IterationError),
}

impl fmt::Display for AskContinuedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPrompt => f.write_str("the last message of the request is not a user message"),
            Self::Llm(error) => error.fmt(f),
            Self::Iteration(error) => error.fmt(f),
        }
    }
}

impl Error for AskContinuedError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::NoPrompt => None,
            Self::Llm(error) => error.source(),
            Self::Iteration(error) => error.source(),
        }
    }
}

impl AskContinued for LlmClient {
    async fn ask_continued(
        &self,
        request: &ChatRequest,
        options: IterationOptions,
    ) -> Result<Finished, AskContinuedError> {
        let Some(prompt @ Message::User(parts)) = request.messages.last() else {
            return Err(AskContinuedError::NoPrompt);
        };
        let attachments = parts.iter().filter(|part| !matches!(part, UserPart::Text(_)));
        let mut iteration = Iteration::new(prompt.text(), options);
        let mut decision = None;
        while let Some(next) = iteration.next_request() {
            let mut request = request.clone();
            request.messages.pop();
            let message = Message::user_parts(attachments.clone().cloned().chain([next.prompt.into()]));
            let response = response_text(self, &request.message(message), can_continue).await;
            decision = Some(iteration.receive(&response.map_err(AskContinuedError::Llm)?));
        }
        match decision {
            Some(Decision::Finished(finished)) => Ok(finished),
            Some(Decision::Failed(error)) => Err(AskContinuedError::Iteration(error)),
            Some(Decision::Continue(_)) | None => unreachable!("the iteration has ended"),
        }
    }
}

/// Whether a response that ended with this error can be continued.
fn can_continue(error: &ResponseError<ClientError>, text: &str) -> bool {
    match error {
        ResponseError::Truncated(_) => true,
        ResponseError::Source(_) | ResponseError::Incomplete(_) => !text.is_empty(),
        _ => false,
    }
}
