//! Logs of the client and its dependencies at the most verbose level.

use std::io;
use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use serde_json::json;
use tokenline_llm::Provider;
use tokenline_llm::client::ApiKey;

use crate::server::{ScriptedServer, error_response, events};
use crate::{client, send, soon};

const KEY: &str = "sk-SECRET-0123456789";

/// Everything that was logged.
#[derive(Clone, Default)]
struct Logged(Arc<Mutex<Vec<u8>>>);

impl Logged {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("no panic")).into_owned()
    }
}

impl io::Write for Logged {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl log::Log for Logged {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let line = format!("log {} {}\n", record.target(), record.args());
        self.0.lock().expect("no panic").extend_from_slice(line.as_bytes());
    }

    fn flush(&self) {}
}

#[tokio::test]
async fn a_key_is_never_logged() {
    let logged = Logged::default();
    // reqwest and hyper use `log`, tokenline uses `tracing`.
    log::set_boxed_logger(Box::new(logged.clone())).expect("the only one");
    log::set_max_level(log::LevelFilter::Trace);
    let writer = logged.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::level_filters::LevelFilter::TRACE)
        .with_writer(move || writer.clone());
    let _guard = tracing::subscriber::set_default(subscriber.finish());

    for provider in Provider::ALL {
        let server = ScriptedServer::new(|number, _| match number {
            0 => {
                let body = json!({"error": {"message": format!("slow down, {KEY}")}});
                vec![error_response(429, &[("retry-after", "0")], &body)]
            }
            _ => events(&format!("data: {{\"error\":{{\"message\":\"no {KEY}\"}}}}\n\n")),
        })
        .await;
        let key = ApiKey::new(KEY).expect("a key");
        if let Ok(response) =
            send(client(*provider, &server.url()).api_key(key).header("x-mine", KEY).retries(1)).await
        {
            drop(soon(response.collect::<Vec<_>>()).await);
        }
        assert_eq!(server.requests(), 2);
    }
    let text = logged.text();
    assert!(text.contains("request repeated") && text.contains("log "), "{text}");
    assert!(!text.contains("SECRET"), "{text}");
}
