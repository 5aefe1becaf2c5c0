//! Tool calls in text that are not JSON objects: the syntaxes of models, and the user's own.
//!
//! A call that is a JSON object, `{"name":"weather","parameters":{"city":"Paris"}}`, is a record like any
//! other. Other syntaxes are data: each is a row of the table `syntaxes.json`, a [`CallSyntax`] with the markers
//! around calls, the place of the name, and the way in which arguments are written.
//!
//! | reader | what it reads | for example |
//! |---|---|---|
//! | [`objects`](Reads::Objects) | JSON objects or an array of them | `<tool_call>{"name":"weather","arguments":{"city":"Paris"}}</tool_call>` |
//! | [`named`](Reads::Named) | a name, then JSON | `[TOOL_CALLS]weather[ARGS]{"city":"Paris"}` |
//! | | a name, then a tag for each parameter | `<function=weather><parameter=city>Paris</parameter></function>` |
//! | | a name, then keys and values | `<\|tool_call>call:weather{city:<\|"\|>Paris<\|"\|>}<tool_call\|>` |
//! | [`python`](Reads::Python) | calls as in Python | `[weather(city="Paris"), now()]` |
//! | [`elements`](Reads::Elements) | an element for each parameter | `]<]minimax[>[<city>Paris]<]minimax[>[</city>` |
//! | [`tool_tag`](Reads::ToolTag) | the tool's name as a tag, and a tag for each parameter | `<weather><city>Paris</city></weather>` |
//! | [`messages`](Reads::Messages) | messages to a recipient | `<\|channel\|>commentary to=functions.weather<\|message\|>{"city":"Paris"}<\|call\|>` |
//!
//! [`CallFormat`] names them, by syntax or by model family: `hermes`, `mistral`, `function_tag`, `pythonic`,
//! `deepseek-v3.1`, `kimi-k2`, `gpt-oss`. `auto` looks for all; [`CallDetector`] detects the syntax of a text.
//! A syntax that no row can describe is a [`ToolCallFormat`]: the text from its [`Opener`] on is passed to its [`CallReader`]
//! as it grows, which returns each complete call as JSON text.
//!
//! # Values without types
//!
//! Values between tags are strings, unless the syntax has types of its own. Where tools are defined, a value
//! becomes what the parameter's schema allows, such as a number, or `null` where it may be that; one that fits
//! nothing stays a string and is judged as one. The record is then marked with
//! [`parameters_typed`](crate::Recovery::ParametersTyped).
//!
#![doc = include_str!("differences.md")]

mod choice;
mod detector;
mod format;
mod growth;
mod literals;
mod messages;
mod named;
mod objects;
mod openers;
mod prefixes;
mod pythonic;
mod row;
pub(crate) mod scan;
mod skip;
mod step;
mod syntax;
mod table;
mod tool_tag;
mod write;

pub use crate::tool_call::CallSoFar;
pub use choice::CallFormat;
pub use detector::{CallDetector, ObjectRole};
pub use format::{CallReader, MarkerPair, Opener, ToolCallFormat};
pub(crate) use growth::Growth;
pub use literals::python_literal;
pub use openers::{OpenerMatch, Openers};
pub use step::{CallFault, CallStep, CallText, PassedRole};
pub use syntax::{CallSyntax, ParameterTags, Reads, Trim};
