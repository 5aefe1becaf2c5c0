//! Chunks in, outputs out: the parser of one source.

use bytes::Bytes;
use tokenline::adapter::{Driver, SourceEnd, StreamMachine, StreamStep};
use tokenline::json::Raw;
use tokenline::llm::TextMode;
use tokenline::{
    Code, CompletedBy, Diagnostic, Event, Record, ResponseEvent, ResponseOptions, ResponseParser, Span,
    ToolCall,
};

use crate::WorkerOptions;
use crate::options::Format;

/// A record or a reject, to be stored.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) is_record: bool,
    /// One line of JSON.
    pub(crate) payload: Bytes,
    pub(crate) place: Option<(u64, Span)>,
    pub(crate) completion: Option<CompletedBy>,
    pub(crate) choice: u64,
    pub(crate) block: u64,
}

pub(crate) struct Decoder {
    machine: Machine,
    /// The longest payload that the server takes.
    max_payload: usize,
}

enum Machine {
    Records(Box<Driver<Raw>>),
    Calls(Box<Driver<ToolCall>>),
    Response(Box<ResponseParser<Raw>>),
}

impl Decoder {
    pub(crate) fn new(options: &WorkerOptions, max_payload: usize) -> Self {
        let reading = options.options.clone().partials(false).text(false);
        let machine = match (options.format, &options.tools) {
            (Format::Text, tools) => {
                let mut driver = Driver::<Raw>::new(reading);
                if let Some(schema) = options.schema.clone() {
                    driver = driver.with_validator(schema);
                }
                match tools {
                    Some(tools) => Machine::Calls(Box::new(driver.tool_calls().with_tools(tools.clone()))),
                    None => Machine::Records(Box::new(driver)),
                }
            }
            (Format::Provider(provider), tools) => {
                let mut reading = ResponseOptions::from(reading);
                if let Some(tools) = tools {
                    reading = reading.text_as(TextMode::ToolCalls).tools(tools.clone());
                }
                if let Some(schema) = options.schema.clone() {
                    reading = reading.validator(schema);
                }
                Machine::Response(Box::new(ResponseParser::new(provider, reading)))
            }
        };
        Self { machine, max_payload }
    }

    /// Reads on in `input`, up to the next output. Returns how many bytes it read; without an output, all of them.
    pub(crate) fn step(&mut self, input: &[u8]) -> (usize, Option<Output>) {
        let mut at = 0;
        loop {
            let (read, output) = match &mut self.machine {
                Machine::Records(driver) => step(&mut **driver, &input[at..], from_record),
                Machine::Calls(driver) => step(&mut **driver, &input[at..], from_text_call),
                Machine::Response(parser) => step(&mut **parser, &input[at..], from_response),
            };
            at += read;
            match output {
                Stepped::Output(output) => return (at, Some(self.fitted(output))),
                Stepped::Other => {}
                Stepped::Idle => return (at, None),
            }
        }
    }

    /// Ends the source. The last outputs come from [`step`](Self::step).
    pub(crate) fn finish(&mut self, end: SourceEnd) {
        match &mut self.machine {
            Machine::Records(driver) => driver.finish(end),
            Machine::Calls(driver) => driver.finish(end),
            Machine::Response(parser) => StreamMachine::finish(&mut **parser, end),
        }
    }

    /// Whether the source was complete and, as far as the provider says, not cut off, once the last outputs are taken.
    pub(crate) fn is_complete(&self) -> bool {
        match &self.machine {
            Machine::Records(driver) => driver.report().is_complete(),
            Machine::Calls(driver) => driver.report().is_complete(),
            Machine::Response(parser) => parser.is_complete() && !parser.is_cut_off(),
        }
    }

    /// The output, or a reject in its place if the server would refuse it, which no further try could change.
    fn fitted(&self, output: Output) -> Output {
        let length = output.payload.len();
        if length <= self.max_payload {
            return output;
        }
        let message = format!(
            "the message has {length} bytes, more than the {} that the server takes; raise its `max_payload` or the stream's `max_msg_size`",
            self.max_payload
        );
        let (line, span) = output.place.unwrap_or((1, Span { start: 0, end: 0 }));
        let diagnostic = Diagnostic::new(Code::RecordTooLarge, line, span, 1, message);
        Output { is_record: false, payload: json(&diagnostic), completion: None, ..output }
    }
}

enum Stepped {
    Output(Output),
    /// An event that is stored nowhere.
    Other,
    /// More input is needed.
    Idle,
}

fn step<M: StreamMachine>(
    machine: &mut M,
    input: &[u8],
    read: impl FnOnce(M::Event) -> Option<Output>,
) -> (usize, Stepped) {
    let (consumed, step) = machine.step(input);
    let stepped = match step {
        StreamStep::Event(event) => read(event).map_or(Stepped::Other, Stepped::Output),
        StreamStep::Repair(_) => Stepped::Other,
        StreamStep::NeedInput | StreamStep::Done => Stepped::Idle,
    };
    (consumed, stepped)
}

fn from_record(event: Event<Raw>) -> Option<Output> {
    match event {
        Event::Record(record) => Some(Output::record(&record, single_line(&record.value))),
        Event::Rejected(diagnostic) => Some(Output::reject(&diagnostic)),
        _ => None,
    }
}

fn from_text_call(event: Event<ToolCall>) -> Option<Output> {
    match event {
        Event::Record(record) => Some(Output::record(&record, record.value.to_json().into())),
        Event::Rejected(diagnostic) => Some(Output::reject(&diagnostic)),
        _ => None,
    }
}

fn from_response(event: ResponseEvent<Raw>) -> Option<Output> {
    let output = match event {
        ResponseEvent::Record { choice, block, record } => {
            Output { choice, block, ..Output::record(&record, single_line(&record.value)) }
        }
        ResponseEvent::ToolCall { choice, block, call, record, .. } => Output {
            is_record: true,
            payload: call.to_json().into(),
            place: record.map(|record| (record.line, record.span)),
            completion: Some(call.completion),
            choice,
            block,
        },
        ResponseEvent::RejectedCall { choice, block, call, .. } => {
            Output { choice, block, ..Output::reject(&call.diagnostic) }
        }
        ResponseEvent::Rejected { choice, block, diagnostic } => {
            Output { choice: choice.unwrap_or_default(), block, ..Output::reject(&diagnostic) }
        }
        // Not stored: notes, and the members of a response beside its records.
        _ => return None,
    };
    Some(output)
}

impl Output {
    fn record<T>(record: &Record<T>, payload: Bytes) -> Self {
        Self {
            is_record: true,
            payload,
            place: Some((record.line, record.span)),
            completion: Some(record.completion),
            choice: 0,
            block: 0,
        }
    }

    fn reject(diagnostic: &Diagnostic) -> Self {
        Self {
            is_record: false,
            payload: json(diagnostic),
            place: Some((diagnostic.line, diagnostic.span)),
            completion: None,
            choice: 0,
            block: 0,
        }
    }
}

fn single_line(value: &Raw) -> Bytes {
    value.to_single_line().into_owned().into()
}

fn json(diagnostic: &Diagnostic) -> Bytes {
    serde_json::to_vec(diagnostic).expect("names and numbers are JSON").into()
}
