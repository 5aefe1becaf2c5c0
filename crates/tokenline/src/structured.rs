//! The chat-analysis contract, and its request for any provider.

#[doc(inline)]
pub use tokenline_structured::*;

#[cfg(feature = "llm")]
use tokenline_llm::request::{ChatRequest, Message, ResponseFormat};

/// A request in the form that is the same for every provider.
#[cfg(feature = "llm")]
pub trait ToChatRequest {
    /// The request as a [`ChatRequest`], to be added to: a limit of tokens, a seed. For Ollama it becomes the body
    /// that [`to_body`](StructuredRequest::to_body) gives, but always streamed.
    fn to_chat_request(&self) -> ChatRequest;
}

#[cfg(feature = "llm")]
impl ToChatRequest for StructuredRequest {
    fn to_chat_request(&self) -> ChatRequest {
        let schema = match crate::json::Raw::new(RESPONSE_SCHEMA) {
            Ok(schema) => schema,
            Err(error) => unreachable!("the schema is part of the program: {error}"),
        };
        let mut request = ChatRequest::new(&self.model)
            .temperature(0.0)
            .response_format(ResponseFormat::json_schema("llm_response", schema));
        if !self.system.is_empty() {
            request = request.system(&self.system);
        }
        request.messages(self.messages.iter().map(|(role, text)| match role {
            Role::User => Message::user(text),
            Role::Assistant => Message::assistant(text, []),
        }))
    }
}
