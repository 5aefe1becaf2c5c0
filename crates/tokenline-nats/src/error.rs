//! Why a worker ends, or sets a source aside.

use std::fmt;

type Source = Box<dyn std::error::Error + Send + Sync>;

/// Why a worker could not start, ended, or set a source aside. Lost connections and refused messages are not errors: the
/// worker tries again, and says so through `tracing`.
///
/// [`ForeignOutput`](Self::ForeignOutput), [`ChunksRemoved`](Self::ChunksRemoved) and
/// [`OutputRemoved`](Self::OutputRemoved) concern one source and do not end the worker; see
/// [`on_source_failed`](crate::WorkerOptions::on_source_failed).
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// An option is not usable. The message says which and why.
    InvalidOption(String),
    /// No stream stores messages with these subjects.
    StreamMissing {
        /// The subjects.
        subjects: String,
        /// The command that creates such a stream.
        create: String,
    },
    /// A stream does not keep messages long enough to read them again.
    Retention {
        /// The stream.
        stream: String,
        /// The messages that it must keep.
        keeps: &'static str,
        /// The problem, and the remedy.
        advice: String,
    },
    /// The server refused to create the consumer, or it was deleted while the worker read from it.
    Consumer {
        /// The consumer.
        consumer: String,
        /// The server's reason.
        source: Source,
    },
    /// A subject holds output that is not of this run.
    ForeignOutput {
        /// The subject.
        subject: String,
        /// The run whose output it holds, if it is output of a worker.
        run: Option<String>,
    },
    /// The stream of the chunks no longer has the source's first chunk, of which outputs are stored.
    ChunksRemoved {
        /// The subject.
        subject: String,
        /// The sequence of its first chunk in the stream.
        first: u64,
    },
    /// Output was removed from a subject, but the server still takes the same messages for duplicates.
    OutputRemoved {
        /// The subject.
        subject: String,
    },
    /// JetStream does not respond.
    Unavailable(Source),
}

impl Error {
    /// Whether it concerns one source only.
    pub(crate) fn is_of_source(&self) -> bool {
        matches!(self, Self::ForeignOutput { .. } | Self::ChunksRemoved { .. } | Self::OutputRemoved { .. })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidOption(message) => f.write_str(message),
            Self::StreamMissing { subjects, create } => {
                write!(f, "no stream stores `{subjects}`; create one: {create}")
            }
            Self::Retention { stream, keeps, advice } => {
                write!(f, "the stream `{stream}` must keep {keeps}; {advice}")
            }
            Self::Consumer { consumer, source } => write!(
                f,
                "cannot read with the consumer `{consumer}`: {source}; delete it, or choose another name, and start \
                 the worker again: what is stored is not stored twice"
            ),
            Self::ForeignOutput { subject, run: Some(run) } => write!(
                f,
                "`{subject}` holds output of the run `{run}`; continue that run, choose another subject for the \
                 output, or purge the subject"
            ),
            Self::ForeignOutput { subject, run: None } => write!(
                f,
                "`{subject}` holds messages that no worker stored; choose another subject for the output, or purge it"
            ),
            Self::ChunksRemoved { subject, first } => write!(
                f,
                "the first chunk of `{subject}`, sequence {first}, was removed, but the source has not ended; let the \
                 stream keep chunks for longer, and purge the subject if the source does not matter any more"
            ),
            Self::OutputRemoved { subject } => write!(
                f,
                "messages were removed from `{subject}`, but the stream's duplicate window still holds their ids; \
                 choose another run id, or wait until the window has passed"
            ),
            Self::Unavailable(source) => write!(
                f,
                "JetStream does not respond: {source}; check that the server runs with JetStream (`nats-server -js`)"
            ),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Consumer { source, .. } | Self::Unavailable(source) => Some(&**source),
            _ => None,
        }
    }
}
