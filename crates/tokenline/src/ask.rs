//! Prompts sent to a model with the client.

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokenline_llm::client::{ClientError, LlmClient, ResponseBody};
use tokenline_llm::request::ChatRequest;
use tokenline_llm::{ResponseError, ResponseStream};
use tokenline_prompt::{InvokeError, PromptError, PromptManager, RenderedPrompt, Response, ResponseType};

use crate::response_text::response_text;

/// An error of the prompt, the client or the provider.
type Failure = InvokeError<ResponseError<ClientError>>;

/// Sends the prompts of a [`PromptManager`] to a model with an [`LlmClient`].
///
/// The request sets the model and its parameters; the prompt is added to it.
///
/// ```no_run
/// use tokenline::Ask;
/// use tokenline::llm::client::LlmClient;
/// use tokenline::llm::Provider;
/// use tokenline::llm::request::ChatRequest;
/// use tokenline::prompt::{Definition, Objects, PromptManager};
///
/// # async fn ask() -> Result<(), Box<dyn std::error::Error>> {
/// let prompts = PromptManager::built_in();
/// let client = LlmClient::new(Provider::Ollama, "http://127.0.0.1:11434")?;
/// let request = ChatRequest::new("gemma3").temperature(0.0);
///
/// let input = serde_json::json!({"text": "Chlorophyll is a green pigment."});
/// let response = prompts.ask("extract-definitions", input, &client, &request).await?;
/// let definitions: Objects<Definition> = response.into_objects()?;
/// # Ok(())
/// # }
/// ```
pub trait Ask {
    /// Renders a prompt, sends it, and parses the complete response according to the prompt's response type.
    ///
    /// A `json` or `jsonl` response that its token limit cuts off is parsed as far as it goes: complete lines of JSON
    /// Lines count. A text response that is cut off is an error, because the text itself does not show it.
    ///
    /// # Errors
    ///
    /// As [`PromptManager::invoke`]; errors of the client and the provider are [`InvokeError::Llm`].
    fn ask(
        &self,
        id: &str,
        input: impl Serialize + Send,
        client: &LlmClient,
        request: &ChatRequest,
    ) -> impl Future<Output = Result<Response, Failure>> + Send;

    /// Renders a `jsonl` prompt, sends it, and returns the response as a stream. Each valid object is an event as soon as
    /// it is complete; [`records`](ResponseStream::records) yields only the objects.
    ///
    /// # Errors
    ///
    /// As [`PromptManager::invoke_stream`]; errors of the client and the provider are [`InvokeError::Llm`].
    fn ask_stream<T: DeserializeOwned + Send>(
        &self,
        id: &str,
        input: impl Serialize + Send,
        client: &LlmClient,
        request: &ChatRequest,
    ) -> impl Future<Output = Result<ResponseStream<ResponseBody, T>, Failure>> + Send;
}

impl Ask for PromptManager {
    async fn ask(
        &self,
        id: &str,
        input: impl Serialize + Send,
        client: &LlmClient,
        request: &ChatRequest,
    ) -> Result<Response, Failure> {
        let request = with_prompt(request, self.render(id, input)?);
        let is_text = self.prompt(id).is_some_and(|prompt| prompt.response_type() == ResponseType::Text);
        // A text does not show that it was cut off.
        let accept = |error: &_| matches!(error, ResponseError::Truncated(_)) && !is_text;
        let text = response_text(client, &request, accept).await.map_err(InvokeError::Llm)?;
        Ok(self.apply(id, text)?)
    }

    async fn ask_stream<T: DeserializeOwned + Send>(
        &self,
        id: &str,
        input: impl Serialize + Send,
        client: &LlmClient,
        request: &ChatRequest,
    ) -> Result<ResponseStream<ResponseBody, T>, Failure> {
        let prompt = self.render(id, input)?;
        if let Some(prompt) = self.prompt(id)
            && prompt.response_type() != ResponseType::Jsonl
        {
            let response_type = prompt.response_type();
            return Err(PromptError::NotStreamed { id: id.to_owned(), response_type }.into());
        }
        let request = client.stream(&with_prompt(request, prompt)).map_err(failed)?.typed::<T>();
        let request = match self.validator(id).map_err(PromptError::from)? {
            Some(validator) => request.with_options(|options| options.validator(validator.clone())),
            None => request,
        };
        request.send().await.map_err(failed)
    }
}

/// Adds the prompt to the request.
fn with_prompt(request: &ChatRequest, prompt: RenderedPrompt) -> ChatRequest {
    let request =
        if prompt.system.is_empty() { request.clone() } else { request.clone().system(prompt.system) };
    request.user(prompt.prompt)
}

fn failed(error: ClientError) -> Failure {
    InvokeError::Llm(ResponseError::Source(error))
}
