//! The providers' wire formats: what each sends, as deltas.

mod anthropic;
mod envelope;
mod gemini;
mod ollama;
mod openai_chat;
mod openai_responses;
mod template;

pub use anthropic::AnthropicDecoder;
pub(crate) use envelope::error_of_body;
pub use gemini::GeminiDecoder;
pub use ollama::OllamaDecoder;
pub use openai_chat::OpenAiChatDecoder;
pub use openai_responses::OpenAiResponsesDecoder;
