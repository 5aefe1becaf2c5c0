//! Result files of the providers' batch APIs.
//!
//! A batch result is one line of JSON: the id given to the request, and a complete response or an error. A
//! [`BatchReader`] reads a file line by line, and does not copy the responses. [`BatchFormat::detect`] detects the format
//! from one line, and [`BatchFormat::parse`] only splits a line. The lines are not in the order of the requests.
//!
//! ```
//! use tokenline_core::{Options, json::Raw};
//! use tokenline_llm::ResponseEvent;
//! use tokenline_llm::batch::{BatchFormat, BatchReader};
//!
//! let line = r#"{"custom_id":"7","response":{"status_code":200,"body":{"choices":[
//!     {"message":{"role":"assistant","content":"{\"entity\":\"DNA\"}"},"finish_reason":"stop"}]}},"error":null}"#;
//! let format = BatchFormat::detect(line).ok_or("no batch result")?;
//! let mut reader = BatchReader::<Raw>::new(format, Options::lenient());
//! let mut result = reader.read_line(line)?;
//! assert_eq!((result.custom_id.as_deref(), result.status), (Some("7"), Some(200)));
//! assert!(result.failure.is_none());
//! let event = result.next_event();
//! assert!(matches!(event, Some(ResponseEvent::Record { record, .. }) if record.value == r#"{"entity":"DNA"}"#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod format;
mod reader;

pub use format::{BatchFormat, BatchOutcome, BatchResult};
pub use reader::{BatchFailure, BatchLine, BatchReader, FailureKind};
