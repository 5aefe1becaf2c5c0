//! Chat responses with an analysis, requested with the client.

use tokenline_chat_analysis::AnalysisStream;
use tokenline_llm::TextPieces;
use tokenline_llm::client::{ClientError, LlmClient, ResponseBody};

use crate::chat_analysis::AnalysisRequest;

/// Requests a chat response and its analysis with an [`LlmClient`].
///
/// ```no_run
/// use futures_util::StreamExt;
/// use tokenline::AskAnalysis;
/// use tokenline::llm::client::LlmClient;
/// use tokenline::llm::Provider;
/// use tokenline::chat_analysis::{AttachmentStore, FileStore, AnalysisEvent, AnalysisRequest};
///
/// # async fn ask() -> Result<(), Box<dyn std::error::Error>> {
/// let client = LlmClient::new(Provider::Ollama, "http://127.0.0.1:11434")?;
/// let request = AnalysisRequest::new("llama3.1").user("How much should I save for college?");
/// let mut response = client.ask_analysis(&request).await?;
/// while let Some(event) = response.next().await {
///     match event? {
///         AnalysisEvent::Text(text) => print!("{text}"),
///         AnalysisEvent::Response(checked) => {
///             FileStore::new("attachments").store("college", "message-7", &checked.response.to_xml()?)?;
///         }
///         _ => {}
///     }
/// }
/// # Ok(())
/// # }
/// ```
pub trait AskAnalysis {
    /// Sends a request, and returns its response as a stream.
    ///
    /// An incomplete response is an error of the stream, with what was
    /// [received](crate::chat_analysis::Received): the connection broke, or the finish reason is not a regular stop.
    ///
    /// # Errors
    ///
    /// If the request cannot be sent, or the provider rejects it.
    fn ask_analysis(
        &self,
        request: &AnalysisRequest,
    ) -> impl Future<Output = Result<AnalysisStream<TextPieces<ResponseBody>>, ClientError>> + Send;
}

impl AskAnalysis for LlmClient {
    async fn ask_analysis(
        &self,
        request: &AnalysisRequest,
    ) -> Result<AnalysisStream<TextPieces<ResponseBody>>, ClientError> {
        let response = self.stream(&request.to_chat_request())?.send().await?;
        Ok(AnalysisStream::new(response.text()))
    }
}
