//! Conversations with providers that reject the next turn without the data they attached to the previous one.

use serde_json::json;
use tokenline_llm::request::{ChatRequest, Message};
use tokenline_llm::{Provider, ResponseEvent};

use crate::common::conversation::{self, TURNS, missing};
use crate::server::{Request, ScriptedServer, Step, error_response, events};
use crate::{client, soon};

fn reply(provider: Provider, turn: usize, request: &Request) -> Vec<Step> {
    let Some(missing) = missing(provider, turn, &request.body) else {
        return events(&conversation::response(provider, turn));
    };
    let body =
        json!({"error": {"message": format!("turn {turn}: {missing} is missing in {}", request.body)}});
    vec![error_response(400, &[], &body)]
}

#[tokio::test]
async fn three_turns_with_parallel_calls_get_back_what_was_attached() {
    for provider in [Provider::Anthropic, Provider::Gemini, Provider::OpenAiResponses] {
        for is_stored in [false, true] {
            let server = ScriptedServer::new(move |turn, request| reply(provider, turn, request)).await;
            let client = client(provider, &server.url()).build().expect("a client");
            let mut request = ChatRequest::new("m").user("Look twice.");
            for turn in 0..=TURNS {
                let asked = client
                    .stream(&request)
                    .expect("a request")
                    .with_options(tokenline_llm::ResponseOptions::keep_message);
                let mut response = soon(asked.send()).await.expect("the turn is complete");
                let mut results = Vec::new();
                while let Some(event) = soon(response.next()).await {
                    if let ResponseEvent::ToolCall { call, .. } = event.expect("an event") {
                        results.push(Message::tool_result(&call, "nothing"));
                    }
                }
                let calls = if turn < TURNS { 2 } else { 0 };
                assert_eq!(results.len(), calls, "{provider:?} turn {turn}");
                let message = response.into_message().expect("it is kept");
                assert_eq!(message.tool_calls().count(), calls);
                request = request.message(message).messages(results);
                if is_stored {
                    let stored = serde_json::to_string(&request).expect("JSON");
                    let read: ChatRequest = serde_json::from_str(&stored).expect("a request");
                    assert_eq!(serde_json::to_string(&read).expect("JSON"), stored);
                    request = read;
                }
            }
            assert_eq!(server.requests(), 4);
            // Another provider does not receive the data, and the request reports that.
            let other = if provider == Provider::Gemini { Provider::Anthropic } else { Provider::Gemini };
            assert!(
                request.omitted_opaque(other).count() >= TURNS
                    && request.omitted_opaque(provider).count() == 0
            );
            let body = request.to_body(if other == Provider::Gemini { other } else { Provider::OpenAiChat });
            assert!(body.is_err() || !body.expect("a body").contains("EqQB"));
        }
    }
}
