//! What an input looks like, for hints to a person who said that it is something else.

use tokenline::llm::Provider;

/// Bytes of an input that are looked at.
pub(crate) const LOOKED_AT: usize = 2048;

/// What is early in what each provider sends and in nobody else's: one of these, with all its parts.
const MARKS: [(Provider, &[&[&str]]); 5] = [
    (Provider::OpenAiChat, &[&["\"chat.completion.chunk\""], &["data:", "\"choices\":["]]),
    (Provider::OpenAiResponses, &[&["\"type\":\"response."], &["event: response."]]),
    (Provider::Anthropic, &[&["\"message_start\""]]),
    (Provider::Gemini, &[&["\"candidates\":", "\"parts\":"], &["\"candidates\":", "\"usageMetadata\":"]]),
    (Provider::Ollama, &[&["\"model\":", "\"created_at\":", "\"done\":"]]),
];

/// Whose stream the beginning of an input looks like.
pub(crate) fn provider(beginning: &[u8]) -> Option<Provider> {
    let beginning = String::from_utf8_lossy(&beginning[..beginning.len().min(LOOKED_AT)]);
    let is_there =
        |marks: &[&[&str]]| marks.iter().any(|parts| parts.iter().all(|part| beginning.contains(part)));
    let (first, _) = MARKS.iter().find(|(_, marks)| is_there(marks))?;
    let is_stream = beginning.trim_start().starts_with(['{', '['])
        || ["data:", "event:", ":"].iter().any(|field| beginning.trim_start().starts_with(field));
    is_stream.then_some(*first)
}
