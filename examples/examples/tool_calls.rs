//! Tool calls that a model writes as text, held against the tools' definitions.
//!
//! `cargo run -p tokenline-examples --example tool_calls`

use std::error::Error;

use futures_util::StreamExt;
use serde::Deserialize;
use tokenline::JsonlStreamParser;
use tokenline::schema::ToolSet;

const TOOLS: &str = r#"[{
    "name": "weather",
    "description": "The weather of a city, some days ahead",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 0}},
        "required": ["city"]
    }
}]"#;

#[derive(Deserialize)]
struct Weather {
    city: String,
    #[serde(default)]
    days: u8,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // In real life the body of a response.
    let body = futures_util::stream::iter(
        [
            "Let me see.\n{\"name\":\"weather\",\"parameters\":{\"city\":\"Par",
            "is\"},\"call_id\":\"call_1\"}\n{\"name\":\"weather\",\"parameters\":{\"town\":\"Rome\"}}\n",
            "{\"name\":\"weather\",\"parameters\":{\"city\":\"Oslo\",\"days\":2}}\n",
        ]
        .map(Ok::<_, std::io::Error>),
    );

    let tools = ToolSet::from_json_str(TOOLS)?;
    let mut calls = JsonlStreamParser::new(body).with_tools(tools).tool_calls().infallible();
    while let Some(call) = calls.next().await {
        let weather: Weather = call.parse_parameters()?;
        println!("{} in {}, {} days ahead", call.name, weather.city, weather.days);
    }
    for rejected in calls.report().rejects() {
        println!("{rejected}");
    }
    Ok(())
}
