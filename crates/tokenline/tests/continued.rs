//! A JSON document larger than a model's token limit, over real HTTP.
#![cfg(all(feature = "client", feature = "replay"))]

mod common;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use common::serve;
use serde_json::json;
use tokenline::adapter::THINK_TAGS;
use tokenline::llm::client::{ClientErrorKind, ContinuedDocument, ContinuedError, LlmClient};
use tokenline::llm::request::{ChatRequest, Message, ResponseFormat};
use tokenline::llm::{
    ContinuationError, ContinuationFailure, ContinuationOptions, Document, Provider, ResponseError,
};
use tokenline::{Code, Rejected};

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
    let continuation = ContinuationOptions::new().max_requests(100);
    let whole = client(&url).continued(&request, continuation).unwrap().document().await.expect("a document");
    assert_eq!(whole.as_str(), document);
    let prompts = prompts.lock().unwrap();
    assert_eq!(requests.load(Ordering::SeqCst), prompts.len());
    assert!(prompts.len() >= document.len() / 700, "{}", prompts.len());
    assert_eq!(prompts[0], "List the rows.");
    assert!(prompts[1].contains("List the rows.") && prompts.iter().all(|prompt| prompt.len() < 8000));
}

/// The document of a server, with the default options.
fn requested(url: &str) -> ContinuedDocument {
    let request = ChatRequest::new("m").user("List the rows.");
    client(url).continued(&request, ContinuationOptions::new()).expect("it can be sent").document()
}

fn complete_part(document: &ContinuedDocument) -> Option<String> {
    document.so_far().complete_part().map(Into::into)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_repeats_itself_ends_the_document() {
    let (url, requests) = serve(|_| ("{\"rows\":[{\"id\":1},{\"id\":2".to_owned(), Some("length"))).await;
    let mut document = requested(&url);
    assert_eq!(requests.load(Ordering::SeqCst), 0, "it is lazy");
    let error = document.complete().await.unwrap_err();
    let last = ContinuationFailure::NothingNew;
    let ContinuedError::Continuation(error) = error else { panic!("{error:?}") };
    assert_eq!(error, ContinuationError::NoProgress { failures: 3, last });
    assert_eq!(complete_part(&document).unwrap(), "{\"rows\":[{\"id\":1},{}]}");
    let again = document.complete().await.unwrap_err();
    assert_eq!(again.to_string(), error.to_string());
    assert_eq!(requests.load(Ordering::SeqCst), 4);

    let (url, requests) = serve(|_| ("I cannot do that.".to_owned(), Some("stop"))).await;
    let error = requested(&url).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "3 responses in a row added nothing; the last: the response is not one JSON value, or nothing of it is complete"
    );
    assert_eq!(requests.load(Ordering::SeqCst), 3);

    let request = ChatRequest::new("m").user("List the rows.").message(Message::assistant("[1,", []));
    let no_prompt = client(&url).continued(&request, ContinuationOptions::new()).unwrap().document().await;
    let Err(ContinuedError::Client(error)) = no_prompt else { panic!("{no_prompt:?}") };
    assert_eq!(error.kind(), ClientErrorKind::Request);
    assert_eq!(requests.load(Ordering::SeqCst), 3);
}

/// The document so far is kept, and the next call continues it.
#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_the_provider_costs_nothing() {
    const WHOLE: &str = "{\"rows\":[{\"id\":1},{\"id\":2}]}";
    let mut turn = 0;
    let (url, _) = serve(move |_| {
        turn += 1;
        match turn {
            1 => (WHOLE[..24].to_owned(), Some("length")),
            2 => (String::new(), Some("error")),
            _ => (WHOLE.to_owned(), Some("stop")),
        }
    })
    .await;
    let mut document = requested(&url);
    let error = document.complete().await.unwrap_err();
    assert!(
        matches!(&error, ContinuedError::Response(error) if matches!(**error, ResponseError::Provider(_))),
        "{error:?}"
    );
    assert_eq!(document.so_far().text(), &WHOLE[..24]);
    let saved = Document::of(document.so_far().text());
    assert_eq!(document.complete().await.expect("it goes on").as_str(), WHOLE);
    // In another process.
    assert_eq!(requested(&url).resume(saved).await.expect("it goes on").as_str(), WHOLE);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_has_a_type_and_rules() {
    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Row {
        id: u32,
    }
    let document = || async {
        let (url, _) = serve(|_| ("[{\"id\":1},{\"id\":2}]".to_owned(), Some("stop"))).await;
        let request = ChatRequest::new("m").user("List the rows.");
        client(&url).continued(&request, ContinuationOptions::new()).expect("it can be sent")
    };
    let rows = document().await.typed::<Vec<Row>>().document().await.expect("rows");
    assert_eq!(rows, [Row { id: 1 }, Row { id: 2 }]);

    let error = document().await.typed::<Row>().document().await.unwrap_err();
    let ContinuedError::Invalid(diagnostic) = &error else { panic!("{error:?}") };
    assert_eq!((diagnostic.code, diagnostic.line, diagnostic.span.end), (Code::SchemaViolation, 1, 19));

    let repaired = document().await.typed::<Row>().with_repair(|_| Some("{\"id\":3}".to_owned())).document();
    assert_eq!(repaired.await.expect("a row"), Row { id: 3 });
    let repair = |rejected: Rejected| async move {
        tokio::task::yield_now().await;
        Some(rejected.text[1..9].to_owned())
    };
    let repaired = document().await.typed::<Row>().with_async_repair(repair).document();
    assert_eq!(repaired.await.expect("a row"), Row { id: 1 });
}

/// The parts of the last message stay in order, and the rest of a document is not forced to be JSON by itself.
#[tokio::test(flavor = "multi_thread")]
async fn the_request_stays_as_it_is_and_asks_for_the_rest() {
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let seen = bodies.clone();
    let (url, _) = serve(move |body| {
        let mut seen = seen.lock().unwrap();
        seen.push(body.clone());
        let text = if seen.len() == 1 { "[1,2" } else { "[1,2,3]" };
        (text.to_owned(), Some(if seen.len() == 1 { "length" } else { "stop" }))
    })
    .await;
    let request = ChatRequest::new("m")
        .message(Message::user_parts(["First. ", "Then."]))
        .response_format(ResponseFormat::Json);
    let document = client(&url).continued(&request, ContinuationOptions::new()).unwrap().document();
    assert_eq!(document.await.expect("a document").as_str(), "[1,2,3]");
    let bodies = bodies.lock().unwrap();
    assert_eq!(
        (&bodies[0]["messages"][0]["content"], &bodies[0]["format"]),
        (&json!("First. Then."), &json!("json"))
    );
    let rest = bodies[1]["messages"][0]["content"].as_str().expect("a text");
    assert!(rest.starts_with("First. Then.\n\nYour answer to this was cut off."), "{rest}");
    assert_eq!(bodies[1].get("format"), None);
}

/// A request whose response is lost counts.
#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_is_dropped_while_it_waits_counts_its_requests() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let request = ChatRequest::new("m").user("List the rows.");
    let continuation = ContinuationOptions::new().max_requests(2);
    let mut document = client(&url).continued(&request, continuation).unwrap().document();
    for _ in 0..2 {
        let waiting = tokio::time::timeout(std::time::Duration::from_millis(20), document.complete());
        assert!(waiting.await.is_err(), "the server does not respond");
    }
    let error = document.complete().await.unwrap_err();
    assert_eq!(error.to_string(), "the response is still incomplete after 2 requests, the maximum");
}
