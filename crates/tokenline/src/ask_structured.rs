//! Chat answers with their analysis, asked for through the client.

use tokenline_llm::TextPieces;
use tokenline_llm::client::{ClientError, LlmClient, ResponseBody};
use tokenline_structured::AnalysisStream;

use crate::structured::StructuredRequest;

/// Asks a model for a chat answer and its analysis, through an [`LlmClient`].
///
/// ```no_run
/// use futures_util::StreamExt;
/// use tokenline::AskStructured;
/// use tokenline::llm::client::LlmClient;
/// use tokenline::llm::Provider;
/// use tokenline::structured::{AttachmentStore, FileStore, AnalysisEvent, StructuredRequest};
///
/// # async fn ask() -> Result<(), Box<dyn std::error::Error>> {
/// let client = LlmClient::new(Provider::Ollama, "http://127.0.0.1:11434")?;
/// let request = StructuredRequest::new("llama3.1").user("How much should I save for college?");
/// let mut answer = client.ask_structured(&request).await?;
/// while let Some(event) = answer.next().await {
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
pub trait AskStructured {
    /// Sends a request, and gives its answer while it comes.
    ///
    /// Whatever the provider, the answer is streamed. An answer that its provider did not end, or ended for
    /// another reason than that it is whole, is an error of the stream with
    /// [what came](crate::structured::Received).
    ///
    /// # Errors
    ///
    /// If the request cannot be sent, or the provider refuses it.
    fn ask_structured(
        &self,
        request: &StructuredRequest,
    ) -> impl Future<Output = Result<AnalysisStream<TextPieces<ResponseBody>>, ClientError>> + Send;
}

impl AskStructured for LlmClient {
    async fn ask_structured(
        &self,
        request: &StructuredRequest,
    ) -> Result<AnalysisStream<TextPieces<ResponseBody>>, ClientError> {
        let answer = self.stream(&request.to_chat_request())?.send().await?;
        Ok(AnalysisStream::new(answer.text()))
    }
}
