//! From a prompt to a model, and to the parsed response.

use crate::common::{RESPONSES, chunkings, entities, manager, objects, warnings};
use futures_util::{FutureExt, Stream, StreamExt, stream};
use serde_json::{Value, json};
use tokenline_codec::StreamError;
use tokenline_core::Event;
use tokenline_core::json::Raw;
use tokenline_prompt::{
    ConvertError, Definition, InvokeError, Prompt, PromptError, PromptManager, RenderedPrompt, Response,
    ResponseType,
};

type Never = std::convert::Infallible;

fn of_every_type() -> PromptManager {
    let manager = manager().with_system("You answer in {{ language }}.").unwrap();
    let manager = manager.with_terms(json!({"language": "English", "text": "t"})).unwrap();
    let manager = manager.with_prompt("chat", Prompt::text("{{ text }}")).unwrap();
    let schema = json!({"type": "object", "required": ["a"]});
    manager.with_prompt("json", Prompt::json("As JSON: {{ text }}").with_schema(schema)).unwrap()
}

#[tokio::test]
async fn each_type_of_response_is_read() {
    let manager = of_every_type();
    let reply = |id: &'static str, text: &'static str| {
        manager.invoke(id, (), async move |_| Ok::<_, Never>(text)).map(Result::unwrap)
    };
    // Text is unchanged, whatever it looks like.
    for text in ["", " Hello.\n", "```json\n{\"a\":1}\n```", "{\"entity\":\"a\"}\n"] {
        assert_eq!(reply("chat", text).await.into_text().unwrap(), text);
    }
    let value: Value = reply("json", "```json\n{\"a\": [1]}\n```").await.into_json().unwrap();
    assert_eq!(value, json!({"a": [1]}));
    let found = reply("extract", "{\"entity\":\"a\"}\n{\"entity\":\"b\"}\n{\"ent").await;
    assert_eq!(found.to_value().unwrap(), json!([{"entity": "a"}, {"entity": "b"}]));
    assert_eq!(entities(&found.into_objects().unwrap()), ["a", "b"]);
}

#[tokio::test]
async fn the_model_receives_the_rendered_prompt() {
    let manager = of_every_type();
    let input = json!({"text": "DNA", "language": "French"});
    let expected = manager.render("json", &input).unwrap();
    assert_eq!(
        (expected.system.as_str(), expected.prompt.as_str()),
        ("You answer in French.", "As JSON: DNA")
    );
    let mut asked = None;
    let llm = async |prompt: RenderedPrompt| {
        asked = Some(prompt);
        Ok::<_, Never>("{\"a\":1}".to_owned())
    };
    let response = manager.invoke("json", input, llm).await.unwrap();
    assert_eq!(asked, Some(expected));
    assert_eq!(response, manager.apply("json", "{\"a\":1}").unwrap());
}

#[tokio::test]
async fn any_kind_of_async_function_is_a_model() {
    async fn function(asked: RenderedPrompt) -> Result<String, Never> {
        Ok(asked.prompt)
    }
    let manager = of_every_type();
    let text = |response: Response| response.into_text().unwrap();
    assert_eq!(text(manager.invoke("chat", (), function).await.unwrap()), "t");
    let closure = |asked: RenderedPrompt| async move { Ok::<_, Never>(asked.prompt) };
    assert_eq!(text(manager.invoke("chat", (), closure).await.unwrap()), "t");
    let boxed = |asked: RenderedPrompt| async move { Ok::<_, Never>(asked.prompt) }.boxed();
    assert_eq!(text(manager.invoke("chat", (), boxed).await.unwrap()), "t");
}

#[tokio::test]
async fn an_invocation_may_be_spawned() {
    let manager = of_every_type();
    let suffix = "!".to_owned();
    let task = tokio::spawn(async move {
        let llm = async |asked: RenderedPrompt| {
            tokio::task::yield_now().await;
            Ok::<_, std::io::Error>(asked.prompt + &suffix)
        };
        let input = json!({"text": "Hello"});
        let spoken = manager.invoke("chat", &input, llm).await.unwrap().into_text().unwrap();
        let pieces = |asked: RenderedPrompt| async move {
            Ok::<_, std::io::Error>(stream::iter([Ok::<_, std::io::Error>(asked.prompt)]))
        };
        let streamed = manager.invoke_stream::<Raw, _, _>("extract", &input, pieces).await.unwrap();
        (spoken, streamed.records().count().await)
    });
    assert_eq!(task.await.unwrap(), ("Hello!".to_owned(), 0));
}

#[tokio::test]
async fn errors_are_distinguished() {
    let manager = of_every_type();
    let fails = async |_| Err::<String, _>(std::io::Error::other("overloaded"));
    let error = manager.invoke("chat", (), fails).await.unwrap_err();
    assert_eq!(error.to_string(), "the model returned an error");
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "overloaded");

    // The model is not asked if the prompt is invalid.
    let never = async |_| -> Result<String, Never> { panic!("asked") };
    let error = manager.invoke("caht", (), never).await.unwrap_err();
    assert_eq!(error.to_string(), "unknown prompt \"caht\"; is it \"chat\"?");
    let error = manager.invoke("chat", 7, never).await.unwrap_err();
    assert!(matches!(error, InvokeError::Prompt(PromptError::Render(_))), "{error}");

    for (response, expected) in [
        ("Sorry.", "JSON parse fail: the response contains no JSON at line 1, column 1"),
        ("{\"b\":1}", "Schema validation fail: missing required member `a` at line 1, column 1"),
    ] {
        let error = manager.invoke("json", (), async |_| Ok::<_, Never>(response)).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_response_converts_to_its_own_type_only() {
    let manager = of_every_type();
    let error = manager.apply("json", "{\"a\":1}").unwrap().into_text().unwrap_err();
    assert_eq!(error.to_string(), "the response is json, as its prompt specifies, not text");
    assert_eq!(error, ConvertError::Type { expected: ResponseType::Text, found: ResponseType::Json });
    assert!(manager.apply("chat", "{}").unwrap().into_json::<Raw>().is_err());
    assert!(manager.apply("chat", "{}").unwrap().into_objects::<Raw>().is_err());
    let error = manager.apply("json", "{\"a\":1}").unwrap().into_json::<Definition>().unwrap_err();
    assert_eq!(error.to_string(), "the response does not match the type");
}

fn pieces(chunks: Vec<Vec<u8>>) -> impl Stream<Item = Result<Vec<u8>, Never>> + Unpin {
    stream::iter(chunks.into_iter().map(Ok))
}

#[test]
fn streamed_it_is_the_same_for_every_chunking() {
    let manager = manager();
    for (what, response, _) in RESPONSES {
        let whole = objects(&manager, "extract", response);
        let records: Vec<_> = whole.records().map(|record| record.map(Clone::clone)).collect();
        for chunks in chunkings(response) {
            let llm = async |_| Ok::<_, Never>(pieces(chunks));
            let streamed = manager.invoke_stream::<Raw, _, _>("extract", json!({"text": "t"}), llm);
            let mut streamed = streamed.now_or_never().unwrap().unwrap().records();
            let found: Vec<_> = streamed.by_ref().map(Result::unwrap).collect().now_or_never().unwrap();
            assert_eq!(found, records, "{what}");
            assert_eq!(streamed.report(), whole.report(), "{what}");
        }
    }
}

#[tokio::test]
async fn an_object_comes_as_soon_as_its_line_is_complete() {
    let manager = manager();
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let receiver = stream::poll_fn(move |cx| receiver.poll_recv(cx)).map(Ok::<&str, Never>);
    let llm = async |_| Ok::<_, Never>(receiver);
    let mut events = manager.invoke_stream::<Raw, _, _>("extract", json!({"text": "t"}), llm).await.unwrap();
    let mut next = || match events.next().now_or_never() {
        Some(Some(Ok(Event::Record(record)))) => record.value.to_string(),
        Some(Some(Ok(Event::Rejected(diagnostic)))) => diagnostic.to_string(),
        Some(None) => "end".to_owned(),
        None => "pending".to_owned(),
        other => panic!("{other:?}"),
    };
    sender.send("{\"entity\":\"a\"}").unwrap();
    assert_eq!(next(), "pending");
    sender.send("\n{\"enti").unwrap();
    assert_eq!(next(), "{\"entity\":\"a\"}");
    assert_eq!(next(), "pending");
    sender.send("ty\":7}\n").unwrap();
    assert_eq!(next(), "2:11: schema_violation: expected type string, found a number (at /entity)");
    drop(sender);
    assert_eq!(next(), "end");
}

#[tokio::test]
async fn a_stream_that_fails_delivers_what_was_complete() {
    let manager = manager();
    let pieces = [Ok("{\"entity\":\"a\"}\n{\"entity\":\"b\"}\n{\"ent"), Err("reset")];
    let llm = async |_| Ok::<_, Never>(stream::iter(pieces));
    let events = manager.invoke_stream::<Raw, _, _>("extract", json!({"text": "t"}), llm).await.unwrap();
    let mut records = events.records();
    let mut found = Vec::new();
    while let Some(Ok(record)) = records.next().await {
        found.push(record.line);
    }
    assert_eq!(found, [1, 2]);
    assert!(!records.report().is_complete());
    let again = async |_| Ok::<_, Never>(stream::iter(pieces));
    let events = manager.invoke_stream::<Raw, _, _>("extract", json!({"text": "t"}), again).await.unwrap();
    let last = events.records().collect::<Vec<_>>().await.pop().unwrap();
    assert!(matches!(last, Err(StreamError::Source(error)) if *error.inner() == "reset"));
}

#[tokio::test]
async fn only_json_lines_are_streamed() {
    let manager = of_every_type();
    let never = async |_| -> Result<stream::Empty<Result<&str, Never>>, Never> { panic!("asked") };
    for (id, response_type) in [("chat", ResponseType::Text), ("json", ResponseType::Json)] {
        let error = manager.invoke_stream::<Raw, _, _>(id, (), never).await.unwrap_err();
        let expected = PromptError::NotStreamed { id: id.to_owned(), response_type };
        assert!(matches!(&error, InvokeError::Prompt(error) if *error == expected), "{error}");
        assert_eq!(
            error.to_string(),
            format!(
                "the response to the prompt {id:?} is {response_type}, not a stream of objects: use a jsonl prompt, or invoke it without a stream"
            )
        );
    }
    let error = manager.invoke_stream::<Raw, _, _>("x", (), never).await.unwrap_err();
    assert_eq!(error.to_string(), "unknown prompt \"x\"");
}

#[test]
fn no_message_repeats_the_response() {
    let manager = of_every_type();
    for id in ["json", "extract"] {
        for response in [
            "{\"a\":secret}",
            "{\"entity\":[\"secret\"]}",
            "secret",
            "{\"secret\":1}",
            "[\"secret\"]",
            "{\"entity\":\"secret",
        ] {
            let told = match manager.apply(id, response) {
                Ok(response) => warnings(&response.into_objects::<Raw>().unwrap()).join("\n"),
                Err(error) => format!("{error} {error:?}"),
            };
            assert!(!told.contains("secret"), "{told}");
        }
    }
}
