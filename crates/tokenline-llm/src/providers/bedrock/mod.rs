//! Amazon Bedrock's ConverseStream:
//! <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html>.
//!
//! Its messages are those of an Amazon event stream ([`EventStreamDecoder`](crate::wire::EventStreamDecoder)). Requests
//! are not signed: the API key of Bedrock goes into the header instead.

pub(crate) mod request;
mod stream;

pub use stream::BedrockDecoder;

use tokenline_core::json::Value;

use crate::providers::{KeyHeader, Setting};

/// The name, for people and options.
pub(crate) const NAME: &str = "bedrock";
/// The API in a few words, for help texts.
pub(crate) const TITLE: &str = "Amazon Bedrock ConverseStream";
/// The provider's own address, of one region.
pub(crate) const BASE_URL: &str = "https://bedrock-runtime.us-east-1.amazonaws.com";
/// The variable with another address, that of another region for one, as Amazon's own tools name it.
pub(crate) const BASE_URL_VARIABLE: &str = "AWS_ENDPOINT_URL_BEDROCK_RUNTIME";
/// The path behind the base URL. A model named by its ARN is one segment of it, slashes and all.
pub(crate) const PATH: &str = "/model/*/converse-stream";
/// The variables with the API key, as Amazon's own tools name them.
pub(crate) const KEY_VARIABLES: &[&str] = &["AWS_BEARER_TOKEN_BEDROCK"];
/// The header that carries the API key.
pub(crate) const KEY_HEADER: KeyHeader = KeyHeader::Bearer;
/// The media type of a stream, which is framed by messages.
pub(crate) const MEDIA_TYPE: &str = "application/vnd.amazon.eventstream";
/// What proves that a stream is complete.
pub(crate) const ENDS_WITH: &str = "`messageStop`";
/// Whether only the terminal event proves it. The metadata may come behind the stop reason, or not at all.
pub(crate) const NEEDS_TERMINATOR: bool = false;
/// Whether nothing follows the terminal event.
pub(crate) const IS_FINAL: bool = true;
/// What the beginning of a stream holds.
pub(crate) const MARKS: &[&[&str]] = &[&[":event-type", "messageStart"]];
/// Request settings that the API does not have.
pub(crate) const UNSUPPORTED: &[Setting] = &[Setting::Seed, Setting::JsonFormat];

/// Whether this is a response that was not streamed, or the message in one.
pub(crate) fn has_body(body: Value<'_>) -> bool {
    const BLOCKS: [&str; 4] = ["text", "toolUse", "reasoningContent", "citationsContent"];
    let is_block = |block: Value<'_>| {
        block.get("type").is_none() && BLOCKS.into_iter().any(|name| block.get(name).is_some())
    };
    let content = body.get("content").filter(|_| body.get("role").is_some());
    let has_block =
        |content: Value<'_>| content.as_array().and_then(|blocks| blocks.into_iter().next().map(is_block));
    body.pointer("/output/message").is_some() || content.and_then(has_block).unwrap_or(false)
}
