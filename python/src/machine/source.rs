//! The parsers under a machine: of a provider's response, or of a text.

use tokenline_core::adapter::{CountAs, Driver, RejectedTexts, SourceEnd, StreamMachine};
use tokenline_core::json::Raw;
use tokenline_core::{Reads, RepetitionLimits, Report, TextEvent, TextParser};
use tokenline_llm::{Provider, ResponseEvent, ResponseOptions, ResponseParser, TextMode};

use super::Progress;
use crate::settings::Settings;

/// A parser of everything in a response, or in a text, whose events are those of choice 0.
#[expect(clippy::large_enum_variant, reason = "one for each stream")]
pub(crate) enum Source {
    Response(ResponseParser<Raw>),
    Text(TextParser<Raw>),
}

impl Source {
    /// The parser of a provider's response. Notes rejected texts in `rejects`.
    pub(crate) fn response(
        provider: Provider,
        settings: Settings,
        text_as: TextMode,
        wants_text: bool,
        rejects: Option<&RejectedTexts>,
    ) -> Self {
        let mut options = ResponseOptions::from(settings.text_options()).text_as(text_as);
        let Settings { schema, tools, stops_on_repetition, open_calls, .. } = settings;
        if open_calls.is_some() {
            options = options.call_updates();
        }
        if wants_text {
            options = options.text_and_reasoning();
        }
        if let Some(schema) = schema {
            options = options.validator(schema);
        }
        if let Some(tools) = tools {
            options = options.tools(tools);
        }
        if stops_on_repetition {
            options = options.stop_on_repetition(RepetitionLimits::default());
        }
        if let Some(rejects) = rejects {
            options = options.repair(rejects.hook());
        }
        Self::Response(ResponseParser::new(provider, options))
    }

    /// The parser of a text.
    pub(crate) fn text(settings: Settings, reads: Reads, rejects: Option<&RejectedTexts>) -> Self {
        let mut driver = Driver::<Raw>::new(settings.text_options());
        let Settings { schema, tools, stops_on_repetition, .. } = settings;
        if let Some(schema) = schema {
            driver = driver.with_validator(schema);
        }
        if let Some(tools) = tools {
            driver = driver.with_tools(tools);
        }
        if stops_on_repetition {
            driver = driver.stop_on_repetition(RepetitionLimits::default());
        }
        if let Some(rejects) = rejects {
            driver = driver.with_repair(rejects.hook());
        }
        Self::Text(TextParser::from_driver(&driver, reads))
    }

    /// Starts over with another response or text.
    pub(crate) fn reset(&mut self) {
        match self {
            Self::Response(parser) => parser.reset(),
            Self::Text(parser) => parser.reset(),
        }
    }

    pub(crate) fn push(&mut self, chunk: &[u8]) {
        match self {
            Self::Response(parser) => parser.push(chunk),
            Self::Text(parser) => parser.push(chunk),
        }
    }

    pub(crate) fn finish(&mut self, end: SourceEnd) {
        match (self, end) {
            (Self::Response(parser), SourceEnd::Clean) => parser.finish(),
            (Self::Response(parser), SourceEnd::Failed) => parser.source_failed(),
            (Self::Text(parser), end) => StreamMachine::finish(parser, end),
        }
    }

    pub(crate) fn next_event(&mut self) -> Option<ResponseEvent<Raw>> {
        match self {
            Self::Response(parser) => parser.next_event(),
            Self::Text(parser) => loop {
                if let Some(event) = response_event(parser.next_event()?) {
                    return Some(event);
                }
            },
        }
    }

    /// The count that an event belongs to which is neither a record nor a call.
    pub(crate) fn count_as<'e>(&self, event: &'e ResponseEvent<Raw>) -> CountAs<'e> {
        match self {
            Self::Response(parser) => parser.count_as(event),
            Self::Text(_) => event.diagnostic().map_or(CountAs::Other, CountAs::Diagnostic),
        }
    }

    /// The choice of an event, which only a response has.
    pub(crate) fn choice(&self, choice: u64) -> Option<u64> {
        matches!(self, Self::Response(_)).then_some(choice)
    }

    pub(crate) fn report(&self) -> &Report {
        match self {
            Self::Response(parser) => parser.report(),
            Self::Text(parser) => parser.report(),
        }
    }

    pub(crate) fn progress(&self) -> Progress {
        match self {
            Self::Response(parser) => Progress {
                is_understood: parser.delta_count() > 0
                    || parser.usage().is_some()
                    || parser.finish_reason(0).is_some(),
                has_unknown: !parser.unknown().is_empty(),
            },
            Self::Text(_) => Progress::default(),
        }
    }

    pub(crate) fn is_terminated(&self) -> bool {
        match self {
            Self::Response(parser) => parser.is_terminated(),
            Self::Text(_) => self.has_stopped(),
        }
    }

    pub(crate) fn expects_nothing(&self) -> bool {
        match self {
            Self::Response(parser) => parser.expects_nothing() || self.has_stopped(),
            Self::Text(_) => self.has_stopped(),
        }
    }

    /// Whether it ended early, because it repeats itself.
    fn has_stopped(&self) -> bool {
        self.report().ended_by().is_some()
    }
}

/// The event of a response, if it is about a record or a call.
fn response_event(event: TextEvent<Raw>) -> Option<ResponseEvent<Raw>> {
    let (choice, block, number) = (0, 0, None);
    Some(match event {
        TextEvent::Record(record) => ResponseEvent::Record { choice, block, record },
        TextEvent::ToolCall { call, record } => {
            ResponseEvent::ToolCall { choice, number, block, call, record: Some(record) }
        }
        TextEvent::RejectedCall(call) => ResponseEvent::RejectedCall { choice, number, block, call },
        TextEvent::Rejected(diagnostic) => ResponseEvent::Rejected { choice: None, block, diagnostic },
        TextEvent::Note(diagnostic) => ResponseEvent::Note { choice: None, block, diagnostic },
        _ => return None,
    })
}
