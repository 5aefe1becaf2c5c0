//! Prompts that are put to a model through the client.

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokenline_llm::client::{ClientError, LlmClient, ResponseBody};
use tokenline_llm::request::ChatRequest;
use tokenline_llm::{ResponseError, ResponseStream};
use tokenline_prompt::{InvokeError, PromptError, PromptManager, RenderedPrompt, Response, ResponseType};

use crate::response_text::response_text;

/// What goes wrong where a model is asked: the prompt, or the client and its provider.
type Failure = InvokeError<ResponseError<ClientError>>;

/// Puts the prompts of a [`PromptManager`] to a model through an [`LlmClient`].
///
/// The request says which model, and how; the prompt is added to it.
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
    /// Renders a prompt, asks the model, and reads all of its answer as the prompt says.
    ///
    /// An answer that its token limit cuts is read as far as it goes: of JSON Lines the whole lines count. A
    /// text that is cut is an error, because it does not show.
    ///
    /// # Errors
    ///
    /// As [`PromptManager::invoke`]; what the client and the provider say is [`InvokeError::Llm`].
    fn ask(
        &self,
        id: &str,
        input: impl Serialize + Send,
        client: &LlmClient,
        request: &ChatRequest,
    ) -> impl Future<Output = Result<Response, Failure>> + Send;

    /// Renders a `jsonl` prompt, asks the model, and gives its answer: each valid object is an event of it
    /// as soon as it is complete, and [`records`](ResponseStream::records) yields those alone.
    ///
    /// # Errors
    ///
    /// As [`PromptManager::invoke_stream`]; what the client and the provider say is [`InvokeError::Llm`].
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
        let request = asked(request, self.render(id, input)?);
        let is_text = self.prompt(id).is_some_and(|prompt| prompt.response_type() == ResponseType::Text);
        // A text does not show that it was cut.
        let is_enough = |error: &_, _: &str| matches!(error, ResponseError::Truncated(_)) && !is_text;
        let text = response_text(client, &request, is_enough).await.map_err(InvokeError::Llm)?;
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
        let request = client.stream(&asked(request, prompt)).map_err(failed)?.typed::<T>();
        let request = match self.validator(id).map_err(PromptError::from)? {
            Some(validator) => request.with_validator(validator.clone()),
            None => request,
        };
        request.send().await.map_err(failed)
    }
}

/// The request with the prompt in it.
fn asked(request: &ChatRequest, prompt: RenderedPrompt) -> ChatRequest {
    let request = match prompt.system.is_empty() {
        true => request.clone(),
        false => request.clone().system(prompt.system),
    };
    request.user(prompt.prompt)
}

fn failed(error: ClientError) -> Failure {
    InvokeError::Llm(ResponseError::Source(error))
}
