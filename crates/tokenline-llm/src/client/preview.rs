//! A request as it is sent, for people.

use super::{StreamRequest, endpoint};

/// A request as it is sent, without its secrets: to look at before it is sent. [`StreamRequest::preview`] makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestPreview {
    /// The URL. It lacks a user and a password; values in the query are `...`, but for `alt` and versions.
    pub url: String,
    /// The client's base URL, likewise.
    pub base_url: String,
    /// Whether something in the URLs was left out.
    pub hides_part_of_url: bool,
    /// The headers, without those that every HTTP client adds. The values of keys, and of headers set with
    /// [`header`](super::LlmClientBuilder::header), are `...`; a scheme such as `Bearer` stands before it.
    pub headers: Vec<(String, String)>,
    /// The body: JSON.
    pub body: String,
}

impl<T> StreamRequest<T> {
    /// The request as it is sent, without its secrets. A key that a closure
    /// [issues](super::LlmClientBuilder::api_key_from) is not among the headers.
    ///
    /// ```
    /// use tokenline_llm::Provider;
    /// use tokenline_llm::client::LlmClient;
    /// use tokenline_llm::request::ChatRequest;
    ///
    /// let client = LlmClient::builder(Provider::OpenAiChat).base_url("http://127.0.0.1:8080").api_key("sk-1234").build()?;
    /// let preview = client.stream(&ChatRequest::new("m").user("Hello"))?.preview();
    /// assert_eq!(preview.url, "http://127.0.0.1:8080/v1/chat/completions");
    /// assert!(preview.headers.contains(&("authorization".to_owned(), "Bearer ...".to_owned())));
    /// assert!(preview.body.starts_with(r#"{"model":"m","#));
    /// # Ok::<(), tokenline_llm::client::ClientError>(())
    /// ```
    #[must_use]
    pub fn preview(&self) -> RequestPreview {
        let (client, url, body) = self.parts();
        let headers = client.0.headers_of_request();
        let headers = headers.iter().map(|(name, value)| {
            let shown = match value.to_str() {
                Ok(value) if value.starts_with("Bearer ") => "Bearer ...",
                Ok(shown) if !value.is_sensitive() => shown,
                _ => "...",
            };
            (name.as_str().to_owned(), shown.to_owned())
        });
        let shown = endpoint::without_secrets(url);
        let base_url = endpoint::without_secrets(&client.0.base_url);
        RequestPreview {
            hides_part_of_url: shown != *url,
            url: shown.into(),
            base_url: base_url.as_str().trim_end_matches('/').to_owned(),
            headers: headers.collect(),
            body: String::from_utf8_lossy(body).into_owned(),
        }
    }
}
