//! The page: files that are part of the program.

use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

const JS: &str = "text/javascript; charset=utf-8";

/// The files at `/assets/`.
const FILES: [(&str, &str, &str); 1] = [("page.js", JS, include_str!("assets/page.js"))];

pub(super) async fn index() -> Response {
    file("text/html; charset=utf-8", include_str!("assets/index.html"))
}

pub(super) async fn asset(Path(name): Path<String>) -> Response {
    match FILES.iter().find(|(its, _, _)| *its == name) {
        Some((_, content_type, text)) => file(content_type, text),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

fn file(content_type: &'static str, text: &'static str) -> Response {
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
