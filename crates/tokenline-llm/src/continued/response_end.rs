//! Whether a response that ended with an error can be continued.

use super::{ContinuedError, ResponseEnd};
use crate::client::{ClientError, ClientErrorKind};
use crate::{FinishReason, ResponseError};

/// How a response ended.
pub(super) fn end_of(error: Option<&ResponseError<ClientError>>) -> ResponseEnd {
    match error {
        None => ResponseEnd::Clean,
        Some(ResponseError::Truncated(_)) => ResponseEnd::Cut,
        Some(_) => ResponseEnd::Broken,
    }
}

/// The error, if another request does not change it: a content filter, a refusal, a provider error.
pub(super) fn ended_by(error: Option<ResponseError<ClientError>>) -> Option<ContinuedError> {
    error.filter(|error| !can_continue(error)).map(|error| ContinuedError::Response(Box::new(error)))
}

/// Whether another request can continue the response.
fn can_continue(error: &ResponseError<ClientError>) -> bool {
    match error {
        ResponseError::Source(error) => {
            matches!(error.kind(), ClientErrorKind::Transport | ClientErrorKind::Timeout)
        }
        ResponseError::Incomplete(_) => true,
        ResponseError::Truncated(reason) => match reason {
            FinishReason::Length | FinishReason::Other(_) | FinishReason::Stop | FinishReason::ToolCalls => {
                true
            }
            FinishReason::ContentFilter
            | FinishReason::MalformedCall
            | FinishReason::Repetition
            | FinishReason::Error => false,
        },
        ResponseError::Provider(_) | ResponseError::TooManyRejected(_) => false,
    }
}
