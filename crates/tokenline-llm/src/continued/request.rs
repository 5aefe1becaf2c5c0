//! A request whose response is continued.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use tokenline_codec::AsyncRepair;
use tokenline_core::adapter::{OwnRule, Rules, StopAfter};
use tokenline_core::json::Raw;
use tokenline_core::{Options, Rejected, RepetitionLimits, Validate};

use super::{ContinuationOptions, ContinuedDocument, ContinuedEvents, ContinuedRecords};
use crate::client::{LlmClient, ReaskOptions};
use crate::request::ChatRequest;

/// A request whose response is continued when it is cut off: a list of [records](Self::records), or one
/// [document](Self::document). [`LlmClient::continued`] makes it.
#[must_use = "a request does nothing until its records or its document are asked for"]
pub struct ContinuedRequest<T = Raw> {
    pub(super) settings: Settings,
    pub(super) kind: PhantomData<fn() -> T>,
}

pub(super) struct Settings {
    pub(super) client: LlmClient,
    pub(super) request: ChatRequest,
    pub(super) continuation: ContinuationOptions,
    pub(super) options: Options,
    pub(super) rules: Rules,
    pub(super) repair: Option<Box<AsyncRepair>>,
    pub(super) quota: StopAfter,
    pub(super) repetition: Option<RepetitionLimits>,
    /// For lists; there it replaces the asynchronous repair hook.
    pub(super) reask: ReaskOptions,
}

impl ContinuedRequest {
    pub(crate) fn new(
        client: LlmClient,
        request: ChatRequest,
        continuation: ContinuationOptions,
        options: Options,
    ) -> Self {
        let settings = Settings {
            client,
            request,
            continuation,
            options,
            rules: Rules::default(),
            repair: None,
            quota: StopAfter::default(),
            repetition: None,
            reask: ReaskOptions::new(0),
        };
        Self { settings, kind: PhantomData }
    }
}

impl<T> ContinuedRequest<T> {
    /// Reads the records, or the document, into a type.
    pub fn typed<U: DeserializeOwned>(self) -> ContinuedRequest<U> {
        ContinuedRequest { settings: self.settings, kind: PhantomData }
    }

    /// Validates each record, or the complete document. With several validators, it must pass all of them.
    pub fn with_validator(mut self, validator: impl Validate + Send + Sync + 'static) -> Self {
        self.settings.rules.add_validator(Arc::new(validator));
        self
    }

    /// Rejects records that a rule of your own finds invalid; see
    /// [`JsonlStreamParser::validated_with`](tokenline_codec::JsonlStreamParser::validated_with).
    pub fn validated_with(self, rule: impl Fn(&T) -> Result<(), String> + Send + Sync + 'static) -> Self
    where
        T: DeserializeOwned + 'static,
    {
        self.with_validator(OwnRule::new(rule))
    }

    /// Sets how the text of a list is read: lenient by default, with the path to the records that the request's format
    /// has. With [`Options::items`] the response is one JSON value that contains the records.
    pub fn with_options(mut self, options: Options) -> Self {
        self.settings.options = options;
        self
    }

    /// Ends the list after this many records, not counting those before a
    /// [checkpoint](super::Checkpoint): the connection closes, and no further request is made. This is not an
    /// error; see [`Report::ended_by`](tokenline_core::Report::ended_by). With 0 no request is made.
    pub fn with_max_records(mut self, max_records: u64) -> Self {
        self.settings.quota.max_records = Some(max_records);
        self
    }

    /// Allows this many rejects. At the next one the connection closes, and the stream ends with
    /// [`ResponseError::TooManyRejected`](crate::ResponseError::TooManyRejected). Prose and truncated records are not
    /// rejects.
    pub fn with_error_budget(mut self, rejects: u64) -> Self {
        self.settings.quota.error_budget = Some(rejects);
        self
    }

    /// Stops a response that repeats itself; see
    /// [`ResponseOptions::stop_on_repetition`](crate::ResponseOptions::stop_on_repetition). It is not continued: the list
    /// ends with the error [`ResponseError::Truncated`](crate::ResponseError::Truncated).
    pub fn stop_on_repetition(mut self, limits: impl Into<Option<RepetitionLimits>>) -> Self {
        // The response is read as text, in which records are rows.
        let of_text = |limits: RepetitionLimits| RepetitionLimits { rows: limits.records, ..limits };
        self.settings.repetition = limits.into().map(of_text);
        self
    }

    /// Asks the model again for each rejected record of a list, in a request of its own beside the list that goes on; see
    /// [`Extraction`](crate::client::Extraction). A truncated record is continued, not asked for again.
    ///
    /// While something is asked for, the [checkpoint](ContinuedRecords::checkpoint) waits: save the records after it only
    /// together with the next checkpoint. [In place](ReaskOptions::in_place) the checkpoint is always that after the last
    /// record. What came again has its position in the response of the original. The closure of
    /// [`with_repair`](Self::with_repair) is asked first; [`with_async_repair`](Self::with_async_repair) and this replace each
    /// other.
    pub fn reask(mut self, reask: impl Into<ReaskOptions>) -> Self {
        self.settings.reask = reask.into();
        self
    }

    /// Asks a closure for replacements of rejects: malformed lines, and records that are invalid by the schema or the
    /// type; see [`Code::is_repairable`](tokenline_core::Code::is_repairable). A replacement is one JSON object
    /// that passes the same rules.
    ///
    /// Give the same text the same replacement each time: a model that starts over writes a malformed line again,
    /// which then counts as the record that replaced it. The closure is not asked about truncated records: the
    /// model writes them again.
    ///
    /// ```
    /// # fn repaired(request: tokenline_llm::client::ContinuedRequest) -> tokenline_llm::client::ContinuedRequest {
    /// request.with_repair(|rejected| Some(rejected.text.replace("NaN", "null")))
    /// # }
    /// ```
    pub fn with_repair(
        mut self,
        repair: impl FnMut(Rejected) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.settings.rules.set_repair(Box::new(repair));
        self.settings.repair = None;
        self
    }

    /// Like [`with_repair`](Self::with_repair), but the closure returns a future, for example to ask a model. The stream
    /// awaits it in its own task and reads nothing meanwhile; dropping the stream drops it.
    pub fn with_async_repair<F>(mut self, repair: impl FnMut(Rejected) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Option<String>> + Send + 'static,
    {
        self.settings.rules.set_repair_steps();
        self.settings.reask = ReaskOptions::new(0);
        self.settings.repair = Some(Box::new(AsyncRepair::new(repair)));
        self
    }
}

impl<T: DeserializeOwned + Send + 'static> ContinuedRequest<T> {
    /// The records. The first request is sent when the first of them is asked for.
    pub fn records(self) -> ContinuedRecords<T> {
        ContinuedRecords::new(self.events())
    }

    /// The records, with the rejects between them. The first request is sent when the first of them is asked for.
    pub fn events(mut self) -> ContinuedEvents<T> {
        if let Some(validator) = self.settings.request.response_format.validator() {
            self.settings.rules.add_validator(validator);
        }
        ContinuedEvents::new(self)
    }

    /// The response as one JSON document, which may be larger than a single response. The first request is sent when it is
    /// awaited.
    ///
    /// Validators and the type apply to the complete document; the validator of a format with
    /// [items](crate::request::JsonFormat::items) is for these, and does not. If they reject it, repair is asked for a replacement, which is
    /// one JSON object. How text is read, the maximum of records, the error budget, [`reask`](Self::reask) and a [checkpoint](super::Checkpoint) are
    /// settings of lists, and do not apply.
    pub fn document(mut self) -> ContinuedDocument<T> {
        let format = &self.settings.request.response_format;
        if let Some(validator) = format.validator().filter(|_| format.items().is_none()) {
            self.settings.rules.add_validator(validator);
        }
        ContinuedDocument::new(self)
    }
}

/// Without the messages.
impl<T> fmt::Debug for ContinuedRequest<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContinuedRequest").field("client", &self.settings.client).finish_non_exhaustive()
    }
}
