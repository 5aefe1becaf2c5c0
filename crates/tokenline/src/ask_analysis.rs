//! Chat answers with their analysis, asked for through the client.

use tokenline_chat_analysis::AnalysisStream;
use tokenline_llm::TextPieces;
use tokenline_llm::client::{ClientError, LlmClient, ResponseBody};

use crate::chat_analysis::AnalysisRequest;

/// Asks a model for a chat answer and its analysis, through an [`LlmClient`].
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
/// let mut answer = client.ask_analysis(&request).await?;
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
pub trait AskAnalysis {
    /// Sends a request, and gives its answer while it comes.
    ///
    /// Whatever the provider, the answer is streamed. An answer that its provider did not end, or ended for
    /// another reason than that it is whole, is an error of the stream with
    /// [what came](crate::chat_analysis::Received).
    ///
    /// # Errors
    ///
    /// If the request cannot be sent, or the provider refuses it.
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
        let answer = self.stream(&request.to_chat_request())?.send().await?;
        Ok(AnalysisStream::new(answer.text()))
    }
}
