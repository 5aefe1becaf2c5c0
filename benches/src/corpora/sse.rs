//! A text as the event stream of an OpenAI-style chat completion.

use super::write::{Unicode, string};

/// `text` as the body of a streamed chat completion, cut into pieces of at least `token_bytes` bytes
/// (the last may be shorter; none ends inside a character).
///
/// One `chat.completion.chunk` event with the role, one for each piece, one with `finish_reason`
/// `stop`, then `[DONE]`: the order of the provider's API reference.
///
/// # Panics
///
/// If `token_bytes` is 0.
#[must_use]
pub fn openai_chat_sse(text: &str, token_bytes: usize) -> Vec<u8> {
    assert!(token_bytes > 0, "a token has at least one byte");
    let mut out = String::new();
    event(&mut out, "{\"role\":\"assistant\",\"content\":\"\"}", "null");
    let mut rest = text;
    let mut delta = String::new();
    while !rest.is_empty() {
        let mut cut = token_bytes.min(rest.len());
        while !rest.is_char_boundary(cut) {
            cut += 1;
        }
        let (token, after) = rest.split_at(cut);
        delta.clear();
        delta.push_str("{\"content\":");
        string(&mut delta, token, Unicode::Raw);
        delta.push('}');
        event(&mut out, &delta, "null");
        rest = after;
    }
    event(&mut out, "{}", "\"stop\"");
    out.push_str("data: [DONE]\n\n");
    out.into_bytes()
}

fn event(out: &mut String, delta: &str, finish_reason: &str) {
    out.push_str(
        "data: {\"id\":\"chatcmpl-I0kZ6EgTsEkLlonglFebyaQx3OtN7KUD\",\"object\":\"chat.completion.chunk\",\
         \"created\":1795297487,\"model\":\"bench\",\"system_fingerprint\":\"b0\",\
         \"choices\":[{\"index\":0,\"delta\":",
    );
    out.push_str(delta);
    out.push_str(",\"finish_reason\":");
    out.push_str(finish_reason);
    out.push_str("}]}\n\n");
}
