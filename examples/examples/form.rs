//! A form that fills while the model writes: `cargo run -p tokenline-examples --example form [BASE_URL]`

use tokenline::{ChatRequest, LlmClient, Partial, PartialEvent, Provider};

#[derive(serde::Deserialize, Partial)]
struct Definition {
    entity: String,
    definition: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let base_url = std::env::args().nth(1).unwrap_or("http://127.0.0.1:8080".to_owned());
    let request = ChatRequest::new("definitions").user("What is in a cell?");
    let client = LlmClient::new(Provider::OpenAiChat, base_url)?;
    let mut forms = client.stream(&request)?.send().await?.partials::<Definition>();
    while let Some(event) = forms.next().await {
        match event? {
            PartialEvent::Growing(form) => print!("\r\x1b[2K{:?}: {:?}", form.entity, form.definition),
            PartialEvent::Complete(form) => {
                println!("\r\x1b[2K{}: {}", form.value.entity, form.value.definition);
            }
            PartialEvent::Invalid(diagnostic) | PartialEvent::Rejected(diagnostic) => {
                println!("\r\x1b[2K{diagnostic}");
            }
            PartialEvent::Discarded => print!("\r\x1b[2K"), // it was prose
        }
    }
    Ok(())
}
