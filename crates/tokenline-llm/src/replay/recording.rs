//! What is served.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use bytes::Bytes;
use hyper::StatusCode;

use super::pace::{Chunking, Gate, Pace, first_event, first_line};

/// A recorded response, and how it is to be sent.
///
/// ```
/// use std::time::Duration;
/// use tokenline_llm::replay::{Fault, Pace, Recording, StatusCode};
///
/// let slow = Recording::new("slow", "data: 1\n\ndata: [DONE]\n\n")
///     .pace(Pace::events().delay(Duration::from_millis(25)));
/// let broken = Recording::new("broken", "data: 1\n\ndata: [DONE]\n\n").fault(Fault::BreakAfter(4));
/// let busy = Recording::new("busy", r#"{"error":{"message":"slow down"}}"#).status(StatusCode::TOO_MANY_REQUESTS);
/// # let _ = (slow, broken, busy);
/// ```
#[derive(Clone, Debug)]
pub struct Recording {
    pub(super) name: String,
    bytes: Bytes,
    content_type: Option<ContentType>,
    pub(super) status: StatusCode,
    pub(super) pace: Pace,
    pub(super) gate: Option<Gate>,
    pub(super) fault: Option<Fault>,
}

impl Recording {
    /// A recording with a name, by which requests ask for it, and the bytes of a response's body.
    pub fn new(name: impl Into<String>, bytes: impl Into<Bytes>) -> Self {
        Self {
            name: name.into(),
            bytes: bytes.into(),
            content_type: None,
            status: StatusCode::OK,
            pace: Pace::default(),
            gate: None,
            fault: None,
        }
    }

    /// The most bytes of a file that [`from_file`](Self::from_file) reads: 64 MiB.
    pub const MAX_BYTES: u64 = 64 << 20;

    /// Reads a file of at most [`MAX_BYTES`](Self::MAX_BYTES), all of it, blocking; the recording is named as the file without its extension.
    ///
    /// The extensions `sse`, `ndjson`, `jsonl` and `json` set the content type, any other leaves it to the path that is
    /// asked for.
    ///
    /// # Errors
    ///
    /// Those of [`std::fs::read`], of the same kind, with the path in the message; [`FileTooLarge`] if the file has more
    /// bytes.
    ///
    /// [`FileTooLarge`]: io::ErrorKind::FileTooLarge
    pub fn from_file(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let bytes = read(path)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
        let name = path.file_stem().unwrap_or(path.as_os_str());
        let mut recording = Self::new(name.to_string_lossy(), bytes);
        recording.content_type = path.extension().and_then(|extension| match extension.to_str()? {
            "sse" => Some(ContentType::EventStream),
            "ndjson" | "jsonl" => Some(ContentType::Ndjson),
            "json" => Some(ContentType::Json),
            _ => None,
        });
        Ok(recording)
    }

    /// Sets the content type; without it, it follows from the path that is asked for, or is JSON if the status is
    /// not 200.
    #[must_use]
    pub fn content_type(mut self, content_type: ContentType) -> Self {
        self.content_type = Some(content_type);
        self
    }

    /// Sets the response's status, for errors that come before any stream.
    #[must_use]
    pub fn status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Sets how the body is cut and paced.
    #[must_use]
    pub fn pace(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self
    }

    /// Sends each piece only when the gate lets it pass.
    #[must_use]
    pub fn gate(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    /// Ends the body early.
    #[must_use]
    pub fn fault(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        self
    }

    /// The name by which requests ask for it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole body, as it would be sent without a fault.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The content type of the response, where `usual` is that of the path.
    pub(super) fn content_type_at(&self, usual: ContentType) -> ContentType {
        match self.content_type {
            Some(content_type) => content_type,
            None if self.status == StatusCode::OK => usual,
            None => ContentType::Json,
        }
    }

    /// How many bytes of the body are sent.
    pub(super) fn end(&self) -> usize {
        match self.fault {
            Some(Fault::BreakAfter(end) | Fault::EndAfter(end)) => end.min(self.bytes.len()),
            None => self.bytes.len(),
        }
    }

    /// The piece that starts at `start`, which is before [`Self::end`].
    pub(super) fn piece(&self, start: usize, content_type: ContentType) -> Bytes {
        let rest = &self.bytes[start..self.end()];
        let length = match self.pace.chunking {
            Chunking::Whole => rest.len(),
            Chunking::Bytes(length) => rest.len().min(length.get()),
            Chunking::Events if content_type == ContentType::Ndjson => first_line(rest),
            Chunking::Events => first_event(rest),
        };
        self.bytes.slice(start..start + length)
    }
}

/// All of a file. No more than one byte beyond the limit is read.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(Recording::MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > Recording::MAX_BYTES {
        let limit = Recording::MAX_BYTES >> 20;
        let reason = format!("the recording has more than {limit} MiB, the limit; shorten it or split it");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    Ok(bytes)
}

/// How a body ends before its end. A place beyond the body's length means its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// After so many bytes, all of them delivered, the connection is closed in the middle of the chunked body: an
    /// error for the client.
    BreakAfter(usize),
    /// After so many bytes the body ends as if that were all: a silent close, which HTTP cannot tell from success.
    EndAfter(usize),
}

/// What a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentType {
    /// `text/event-stream`, server-sent events.
    EventStream,
    /// `application/x-ndjson`, one JSON value a line.
    Ndjson,
    /// `application/json`.
    Json,
    /// `application/vnd.amazon.eventstream`, binary messages.
    AmazonEventStream,
}

impl ContentType {
    /// The value of the header `content-type`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EventStream => "text/event-stream",
            Self::Ndjson => "application/x-ndjson",
            Self::Json => "application/json",
            Self::AmazonEventStream => "application/vnd.amazon.eventstream",
        }
    }
}

/// The recordings that come with the crate: streams of a small model on our own machine, a token an event.
///
/// OpenAI chat: `definitions` and `fenced-mixed` hold records, the second ones in a code fence; `tool-calls-in-text` tool
/// calls written as text; `truncated` was cut by the token limit inside a record. `local-tool-calls` holds two native
/// calls of OpenAI's Responses, `local-tool-use` reasoning and a native call of Anthropic's messages.
#[must_use]
pub fn builtin() -> Vec<Recording> {
    const BODIES: [(&str, &[u8]); 6] = [
        ("definitions", include_bytes!("../../fixtures/openai-chat/definitions.sse")),
        ("fenced-mixed", include_bytes!("../../fixtures/openai-chat/fenced-mixed.sse")),
        ("tool-calls-in-text", include_bytes!("../../fixtures/openai-chat/tool-calls-in-text.sse")),
        ("truncated", include_bytes!("../../fixtures/openai-chat/truncated.sse")),
        ("local-tool-calls", include_bytes!("../../fixtures/openai-responses/local-tool-calls.sse")),
        ("local-tool-use", include_bytes!("../../fixtures/anthropic/local-tool-use.sse")),
    ];
    BODIES
        .into_iter()
        .map(|(name, body)| Recording::new(name, body).content_type(ContentType::EventStream))
        .collect()
}
