//! A response in a file that was opened in the page.

use std::convert::Infallible;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::stream;
use tokenline::adapter::char_start;
use tokenline::json::Raw;
use tokenline::llm::{Delta, Provider, ResponseEvent, ResponseOptions, ResponseParser, ResponseStream};

use super::model::{Model, Response};

/// The name of a file, in place of a provider's.
pub(super) const FILE: &str = "file";

/// The text that is read at once, in bytes.
const CHUNK: usize = 4 * 1024;

/// A response that was saved: a text, or the bytes of a provider. `from` says which; by default, its beginning does.
pub(super) fn model(
    name: &str,
    content: String,
    from: Option<&str>,
    calls_tools: bool,
    options: ResponseOptions,
) -> Result<Model, String> {
    let provider = match from {
        None => Provider::detect(content.as_bytes()).or_else(|| Provider::of_body(&content)),
        Some("text") => None,
        Some(name) => {
            let provider = Provider::from_name(name);
            Some(provider.ok_or_else(|| format!("from: there is no provider named {name:?}"))?)
        }
    };
    let response: Box<dyn Response> = match provider {
        Some(provider) => {
            let content = Bytes::from(content);
            let starts = (0..content.len()).step_by(CHUNK);
            let chunks = starts.map(move |at| content.slice(at..content.len().min(at + CHUNK)));
            let chunks = stream::iter(chunks.map(Ok::<_, Infallible>));
            Box::new(ResponseStream::new(chunks, ResponseParser::new(provider, options)))
        }
        // The text of a response has the same parser, whatever the provider.
        None => Box::new(TextFile {
            text: content,
            next: 0,
            parser: ResponseParser::new(Provider::OpenAiChat, options),
        }),
    };
    Ok(Model::response((FILE, name), calls_tools, response))
}

/// A response of which only the text was saved.
struct TextFile {
    text: String,
    /// The offset of what is read next.
    next: usize,
    parser: ResponseParser,
}

impl Response for TextFile {
    fn poll_event(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<ResponseEvent<Raw>, String>>> {
        loop {
            if let Some(event) = self.parser.next_event() {
                return Poll::Ready(Some(Ok(event)));
            }
            if self.next > self.text.len() {
                return Poll::Ready(None);
            }
            if self.next == self.text.len() {
                self.next += 1;
                self.parser.push_delta(Delta::Terminator);
                self.parser.finish();
                continue;
            }
            let end = char_start(&self.text, self.next + CHUNK);
            self.parser.push_delta(Delta::text(&self.text[self.next..end]));
            self.next = end;
        }
    }

    fn parser(&self) -> &ResponseParser {
        &self.parser
    }
}
