//! A request whose rejects are asked for again.

use std::fmt;

use serde::de::DeserializeOwned;
use tokenline_core::adapter::{RejectedTexts, StopAfter};
use tokenline_core::json::Raw;
use tokenline_core::{Limits, Record, Report};

use super::ReaskOptions;
use super::asking::Asking;
use super::events::{ExtractionEvents, ExtractionRecords};
use super::requests::Setup;
use crate::client::{ClientError, LlmClient, StreamRequest};
use crate::request::ChatRequest;
use crate::{ResponseError, ResponseOptions};

/// Extracts values of a type from a model's response: each record as soon as it is complete, or all as a
/// [list](Extraction::list).
///
/// ```
/// use tokenline_llm::Provider;
/// use tokenline_llm::client::{LlmClient, extract};
/// use tokenline_llm::request::ChatRequest;
///
/// #[derive(serde::Deserialize)]
/// struct Definition {
///     entity: String,
/// }
///
/// # #[cfg(not(feature = "replay"))]
/// # fn main() {}
/// # #[cfg(feature = "replay")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use tokenline_llm::replay::{self, ReplayServer};
/// # let server = ReplayServer::bind("127.0.0.1:0".parse()?, replay::builtin()).await?;
/// # let base_url = &server.url();
/// let client = LlmClient::new(Provider::OpenAiChat, base_url)?;
/// let request = ChatRequest::new("definitions").user("What is in a cell? As JSON Lines.");
/// let mut definitions = extract::<Definition>(&client, request).reask(2).send().await?.records();
/// while let Some(definition) = definitions.next().await {
///     println!("{}", definition?.value.entity);
/// }
/// assert!(definitions.report().is_complete() && definitions.report().reasks().requests == 0);
/// # Ok(())
/// # }
/// ```
pub fn extract<T: DeserializeOwned>(client: &LlmClient, request: ChatRequest) -> Extraction<T> {
    let stream = client.stream(&request).map(StreamRequest::typed);
    Extraction { client: client.clone(), request, stream, reask: ReaskOptions::new(0) }
}

/// A request whose rejects are asked for again. [`extract`] and [`StreamRequest::reask`] make it.
///
/// # What is asked again
///
/// A record or a tool call that is rejected: malformed, truncated, against the schema, the tools, the type or a rule of your
/// own. Each is asked for in a request of its own, beside the response that goes on; the records that are right do not wait.
/// The further request has the conversation, the rejected text, and each rule that it broke, if the validator looks for all
/// (`SchemaValidator::all_violations`). Its response is read and judged like the first, but the item may stand in a fence or a
/// sentence; it must be the only record or call of the first choice. What passes is delivered, marked
/// [`reasked`](tokenline_core::Recovery::Reasked) with its [number of requests](tokenline_core::Recovered::attempts), at the
/// line and span of the original. What still fails is a reject, whose
/// [`attempts`](tokenline_core::Diagnostic::attempts) have the reason of each further request. If
/// the model writes the same text again, it is not asked any more. Texts of more than 64 KiB are not sent back.
///
/// Nothing is asked again unless you call [`reask`](Self::reask). Dropping the stream closes all connections.
///
/// A [repair hook](ResponseOptions::repair) is asked first; an asynchronous one is not asked at all. The
/// [retries](crate::client::LlmClientBuilder::retries) of the client do not count as further requests.
#[must_use = "nothing is requested until it is sent"]
pub struct Extraction<T = Raw> {
    client: LlmClient,
    request: ChatRequest,
    /// The error of a request that the provider cannot express is returned when it is sent.
    stream: Result<StreamRequest<T>, ClientError>,
    reask: ReaskOptions,
}

impl<T> Extraction<T> {
    pub(crate) fn new(client: LlmClient, request: ChatRequest, stream: StreamRequest<T>) -> Self {
        Self { client, request, stream: Ok(stream), reask: ReaskOptions::new(0) }
    }

    /// Asks the model again for what is rejected: at most this many times for each, or as the [`ReaskOptions`] say.
    pub fn reask(self, reask: impl Into<ReaskOptions>) -> Self {
        Self { reask: reask.into(), ..self }
    }

    /// Changes how the response is read; see [`StreamRequest::with_options`]. The responses of further requests are read in
    /// the same way. Quotas count what is delivered, and what is rejected in the end.
    pub fn with_options(self, change: impl FnOnce(ResponseOptions) -> ResponseOptions) -> Self {
        Self { stream: self.stream.map(|stream| stream.with_options(change)), ..self }
    }

    /// Rejects records that a rule of your own finds invalid; see [`ResponseOptions::validated_with`].
    pub fn validated_with(self, rule: impl Fn(&T) -> Result<(), String> + Send + Sync + 'static) -> Self
    where
        T: DeserializeOwned + 'static,
    {
        self.with_options(|options| options.validated_with(rule))
    }
}

impl<T: DeserializeOwned + Send + 'static> Extraction<T> {
    /// Sends the request and waits for the start of the response.
    ///
    /// # Errors
    ///
    /// If there is no response stream; [`ClientError::kind`] gives the reason.
    pub async fn send(self) -> Result<ExtractionEvents<T>, ClientError> {
        let Self { client, request, stream, reask } = self;
        let (mut limits, mut quota, mut asking) = (Limits::default(), StopAfter::default(), None);
        let stream = stream?.with_options(|mut options| {
            // What is asked for again counts once it is decided.
            (limits, quota) = (*options.limits(), options.take_quota());
            if reask.attempts == 0 {
                return options;
            }
            let setup = Setup::new(client, request, options.clone(), &reask);
            let texts = RejectedTexts::default();
            let options = options.note_rejects(&texts);
            asking = Some(Asking::new(reask, setup, texts));
            options
        });
        Ok(ExtractionEvents::new(stream.send().await?, (&limits, quota), asking))
    }

    /// Sends the request and reads the response to its end.
    ///
    /// ```
    /// use tokenline_llm::Provider;
    /// use tokenline_llm::client::{LlmClient, extract};
    /// use tokenline_llm::request::ChatRequest;
    ///
    /// # #[derive(serde::Deserialize)]
    /// # struct Definition {
    /// #     entity: String,
    /// # }
    /// # #[cfg(not(feature = "replay"))]
    /// # fn main() {}
    /// # #[cfg(feature = "replay")]
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use tokenline_llm::replay::{self, ReplayServer};
    /// # let server = ReplayServer::bind("127.0.0.1:0".parse()?, replay::builtin()).await?;
    /// # let client = LlmClient::new(Provider::OpenAiChat, server.url())?;
    /// # let request = ChatRequest::new("definitions").user("What is in a cell?");
    /// let extracted = extract::<Definition>(&client, request).reask(2).list().await?;
    /// for definition in &extracted.records {
    ///     println!("{}", definition.value.entity);
    /// }
    /// for reject in extracted.report.rejects() {
    ///     eprintln!("{reject}");
    /// }
    /// # assert!(extracted.error.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no response stream. An error of the response, after which records may have arrived, is in the
    /// [list](Extracted::error).
    pub async fn list(self) -> Result<Extracted<T>, ClientError> {
        let mut stream: ExtractionRecords<T> = self.send().await?.records();
        let (mut records, mut error) = (Vec::new(), None);
        while let Some(record) = stream.next().await {
            match record {
                Ok(record) => records.push(record),
                Err(ended) => error = Some(ended),
            }
        }
        Ok(Extracted { records, report: stream.report().clone(), error })
    }
}

/// The records of a response that was read to its end.
#[derive(Debug)]
#[non_exhaustive]
pub struct Extracted<T> {
    /// The records, in the order in which they were delivered.
    pub records: Vec<Record<T>>,
    /// The counts, with the rejects.
    pub report: Report,
    /// Why the response ended early, if it did. The records are those before.
    pub error: Option<ResponseError<ClientError>>,
}

/// Without the messages.
impl<T> fmt::Debug for Extraction<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extraction")
            .field("client", &self.client)
            .field("reask", &self.reask)
            .finish_non_exhaustive()
    }
}
