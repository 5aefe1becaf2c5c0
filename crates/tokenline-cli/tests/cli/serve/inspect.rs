//! Previews and checks before a run, and the settings of a run.

use super::*;
use crate::common::ollama;

impl Page {
    /// A response of another path of the API.
    async fn ask(&self, path: &str, body: &Value) -> (StatusCode, Value) {
        let post = self.client.post(format!("{}/api/{path}", self.url));
        let post = post.header("content-type", "application/json").body(body.to_string());
        let response = post.send().await.expect("a response");
        let status = response.status();
        (status, serde_json::from_str(&response.text().await.expect("a body")).expect("JSON"))
    }
}

fn with(mut request: Value, members: Value) -> Value {
    let Value::Object(members) = members else { panic!("an object") };
    request.as_object_mut().expect("an object").extend(members);
    request
}

/// The preview of a request equals the request.
#[tokio::test]
async fn the_request_is_shown_as_it_is_sent() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]});
    for (more, items) in [
        (json!({"temperature": 0.25, "seed": 7, "max_tokens": 5, "set": {"reasoning_effort": "low"}}), None),
        (json!({"schema": schema, "send_schema": "none"}), None),
        (json!({"schema": schema, "send_schema": "response_format"}), Some("/items")),
        (json!({"schema": schema, "send_schema": "prompt", "system": "Be brief."}), None),
        (json!({"tools": [{"name": "t", "parameters": {"type": "object"}}]}), None),
    ] {
        let (url, bodies) = ollama(|_, _| ("{\"n\":1}\n", "stop"));
        let page =
            Page::with(&["--base-url", &format!("ollama=http://me:pass-word@{}", &url["http://".len()..])]);
        let request = with(json!({"provider": "ollama", "model": "m", "prompt": "List."}), more);
        let (status, preview) = page.ask("request", &request).await;
        assert_eq!((status, &preview["items"]), (StatusCode::OK, &json!(items)), "{preview}");
        assert_eq!((&preview["url"], &preview["base_url"]), (&json!(format!("{url}/api/chat")), &json!(url)));
        assert!(!preview.to_string().contains("pass-word"), "{preview}");
        assert_eq!(bodies.lock().expect("a lock").len(), 0);
        page.events(&request).await;
        let sent = bodies.lock().expect("a lock").first().cloned().expect("a request");
        assert_eq!(preview["body"], json!(sent));
        let is_told = sent.contains("number");
        assert_eq!(is_told, request["send_schema"] == "prompt" || items.is_some(), "{sent}");
    }
}

#[tokio::test]
async fn secrets_in_a_base_url_are_not_shown() {
    for url in [
        "http:///me:hunter2@127.0.0.1:9/v1?pwd=hunter2&code=hunter2",
        "http://hunter2@127.0.0.1:9/v1?x=hunter2",
    ] {
        let page = Page::with(&["--base-url", &format!("openai-chat={url}")]);
        let (_, preview) = page.ask("request", &request()).await;
        assert!(!preview.to_string().contains("hunter2"), "{preview}");
        assert!(
            preview["base_url"].as_str().expect("a URL").starts_with("http://127.0.0.1:9/v1?"),
            "{preview}"
        );
        assert_eq!(preview["hides_part_of_url"], true);
    }
}

#[tokio::test]
async fn a_key_is_shown_as_its_variable() {
    let page = Page::start();
    let (_, preview) = page.ask("request", &request()).await;
    assert!(!preview.to_string().contains(KEY));
    assert_eq!(preview["headers"][0], json!(["authorization", "Bearer $OPENAI_API_KEY"]));
    assert_eq!((&preview["key_variable"], &preview["base_url"]), (&json!("OPENAI_API_KEY"), &Value::Null));
    for (body, message) in [
        (json!({"provider": "recorded"}), "nothing is sent"),
        (with(request(), json!({"send_schema": "prompt"})), "send_schema: there is no schema"),
        (with(request(), json!({"reask": 11})), "at most 10"),
    ] {
        let (status, answer) = page.ask("request", &body).await;
        assert_eq!(status, 400);
        assert!(answer["error"].as_str().expect("a message").contains(message), "{answer}");
    }
}

#[tokio::test]
async fn records_of_a_response_format_are_items() {
    let (url, _) = ollama(|_, _| ("{\"items\": [{\"n\":1}, {\"n\":\"x\"}]}", "stop"));
    let page = Page::with(&["--base-url", &format!("ollama={url}")]);
    let schema = json!({"properties": {"n": {"type": "number"}}});
    let request = json!({"provider": "ollama", "model": "m", "prompt": "x", "schema": schema, "send_schema": "response_format"});
    let events = page.events(&request).await;
    let records = named(&events, "record");
    assert_eq!((records.len(), &records[0]["value"]), (1, &json!({"n": 1})));
    assert_eq!(named(&events, "rejected")[0]["instance_path"], "/n");
}

#[tokio::test]
async fn faults_of_a_schema_have_their_lines() {
    let page = Page::start();
    for (kind, text, expected) in [
        ("schema", "{\"type\":\n  \"object\"}", &[][..]),
        ("schema", "{\"type\":\n  \"objekt\"}", &[(2, 3, "error")][..]),
        (
            "schema",
            "{\n\"properties\": {\"é\": {\"minimun\": 1}},\n\"requird\": []}",
            &[(2, 34, "warning"), (3, 12, "warning")],
        ),
        ("schema", "{\"type\": }", &[(1, 10, "error")]),
        ("tools", "[{\"name\": \"t\"}]", &[]),
        ("tools", "[{\"name\": \"t\",\n\"parameters\": {\"type\": 3}}]", &[(2, 24, "error")]),
        ("tools", "{}", &[(1, 1, "error")]),
    ] {
        let (status, answer) = page.ask("check", &json!({"kind": kind, "text": text})).await;
        assert_eq!(status, 200);
        let faults: Vec<(u64, u64, &str)> = answer["faults"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|fault| {
                let number = |name: &str| fault[name].as_u64().expect("a number");
                (number("line"), number("column"), fault["severity"].as_str().expect("a word"))
            })
            .collect();
        assert_eq!(faults, expected, "{answer}");
    }
    let (status, _) = page.ask("check", &json!({"kind": "schema", "text": " ".repeat(300 << 10)})).await;
    assert_eq!(status, 400);
}

#[tokio::test]
async fn the_models_of_a_server_are_listed() {
    let list = "{\"object\":\"list\",\"data\":[{\"id\":\"a\"},{\"id\":\"b\"}]}";
    let server = serve(Recording::new("m", list)).await;
    let page = Page::of(Some(&server));
    // The replay server lists its recordings.
    let (status, answer) = page.ask("models", &json!({"provider": "openai-chat"})).await;
    assert_eq!((status, answer), (StatusCode::OK, json!({"models": ["m"]})));
    let (status, answer) = page.ask("models", &json!({"provider": "anthropic"})).await;
    assert_eq!(status, 400);
    assert!(answer["error"].as_str().expect("a message").contains("ANTHROPIC_API_KEY"), "{answer}");
}

#[tokio::test]
async fn the_page_names_a_server_only_if_it_may() {
    let (url, bodies) = ollama(|_, _| ("{\"n\":1}\n", "stop"));
    let request = json!({"provider": "ollama", "model": "m", "prompt": "x", "base_url": url, "api_key": "sk-of-the-page"});
    let page = Page::start();
    let (status, answer) = page.ask("extract", &request).await;
    assert_eq!((status, bodies.lock().expect("a lock").len()), (StatusCode::BAD_REQUEST, 0));
    assert!(answer["error"].as_str().expect("a message").contains("--allow-base-url"), "{answer}");
    let page = Page::with(&["--allow-base-url"]);
    let events = page.events(&request).await;
    assert_eq!(named(&events, "record").len(), 1);
    assert!(!format!("{events:?}").contains("sk-of-the-page"));

    let both = ["serve", "--allow-base-url", "--public", "--listen", "127.0.0.1:0"];
    let output = Command::new(env!("CARGO_BIN_EXE_tokenline")).args(both).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
}

/// A key of the environment is not sent to a server that the page names.
#[tokio::test]
async fn the_keys_of_the_environment_stay_with_their_server() {
    let echo = "{\"error\":{\"message\":\"no key\"}}";
    let server = serve(Recording::new("m", echo).status(StatusCode::UNAUTHORIZED)).await;
    let page = Page::with(&["--allow-base-url"]);
    let request = with(request(), json!({"base_url": server.url()}));
    let (_, preview) = page.ask("request", &request).await;
    assert!(!preview.to_string().contains("authorization"), "{preview}");
    let done = page.events(&request).await.pop().expect("done");
    assert!(
        done.data["message"].as_str().expect("a message").contains("the client has no API key"),
        "{done:?}"
    );
}

#[tokio::test]
async fn rejects_are_asked_for_again_and_repaired() {
    let list = "{\"id\":1}\n{\"id\":\"x\"}\n{\"id\":3,}\n";
    let (url, bodies) =
        ollama(move |_, body| (if body.contains("rejected") { "{\"id\":2}" } else { list }, "stop"));
    let page = Page::with(&["--base-url", &format!("ollama={url}")]);
    let schema = json!({"properties": {"id": {"type": "integer"}}});
    let request = json!({"provider": "ollama", "model": "m", "prompt": "x", "schema": schema});
    let events = page.events(&request).await;
    assert_eq!((named(&events, "record").len(), named(&events, "rejected").len()), (1, 2));

    let events = page.events(&with(request, json!({"reask": 1, "repair": true}))).await;
    let records = named(&events, "record");
    let of = |id: u64| *records.iter().find(|record| record["value"]["id"] == id).expect("a record");
    assert_eq!((of(2)["attempts"].as_u64(), &of(2)["line"]), (Some(1), &json!(2)));
    assert_eq!(of(3)["repaired"][0]["edit"], "trailing_comma");
    assert_eq!((records.len(), named(&events, "rejected").len()), (3, 0));
    assert_eq!(named(&events, "usage").last().expect("usage")["reasks"]["requests"], 1);
    assert_eq!(bodies.lock().expect("a lock").len(), 3);
}

#[tokio::test]
async fn a_response_that_repeats_itself_is_stopped() {
    let prose = "I am not sure about this, let me think again.\n".repeat(200);
    let prose: &'static str = prose.leak();
    let (url, _) = ollama(move |_, _| (prose, "stop"));
    let page = Page::with(&["--base-url", &format!("ollama={url}")]);
    let request = json!({"provider": "ollama", "model": "m", "prompt": "x", "stop_on_repetition": true});
    let events = page.events(&request).await;
    assert!(named(&events, "note").iter().any(|note| note["code"] == "repetition"), "{events:?}");
    assert_eq!(named(&events, "done")[0]["finish_reason"], "repetition");
}

#[tokio::test]
async fn a_saved_response_is_read() {
    let page = Page::start();
    let file = |content: &str, more: Value| with(json!({"provider": "file", "content": content}), more);
    let wire = chat(["{\"n\":1}\n".to_owned()], STOP);
    let call = r#"{"name":"t","arguments":{"n":1}}"#;
    let tools = json!([{"name": "t"}]);
    for (request, kind, count, status) in [
        (file("Here:\n{\"n\":1}\n{\"n\":2}", json!({})), "record", 2, "complete"),
        (file(&wire, json!({})), "record", 1, "complete"),
        (file(&wire, json!({"from": "text"})), "record", 2, "complete"),
        (file(&wire[..wire.len() - 14], json!({})), "record", 1, "complete"),
        (file(&wire[..40], json!({})), "record", 0, "incomplete"),
        (
            file(
                r#"{"choices":[{"index":0,"message":{"content":"{\"n\":1}"},"finish_reason":"stop"}]}"#,
                json!({}),
            ),
            "record",
            1,
            "complete",
        ),
        (file(call, json!({"tools": tools})), "tool_call", 1, "complete"),
        (file("", json!({})), "record", 0, "complete"),
        // Of more than one chunk.
        (file(&"{\"é\":\"😀\"}\n".repeat(2000), json!({})), "record", 2000, "complete"),
    ] {
        let events = page.events(&request).await;
        let done = named(&events, "done")[0];
        assert_eq!((named(&events, kind).len(), done["status"].as_str()), (count, Some(status)), "{request}");
    }
    let (status, answer) = page.ask("extract", &file("x", json!({"from": "nobody"}))).await;
    assert_eq!(status, 400);
    assert!(answer["error"].as_str().expect("a message").contains("from: "), "{answer}");
}

/// Parts that the page cannot show, such as images, are named in `done`.
#[tokio::test]
async fn parts_that_are_not_shown_are_named() {
    let image = json!({"choices": [{"index": 0, "delta": {"content": "{\"n\":1}\n", "images": [{"url": "data:x"}]}}]});
    let server = serve(Recording::new("m", format!("data: {image}\n\n{STOP}"))).await;
    let page = Page::of(Some(&server));
    let events = page.events(&request()).await;
    let done = named(&events, "done")[0];
    assert_eq!(done["unknown"], "choices[].delta.images (1)");
}

/// Each violation of a reject has its place in the text.
#[tokio::test]
async fn violations_have_their_places() {
    let page = Page::start();
    let schema = json!({"required": ["b"], "properties": {"é": {"type": "string"}, "c": {"maximum": 3}}});
    let text = r#"{"é":1,"c":7}"#;
    let events = page.events(&json!({"provider": "file", "content": text, "schema": schema})).await;
    let marks = named(&events, "rejected")[0]["marks"].clone();
    let places: Vec<(u64, u64)> = marks
        .as_array()
        .expect("marks")
        .iter()
        .map(|mark| (mark["start"].as_u64().expect("a start"), mark["end"].as_u64().expect("an end")))
        .collect();
    assert_eq!(places, [(0, 1), (5, 6), (11, 12)], "{marks}");
}

/// The page opens in the browser that the system names.
#[cfg(target_os = "linux")]
#[test]
fn the_page_opens_in_a_browser() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = crate::common::folder();
    let opened = folder.path().join("opened");
    let script = format!("#!/bin/sh\necho \"$1\" > {0}.part && mv {0}.part {0}\n", opened.display());
    let program = crate::common::file(&folder, "xdg-open", script);
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("a file");
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").expect("a path"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_tokenline"));
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--open"])
        .env("PATH", path)
        .env_remove("WSL_DISTRO_NAME");
    let page = Page::of_command(command);
    let deadline = Instant::now() + Duration::from_secs(20);
    while !opened.exists() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(std::fs::read_to_string(opened).expect("opened").trim(), page.url);
}
