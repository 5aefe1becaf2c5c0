//! The models of a server.

use serde_json::Value;

use super::{ClientError, ClientErrorKind, LlmClient, endpoint};
use crate::Provider;

/// The longest list that is read, in bytes.
const MAX_BYTES: usize = 4 << 20;

impl LlmClient {
    /// Requests the names of the server's models, in its order. It is requested once, without retries.
    ///
    /// ```no_run
    /// # async fn names() -> Result<(), Box<dyn std::error::Error>> {
    /// use tokenline_llm::Provider;
    /// use tokenline_llm::client::LlmClient;
    ///
    /// let client = LlmClient::new(Provider::Ollama, "http://127.0.0.1:11434")?;
    /// println!("{}", client.models().await?.join("\n"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If the server does not respond with a list, and [`Request`](ClientErrorKind::Request) if the provider has none beside
    /// the model's API: Amazon Bedrock.
    pub async fn models(&self) -> Result<Vec<String>, ClientError> {
        let provider = self.provider();
        let info = provider.info();
        let (Some(list), Some(url)) = (&info.endpoint.models, endpoint::models(provider, &self.0.base_url))
        else {
            let text = format!("{} has no list of models at this server", info.title);
            return Err(ClientError::new(ClientErrorKind::Request, text));
        };
        let place = format!("{} at {}", endpoint::authority(&url), url.path());
        let body = self.0.get(url, MAX_BYTES).await?;
        let body: Value = serde_json::from_str(&body).unwrap_or_default();
        let Some(entries) = body.get(list.list).and_then(Value::as_array) else {
            let text = format!("{place} responded with something other than a list of models");
            return Err(ClientError::new(ClientErrorKind::ContentType, text));
        };
        let names = entries.iter().filter_map(|entry| entry.get(list.name)?.as_str());
        let prefix =
            if matches!(provider, Provider::Gemini | Provider::GeminiInteractions) { "models/" } else { "" };
        Ok(names.map(|name| name.strip_prefix(prefix).unwrap_or(name).to_owned()).collect())
    }
}
