//! Messages of several responses, without sockets.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::{FutureExt, StreamExt, stream};
use serde_json::{Value, json};
use tokenline::json::Raw;
use tokenline::llm::TextMode;
use tokenline::llm::request::{AssistantPart, ChatRequest, Message, Opaque};
use tokenline::{Provider, ResponseStream};
use tokenline_axum::ai_sdk::{ChatStream, ChunkWriter, DataPart, UiChunk, UseChatRequest};

use crate::{fixture, grammar, lines, parser};

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn response(
    provider: Provider,
    text_as: TextMode,
    body: Vec<u8>,
) -> ResponseStream<impl futures_util::Stream<Item = Result<Vec<u8>, std::io::Error>> + Send + Unpin + 'static>
{
    ResponseStream::new(stream::iter([Ok(body)]), parser(provider, text_as))
}

/// The agent of the documentation, with responses in place of a model. Returns the chunks and the last request.
async fn agent(provider: Provider, text_as: TextMode, bodies: &[Vec<u8>]) -> (Vec<UiChunk>, ChatRequest) {
    let last = Arc::new(Mutex::new(ChatRequest::new("m").user("?")));
    let (bodies, request) = (VecDeque::from(bodies.to_vec()), last.clone());
    let stream = ChatStream::new(|chat| async move {
        for body in bodies {
            let mut step = chat.step(response(provider, text_as, body));
            let mut results = Vec::new();
            while let Some(call) = step.next_call().await? {
                results.push(if call.parameters.as_str().contains("Lima") {
                    chat.tool_error(&call, "no such place").await
                } else {
                    chat.tool_output(&call, json!({"of": call.name})).await
                });
            }
            let is_done = !step.has_calls();
            request.lock().expect("unpoisoned").messages.extend(step.into_messages(results));
            if is_done {
                break;
            }
        }
        Ok(())
    });
    let chunks: Vec<UiChunk> = stream.collect().await;
    let values: Vec<Value> = chunks.iter().map(|chunk| json!(chunk)).collect();
    grammar::check(&values, "an agent");
    let request = last.lock().expect("unpoisoned").clone();
    (chunks, request)
}

/// The page's message of these chunks, as it posts it with the next request; only what these tests need.
fn returned(chunks: &[UiChunk]) -> Vec<Message> {
    let mut parts: Vec<Value> = Vec::new();
    for chunk in chunks {
        match chunk {
            UiChunk::StartStep => parts.push(json!({"type": "step-start"})),
            UiChunk::TextStart { .. } => parts.push(json!({"type": "text", "text": ""})),
            UiChunk::ReasoningStart { .. } => parts.push(json!({"type": "reasoning", "text": ""})),
            UiChunk::TextDelta { delta, .. } | UiChunk::ReasoningDelta { delta, .. } => {
                let part = parts.last_mut().expect("a part");
                part["text"] = format!("{}{delta}", part["text"].as_str().expect("a text")).into();
            }
            UiChunk::ToolInputAvailable { tool_call_id, tool_name, input, .. } => parts.push(json!({
                "type": format!("tool-{tool_name}"), "toolCallId": tool_call_id, "state": "input-available", "input": input,
            })),
            UiChunk::ToolInputError { tool_call_id, tool_name, input, error_text, .. } => parts.push(json!({
                "type": format!("tool-{tool_name}"), "toolCallId": tool_call_id, "state": "output-error",
                "input": input, "errorText": error_text,
            })),
            UiChunk::ToolOutputAvailable { tool_call_id, output, .. } => {
                let part = parts.iter_mut().find(|part| part["toolCallId"] == **tool_call_id).expect("a call");
                (part["state"], part["output"]) = ("output-available".into(), json!(output));
            }
            UiChunk::ToolOutputError { tool_call_id, error_text } => {
                let part = parts.iter_mut().find(|part| part["toolCallId"] == **tool_call_id).expect("a call");
                (part["state"], part["errorText"]) = ("output-error".into(), error_text.clone().into());
            }
            UiChunk::Data(part) => parts.push(json!(part)),
            _ => {}
        }
    }
    let body = json!({"messages": [{"role": "assistant", "parts": parts}]});
    let posted: UseChatRequest = serde_json::from_value(body).expect("a request");
    posted.to_messages().expect("what the server wrote")
}

/// The request body for a question that these messages follow.
fn body(provider: Provider, messages: Vec<Message>) -> Value {
    let request = ChatRequest::new("m").user("?").messages(messages);
    serde_json::from_str(&request.to_body(provider).expect("a body")).expect("JSON")
}

#[tokio::test]
async fn an_agent_writes_steps_with_outputs_into_one_message() {
    let bodies = [fixture("anthropic/parallel-tools.sse"), fixture("anthropic/text-recorded.sse")];
    let (chunks, request) = agent(Provider::Anthropic, TextMode::Text, &bodies).await;
    let lines = lines(&chunks);
    let expected = [
        "start",
        "start-step",
        "tool-input-start toolu_01Ck4pWnX7vTz9sHbRy2Mf5L get_weather",
        r#"tool-input-delta toolu_01Ck4pWnX7vTz9sHbRy2Mf5L {"city": "Lima"}"#,
        r#"tool-input-available toolu_01Ck4pWnX7vTz9sHbRy2Mf5L get_weather {"city":"Lima"}"#,
        "tool-output-error toolu_01Ck4pWnX7vTz9sHbRy2Mf5L no such place",
        "tool-input-start toolu_01Dm6rYqB3wVx8tJcSz4Ng7P get_time",
    ];
    assert_eq!(lines[..expected.len()], expected);
    assert_eq!(lines.iter().filter(|line| *line == "start-step").count(), 2, "{lines:#?}");
    // The page returns what the agent had in its conversation.
    assert_eq!(
        body(Provider::Anthropic, returned(&chunks)),
        body(Provider::Anthropic, request.messages[1..].to_vec())
    );
}

#[tokio::test]
async fn what_the_provider_expects_back_returns_through_the_page() {
    for (provider, names) in [
        (Provider::Anthropic, ["anthropic/thinking-then-tool.sse", "anthropic/text-recorded.sse"]),
        (Provider::OpenAiResponses, ["openai-responses/local-tool-calls.sse", "openai-responses/text.sse"]),
        (Provider::Gemini, ["gemini/two-calls-in-turn.sse", "gemini/text.sse"]),
        (Provider::Bedrock, ["bedrock/reasoning.messages", "bedrock/text.messages"]),
        (Provider::OpenAiChat, ["openai-chat/local-tool-calls.sse", "openai-chat/definitions.sse"]),
    ] {
        let (chunks, request) = agent(provider, TextMode::Text, &names.map(fixture)).await;
        let (page, own) = (body(provider, returned(&chunks)), body(provider, request.messages[1..].to_vec()));
        // The page writes JSON without white space.
        let [page, own] = [page, own].map(|body| body.to_string().replace(' ', ""));
        assert_eq!(page, own, "{names:?}");
    }
    let bodies = [fixture("anthropic/thinking-then-tool.sse"), fixture("anthropic/text-recorded.sse")];
    let (chunks, _) = agent(Provider::Anthropic, TextMode::Text, &bodies).await;
    assert!(body(Provider::Anthropic, returned(&chunks)).to_string().contains(r#""signature":"#));
}

#[tokio::test]
async fn ids_that_repeat_are_made_unique() {
    let bodies = [fixture("gemini/two-calls-in-turn.sse"), fixture("gemini/two-calls-in-turn.sse")];
    let (chunks, request) = agent(Provider::Gemini, TextMode::Text, &bodies).await;
    let lines = lines(&chunks);
    for (line, count) in [
        (r#"tool-output-available synthetic_1 {"of":"get_weather"}"#, 1),
        (r#"tool-output-available synthetic_1_1 {"of":"get_weather"}"#, 1),
        (r#"tool-output-available synthetic_2_2 {"of":"get_weather"}"#, 1),
    ] {
        assert_eq!(lines.iter().filter(|written| *written == line).count(), count, "{line}: {lines:#?}");
    }
    let page = body(Provider::Gemini, returned(&chunks));
    assert_eq!(page, body(Provider::Gemini, request.messages[1..].to_vec()));
    assert!(!page.to_string().contains("synthetic"), "{page}");
}

/// Two calls with the same id, as some servers send them.
fn calls_with_one_id() -> Vec<u8> {
    let call = |index, city| {
        let function = json!({"name": "weather", "arguments": json!({"city": city}).to_string()});
        json!({"index": index, "id": "c", "function": function})
    };
    let calls = json!([call(0, "Oslo"), call(1, "Rome")]);
    let delta = json!({"choices": [{"delta": {"tool_calls": calls}, "finish_reason": "tool_calls"}]});
    format!("data: {delta}\n\ndata: [DONE]\n\n").into_bytes()
}

#[tokio::test]
async fn outputs_after_all_calls_find_their_calls() {
    let stream = ChatStream::new(|chat| async move {
        let mut step = chat.step(response(Provider::OpenAiChat, TextMode::Text, calls_with_one_id()));
        let mut calls = Vec::new();
        while let Some(call) = step.next_call().await? {
            calls.push(call);
        }
        for call in calls {
            chat.tool_output_raw(&call, call.parameters.clone()).await;
        }
        Ok::<(), Failure>(())
    });
    let chunks: Vec<UiChunk> = stream.collect().await;
    grammar::check(&chunks.iter().map(|chunk| json!(chunk)).collect::<Vec<_>>(), "one id");
    let lines = lines(&chunks);
    for (id, city) in [("c", "Oslo"), ("c_1", "Rome")] {
        for line in [
            format!(r#"tool-input-available {id} weather {{"city":"{city}"}}"#),
            format!(r#"tool-output-available {id} {{"city":"{city}"}}"#),
        ] {
            assert_eq!(lines.iter().filter(|written| **written == line).count(), 1, "{line}: {lines:#?}");
        }
    }
}

#[test]
fn kept_calls_with_one_id_find_their_parts() {
    let mut parser = parser(Provider::OpenAiChat, TextMode::Text);
    let mut writer = ChunkWriter::new();
    parser.push(calls_with_one_id());
    parser.finish();
    while let Some(event) = parser.next_event() {
        writer.push(&event);
    }
    let Some(Message::Assistant(mut parts)) = parser.message(0) else { panic!("it is kept") };
    let opaque = Opaque { provider: Provider::OpenAiChat, data: Raw::from(json!(1)) };
    parts.insert(0, AssistantPart::Reasoning { text: "Hm.".to_owned(), opaque: Some(opaque) });
    // Before the outputs or after them.
    writer.keep_message(&Message::Assistant(parts.clone()));
    for part in &parts {
        if let AssistantPart::ToolCall { call, .. } = part {
            writer.tool_output(call, call.parameters.clone());
        }
    }
    writer.keep_message(&Message::Assistant(parts));
    let chunks: Vec<UiChunk> = std::iter::from_fn(|| writer.next_chunk()).collect();
    let kept = chunks.iter().filter_map(|chunk| match chunk {
        UiChunk::Data(part) => part.data.deserialize::<Vec<AssistantPart>>().ok(),
        _ => None,
    });
    let ids = kept.map(|parts| {
        let calls = parts.iter().filter_map(|part| match part {
            AssistantPart::ToolCall { call, .. } => {
                Some(format!("{} {}", call.call_id.as_deref().expect("an id"), call.parameters))
            }
            _ => None,
        });
        calls.collect::<Vec<_>>()
    });
    let expected = [r#"c {"city":"Oslo"}"#, r#"c_1 {"city":"Rome"}"#];
    assert_eq!(ids.collect::<Vec<_>>(), [expected, expected]);
}

#[tokio::test]
async fn outputs_keep_their_literals() {
    let literals = r#"{"price":0.90,"id":123456789012345678901234567890,"big":1e400}"#;
    let stream = ChatStream::new(|chat| async move {
        let mut step = chat.step(response(Provider::OpenAiChat, TextMode::Text, calls_with_one_id()));
        let call = step.next_call().await?.expect("a call");
        let value = serde_json::value::RawValue::from_string(literals.to_owned())?;
        let raw = Raw::new(literals)?;
        for message in [chat.tool_output(&call, value).await, chat.tool_output_raw(&call, raw).await] {
            assert!(matches!(&message, Message::Tool(result) if result.content == literals), "{message:?}");
        }
        Ok::<(), Failure>(())
    });
    let chunks: Vec<UiChunk> = stream.collect().await;
    let outputs = chunks.iter().filter(|chunk| matches!(chunk, UiChunk::ToolOutputAvailable { .. }));
    let outputs: Vec<String> = outputs.map(UiChunk::to_json).collect();
    assert_eq!(outputs.len(), 2);
    assert!(outputs.iter().all(|output| output.contains(literals)), "{outputs:?}");
}

#[tokio::test]
async fn calls_in_the_text_have_results_that_the_user_reports() {
    let bodies = [fixture("anthropic/call-in-text.sse"), fixture("anthropic/text-recorded.sse")];
    let (chunks, request) = agent(Provider::Anthropic, TextMode::ToolCalls, &bodies).await;
    let result = Message::user("Result of the tool search:\n{\"of\":\"search\"}");
    assert!(request.messages.contains(&result), "{request:?}");
    assert!(request.messages[1].text().contains(r#""name""#), "the model sees its call as it wrote it");
    assert_eq!(returned(&chunks), request.messages[1..]);
}

#[tokio::test]
async fn rejected_calls_are_reported_to_the_page_and_the_model() {
    let bodies =
        [fixture("anthropic/max-tokens-in-tool-with-stop.sse"), fixture("anthropic/text-recorded.sse")];
    let (chunks, request) = agent(Provider::Anthropic, TextMode::Text, &bodies).await;
    let Message::Tool(result) = &request.messages[2] else { panic!("{request:?}") };
    assert!(result.is_error && result.content.starts_with("not run: "));
    let line = lines(&chunks).into_iter().find(|line| line.starts_with("tool-input-error"));
    assert!(line.is_some_and(|line| line.ends_with(&result.content.replace('\n', "⏎"))));
    assert_eq!(
        body(Provider::Anthropic, returned(&chunks)),
        body(Provider::Anthropic, request.messages[1..].to_vec())
    );
}

#[tokio::test]
async fn a_failure_of_the_handler_closes_the_message() {
    let writer = ChunkWriter::new()
        .with_message_id("m1")
        .with_metadata(Raw::from(json!({"model": "m"})))
        .with_error_text(ToString::to_string);
    let stream = ChatStream::with_writer(writer, |chat| async move {
        chat.send(DataPart::new("progress", Raw::from(json!(1))).with_id("p").transient()).await;
        let mut step =
            chat.step(response(Provider::Anthropic, TextMode::Text, fixture("anthropic/error-in-tool.sse")));
        while step.next_call().await?.is_some() {}
        unreachable!("the response fails");
    });
    let chunks: Vec<UiChunk> = stream.collect().await;
    grammar::check(&chunks.iter().map(|chunk| json!(chunk)).collect::<Vec<_>>(), "a failure");
    let lines = lines(&chunks);
    assert_eq!(lines[0], r#"start m1 {"model":"m"}"#);
    assert_eq!(lines[1], "data-progress p 1 true");
    assert_eq!(
        lines[lines.len() - 3..],
        ["error the provider failed: Internal server error", "finish-step", "finish error"]
    );
}

#[tokio::test]
async fn the_operator_learns_why_a_message_failed() {
    let body = fixture("anthropic/error-in-tool.sse");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    let stream = ChatStream::of(response(Provider::Anthropic, TextMode::Text, body)).on_error(move |error| {
        log.lock().expect("unpoisoned").push(error.to_string());
        "try again".to_owned()
    });
    let lines = lines(&stream.collect::<Vec<_>>().await);
    assert_eq!(lines[lines.len() - 3..], ["error try again", "finish-step", "finish error"]);
    assert_eq!(*seen.lock().expect("unpoisoned"), ["the provider failed: Internal server error"]);
}

/// Chunks are made one by one: the source is read only when the client takes the next one.
#[tokio::test]
async fn nothing_is_read_ahead() {
    let read = Arc::new(AtomicUsize::new(0));
    let counted = read.clone();
    let source = stream::iter(0..100).map(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok::<_, std::io::Error>("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n")
    });
    let mut chunks =
        ChatStream::of(ResponseStream::new(source, parser(Provider::OpenAiChat, TextMode::Text)));
    for _ in 0..2 {
        chunks.next().now_or_never().expect("it is ready");
    }
    assert_eq!(read.load(Ordering::Relaxed), 0, "`start` and `start-step` need no response");
    for count in 1..50 {
        // The first piece also starts the part.
        if count == 1 {
            chunks.next().now_or_never().expect("it is ready");
        }
        let chunk = chunks.next().now_or_never().flatten();
        assert!(matches!(chunk, Some(UiChunk::TextDelta { .. })), "{chunk:?}");
        assert_eq!(read.load(Ordering::Relaxed), count);
    }
    drop(chunks);
    assert_eq!(read.load(Ordering::Relaxed), 49);
}

/// Tools that run beside each other, and one that reports from a task of its own.
#[tokio::test]
async fn tools_may_write_at_the_same_time() {
    let stream = ChatStream::new(|chat| async move {
        let mut step =
            chat.step(response(Provider::Anthropic, TextMode::Text, fixture("anthropic/parallel-tools.sse")));
        let mut calls = Vec::new();
        while let Some(call) = step.next_call().await? {
            calls.push(call);
        }
        let background = chat.clone();
        let task = tokio::spawn(async move {
            for n in 0..10 {
                background.send(DataPart::new("task", Raw::from(json!(n)))).await;
            }
        });
        let outputs = calls.iter().map(|call| async {
            chat.send(DataPart::new("begun", Raw::from(json!(call.name)))).await;
            tokio::task::yield_now().await;
            chat.tool_output(call, "done").await
        });
        let results = futures_util::future::join_all(outputs).await;
        assert_eq!(results.len(), 2);
        task.await?;
        // Writes after the end are ignored, and do not wait.
        tokio::spawn(async move {
            tokio::task::yield_now().await;
            chat.send(DataPart::new("late", Raw::from(json!(1)))).await;
        });
        Ok::<(), Failure>(())
    });
    let chunks: Vec<UiChunk> = stream.collect().await;
    grammar::check(&chunks.iter().map(|chunk| json!(chunk)).collect::<Vec<_>>(), "tools");
    let lines = lines(&chunks);
    let count = |start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
    assert_eq!((count("data-begun"), count("data-task"), count("tool-output-available")), (2, 10, 2));
}

#[test]
fn kept_messages_hold_only_what_the_parts_do_not_say() {
    let mut writer = ChunkWriter::new();
    writer.keep_message(&Message::Assistant(vec![AssistantPart::text("Hi")]));
    assert!(writer.next_chunk().is_none());
}
