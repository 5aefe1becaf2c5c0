//! A request ready to be sent.

use std::fmt;

use bytes::Bytes;
use reqwest::Url;
use serde::de::DeserializeOwned;
use tokenline_codec::AsyncRepair;
use tokenline_codec::observe::{ModelRequest, Start};
use tokenline_core::json::Raw;
use tokenline_core::{Options, Rejected};

use super::{ClientError, Extraction, LlmClient, ReaskOptions, ResponseBody};
use crate::request::ChatRequest;
use crate::{ResponseOptions, ResponseParser, ResponseStream};

/// A request ready to be sent, with the parser of its response.
///
/// ```no_run
/// # async fn calls() -> Result<(), Box<dyn std::error::Error>> {
/// use tokenline_core::ToolDefinition;
/// use tokenline_llm::Provider;
/// use tokenline_llm::client::LlmClient;
/// use tokenline_llm::request::ChatRequest;
///
/// let client = LlmClient::new(Provider::Anthropic, "https://api.anthropic.com")?;
/// let request = ChatRequest::new("claude-sonnet-4-5")
///     .user("What time is it?")
///     .tools([ToolDefinition::new("now").with_description("The time.")]);
/// let mut calls = client.stream(&request)?.send().await?.tool_calls();
/// while let Some(call) = calls.next().await {
///     println!("{}", call?.name);
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "a request does nothing until it is sent"]
pub struct StreamRequest<T = Raw> {
    client: LlmClient,
    url: Url,
    body: Bytes,
    parser: ResponseParser<T>,
    repair: Option<Box<AsyncRepair>>,
    model: ModelRequest,
}

impl StreamRequest {
    pub(super) fn new(
        client: LlmClient,
        url: Url,
        body: Bytes,
        options: ResponseOptions,
        model: ModelRequest,
        sends_tools: bool,
    ) -> Self {
        let parser = ResponseParser::new(client.provider(), options)
            .with_shapes(&client.0.shapes)
            .with_tools_sent(sends_tools);
        Self { client, url, body, parser, repair: None, model }
    }

    /// How the text of its response is parsed.
    pub(super) fn into_text_options(mut self) -> Options {
        self.parser.take_text_settings().options
    }

    /// Deserializes the records of the response into a type.
    pub fn typed<T: DeserializeOwned>(self) -> StreamRequest<T> {
        let Self { client, url, body, parser, repair, model } = self;
        StreamRequest { client, url, body, parser: parser.typed(), repair, model }
    }
}

impl<T> StreamRequest<T> {
    /// Changes how the response is read: what its events are, rules for its records and calls, quotas. The request has
    /// already set the path to the records of its response format, and the validators of its tools and its format.
    ///
    /// ```
    /// # use tokenline_llm::TextMode;
    /// # use tokenline_llm::client::StreamRequest;
    /// # fn with_text(request: StreamRequest) -> StreamRequest {
    /// request.with_options(|options| options.text_as(TextMode::ToolCalls).text_and_reasoning().max_records(10))
    /// # }
    /// ```
    pub fn with_options(self, change: impl FnOnce(ResponseOptions) -> ResponseOptions) -> Self {
        let parser = self.parser.with_options(change);
        let repair = self.repair.filter(|_| parser.has_repair_steps());
        Self { parser, repair, ..self }
    }

    /// Rejects records that a rule of your own finds invalid; see
    /// [`JsonlStreamParser::validated_with`](tokenline_codec::JsonlStreamParser::validated_with). As
    /// [`ResponseOptions::validated_with`], with the type of the records.
    pub fn validated_with(self, rule: impl Fn(&T) -> Result<(), String> + Send + Sync + 'static) -> Self
    where
        T: DeserializeOwned + 'static,
    {
        self.with_options(|options| options.validated_with(rule))
    }

    /// Like [`ResponseOptions::repair`], but the closure returns a future, for example to ask a model; see
    /// [`ResponseStream::with_async_repair`].
    pub fn with_async_repair<F>(self, repair: impl FnMut(Rejected) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Option<String>> + Send + 'static,
    {
        let parser = self.parser.with_repair_steps();
        Self { parser, repair: Some(Box::new(AsyncRepair::new(repair))), ..self }
    }

    /// Asks the model again for what is rejected; see [`Extraction`]. `request` is the one that this was made of: further
    /// requests repeat its conversation.
    ///
    /// ```no_run
    /// # async fn asked_again() -> Result<(), Box<dyn std::error::Error>> {
    /// # use tokenline_llm::Provider;
    /// # use tokenline_llm::client::LlmClient;
    /// # use tokenline_llm::request::ChatRequest;
    /// # let client = LlmClient::new(Provider::OpenAiChat, "http://127.0.0.1:8080")?;
    /// let request = ChatRequest::new("gpt-5").user("Three rivers as JSON Lines.");
    /// let mut rivers = client.stream(&request)?.reask(&request, 2).send().await?.records();
    /// # Ok(())
    /// # }
    /// ```
    pub fn reask(self, request: &ChatRequest, reask: impl Into<ReaskOptions>) -> Extraction<T> {
        Extraction::new(self.client.clone(), request.clone(), self).reask(reask)
    }

    /// The client, the URL, and the body.
    pub(super) fn parts(&self) -> (&LlmClient, &Url, &[u8]) {
        (&self.client, &self.url, &self.body)
    }

    /// Sends the request and waits for the start of the response.
    ///
    /// Dropping the future or the stream closes the connection.
    ///
    /// # Errors
    ///
    /// If there is no response stream; [`ClientError::kind`] gives the reason.
    pub async fn send(self) -> Result<ResponseStream<ResponseBody, T>, ClientError> {
        let Self { client, url, body, parser, repair, model } = self;
        let start = Start::now();
        let (response, attempts) = client.send(&url, &body).await?;
        let parser = parser.with_secrets(client.0.secrets().clone());
        let body = ResponseBody::new(response, &client.0, attempts);
        Ok(ResponseStream::since(start, &model, body, parser).with_repair_hook(repair))
    }
}

/// Hides the messages and the key.
impl<T> fmt::Debug for StreamRequest<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamRequest").field("client", &self.client).finish_non_exhaustive()
    }
}
