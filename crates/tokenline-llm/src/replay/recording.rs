//! Recorded responses.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use bytes::Bytes;
use futures_core::Stream;
use futures_util::stream;
use hyper::StatusCode;

use super::body::Pieces;
use super::pace::{Chunking, Gate, Pace, first_event, first_line};

/// A recorded response, and how it is sent.
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
    /// A recording with a name, by which requests select it, and the body of its response.
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

    /// The maximum size of a file for [`from_file`](Self::from_file): 64 MiB.
    pub const MAX_BYTES: u64 = 64 << 20;

    /// Reads a file of at most [`MAX_BYTES`](Self::MAX_BYTES); blocks. The name of the recording is the file name
    /// without its extension.
    ///
    /// The extensions `sse`, `ndjson`, `jsonl` and `json` set the content type; for others it depends on the requested
    /// path.
    ///
    /// # Errors
    ///
    /// Those of [`std::fs::read`], with the path in the message; [`FileTooLarge`] if the file is larger.
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

    /// Sets the content type. Default: by the requested path, or JSON if the status is not 200.
    #[must_use]
    pub fn content_type(mut self, content_type: ContentType) -> Self {
        self.content_type = Some(content_type);
        self
    }

    /// Sets the status of the response, for errors in place of a stream.
    #[must_use]
    pub fn status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Sets how the body is split and paced.
    #[must_use]
    pub fn pace(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self
    }

    /// Sends each piece only when the gate passes it.
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

    /// The name by which requests select it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The complete body, as sent without a fault.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The same recording with another body, which is sent at once.
    pub(super) fn with_bytes(&self, bytes: Bytes) -> Self {
        Self { bytes, pace: Pace::default(), ..self.clone() }
    }

    /// The body as a stream of bytes, chunked and paced as a server sends it, without a server.
    ///
    /// ```
    /// use futures_util::StreamExt;
    /// use tokenline_core::{Options, json::Raw};
    /// use tokenline_llm::replay::{self, Pace};
    /// use tokenline_llm::{Provider, ResponseParser, ResponseStream};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let recording = replay::builtin().swap_remove(0).pace(Pace::events());
    /// let parser = ResponseParser::<Raw>::new(Provider::OpenAiChat, Options::lenient());
    /// let records = ResponseStream::new(recording.into_stream(), parser).records();
    /// assert_eq!(records.count().await, 8);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// An item is an error only where the recording [breaks off](Fault::BreakAfter).
    pub fn into_stream(self) -> impl Stream<Item = io::Result<Bytes>> + Send + Unpin {
        let content_type = self.content_type_at(ContentType::EventStream);
        let pieces = stream::unfold(Some(Pieces::new(self, content_type)), |pieces| async move {
            let mut pieces = pieces?;
            let piece = pieces.next().await?;
            let rest = piece.is_ok().then_some(pieces);
            Some((piece.map_err(|broken| io::Error::new(io::ErrorKind::ConnectionReset, broken)), rest))
        });
        Box::pin(pieces)
    }

    /// The content type of the response; `default` is that of the path.
    pub(super) fn content_type_at(&self, default: ContentType) -> ContentType {
        match self.content_type {
            Some(content_type) => content_type,
            None if self.status == StatusCode::OK => default,
            None => ContentType::Json,
        }
    }

    /// The number of bytes of the body to send.
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

/// Reads a file, at most one byte beyond the limit.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(Recording::MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > Recording::MAX_BYTES {
        let limit = Recording::MAX_BYTES >> 20;
        let reason = format!("the recording exceeds the limit of {limit} MiB; shorten or split it");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    Ok(bytes)
}

/// An early end of a body. An offset beyond the body's length means its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// After this many bytes, all of them delivered, the connection is closed inside the chunked body: an error for the
    /// client.
    BreakAfter(usize),
    /// After this many bytes the body ends normally: a silent close, which HTTP cannot tell from success.
    EndAfter(usize),
}

/// The content type of a body.
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

/// The recordings included in the crate: streams of a small local model, one token per event.
///
/// OpenAI chat: `definitions` and `fenced-mixed` contain records, the latter in a code fence; `tool-calls-in-text`
/// contains tool calls written as text; `truncated` reached the token limit inside a record. `local-tool-calls`
/// contains two native calls of OpenAI's Responses, `local-tool-use` reasoning and a native call of Anthropic's
/// messages.
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
