//! Options of a worker: its input, how to read it, and where to store the results.

use std::sync::Arc;
use std::time::Duration;

use tokenline::{Options, Provider, SchemaValidator, ToolSet};

use crate::Error;

type SourceFailed = Arc<dyn Fn(&str, &Error) + Send + Sync>;

/// How a source's chunks are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// As text: what the model wrote.
    #[default]
    Text,
    /// As the body of a provider's response, as it came over HTTP.
    Provider(Provider),
}

/// Options of a [`Worker`](crate::Worker).
///
/// ```
/// use std::time::Duration;
/// use tokenline::{Options, Provider, SchemaValidator};
/// use tokenline_nats::{Format, WorkerOptions};
///
/// let schema: SchemaValidator = r#"{"required":["entity"]}"#.parse()?;
/// let options = WorkerOptions::new("glossary-7")
///     .format(Format::Provider(Provider::OpenAiChat))
///     .read_as(Options::strict())
///     .schema(schema)
///     .max_ack_pending(200)
///     .ack_wait(Duration::from_secs(10));
/// # let _ = options;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct WorkerOptions {
    pub(crate) run: String,
    pub(crate) consumer: String,
    pub(crate) chunks: String,
    pub(crate) records: String,
    pub(crate) rejects: String,
    pub(crate) format: Format,
    pub(crate) options: Options,
    pub(crate) schema: Option<SchemaValidator>,
    pub(crate) tools: Option<ToolSet>,
    pub(crate) max_ack_pending: u32,
    pub(crate) ack_wait: Duration,
    pub(crate) max_sources: usize,
    pub(crate) on_source_failed: Option<SourceFailed>,
}

impl WorkerOptions {
    /// Options with the given run id: it is a part of each message id, and names the [consumer](Self::consumer).
    ///
    /// Workers of the same run share the work. To read the same chunks again, for example with another schema, choose
    /// another run id and other subjects for the [records](Self::records) and [rejects](Self::rejects).
    #[must_use]
    pub fn new(run: impl Into<String>) -> Self {
        let run = run.into();
        Self {
            consumer: format!("tokenline-{run}"),
            run,
            chunks: "chunks".to_owned(),
            records: "records".to_owned(),
            rejects: "rejects".to_owned(),
            format: Format::Text,
            options: Options::lenient(),
            schema: None,
            tools: None,
            max_ack_pending: 1_000,
            ack_wait: Duration::from_secs(30),
            max_sources: 4_096,
            on_source_failed: None,
        }
    }

    /// Sets the name of the durable consumer; the default is `tokenline-` and the run id. The worker creates it, or
    /// changes its `max_ack_pending` and `ack_wait`.
    #[must_use]
    pub fn consumer(mut self, name: impl Into<String>) -> Self {
        self.consumer = name.into();
        self
    }

    /// Sets the first tokens of the chunks' subjects; the default is `chunks`. The tokens after them name the source.
    #[must_use]
    pub fn chunks(mut self, prefix: impl Into<String>) -> Self {
        self.chunks = prefix.into();
        self
    }

    /// Sets the first tokens of the records' subjects; the default is `records`.
    #[must_use]
    pub fn records(mut self, prefix: impl Into<String>) -> Self {
        self.records = prefix.into();
        self
    }

    /// Sets the first tokens of the rejects' subjects; the default is `rejects`.
    #[must_use]
    pub fn rejects(mut self, prefix: impl Into<String>) -> Self {
        self.rejects = prefix.into();
        self
    }

    /// Sets how the chunks are read; the default is [`Format::Text`].
    #[must_use]
    pub fn format(mut self, format: Format) -> Self {
        self.format = format;
        self
    }

    /// Sets the options of the parser: mode, items, release, limits, call format. Partials and text are not emitted.
    #[must_use]
    pub fn read_as(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Validates each record against a schema. With [tools](Self::tools), each record of the text, before its calls are
    /// read.
    #[must_use]
    pub fn schema(mut self, schema: SchemaValidator) -> Self {
        self.schema = Some(schema);
        self
    }

    /// Reads tool calls of these tools instead of records: native calls, and calls in the text.
    #[must_use]
    pub fn tools(mut self, tools: ToolSet) -> Self {
        self.tools = Some(tools);
        self
    }

    /// Sets how many chunks all workers of the consumer together may hold before their outputs are stored; at least 1,
    /// by default 1,000. While the output streams are slow or refuse messages, no further chunks are delivered.
    #[must_use]
    pub fn max_ack_pending(mut self, chunks: u32) -> Self {
        self.max_ack_pending = chunks.max(1);
        self
    }

    /// Sets after which time a chunk that a worker holds without a sign of life is delivered to another one; by default
    /// 30 seconds. It is how long the chunks of a killed worker wait. At least 100 ms.
    #[must_use]
    pub fn ack_wait(mut self, time: Duration) -> Self {
        self.ack_wait = time.max(Duration::from_millis(100));
        self
    }

    /// Sets how many sources a worker keeps the decoder of, at least 1, by default 4,096. Of more sources than that,
    /// it forgets the one that was silent longest; with its next chunk, the source is read again from its first.
    #[must_use]
    pub fn max_sources(mut self, sources: usize) -> Self {
        self.max_sources = sources.max(1);
        self
    }

    /// Reports each source that is set aside, with its id and the reason: its subjects hold other output, or chunks or
    /// output of it were removed. It is also an error through `tracing`, and [counted](crate::Counts::failed).
    ///
    /// Nothing more is stored for the source. Its chunks are terminated: the consumer does not deliver them again, and the
    /// server publishes an advisory for each. Other sources go on. A source is reported again if the worker
    /// [forgot](Self::max_sources) it or starts again, and another chunk arrives. Once the cause is repaired, start the
    /// workers with another [consumer](Self::consumer): they read all chunks again, and store what is missing.
    #[must_use]
    pub fn on_source_failed(mut self, report: impl Fn(&str, &Error) + Send + Sync + 'static) -> Self {
        self.on_source_failed = Some(Arc::new(report));
        self
    }

    /// Checks the names.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let is_plain = |text: &str| {
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && !b"*>".contains(&byte))
        };
        for (option, name) in [("run", &self.run), ("consumer", &self.consumer)] {
            if !is_plain(name) || name.contains(['.', '/', '\\']) {
                return Err(Error::InvalidOption(format!(
                    "the {option} {name:?} is not a name: use visible ASCII characters except `.`, `*`, `>`, `/` and `\\`"
                )));
            }
        }
        let prefixes = [("chunks", &self.chunks), ("records", &self.records), ("rejects", &self.rejects)];
        for (at, (option, prefix)) in prefixes.into_iter().enumerate() {
            if !is_plain(prefix) || prefix.split('.').any(str::is_empty) {
                return Err(Error::InvalidOption(format!(
                    "the subject prefix of the {option}, {prefix:?}, is not a subject: use tokens such as `{option}` or `team.{option}`, without wildcards"
                )));
            }
            for (other, with) in prefixes.into_iter().skip(at + 1) {
                let (a, b) = (format!("{prefix}."), format!("{with}."));
                if a.starts_with(&b) || b.starts_with(&a) {
                    return Err(Error::InvalidOption(format!(
                        "the subjects of the {option} and the {other} overlap ({prefix:?}, {with:?}): choose two prefixes of which neither begins with the other"
                    )));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        let check = |options: WorkerOptions| options.check().map_err(|error| error.to_string());
        assert_eq!(check(WorkerOptions::new("r-1")), Ok(()));
        assert_eq!(check(WorkerOptions::new("r").records("a.b").rejects("a.c")), Ok(()));
        for (options, says) in [
            (WorkerOptions::new(""), "the run \"\" is not a name"),
            (WorkerOptions::new("a b"), "the run \"a b\" is not a name"),
            (WorkerOptions::new("r").consumer("a.b"), "the consumer \"a.b\""),
            (WorkerOptions::new("r").records("a..b"), "the subject prefix of the records"),
            (WorkerOptions::new("r").chunks("a.>"), "the subject prefix of the chunks"),
            (WorkerOptions::new("r").rejects("records.bad"), "the records and the rejects overlap"),
        ] {
            let error = check(options).unwrap_err();
            assert!(error.starts_with(says) || error.contains(says), "{error}");
        }
    }
}
