//! A run of `tokenline serve` as a program.
//! The API key is in the environment variable OPENAI_API_KEY.

use std::error::Error;

use tokenline::json::Raw;
use tokenline::llm::request::JsonFormat;
use tokenline::{
    ChatRequest, LlmClient, Provider, ReaskOptions, RepetitionLimits, ResponseOptions, SchemaValidator,
};

const SCHEMA: &str = r#"{
  "required": ["name"],
  "properties": {"name": {"type": "string"}}
}"#;
const SYSTEM: &str = "Write JSON.";
const PROMPT: &str = r#"Name "three" rivers.
One line each."#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let client = LlmClient::new(Provider::OpenAiChat, "http://127.0.0.1:8080")?;
    let request = ChatRequest::new("test").system(SYSTEM).user(PROMPT);
    let request = request.max_tokens(500).temperature(1.0).seed(7);
    let value: serde_json::Value = serde_json::from_str(r#""low""#)?;
    let request = request.extra("reasoning_effort", value);
    let format = JsonFormat::list("answer", &Raw::new(SCHEMA)?, "/items");
    let request = request.response_format(format);
    let schema: SchemaValidator = SCHEMA.parse()?;
    let response = client.stream(&request)?;
    let response = response.with_options(ResponseOptions::repair_syntax);
    let response = response.with_options(|options| options.validator(schema));
    let response = response.with_options(|options| options.stop_on_repetition(RepetitionLimits::default()));
    let response = response.reask(&request, ReaskOptions::new(2));
    let mut records = response.send().await?.records();
    while let Some(record) = records.next().await {
        println!("{}", record?.value);
    }
    eprintln!("{} rejected", records.report().rejected());
    Ok(())
}
