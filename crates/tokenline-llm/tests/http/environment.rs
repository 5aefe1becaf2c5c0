//! Environment variables. They belong to the process, so each test runs in a child process.

use std::process::Stdio;

use serde_json::json;
use tokenline_llm::Provider;
use tokenline_llm::client::{ApiKey, LlmClient};

use crate::server::{ScriptedServer, error_response};
use crate::{error_text, request, soon};

/// The variable with the child's provider.
const ASK: &str = "TOKENLINE_TEST_ASK";

/// Sends a request as configured by the environment, and prints everything visible about it.
#[test]
#[ignore = "it is started by the tests below, with an environment"]
fn child() {
    let Ok(provider) = std::env::var(ASK) else { return };
    let provider = Provider::from_name(&provider).expect("a provider");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        println!("{:?} {:?}", LlmClient::builder(provider), ApiKey::default_from_env(provider));
        let client = match LlmClient::from_env(provider) {
            Ok(client) => client,
            Err(error) => return println!("{}", error_text(&error)),
        };
        let request = client.stream(&request()).expect("a request");
        println!("{client:?} {request:?}");
        match soon(request.send()).await {
            Ok(response) => println!("{response:?}"),
            Err(error) => println!("{}", error_text(&error)),
        }
    });
}

/// The output of the child in this environment.
async fn ask(provider: Provider, environment: &[(&str, &str)]) -> String {
    let usual = [
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        "GOOGLE_GEMINI_BASE_URL",
        "OLLAMA_API_KEY",
        "OLLAMA_HOST",
    ];
    let mut child = std::process::Command::new(std::env::current_exe().expect("this program"));
    for variable in usual {
        child.env_remove(variable);
    }
    child
        .args(["environment::child", "--exact", "--ignored", "--nocapture"])
        .env(ASK, provider.as_str())
        .env("NO_PROXY", "*")
        .envs(environment.iter().copied())
        .stdin(Stdio::null());
    let output = tokio::task::spawn_blocking(move || child.output().expect("a child"));
    let output = soon(output).await.expect("a child");
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8(printed).expect("text");
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
    printed
}

/// A server that echoes the headers of a request in an error.
async fn echo() -> ScriptedServer {
    ScriptedServer::new(|_, request| {
        vec![error_response(401, &[], &json!({"error": {"message": format!("no {:?}", request.headers)}}))]
    })
    .await
}

#[tokio::test]
async fn key_and_base_url_are_read_from_the_environment() {
    let key = "sk-HUSH-0123456789";
    for (provider, url, variable, header) in [
        (Provider::OpenAiChat, "OPENAI_BASE_URL", "OPENAI_API_KEY", "authorization"),
        (Provider::OpenAiResponses, "OPENAI_BASE_URL", "OPENAI_API_KEY", "authorization"),
        (Provider::Anthropic, "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "x-api-key"),
        (Provider::Gemini, "GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY", "x-goog-api-key"),
        (Provider::Ollama, "OLLAMA_HOST", "OLLAMA_API_KEY", "authorization"),
    ] {
        let server = echo().await;
        let base_url = server.url();
        let base_url = if provider == Provider::Ollama { &base_url["http://".len()..] } else { &base_url };
        let printed = ask(provider, &[(url, base_url), (variable, &format!("{key}\n"))]).await;
        assert!(printed.contains("[secret]") && !printed.to_lowercase().contains("hush"), "{printed}");
        let requests = server.log().requests;
        let sent = requests[0].header(header).expect(header);
        assert!(sent == key || sent == format!("Bearer {key}"), "{sent}");
        assert_eq!(requests.len(), 1);
    }
}

/// As in their own tools.
#[tokio::test]
async fn the_google_key_takes_precedence_for_gemini() {
    let server = echo().await;
    let url = ("GOOGLE_GEMINI_BASE_URL", &*server.url());
    ask(Provider::Gemini, &[url, ("GEMINI_API_KEY", "gemini-key"), ("GOOGLE_API_KEY", "google-key")]).await;
    ask(Provider::Gemini, &[url, ("GEMINI_API_KEY", "gemini-key"), ("GOOGLE_API_KEY", "")]).await;
    let keys = server
        .log()
        .requests
        .into_iter()
        .map(|request| request.header("x-goog-api-key").expect("a key").to_owned());
    assert_eq!(keys.collect::<Vec<_>>(), ["google-key", "gemini-key"]);
}

#[tokio::test]
async fn no_key_is_sent_without_one() {
    let server = echo().await;
    let printed =
        ask(Provider::Anthropic, &[("ANTHROPIC_BASE_URL", &server.url()), ("ANTHROPIC_API_KEY", "")]).await;
    assert!(printed.contains("the client has no API key: set ANTHROPIC_API_KEY"), "{printed}");
    assert_eq!(server.log().requests[0].header("x-api-key"), None);
}

/// Bare containers have no certificates, and self-hosted servers need none.
#[tokio::test]
async fn without_certificates_there_is_no_tls_and_nothing_else() {
    let server = echo().await;
    let none = [("SSL_CERT_FILE", "/nowhere"), ("SSL_CERT_DIR", "/nowhere")];
    let printed = ask(Provider::Ollama, &[&none[..], &[("OLLAMA_HOST", &server.url())]].concat()).await;
    assert!(printed.contains("responded 401 Unauthorized at /api/chat"), "{printed}");
    if cfg!(target_os = "linux") {
        let printed =
            ask(Provider::Ollama, &[&none[..], &[("OLLAMA_HOST", "https://127.0.0.1:1")]].concat()).await;
        assert!(printed.contains("cannot set up the HTTP client: "), "{printed}");
        assert!(printed.contains("No CA certificates were loaded from the system"), "{printed}");
    }
}

#[tokio::test]
async fn errors_in_the_environment_name_the_variable() {
    for (variable, value, expected) in [
        (
            "OPENAI_API_KEY",
            "sk-HÜSH",
            "OPENAI_API_KEY: the API key contains white space or a character that is not ASCII",
        ),
        ("OPENAI_API_KEY", "  ", "OPENAI_API_KEY: the API key is empty"),
        ("OPENAI_BASE_URL", "http://me:HÜSH@", "OPENAI_BASE_URL: invalid base URL: empty host"),
        (
            "OPENAI_BASE_URL",
            "ftp://HÜSH",
            "OPENAI_BASE_URL: the base URL must begin with http:// or https://",
        ),
    ] {
        let printed = ask(Provider::OpenAiChat, &[(variable, value)]).await;
        assert!(printed.contains(expected) && !printed.contains("HÜSH"), "{printed}");
    }
}
