//! Runs the program as a user does.

mod agreement;
mod batch;
mod batch_sources;
mod calls;
mod chat_analysis;
#[path = "../common/mod.rs"]
mod common;
mod compression;
mod continuation;
#[path = "../../../tokenline-core/tests/common/extent.rs"]
mod extent;
mod help;
mod hosts;
mod import;
mod import_resume;
mod inputs;
mod large;
mod limits;
mod lines;
#[path = "../../../tokenline-core/tests/common/outcomes.rs"]
mod outcome_cases;
mod outcomes;
mod outputs;
mod parse;
mod partials;
mod program;
mod prompts;
mod providers;
mod proxy;
mod reask;
mod report;
mod schema;
mod serve;
#[cfg(unix)]
mod signals;
#[cfg(target_os = "linux")]
mod terminal;
mod tools;
mod validate;
mod validate_documents;
mod validate_files;
#[cfg(unix)]
mod validate_follow;

/// A response with two records, a malformed one and a truncated one.
const RESPONSE: &str =
    "Sure:\n```json\n{\"a\": 1.50, \"b\":\"\\u00e9\"},\n{\"a\":NaN}\n{\"a\":\"x\"}\n```\n{\"a\":2";
