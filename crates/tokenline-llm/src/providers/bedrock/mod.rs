//! Amazon Bedrock's ConverseStream:
//! <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html>.
//!
//! Its messages form an Amazon event stream ([`EventStreamDecoder`](crate::wire::EventStreamDecoder)). Requests are not
//! signed: Bedrock's API key goes into a header.

mod api;
pub(crate) mod request;
mod stream;

pub(super) use api::Api;
pub(super) use stream::Reader;
