//! Writers of responses: the events of any provider's response in, the bytes that a client of OpenAI or Anthropic expects
//! out. No I/O and no clock.
//!
//! [`ResponseWriter`] writes the wire formats of the providers whose clients are served: streamed, or as one body.
//! [`StepWriter`] is the trait behind it, for protocols of your own: [`Steps`] turns the events into steps that are
//! well-formed whatever the events are, and the protocol only has to write each step down.
//!
//! ```
//! use tokenline_core::{Options, json::Raw};
//! use tokenline_llm::writer::{ResponseHead, ResponseWriter};
//! use tokenline_llm::{Provider, ResponseOptions, ResponseParser, TextMode};
//!
//! // Ollama's response to a model that writes its calls as text, for a client of OpenAI's chat completions.
//! let options = ResponseOptions::from(Options::lenient()).text_as(TextMode::ToolCalls).text_and_reasoning();
//! let mut parser = ResponseParser::<Raw>::new(Provider::Ollama, options);
//! let head = ResponseHead::new("7f3a", "qwen3").created(1_700_000_000);
//! let mut writer = ResponseWriter::streamed(Provider::OpenAiChat, head).expect("chat completions have a writer");
//!
//! parser.push(r#"{"message":{"content":"<tool_call>{\"name\":\"now\",\"arguments\":{}}</tool_call>"},"done":true}"#);
//! parser.finish();
//! while let Some(event) = parser.next_event() {
//!     writer.push(&event);
//! }
//! writer.finish();
//! let wire = String::from_utf8(writer.take())?;
//! let call = r#""tool_calls":[{"index":0,"id":"call_7f3a_1","type":"function","function":{"name":"now","arguments":""}}]"#;
//! assert!(wire.contains(call), "{wire}");
//! assert!(wire.ends_with("\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n"), "{wire}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod call_ids;
mod collected;
mod failure;
mod response_writer;
mod step;
mod steps;
mod waiting;

pub use call_ids::CallIds;
pub(crate) use collected::{CollectedChoice, CollectedPart, Collector};
pub use failure::Failure;
pub use response_writer::{ResponseHead, ResponseWriter};
pub(crate) use response_writer::{WireWriter, append, append_event, append_json};
pub use step::{PartKind, Step, StepRules, StepWriter};
pub use steps::{Steps, to_raw};
