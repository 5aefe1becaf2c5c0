//! Everything in a provider's response.

use tokenline_core::adapter::StreamMachine as _;
use tokenline_core::json::Raw;
use tokenline_core::{Reads, Record, Span};
use tokenline_llm::{Delta, Provider, ResponseEvent, ResponseOptions, ResponseParser, TextMode, Usage};

use crate::calls::{rejected_call, tool_call};
use crate::machine::{Machine, Part, finding, place, record};
use crate::output::{Output, Target};
use crate::settings::Settings;

/// A parser of a response. Of the records that grow, those of choice 0 are shown.
pub(crate) struct ResponseMachine {
    parser: ResponseParser<Raw>,
    /// Chunks are pieces of the response's text, of whole characters, not of its wire.
    reads_text: bool,
    /// The block of the record that grows, and where it starts.
    open: Option<(u64, u64)>,
    shows_values: bool,
}

impl ResponseMachine {
    pub(crate) fn new(provider: Option<Provider>, settings: Settings) -> Self {
        let Settings { options, response, calls, .. } = settings;
        let mut options = ResponseOptions::from(options).text_as(match (response.text_as, calls.reads) {
            (TextMode::Records, Reads::ToolCalls) => TextMode::ToolCalls,
            (TextMode::Records, Reads::RecordsAndToolCalls) => TextMode::RecordsAndToolCalls,
            (text_as, _) => text_as,
        });
        if response.call_updates {
            options = options.call_updates();
        }
        if response.text {
            options = options.text_and_reasoning();
        }
        if let Some(tools) = calls.tools {
            options = options.tools(tools);
        }
        #[cfg(feature = "schema")]
        if let Some(schema) = settings.schema {
            options = options.validator(schema);
        }
        Self {
            parser: ResponseParser::new(provider.unwrap_or(Provider::OpenAiChat), options),
            reads_text: provider.is_none(),
            open: None,
            shows_values: calls.shows_values,
        }
    }

    fn take(&mut self, out: &mut Output) {
        while let Some(event) = self.parser.next_event() {
            self.event(event, out);
        }
    }

    fn event(&mut self, event: ResponseEvent<Raw>, out: &mut Output) {
        let part = |choice, block| Part { choice: Some(choice), block };
        match event {
            ResponseEvent::Record { choice, block, record: found } => {
                if choice == 0 && self.open == Some((block, found.span.start)) {
                    self.open = None;
                    out.event("record", |json| {
                        place(&found, json);
                        part(choice, block).write(json);
                    });
                } else {
                    owned_record(found, part(choice, block), out);
                }
            }
            ResponseEvent::Partial { choice: 0, block, delta } => {
                let is_root = delta.value.depth == 0 && delta.value.key.is_none();
                if self.open != Some((block, delta.start)) {
                    if !is_root {
                        return;
                    }
                    self.open = Some((block, delta.start));
                    out.begin_steps(Target::OpenRecord);
                }
                out.owned_delta(&delta.value);
            }
            ResponseEvent::PartialDiscarded { choice: 0, block } => self.gone(block, out),
            ResponseEvent::ToolCall { choice, number, block, call, record } => {
                let part = part(choice, block);
                if let Some(record) = &record {
                    self.ended_in(part, record.span, out);
                }
                tool_call(&call, number, part, record.as_ref(), out);
            }
            ResponseEvent::RejectedCall { choice, number, block, call } => {
                let part = part(choice, block);
                self.ended_in(part, call.diagnostic.span, out);
                rejected_call(&call, number, part, self.shows_values, out);
            }
            ResponseEvent::ToolCallBegan { choice, number, call_id, name } => {
                out.event("tool_call_began", |json| {
                    json.text_member("name", &name);
                    json.number_member("number", number);
                    if let Some(id) = &call_id {
                        json.text_member("id", id);
                    }
                    json.number_member("choice", choice);
                });
            }
            ResponseEvent::ToolCallArguments { choice, number, text } => {
                out.event("tool_call_arguments", |json| {
                    json.text_member("text", &text);
                    json.number_member("number", number);
                    json.number_member("choice", choice);
                });
            }
            ResponseEvent::ToolCallDiscarded { choice, number } => {
                out.event("tool_call_discarded", |json| {
                    json.number_member("number", number);
                    json.number_member("choice", choice);
                });
            }
            ResponseEvent::Rejected { choice, block, diagnostic } => {
                let part = Part { choice, block };
                self.ended_in(part, diagnostic.span, out);
                finding(&diagnostic, part, out);
            }
            ResponseEvent::Note { choice, block, diagnostic } => {
                finding(&diagnostic, Part { choice, block }, out)
            }
            ResponseEvent::Text { choice, block, text } => {
                out.event("text", |json| {
                    json.text_member("text", &text);
                    part(choice, block).write(json);
                });
            }
            ResponseEvent::Reasoning { choice, text, opaque } => {
                out.event("reasoning", |json| {
                    json.text_member("text", &text);
                    if let Some(opaque) = &opaque {
                        json.name("opaque");
                        json.raw(opaque.as_str());
                    }
                    json.number_member("choice", choice);
                });
            }
            ResponseEvent::Refusal { choice, text } => {
                out.event("refusal", |json| {
                    json.text_member("text", &text);
                    json.number_member("choice", choice);
                });
            }
            ResponseEvent::Finish { choice, reason } => {
                out.event("finish", |json| {
                    json.text_member("reason", reason.as_str());
                    json.number_member("choice", choice);
                });
            }
            ResponseEvent::Usage(usage) => write_usage(&usage, out),
            _ => {}
        }
    }

    /// Gives up the record that grows if a call or a reject covers its start.
    fn ended_in(&mut self, part: Part, span: Span, out: &mut Output) {
        let is_covered = |(block, start)| block == part.block && span.start <= start && start < span.end;
        if part.choice == Some(0) && self.open.is_some_and(is_covered) {
            self.gone(part.block, out);
        }
    }

    fn gone(&mut self, block: u64, out: &mut Output) {
        if self.open.is_some_and(|(of, _)| of == block) {
            self.open = None;
            out.gone();
        }
    }
}

/// A record that is owned.
fn owned_record(found: Record<Raw>, part: Part, out: &mut Output) {
    let mut raw = None;
    let place = found.map(|value| raw = Some(value));
    if let Some(raw) = raw {
        raw.with_value(|value| record(&place.map(|()| value), part, out));
    }
}

fn write_usage(usage: &Usage, out: &mut Output) {
    let counts = [
        ("inputTokens", usage.input_tokens),
        ("outputTokens", usage.output_tokens),
        ("totalTokens", usage.total_tokens),
        ("cachedInputTokens", usage.cached_input_tokens),
        ("cacheCreationInputTokens", usage.cache_creation_input_tokens),
        ("reasoningTokens", usage.reasoning_tokens),
    ];
    out.event("usage", |json| {
        for (name, count) in counts {
            if let Some(count) = count {
                json.number_member(name, count);
            }
        }
    });
}

impl Machine for ResponseMachine {
    fn push(&mut self, chunk: &[u8], out: &mut Output) -> bool {
        if self.reads_text {
            self.parser.push_delta(Delta::text(&String::from_utf8_lossy(chunk)));
        } else {
            self.parser.push(chunk);
        }
        self.take(out);
        false
    }

    fn finish(&mut self, has_failed: bool, out: &mut Output) {
        if self.reads_text && !has_failed {
            self.parser.push_delta(Delta::finish("stop"));
            self.take(out);
        }
        if has_failed {
            self.parser.source_failed();
        } else {
            self.parser.finish();
        }
        self.take(out);
        if self.open.take().is_some() {
            out.gone();
        }
    }

    fn reset(&mut self) {
        self.parser.reset();
        self.open = None;
    }

    fn status(&self) -> u32 {
        u32::from(self.parser.is_complete())
            | u32::from(self.parser.expects_nothing()) << 1
            | u32::from(self.parser.is_terminated()) << 2
    }
}
