//! The delay from the byte that proves a call complete to its delivery.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tokenline_llm::Provider;
use tokenline_llm::request::ChatRequest;

use crate::client;
use crate::common::event_stream;

/// The server's pause inside the second call.
const PAUSE: Duration = Duration::from_secs(1);
/// The maximum delay of the first call.
const LIMIT: Duration = Duration::from_millis(20);

fn sse(payloads: &[&str]) -> Vec<u8> {
    payloads.iter().flat_map(|payload| format!("data: {payload}\n\n").into_bytes()).collect()
}

/// The wire up to the byte that proves the first of two calls complete, and the rest after a pause.
fn wire(provider: Provider) -> (Vec<u8>, Vec<u8>) {
    match provider {
        Provider::OpenAiChat => (
            sse(&[
                r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"a\""}}]}}]}"#,
                r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}}]}"#,
                r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"f","arguments":"{\"a\""}}]}}]}"#,
            ]),
            sse(&[
                r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":":2}"}}]},"finish_reason":"tool_calls"}]}"#,
                "[DONE]",
            ]),
        ),
        Provider::OpenAiResponses => (
            sse(&[
                r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"i","call_id":"a","name":"f","arguments":""}}"#,
                r#"{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"i","delta":"{\"a\":1}"}"#,
                r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"i","call_id":"a","name":"f","arguments":"{\"a\":1}"}}"#,
            ]),
            sse(&[
                r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"j","call_id":"b","name":"f","arguments":""}}"#,
                r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"j","call_id":"b","name":"f","arguments":"{\"a\":2}"}}"#,
                r#"{"type":"response.completed","response":{"status":"completed"}}"#,
            ]),
        ),
        Provider::Anthropic => (
            sse(&[
                r#"{"type":"message_start","message":{"role":"assistant","content":[]}}"#,
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}"#,
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}"#,
                r#"{"type":"content_block_stop","index":0}"#,
            ]),
            sse(&[
                r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"b","name":"f","input":{}}}"#,
                r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":2}"}}"#,
                r#"{"type":"content_block_stop","index":1}"#,
                r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#,
                r#"{"type":"message_stop"}"#,
            ]),
        ),
        Provider::Gemini => (
            sse(&[r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":1}}}]}}]}"#]),
            sse(&[
                r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":2}}}]},"finishReason":"STOP"}]}"#,
            ]),
        ),
        Provider::GeminiInteractions => (
            sse(&[
                r#"{"event_type":"step.start","index":0,"step":{"type":"function_call","id":"a","name":"f","arguments":{}}}"#,
                r#"{"event_type":"step.delta","index":0,"delta":{"type":"arguments_delta","arguments":"{\"a\":1}"}}"#,
                r#"{"event_type":"step.stop","index":0}"#,
            ]),
            sse(&[
                r#"{"event_type":"step.start","index":1,"step":{"type":"function_call","id":"b","name":"f","arguments":{}}}"#,
                r#"{"event_type":"step.delta","index":1,"delta":{"type":"arguments_delta","arguments":"{\"a\":2}"}}"#,
                r#"{"event_type":"step.stop","index":1}"#,
                r#"{"event_type":"interaction.completed","interaction":{"status":"requires_action"}}"#,
            ]),
        ),
        Provider::Ollama => (
            b"{\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{\"a\":1}}}]},\"done\":false}\n".to_vec(),
            b"{\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{\"a\":2}}}]},\"done\":false}\n{\"done\":true,\"done_reason\":\"stop\"}\n".to_vec(),
        ),
        Provider::Cohere => (
            sse(&[
                r#"{"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{"id":"a","type":"function","function":{"name":"f","arguments":""}}}}}"#,
                r#"{"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"{\"a\":1}"}}}}}"#,
                r#"{"type":"tool-call-end","index":0}"#,
            ]),
            sse(&[
                r#"{"type":"tool-call-start","index":1,"delta":{"message":{"tool_calls":{"id":"b","type":"function","function":{"name":"f","arguments":"{\"a\":2}"}}}}}"#,
                r#"{"type":"tool-call-end","index":1}"#,
                r#"{"type":"message-end","delta":{"finish_reason":"TOOL_CALL"}}"#,
            ]),
        ),
        Provider::Bedrock => {
            let call = |index: usize| {
                [
                    event_stream::event(
                        "contentBlockStart",
                        &format!(r#"{{"contentBlockIndex":{index},"start":{{"toolUse":{{"toolUseId":"{index}","name":"f"}}}}}}"#),
                    ),
                    event_stream::event(
                        "contentBlockDelta",
                        &format!(r#"{{"contentBlockIndex":{index},"delta":{{"toolUse":{{"input":"{{\"a\":1}}"}}}}}}"#),
                    ),
                    event_stream::event("contentBlockStop", &format!(r#"{{"contentBlockIndex":{index}}}"#)),
                ]
                .concat()
            };
            let stop = event_stream::event("messageStop", r#"{"stopReason":"tool_use"}"#);
            (call(0), [call(1), stop].concat())
        }
        other => panic!("{other:?} has no case"),
    }
}

/// Serves one request, with a pause. Returns the URL, and the time when the first part was written.
fn serve(provider: Provider) -> (String, Arc<Mutex<Option<Instant>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let written = Arc::new(Mutex::new(None));
    let stamp = Arc::clone(&written);
    let (first, rest) = wire(provider);
    thread::spawn(move || {
        let (socket, _) = listener.accept().expect("a connection");
        socket.set_nodelay(true).expect("a socket");
        let mut socket = BufReader::new(socket);
        let (mut length, mut line) = (0, String::new());
        while line != "\r\n" {
            line.clear();
            socket.read_line(&mut line).expect("a head");
            if let Some(number) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
                length = number.trim().parse().expect("a number");
            }
        }
        socket.read_exact(&mut vec![0; length]).expect("a body");
        let content_type = match provider {
            Provider::Ollama => "application/x-ndjson",
            Provider::Bedrock => "application/vnd.amazon.eventstream",
            _ => "text/event-stream",
        };
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\nconnection: close\r\n\r\n");
        let socket = socket.get_mut();
        socket.write_all(head.as_bytes()).expect("a reader");
        *stamp.lock().expect("not poisoned") = Some(Instant::now());
        socket.write_all(&first).expect("a reader");
        thread::sleep(PAUSE);
        socket.write_all(&rest).expect("a reader");
    });
    (url, written)
}

/// The delay of the first call.
async fn delay(provider: Provider) -> Duration {
    let (url, written) = serve(provider);
    let client = client(provider, &url).build().expect("a client");
    let request = ChatRequest::new("m").user("?");
    let mut calls =
        client.stream(&request).expect("a request").send().await.expect("a response").tool_calls();
    let first = calls.next().await.expect("a call").unwrap_or_else(|error| panic!("{provider:?}: {error}"));
    let delivered = Instant::now();
    assert_eq!((first.name.as_str(), first.parameters.as_str()), ("f", r#"{"a":1}"#), "{provider:?}");
    let written = written.lock().expect("not poisoned").expect("it was written");
    assert!(calls.next().await.is_some_and(|call| call.is_ok()), "{provider:?}");
    assert!(written.elapsed() >= PAUSE, "{provider:?}: the second call is after the pause");
    delivered.saturating_duration_since(written)
}

#[tokio::test]
async fn the_first_of_two_calls_does_not_wait_for_the_second() {
    let delays = Provider::ALL.iter().map(|provider| async move {
        let mut least = PAUSE;
        // The machine may be busy.
        for _ in 0..3 {
            least = least.min(delay(*provider).await);
            if least < LIMIT {
                break;
            }
        }
        (*provider, least)
    });
    for (provider, delay) in futures_util::future::join_all(delays).await {
        println!("{}: {delay:?}", provider.as_str());
        assert!(delay < LIMIT, "{provider:?}: {delay:?}");
    }
}
