//! The responses of rejected requests.

use std::fmt;

use axum_core::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use serde::Serialize;

use crate::headers::NO_STORE;

/// A response with a code for programs and a message for people.
pub(crate) fn response(status: StatusCode, code: &str, message: &dyn fmt::Display) -> Response {
    json(status, &serde_json::json!({"code": code, "message": message.to_string()}))
}

/// A response with a value whose serialization cannot fail.
pub(crate) fn json(status: StatusCode, body: &impl Serialize) -> Response {
    let body = serde_json::to_string(body).expect("its keys are strings");
    let headers = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, NO_STORE)];
    (status, headers, body).into_response()
}
