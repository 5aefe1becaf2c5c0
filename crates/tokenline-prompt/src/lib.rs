//! Prompts: renders templates with terms, asks a model, and reads its response as the prompt specifies: as text, as one
//! JSON value, or as JSON Lines, where a truncated response loses only its last object.
//!
//! [`PromptManager`] holds the prompts, from a [file](PromptManager::load), a [map of
//! values](PromptManager::from_config), or [code](PromptManager::with_prompt).
//!
//! ```
//! use serde::Deserialize;
//! use serde_json::json;
//! use tokenline_prompt::{Format, Objects, PromptManager, RenderedPrompt};
//!
//! #[derive(Deserialize)]
//! struct Definition {
//!     entity: String,
//!     definition: String,
//! }
//!
//! # // As a model might write it before it reaches its token limit.
//! # async fn complete(asked: RenderedPrompt) -> Result<String, std::io::Error> {
//! #     assert_eq!(asked.system, "You are a biologist.");
//! #     Ok("Sure!\n{\"entity\": \"DNA\", \"definition\": \"Carries genes\"}\n{\"entity\": 7}\n{\"entity\": \"R".to_owned())
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let manager = PromptManager::parse(r#"
//!     system = "You are a {{ expert }}."
//!     terms = { expert = "linguist" }
//!
//!     [prompts.define]
//!     prompt = "Define what this is about, one JSON object per line: {{ text }}"
//!     response-type = "jsonl"
//!     object-schema = { required = ["entity", "definition"], properties.entity.type = "string" }
//! "#, Format::Toml)?;
//!
//! // `complete` is any async function that sends the prompt to a model and returns the text.
//! let input = json!({"text": "DNA carries genes.", "expert": "biologist"});
//! let response = manager.invoke("define", input, complete).await?;
//!
//! let definitions: Objects<Definition> = response.into_objects()?;
//! assert_eq!(definitions.len(), 1);
//! assert_eq!(definitions[0].entity, "DNA");
//! assert_eq!(definitions.warnings().map(|warning| warning.to_string()).collect::<Vec<_>>(), [
//!     "1:1: prose: text without a record",
//!     "3:1: schema_violation: missing required member `definition`",
//!     "4:14: truncated: expected the rest of the string, found the end of the input",
//! ]);
//! # Ok(())
//! # }
//! ```
//!
//! [`PromptManager::invoke_stream`] yields the same objects while the model is still writing.
//! [`PromptManager::apply`] reads an existing response.
//!
//! This crate does not talk to models: the function you pass does. It reads only the files you load, and logs only,
//! with the feature `tracing`, warnings without the response's values.
//!
//! # Templates
//!
//! The syntax is Jinja2, implemented by the crate `minijinja`: `{{ text }}`, `{% for x in xs %}`, `{% if context %}`,
//! filters such as `{{ schema | tojson }}` (`tojson(indent=2)` for several lines; `json` is an alias), and the methods
//! of Python's dicts and strings. There is no HTML escaping. A template cannot include another. Printing or looping
//! over an undefined term is an error that names the term; use `{% if term %}` and `{{ term | default("…") }}` for
//! optional terms.
//!
//! A rendering takes at most 2,000,000 steps (64 bytes of a value count as one), 64 MiB of output and 150 levels of nesting.
//! One thing has no limit: operators (`~`, `==`, `<`, `in`), keys of dicts, and the filters `dictsort`, `groupby`,
//! `indent` and `replace` on a value that shares its parts. Repeating `{% set n.s = [n.s, n.s] %}` 40 times makes a small
//! value with 2^40 parts. Render untrusted templates in a separate process with a memory and time limit.
//!
//! # Built-in prompts
//!
//! [`PromptManager::built_in`] has these prompts, all `jsonl`. To add your own, or to override some, use
//! `PromptManager::built_in().extend(own)`.
//!
//! | id | terms | objects |
//! |---|---|---|
//! | `extract-definitions` | `text` | [`Definition`] |
//! | `extract-relationships` | `text` | [`Relationship`] |
//! | `extract-topics` | `text` | [`Topic`] |
//! | `extract-rows` | `schema`, `text` | [`Row`], or your own type |
//! | `agent-kg-extract` | `text` | [`KnowledgeItem`], collected as [`KnowledgeGraph`] |
//! | `extract-with-ontologies`, or `ontology-extract` | `classes`, `properties` or `object_properties` and `datatype_properties`, `text` | [`OntologyItem`], collected as [`OntologyGraph`] |
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod built_in;
mod config;
mod error;
mod extracted;
mod manager;
mod prompt;
mod response;
mod template;
mod terms;
pub mod tools;

pub use config::{ConfigError, ConfigErrorKind, Format, Place, Within};
pub use error::{
    ConvertError, InvokeError, JsonResponseError, JsonResponseErrorKind, PromptError, RenderError,
    UnknownPrompt,
};
pub use extracted::{
    Definition, KnowledgeGraph, KnowledgeItem, OntologyAttribute, OntologyEntity, OntologyGraph,
    OntologyItem, OntologyRelationship, Relationship, Row, Topic,
};
pub use manager::PromptManager;
pub use prompt::{Prompt, RenderedPrompt, ResponseType, UnknownResponseType};
pub use response::{Objects, ObjectsWarning, Response};
