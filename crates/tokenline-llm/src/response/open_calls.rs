//! Updates on how calls in a text grow.

use std::sync::Arc;

use tokenline_core::json::{Parser, Step};
use tokenline_core::{
    Diagnostic, LentEvent, Options, RecordDecoder, RejectedCall, ToolCall, ToolCallAssembler, ValidateCall,
};

use super::ResponseEvent;
use super::event_queue::EventQueue;

/// The open call of a text that has been announced.
pub(super) struct Announced {
    number: u64,
    /// The offset of its first byte in the text.
    start: u64,
    name: String,
    /// The JSON text of its arguments that was emitted.
    sent: String,
}

impl Announced {
    /// Emits what is new of the open call, if there is one.
    pub(super) fn update<T>(
        announced: &mut Option<Self>,
        choice: u64,
        decoder: &mut RecordDecoder,
        numbers: &mut ToolCallAssembler,
        out: &mut EventQueue<T>,
    ) {
        let Some(call) = decoder.open_call() else { return };
        if announced.as_ref().is_none_or(|open| open.start != call.start || open.name != call.name) {
            Self::discard(announced, choice, out);
            let call_id = call.call_id.map(Into::into);
            *announced = Some(Self::begin(choice, call.start, &call.name, call_id, numbers, out));
        }
        if let Some(announced) = announced.as_mut().filter(|_| shows_arguments(out)) {
            announced.send(choice, call.parameters.get(announced.sent.len()..), out);
        }
    }

    /// Ends the announced call, if there is one, without a call.
    pub(super) fn discard<T>(announced: &mut Option<Self>, choice: u64, out: &mut EventQueue<T>) {
        if let Some(Self { number, .. }) = announced.take() {
            out.events.push_back(ResponseEvent::ToolCallDiscarded { choice, number });
        }
    }

    fn begin<T>(
        choice: u64,
        start: u64,
        name: &str,
        call_id: Option<String>,
        numbers: &mut ToolCallAssembler,
        out: &mut EventQueue<T>,
    ) -> Self {
        let (number, name) = (numbers.take_number(), name.to_owned());
        out.events.push_back(ResponseEvent::ToolCallBegan { choice, number, call_id, name: name.clone() });
        Self { number, start, name, sent: String::new() }
    }

    /// Emits more arguments.
    fn send<T>(&mut self, choice: u64, more: Option<&str>, out: &mut EventQueue<T>) {
        if let Some(text) = more.filter(|text| !text.is_empty()) {
            self.sent.push_str(text);
            let (number, text) = (self.number, text.to_owned());
            out.events.push_back(ResponseEvent::ToolCallArguments { choice, number, text });
        }
    }
}

/// Arguments that tools may coerce are emitted once they are.
fn shows_arguments<T>(out: &EventQueue<T>) -> bool {
    !out.settings.rules.tools().is_some_and(ValidateCall::coerces)
}

/// The announced call that an event of the text ends. Its last updates come before the events of the call.
pub(super) struct EndingCall<'a> {
    open: Option<Announced>,
    /// Gives out numbers, with the options for reading the text. `None` unless updates are wanted.
    numbers: Option<(&'a mut ToolCallAssembler, Arc<Options>)>,
    choice: u64,
    /// The markup before the event: a marker of calls may be in it.
    markup: String,
}

impl<'a> EndingCall<'a> {
    pub(super) fn new(
        announced: &mut Option<Announced>,
        choice: u64,
        event: &LentEvent<'_>,
        options: Option<Arc<Options>>,
        numbers: &'a mut ToolCallAssembler,
        markup: &str,
    ) -> Self {
        let end = end_of(event);
        let open = announced.take_if(|open| open.start < end);
        let markup = if options.is_some() { markup.to_owned() } else { String::new() };
        Self { open, numbers: options.map(|options| (numbers, options)), choice, markup }
    }

    /// Ends it without a call.
    pub(super) fn discard<T>(&mut self, out: &mut EventQueue<T>) {
        Announced::discard(&mut self.open, self.choice, out);
    }

    /// Ends it with the call that begins at `start`, whose number is returned.
    pub(super) fn deliver<T>(&mut self, start: u64, call: &ToolCall, out: &mut EventQueue<T>) -> Option<u64> {
        let Self { open, numbers: Some((numbers, _)), choice, .. } = self else { return None };
        // What was emitted is the beginning of what is delivered, or it is discarded.
        let parameters = call.parameters.as_str();
        let is_own = |open: &mut Announced| {
            open.start == start && open.name == call.name && parameters.starts_with(&open.sent)
        };
        let own = open.take_if(is_own);
        Announced::discard(open, *choice, out);
        let mut own = own.unwrap_or_else(|| {
            Announced::begin(*choice, start, &call.name, call.call_id.clone(), numbers, out)
        });
        own.send(*choice, parameters.strip_prefix(own.sent.as_str()), out);
        Some(own.number)
    }

    /// Ends it with a rejected call, whose number is returned. The updates are those that the text of the call gives
    /// byte by byte.
    pub(super) fn reject<T>(&mut self, call: &RejectedCall, out: &mut EventQueue<T>) -> Option<u64> {
        let Self { open, numbers: Some((numbers, options)), choice, markup } = self else { return None };
        let tools = out.settings.rules.tools();
        let written = Written::in_text(markup, &call.received, usize::MAX, options, tools);
        let name = written.as_ref().map(|written| &written.name).or(call.name.as_ref());
        let own = open.take_if(|open| name.is_none_or(|name| *name == open.name));
        Announced::discard(open, *choice, out);
        let mut own = match (own, written.as_ref()) {
            (Some(own), _) => own,
            (None, Some(written)) => {
                let call_id = written.call_id.clone();
                Announced::begin(*choice, 0, &written.name, call_id, numbers, out)
            }
            (None, None) => return None,
        };
        if let Some(written) = written.filter(|_| shows_arguments(out)) {
            own.send(*choice, written.arguments.strip_prefix(own.sent.as_str()), out);
        }
        Some(own.number)
    }
}

/// A rejected part of a text as a call, if it looks like one: in any syntax, up to its name at least, or an object with a
/// member named like one of a call's.
pub(super) fn rejected_call(
    diagnostic: &Diagnostic,
    (markup, text): (&str, &str),
    options: &Options,
    tools: Option<&Arc<dyn ValidateCall + Send + Sync>>,
) -> Option<Box<RejectedCall>> {
    let begin = || Written::in_text(markup, text, MAX_BEFORE_NAME, options, tools);
    let name = object_with_call(text).or_else(|| begin().map(|written| Some(written.name)))?;
    let mut call = RejectedCall::new(diagnostic.clone(), text);
    call.name = name;
    Some(Box::new(call))
}

/// Characters of a rejected text in which the name of a call is looked for.
const MAX_BEFORE_NAME: usize = 4096;

/// The call that a rejected text begins to write.
struct Written {
    name: String,
    call_id: Option<String>,
    arguments: String,
}

impl Written {
    /// Reads at most so many characters as a stream of single characters gives them, after the markup before them: the last
    /// call that was open.
    fn in_text(
        markup: &str,
        text: &str,
        most: usize,
        options: &Options,
        tools: Option<&Arc<dyn ValidateCall + Send + Sync>>,
    ) -> Option<Self> {
        let read = |markup| Self::after_markup(markup, text, most, options, tools);
        // A call in a list of Python calls stands without its bracket.
        let is_bare = |first: char| first.is_alphabetic() || first == '_';
        match read(markup) {
            None if text.starts_with(is_bare) => read("["),
            // A call that was read from another syntax is an object.
            None if !markup.is_empty() => read(""),
            written => written,
        }
    }

    fn after_markup(
        markup: &str,
        text: &str,
        most: usize,
        options: &Options,
        tools: Option<&Arc<dyn ValidateCall + Send + Sync>>,
    ) -> Option<Self> {
        let mut alone = RecordDecoder::new(options.clone().text(false).partials(false));
        if let Some(tools) = tools {
            alone = alone.with_tools(Arc::clone(tools));
        }
        let mut last: Option<(u64, Self)> = None;
        for char in [markup].into_iter().chain(text.split_inclusive(|_| true).take(most)) {
            let mut rest = char;
            loop {
                let decoded = alone.decode_str(rest);
                rest = &rest[decoded.consumed..];
                if decoded.event.is_none() {
                    break;
                }
            }
            let Some(call) = alone.open_call() else { continue };
            match &mut last {
                Some((start, open)) if *start == call.start && open.name == call.name => {
                    if let Some(more) = call.parameters.get(open.arguments.len()..) {
                        open.arguments.push_str(more);
                    }
                }
                last => {
                    let call_id = call.call_id.map(Into::into);
                    let arguments = call.parameters.to_owned();
                    *last = Some((call.start, Self { name: call.name.into_owned(), call_id, arguments }));
                }
            }
        }
        last.map(|(_, call)| call)
    }
}

/// Where the text of an event ends, if it may end a call.
fn end_of(event: &LentEvent<'_>) -> u64 {
    match event {
        LentEvent::Record(record) => record.span.end,
        LentEvent::Rejected(diagnostic) => diagnostic.span.end,
        LentEvent::Text(span) | LentEvent::Reasoning(span) => span.end,
        _ => 0,
    }
}

/// The call's name, as far as it was read, if the text has an object with a member named like one of a call's.
fn object_with_call(text: &str) -> Option<Option<String>> {
    const NAMES: [&str; 2] = ["name", "parameters"];
    let object = &text[text.find('{')?..];
    let mut parser = Parser::new();
    let read = match parser.resume(object) {
        Step::Malformed(error) => {
            parser.reset();
            // Up to the error it is well-formed.
            let _ = parser.resume(&object[..error.offset]);
            &object[..error.offset]
        }
        _ => object,
    };
    let open =
        parser.cut().filter(|_| parser.open_containers().count() == 1).map_or("", |cut| &read[cut.member..]);
    let is_open_member = NAMES.iter().any(|name| {
        let quoted = format!("\"{name}\"");
        open.starts_with(&quoted) || (open.len() > 1 && quoted.starts_with(open))
    });
    let value = parser.snapshot(read)?;
    let is_call = is_open_member || NAMES.iter().any(|name| value.get(name).is_some());
    is_call.then(|| Some(value.get("name")?.as_str()?.into_owned()))
}
