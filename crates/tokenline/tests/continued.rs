//! A JSON document larger than a model's token limit, over real HTTP.
#![cfg(all(feature = "client", feature = "continuation", feature = "replay"))]

mod common;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use common::serve;
use serde_json::json;
use tokenline::adapter::THINK_TAGS;
use tokenline::continuation::{Finish, IterationError, IterationOptions};
use tokenline::llm::Provider;
use tokenline::llm::client::LlmClient;
use tokenline::llm::request::ChatRequest;
use tokenline::{AskContinued, AskContinuedError};

fn client(url: &str) -> LlmClient {
    LlmClient::builder(Provider::Ollama).base_url(url).without_api_key().retries(0).build().expect("a client")
}

fn document() -> String {
    let rows: Vec<_> = (0..100)
        .map(|id| json!({"id": id, "name": format!("Ünïcode \"{id}\" 🎓"), "ok": id % 2 == 0}))
        .collect();
    serde_json::to_string_pretty(&json!({"rows": rows})).expect("JSON")
}

/// The end of the document's part that the prompt quotes: the last position whose 60 preceding bytes are in the prompt.
fn written(document: &str, prompt: &str) -> usize {
    let has = |end: &usize| {
        let start = (0..=end.saturating_sub(60)).rev().find(|at| document.is_char_boundary(*at)).unwrap_or(0);
        document.is_char_boundary(*end) && prompt.contains(&document[start..*end])
    };
    (60..document.len()).rev().find(has).unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_is_continued_until_it_is_complete() {
    comes_whole(|_| String::new()).await;
}

/// As local servers send it without a parser of reasoning: in the text, before every response.
#[tokio::test(flavor = "multi_thread")]
async fn a_document_of_a_model_that_thinks_is_continued() {
    comes_whole(|turn| {
        let (opener, closer) = THINK_TAGS[turn % THINK_TAGS.len()];
        format!("{opener}\nI go on after {{\"id\": {turn}, and write [1, 2].\n{closer}\n\n")
    })
    .await;
}

/// A document comes whole although `before` stands before each response.
async fn comes_whole(before: impl Fn(usize) -> String + Send + Sync + 'static) {
    let document = document();
    let whole = document.clone();
    let prompts = Arc::new(Mutex::new(Vec::new()));
    let seen = prompts.clone();
    let mut turn = 0;
    let (url, requests) = serve(move |body| {
        let prompt = body["messages"][1]["content"].as_str().expect("a prompt").to_owned();
        let from = written(&whole, &prompt);
        seen.lock().unwrap().push(prompt);
        turn += 1;
        // Like a model, first repeat the requested overlap.
        let overlap = if from == 0 {
            0
        } else {
            (0..=200).rev().find(|back| *back <= from && whole.is_char_boundary(from - back)).unwrap()
        };
        let end = (from + 700..)
            .find(|at| *at >= whole.len() || whole.is_char_boundary(*at))
            .unwrap()
            .min(whole.len());
        let text = &whole[from - overlap..end];
        let text = match turn % 3 {
            0 => format!("```json\n{text}"),
            _ => text.to_owned(),
        };
        let text = before(turn) + &text;
        if end == whole.len() {
            (text, Some("stop"))
        } else {
            // Some servers report a stop for a cut-off response, some break the connection.
            (text, [Some("length"), Some("stop"), None][turn % 3])
        }
    })
    .await;
    let request = ChatRequest::new("m").system("Be exact.").user("List the rows.");
    let finished =
        client(&url).ask_continued(&request, IterationOptions::default()).await.expect("a document");
    assert_eq!(finished.finish, Finish::Complete);
    assert_eq!(finished.document, document);
    let prompts = prompts.lock().unwrap();
    assert_eq!(requests.load(Ordering::SeqCst), prompts.len());
    assert!(prompts.len() >= document.len() / 700, "{}", prompts.len());
    assert_eq!(prompts[0], "List the rows.");
    assert!(prompts[1].contains("List the rows.") && prompts.iter().all(|prompt| prompt.len() < 8000));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_repeats_itself_ends_the_iteration() {
    let (url, requests) = serve(|_| ("{\"rows\":[{\"id\":1},{\"id\":2".to_owned(), Some("length"))).await;
    let request = ChatRequest::new("m").user("List the rows.");
    let finished =
        client(&url).ask_continued(&request, IterationOptions::default()).await.expect("the complete part");
    assert!(matches!(finished.finish, Finish::AfterFailures(_)), "{finished:?}");
    assert_eq!(finished.document, "{\"rows\":[{\"id\":1},{}]}");
    assert_eq!(requests.load(Ordering::SeqCst), 4);

    let (url, requests) = serve(|_| ("I cannot do that.".to_owned(), Some("stop"))).await;
    let error = client(&url).ask_continued(&request, IterationOptions::default()).await.unwrap_err();
    assert!(matches!(error, AskContinuedError::Iteration(IterationError::Failures(_))), "{error:?}");
    assert_eq!(requests.load(Ordering::SeqCst), 3);

    let nothing = client(&url).ask_continued(&ChatRequest::new("m"), IterationOptions::default()).await;
    assert!(matches!(nothing, Err(AskContinuedError::NoPrompt)), "{nothing:?}");
    assert_eq!(requests.load(Ordering::SeqCst), 3);
}
