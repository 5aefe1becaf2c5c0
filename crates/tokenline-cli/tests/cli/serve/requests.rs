//! Failures, bad requests, and requests of other sites.

use super::*;

#[tokio::test]
async fn failures_end_the_run_with_a_message() {
    let server = serve(
        Recording::new("m", "{\"error\":{\"message\":\"no such model\"}}").status(StatusCode::NOT_FOUND),
    )
    .await;
    let page = Page::of(Some(&server));
    let done = page.events(&request()).await.pop().expect("done");
    assert_eq!(done.data["status"], "failed");
    assert!(done.data["message"].as_str().expect("a message").contains("no such model"), "{done:?}");

    let cut = chat(["{\"n\":1}\n{\"n\":2".to_owned()], "");
    let server = serve(Recording::new("m", cut)).await;
    let page = Page::of(Some(&server));
    let events = page.events(&request()).await;
    let codes: Vec<&Value> = named(&events, "rejected").iter().map(|rejected| &rejected["code"]).collect();
    assert_eq!(codes, ["truncated", "stream_incomplete"]);
    let done = named(&events, "done")[0];
    assert_eq!((&done["status"], &done["records"]), (&json!("incomplete"), &json!(1)));
}

#[tokio::test]
async fn bad_requests_get_a_message() {
    let page = Page::start();
    let schema = json!({"type": "nonsense"});
    for (request, status, message) in [
        (json!({"provider": "nobody"}), 400, "there is no provider named \"nobody\""),
        (json!({"provider": "recorded", "model": "x"}), 400, "there is no recording named \"x\""),
        (json!({"provider": "anthropic", "model": "m", "prompt": "x"}), 400, "ANTHROPIC_API_KEY is not set"),
        (json!({"provider": "openai-chat", "prompt": "x"}), 400, "enter the name of a model"),
        (json!({"provider": "openai-chat", "model": "m"}), 400, "enter a prompt or a text"),
        (json!({"provider": "openai-chat", "model": "m", "prompt_id": "x"}), 400, "prompt_id: "),
        (
            json!({"provider": "openai-chat", "model": "m", "prompt": "x", "call_format": "nobody's"}),
            400,
            "call_format: there is no format named \"nobody's\"",
        ),
        (
            json!({"provider": "openai-chat", "model": "m", "prompt": "x", "call_format": "auto"}),
            400,
            "call_format: there are no tools",
        ),
        (json!({"provider": "recorded", "schema": schema}), 400, "schema: "),
        (json!({"provider": "recorded", "tools": [{"no": "name"}]}), 400, "tools: "),
        (
            json!({"provider": "openai-chat", "model": "m".repeat(300), "prompt": "x"}),
            400,
            "more than 256 bytes",
        ),
        (
            json!({"provider": "recorded", "schema": {"const": "x".repeat(300 << 10)}}),
            400,
            "larger than 256 KiB",
        ),
        (json!({"provider": "recorded", "typo": 1}), 422, "typo"),
        // A little over the limit: of more, the server would leave some unread, which breaks the connection.
        (json!({"provider": "recorded", "text": "x".repeat(8 << 20)}), 413, ""),
    ] {
        let response = page.extract(&request).await;
        assert_eq!(response.status(), status, "{message}");
        let body: Value = serde_json::from_str(&response.text().await.expect("a body")).expect("JSON");
        let error = body["error"].as_str().expect("a message");
        assert!(error.contains(message), "{error}");
    }
    // What a form of another site can send.
    let request = page.client.post(format!("{}/api/extract", page.url));
    let response =
        request.header("content-type", "text/plain").body("{\"provider\":\"recorded\"}").send().await;
    assert_eq!(response.expect("a response").status(), 415);
}

#[tokio::test]
async fn other_sites_get_nothing() {
    let page = Page::start();
    let port = page.url.rsplit(':').next().expect("a port").to_owned();
    let get = |path: &str, host: &str, origin: Option<&str>| {
        let mut request = page.client.get(format!("{}{path}", page.url)).header("host", host);
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        request.send()
    };
    for path in ["/", "/api/options", "/api/runs/x/events"] {
        let rebound = get(path, &format!("evil.example:{port}"), None).await.expect("a response");
        assert_eq!(rebound.status(), 403);
        let foreign = get(path, &format!("127.0.0.1:{port}"), Some("http://evil.example")).await;
        assert_eq!(foreign.expect("a response").status(), 403);
    }
    let own = get("/", &format!("localhost:{port}"), Some(&format!("http://localhost:{port}"))).await;
    let own = own.expect("a response");
    assert_eq!(own.status(), 200);
    let policy = own.headers()["content-security-policy"].to_str().expect("text").to_owned();
    assert!(policy.starts_with("default-src 'none'; script-src 'self'") && !policy.contains("unsafe"));
    assert_eq!(own.headers()["x-content-type-options"], "nosniff");
}

/// Neither the key nor a path of this machine is in any response.
#[tokio::test]
async fn secrets_stay_on_the_server() {
    let echo = format!("{{\"error\":{{\"message\":\"the key {KEY} is wrong\"}}}}");
    let server = serve(Recording::new("m", echo).status(StatusCode::UNAUTHORIZED)).await;
    let page = Page::of(Some(&server));
    let mut seen = String::new();
    for path in ["/", "/api/options", "/assets/page.js", "/assets/../../Cargo.toml", "/api/runs/x/events"] {
        let response = page.client.get(format!("{}{path}", page.url)).send().await.expect("a response");
        seen += &format!("{:?}", response.headers());
        seen += &response.text().await.expect("text");
    }
    seen += &format!("{:?}", page.events(&request()).await);
    assert!(seen.contains("is wrong"), "{seen}");
    for secret in [KEY, env!("CARGO_MANIFEST_DIR"), "/home/", "/root/"] {
        assert!(!seen.contains(secret), "{secret}");
    }
}

#[test]
fn other_machines_need_permission() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_tokenline")).args(["serve", "--listen", "0.0.0.0:0"]).output();
    let output = output.expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("use --public to allow that"));
}
