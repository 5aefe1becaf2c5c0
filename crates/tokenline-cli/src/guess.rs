//! What an input looks like, for hints to a person who said that it is something else.

use tokenline::llm::Provider;

/// Bytes of an input that are looked at.
pub(crate) const LOOKED_AT: usize = 2048;

/// Each provider's path, and what is early in what it sends and in nobody else's: one of these, with all
/// its parts.
const MARKS: [(Provider, &str, &[&[&str]]); 5] = [
    (
        Provider::OpenAiChat,
        "/v1/chat/completions",
        &[&["\"chat.completion.chunk\""], &["data:", "\"choices\":["]],
    ),
    (Provider::OpenAiResponses, "/v1/responses", &[&["\"type\":\"response."], &["event: response."]]),
    (Provider::Anthropic, "/v1/messages", &[&["\"message_start\""]]),
    (
        Provider::Gemini,
        "/v1beta/models/MODEL:streamGenerateContent",
        &[&["\"candidates\":", "\"parts\":"], &["\"candidates\":", "\"usageMetadata\":"]],
    ),
    (Provider::Ollama, "/api/chat", &[&["\"model\":", "\"created_at\":", "\"done\":"]]),
];

/// Whose stream the beginning of an input looks like.
pub(crate) fn provider(beginning: &[u8]) -> Option<Provider> {
    let beginning = String::from_utf8_lossy(&beginning[..beginning.len().min(LOOKED_AT)]);
    let is_there =
        |marks: &[&[&str]]| marks.iter().any(|parts| parts.iter().all(|part| beginning.contains(part)));
    let (first, ..) = MARKS.iter().find(|(_, _, marks)| is_there(marks))?;
    let is_stream = beginning.trim_start().starts_with(['{', '['])
        || ["data:", "event:", ":"].iter().any(|field| beginning.trim_start().starts_with(field));
    is_stream.then_some(*first)
}

/// The path that a provider is asked at.
pub(crate) fn path(provider: Provider) -> &'static str {
    MARKS.iter().find(|(its, ..)| *its == provider).map_or("", |(_, path, _)| path)
}
