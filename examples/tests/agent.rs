//! The agent against servers that reject a turn without the opaque data of the previous one.

mod common;
#[path = "../../crates/tokenline-llm/tests/common/conversation.rs"]
#[allow(unreachable_pub, reason = "a module shared by several test programs")]
mod conversation;

use std::io::Write as _;
use std::net::TcpListener;
use std::process::Command;
use std::thread;

use common::read_request;
use tokenline::llm::Provider;

#[test]
fn completes_three_turns_with_parallel_calls() {
    // In the examples directory, next to the test programs.
    let program = std::env::current_exe().expect("a program");
    let program = program.ancestors().nth(2).expect("a folder").join("examples/agent");
    for provider in [Provider::Anthropic, Provider::Gemini, Provider::OpenAiResponses] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let server = thread::spawn(move || {
            for turn in 0..=conversation::TURNS {
                let mut socket = listener.accept().expect("a connection").0;
                let request = read_request(&socket);
                let missing = conversation::missing(provider, turn, &request);
                assert_eq!(missing, None, "{provider:?}, turn {turn}: {request}");
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
                let response = head.to_owned() + &conversation::response(provider, turn);
                socket.write_all(response.as_bytes()).expect("a reader");
            }
        });
        let mut agent = Command::new(&program);
        agent.args([provider.as_str(), &url, "m"]).env("NO_PROXY", "127.0.0.1");
        for variable in ["ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY"] {
            agent.env(variable, "sk-of-nobody");
        }
        let output = agent.output().expect("`cargo test` builds the examples");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{provider:?}: {out}{err}");
        assert!(out.ends_with("Nothing."), "{provider:?}: {out}{err}");
        server.join().expect("every turn was complete");
    }
}
