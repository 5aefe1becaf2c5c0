//! The model of a run: a provider's, or a recording.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, Stream as _, TryStream};
use tokenline::json::Raw;
use tokenline::llm::client::{Extraction, ExtractionEvents};
use tokenline::llm::{
    Provider, ResponseError, ResponseEvent, ResponseOptions, ResponseParser, ResponseStream,
};
use tokenline::{Code, EarlyEnd, Reasks};
use tokio::sync::OwnedSemaphorePermit;

use super::events::Status;
use super::recorded::{RECORDED, Recorded};

/// A response on its way.
pub(super) struct Model {
    /// The provider's name, and the model's.
    pub(super) name: (String, String),
    /// Whether it calls tools rather than writing records.
    pub(super) calls_tools: bool,
    /// Whether records or calls are held against a schema of the user, which can take long.
    pub(super) is_validated: bool,
    /// Whether rejects are asked for again.
    pub(super) reasks_rejects: bool,
    /// The share of a response that is held as a whole.
    pub(super) memory: Option<OwnedSemaphorePermit>,
    /// When it was requested.
    pub(super) started: Instant,
    source: Source,
}

enum Source {
    Requested(BoxFuture<'static, Result<Box<dyn Response>, String>>),
    Responding(Box<dyn Response>),
    Failed,
}

/// The events of a response, whatever its source.
pub(super) trait Response: Send {
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<ResponseEvent<Raw>, String>>>;

    fn parser(&self) -> &ResponseParser;

    /// The further requests for rejects so far.
    fn reasks(&self) -> Reasks {
        Reasks::default()
    }
}

impl Response for ExtractionEvents {
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<ResponseEvent<Raw>, String>>> {
        Pin::new(self).poll_next(cx).map_err(message)
    }

    fn parser(&self) -> &ResponseParser {
        self.parser()
    }

    fn reasks(&self) -> Reasks {
        self.report().reasks()
    }
}

impl<S> Response for ResponseStream<S>
where
    S: TryStream<Ok: AsRef<[u8]> + Send, Error: Error + Send + 'static> + Send + Unpin,
{
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<ResponseEvent<Raw>, String>>> {
        Pin::new(self).poll_next(cx).map_err(message)
    }

    fn parser(&self) -> &ResponseParser {
        self.parser()
    }
}

/// The error of a response, for the page.
fn message<E: Error + 'static>(error: ResponseError<E>) -> String {
    match error {
        ResponseError::Source(source) => source.to_string(),
        ResponseError::Provider(diagnostic) | ResponseError::Incomplete(diagnostic) => diagnostic.to_string(),
        error => error.to_string(),
    }
}

impl Model {
    /// Sends a request once the model is polled.
    pub(super) fn request(provider: Provider, model: &str, calls_tools: bool, request: Extraction) -> Self {
        let response = async {
            let response = request.send().await.map_err(|error| error.to_string())?;
            Ok(Box::new(response) as Box<dyn Response>)
        };
        let name = (provider.as_str().to_owned(), model.to_owned());
        Self::of(name, calls_tools, Source::Requested(response.boxed()))
    }

    /// Plays a recording.
    pub(super) fn recorded(recorded: Recorded, calls_tools: bool, options: ResponseOptions) -> Self {
        let Recorded { name, provider, recording } = recorded;
        let parser = ResponseParser::new(provider, options);
        let response = Box::new(ResponseStream::new(recording.into_stream(), parser));
        Self::response((RECORDED, name), calls_tools, response)
    }

    /// Plays a response that is here.
    pub(super) fn response(
        (provider, name): (&str, &str),
        calls_tools: bool,
        response: Box<dyn Response>,
    ) -> Self {
        Self::of((provider.to_owned(), name.to_owned()), calls_tools, Source::Responding(response))
    }

    fn of(name: (String, String), calls_tools: bool, source: Source) -> Self {
        Self {
            name,
            calls_tools,
            is_validated: false,
            reasks_rejects: false,
            memory: None,
            started: Instant::now(),
            source,
        }
    }

    /// The next event of the response. An error comes once.
    pub(super) fn poll_event(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<ResponseEvent<Raw>, String>>> {
        loop {
            match &mut self.source {
                Source::Responding(response) => return response.poll_event(cx),
                Source::Failed => return Poll::Ready(None),
                Source::Requested(request) => match request.as_mut().poll(cx) {
                    Poll::Ready(Ok(response)) => self.source = Source::Responding(response),
                    Poll::Ready(Err(error)) => {
                        self.source = Source::Failed;
                        return Poll::Ready(Some(Err(error)));
                    }
                    Poll::Pending => return Poll::Pending,
                },
            }
        }
    }

    /// The parser, once the response has begun.
    pub(super) fn parser(&self) -> Option<&ResponseParser> {
        match &self.source {
            Source::Responding(response) => Some(response.parser()),
            Source::Requested(_) | Source::Failed => None,
        }
    }

    /// The further requests for rejects so far.
    pub(super) fn reasks(&self) -> Reasks {
        match &self.source {
            Source::Responding(response) => response.reasks(),
            Source::Requested(_) | Source::Failed => Reasks::default(),
        }
    }

    /// How the response ended.
    pub(super) fn status(&self) -> Status {
        match self.parser() {
            Some(parser) if parser.is_complete() => Status::Complete,
            Some(parser) if parser.report().ended_by() == Some(EarlyEnd::Repetition) => Status::Repeated,
            Some(parser) if !parser.report().by_code().contains_key(&Code::ProviderError) => {
                Status::Incomplete
            }
            _ => Status::Failed,
        }
    }
}
