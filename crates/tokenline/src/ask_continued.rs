//! JSON documents larger than a model's token limit, asked for through the client.

use std::error::Error;
use std::fmt;

use tokenline_continuation::{Decision, Finished, Iteration, IterationError, IterationOptions};
use tokenline_llm::ResponseError;
use tokenline_llm::client::{ClientError, LlmClient};
use tokenline_llm::request::{ChatRequest, Message, UserPart};

use crate::response_text::response_text;

/// Asks a model for one JSON document, and for the rest of it as often as it takes, through an [`LlmClient`].
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
    /// Sends a request, and as long as its answer is cut off, the request to go on: the last message of the user,
    /// with what the model has to know of the answer so far.
    ///
    /// An answer counts as far as it came, whether its token limit cut it, or the connection broke. Each request
    /// after the first one asks for something new: nothing is sent twice as it was, but after a response of no use.
    ///
    /// # Errors
    ///
    /// If the request has no message of the user, a request cannot be sent, the provider refuses it or reports an
    /// error, or there is nothing to fall back on when the [options](IterationOptions) end it.
    fn ask_continued(
        &self,
        request: &ChatRequest,
        options: IterationOptions,
    ) -> impl Future<Output = Result<Finished, AskContinuedError>> + Send;
}

/// Why there is no document.
#[derive(Debug)]
#[non_exhaustive]
pub enum AskContinuedError {
    /// The last message is not one of the user.
    NoPrompt,
    /// A request or its answer failed, and no more of the answer is to be had.
    Llm(ResponseError<ClientError>),
    /// Too many responses were of no use before there was anything.
    Iteration(IterationError),
}

impl fmt::Display for AskContinuedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPrompt => f.write_str("the request's last message is not one of the user"),
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
        let Some(question @ Message::User(parts)) = request.messages.last() else {
            return Err(AskContinuedError::NoPrompt);
        };
        let shown = parts.iter().filter(|part| !matches!(part, UserPart::Text(_)));
        let mut iteration = Iteration::new(question.text(), options);
        let mut decision = None;
        while let Some(next) = iteration.next_request() {
            let mut request = request.clone();
            request.messages.pop();
            let question = Message::user_parts(shown.clone().cloned().chain([next.prompt.into()]));
            let response = response_text(self, &request.message(question), goes_on).await;
            decision = Some(iteration.receive(&response.map_err(AskContinuedError::Llm)?));
        }
        match decision {
            Some(Decision::Finished(finished)) => Ok(finished),
            Some(Decision::Failed(error)) => Err(AskContinuedError::Iteration(error)),
            Some(Decision::Continue(_)) | None => unreachable!("it goes on until it has ended"),
        }
    }
}

/// Whether an answer that ended so is to be gone on with.
fn goes_on(error: &ResponseError<ClientError>, text: &str) -> bool {
    match error {
        ResponseError::Truncated(_) => true,
        ResponseError::Source(_) | ResponseError::Incomplete(_) => !text.is_empty(),
        _ => false,
    }
}
