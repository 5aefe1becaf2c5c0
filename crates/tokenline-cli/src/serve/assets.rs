//! The page: files that are part of the program.

use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

const CSS: &str = "text/css; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// Files of the folder `assets`: name, content type, content.
macro_rules! files {
    ($($content_type:ident: $($name:literal)*;)*) => {
        &[$($(($name, $content_type, include_str!(concat!("assets/", $name))),)*)*]
    };
}

/// The files at `/assets/`.
const FILES: &[(&str, &str, &str)] = files! {
    CSS: "editor.css" "runs.css" "style.css";
    SVG: "icon.svg";
    JS: "announcer.js" "checks.js" "code-area.js" "code.js" "compare.js" "completion.js" "csv.js"
        "dialog.js" "dom.js" "editor.js" "form.js" "graph-data.js" "growth.js" "history.js" "infer.js"
        "json-tree.js" "json.js" "layout.js" "marked.js" "page.js" "prompts.js" "pump.js" "query.js"
        "record-log.js" "runs.js" "save-file.js" "session.js" "settings.js" "sse.js" "state.js" "store.js"
        "stream.js" "suggestions.js" "text-tail.js" "theme.js" "view-calls.js" "view-code.js"
        "view-compare.js" "view-detail.js" "view-figures.js" "view-graph.js" "view-history.js"
        "view-prompts.js" "view-rejected.js" "view-table.js" "view-text.js" "words.js";
};

pub(super) async fn index() -> Response {
    file(HTML, include_str!("assets/index.html"))
}

pub(super) async fn asset(Path(name): Path<String>) -> Response {
    match FILES.iter().find(|(file_name, _, _)| *file_name == name) {
        Some((_, content_type, text)) => file(content_type, text),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

fn file(content_type: &'static str, text: &'static str) -> Response {
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

#[cfg(test)]
mod tests {
    /// A file that the page needs but the program lacks would break the page only in a browser.
    #[test]
    fn every_file_is_part_of_the_program() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/serve/assets");
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let name = entry.expect("a file").file_name().into_string().expect("UTF-8");
            assert!(
                name == "index.html" || super::FILES.iter().any(|(file_name, _, _)| *file_name == name),
                "{name}"
            );
        }
    }
}
