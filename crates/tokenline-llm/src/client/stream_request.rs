//! A request ready to be sent.

use std::fmt;

use bytes::Bytes;
use reqwest::Url;
use serde::de::DeserializeOwned;
use tokenline_codec::AsyncRepair;
use tokenline_codec::observe::{ModelRequest, Start};
use tokenline_core::adapter::OwnRule;
use tokenline_core::json::Raw;
use tokenline_core::{Options, Rejected, Validate, ValidateCall};

use super::{ClientError, LlmClient, ResponseBody};
use crate::{ResponseParser, ResponseStream};

/// A request ready to be sent, with the parser of its response.
///
/// ```no_run
/// # async fn calls(tools: impl tokenline_core::ValidateCall + Send + Sync + 'static) -> Result<(), Box<dyn std::error::Error>> {
/// use futures_util::StreamExt;
/// use tokenline_core::ToolDefinition;
/// use tokenline_llm::Provider;
/// use tokenline_llm::client::LlmClient;
/// use tokenline_llm::request::ChatRequest;
///
/// let client = LlmClient::new(Provider::Anthropic, "https://api.anthropic.com")?;
/// let request = ChatRequest::new("claude-sonnet-4-5")
///     .user("What time is it?")
///     .tools([ToolDefinition::new("now").with_description("The time.")]);
/// let mut calls = client.stream(&request)?.with_tools(tools).send().await?.tool_calls();
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
        options: Options,
        model: ModelRequest,
        sends_tools: bool,
    ) -> Self {
        let parser = ResponseParser::new(client.provider(), options)
            .with_shapes(&client.0.shapes)
            .with_tools_sent(sends_tools);
        Self { client, url, body, parser, repair: None, model }
    }

    /// Deserializes the records of the response into a type. Call it before
    /// [`with_validator`](Self::with_validator) and other settings that depend on the type: it starts over with them.
    pub fn typed<T: DeserializeOwned>(self) -> StreamRequest<T> {
        self.map_parser(ResponseParser::typed)
    }
}

impl<T> StreamRequest<T> {
    /// Changes any other setting of the parser.
    ///
    /// ```
    /// # use tokenline_llm::TextMode;
    /// # use tokenline_llm::client::StreamRequest;
    /// # fn with_text(request: StreamRequest) -> StreamRequest {
    /// request.map_parser(|parser| parser.text_as(TextMode::ToolCalls).with_text_and_reasoning())
    /// # }
    /// ```
    pub fn map_parser<U>(
        self,
        change: impl FnOnce(ResponseParser<T>) -> ResponseParser<U>,
    ) -> StreamRequest<U> {
        let Self { client, url, body, parser, repair, model } = self;
        StreamRequest { client, url, body, parser: change(parser), repair, model }
    }

    /// Keeps the response as a message, for [`ResponseStream::into_message`].
    pub fn with_message(self) -> Self {
        self.map_parser(ResponseParser::with_message)
    }

    /// Validates each record in the text.
    pub fn with_validator(self, validator: impl Validate + Send + Sync + 'static) -> Self {
        self.map_parser(|parser| parser.with_validator(validator))
    }

    /// Rejects records that a rule of your own finds invalid; see
    /// [`JsonlStreamParser::validated_with`](tokenline_codec::JsonlStreamParser::validated_with).
    pub fn validated_with(self, rule: impl Fn(&T) -> Result<(), String> + Send + Sync + 'static) -> Self
    where
        T: DeserializeOwned + 'static,
    {
        self.with_validator(OwnRule::new(rule))
    }

    /// Validates each tool call, native or not, against tool definitions.
    pub fn with_tools(self, tools: impl ValidateCall + Send + Sync + 'static) -> Self {
        self.map_parser(|parser| parser.with_tools(tools))
    }

    /// Ends the response after this many records or tool calls, and closes its connection; see
    /// [`ResponseStream::with_max_records`].
    pub fn with_max_records(self, max_records: u64) -> Self {
        self.map_parser(|parser| parser.with_max_records(max_records))
    }

    /// Allows this many rejects; see [`ResponseStream::with_error_budget`].
    pub fn with_error_budget(self, rejects: u64) -> Self {
        self.map_parser(|parser| parser.with_error_budget(rejects))
    }

    /// Sets a closure that may replace rejected text; see [`ResponseParser::with_repair`].
    pub fn with_repair(self, repair: impl FnMut(Rejected) -> Option<String> + Send + Sync + 'static) -> Self {
        let request = self.map_parser(|parser| parser.with_repair(repair));
        StreamRequest { repair: None, ..request }
    }

    /// Like [`with_repair`](Self::with_repair), but the closure returns a future, for example to ask a model; see
    /// [`ResponseStream::with_async_repair`].
    pub fn with_async_repair<F>(self, repair: impl FnMut(Rejected) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Option<String>> + Send + 'static,
    {
        Self { repair: Some(Box::new(AsyncRepair::new(repair))), ..self }
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
        let parser = parser.with_secrets(client.0.secrets.clone());
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
