//! The model of a run: a provider's, or a recording.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, Stream as _, TryStream};
use tokenline::Code;
use tokenline::json::Raw;
use tokenline::llm::client::StreamRequest;
use tokenline::llm::{
    Provider, ResponseError, ResponseEvent, ResponseOptions, ResponseParser, ResponseStream,
};

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
    /// When it was requested.
    pub(super) started: Instant,
    source: Source,
}

enum Source {
    Requested(BoxFuture<'static, Result<Box<dyn Response>, String>>),
    Responding(Box<dyn Response>),
    Failed,
}

/// A [`ResponseStream`], whatever its source.
trait Response: Send {
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<ResponseEvent<Raw>, String>>>;

    fn parser(&self) -> &ResponseParser;
}

impl<S> Response for ResponseStream<S>
where
    S: TryStream<Ok: AsRef<[u8]> + Send, Error: Error + Send + 'static> + Send + Unpin,
{
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<ResponseEvent<Raw>, String>>> {
        Pin::new(self).poll_next(cx).map_err(|error| match error {
            ResponseError::Source(source) => source.to_string(),
            ResponseError::Provider(diagnostic) | ResponseError::Incomplete(diagnostic) => {
                diagnostic.to_string()
            }
            error => error.to_string(),
        })
    }

    fn parser(&self) -> &ResponseParser {
        self.parser()
    }
}

impl Model {
    /// Sends a request once the model is polled.
    pub(super) fn request(
        provider: Provider,
        model: &str,
        calls_tools: bool,
        request: StreamRequest,
    ) -> Self {
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
        let name = (RECORDED.to_owned(), name.to_owned());
        Self::of(name, calls_tools, Source::Responding(response))
    }

    fn of(name: (String, String), calls_tools: bool, source: Source) -> Self {
        Self { name, calls_tools, is_validated: false, started: Instant::now(), source }
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

    /// How the response ended.
    pub(super) fn status(&self) -> Status {
        match self.parser() {
            Some(parser) if parser.is_complete() => Status::Complete,
            Some(parser) if !parser.report().by_code().contains_key(&Code::ProviderError) => {
                Status::Incomplete
            }
            _ => Status::Failed,
        }
    }
}
