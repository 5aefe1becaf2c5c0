//! Tool calls in text that are not JSON objects: the syntaxes of models, and the user's own.
//!
//! A call that is a JSON object, `{"name":"weather","parameters":{"city":"Paris"}}`, is a record like any
//! other. Other syntaxes are read by a [`ToolCallFormat`]: the text from its [`Opener`] on is passed to its
//! [`CallReader`] as it grows, which returns each complete call as JSON text.
//!
//! | name | what it looks like | used by |
//! |---|---|---|
//! | `jsonl` | `{"name":"weather","parameters":{"city":"Paris"}}`, one or more | models that the prompt asks for it |
//! | `single_json` | the same, one object; `{"tool_calls":[...]}` | models that the prompt asks for it |
//! | `hermes` | `<tool_call>{"name":"weather","arguments":{"city":"Paris"}}</tool_call>` | Hermes 2 and 3, Qwen 2.5 and 3 |
//! | `mistral` | `[TOOL_CALLS] [{"name":"weather","arguments":{"city":"Paris"}}]`, `[TOOL_CALLS]weather[ARGS]{"city":"Paris"}` | Mistral, by its tokenizers up to v7 and from v11 on |
//! | `function_tag` | `<function=weather>{"city":"Paris"}</function>`, or with `<parameter=city>` in it | Llama 3.1, Qwen3-Coder |
//! | `pythonic` | `[weather(city="Paris"), now()]` | Llama 3.2 and 4 |
//!
//! [`CallFormat`] names them; [`CallDetector`] detects the format of a text.

mod choice;
mod detector;
mod elements;
mod format;
mod key_value;
mod messages;
mod named;
mod objects;
mod openers;
mod pythonic;
mod scan;
mod skip;
mod step;
mod syntax;
mod tags;
mod write;

pub use choice::CallFormat;
pub use detector::CallDetector;
pub use format::{CallReader, Opener, ToolCallFormat};
pub use openers::{OpenerMatch, Openers};
pub use pythonic::python_literal;
pub use step::{CallFault, CallStep, CallText, PassedRole};
pub use syntax::{CallSyntax, ParameterTags, Reads, Trim};
