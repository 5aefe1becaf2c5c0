//! Updates on how calls in a text grow.

use tokenline_core::adapter::CertainArguments;
use tokenline_core::{RecordDecoder, RejectedCall, ToolCall, ToolCallAssembler};

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
    /// Whether this text ends inside a string.
    in_string: bool,
    /// Whether it ends after a backslash.
    is_escaped: bool,
    /// What stays as it is, if the tools convert values.
    certain: CertainArguments,
}

impl Announced {
    /// The offset of its first byte in the text.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// Emits what is new of the open call, if there is one.
    pub(super) fn update<T>(
        announced: &mut Option<Box<Self>>,
        choice: u64,
        decoder: &mut RecordDecoder,
        numbers: &mut ToolCallAssembler,
        out: &mut EventQueue<T>,
    ) {
        let Some(call) = decoder.open_call() else { return };
        if out.settings.rules.tools().is_some_and(|tools| !tools.has_tool(&call.name)) {
            return;
        }
        if announced.as_ref().is_none_or(|open| open.start != call.start || open.name != call.name) {
            Self::discard(announced, choice, out);
            let call_id = call.call_id.map(Into::into);
            *announced = Some(Box::new(Self::begin(choice, call.start, &call.name, call_id, numbers, out)));
        }
        if let Some(announced) = announced {
            let tools = out.settings.rules.tools().filter(|tools| tools.coerces());
            let certain = tools.map(|tools| announced.certain.advance(call.parameters, &call.name, tools));
            let certain = &call.parameters[..certain.unwrap_or(call.parameters.len())];
            announced.send(choice, certain.get(announced.sent.len()..), out);
        }
    }

    /// The beginning of the text that is read before the open call is looked at again, so that the updates do not depend
    /// on how the text is cut: a character, or a run of words in which no call begins, ends or fails.
    pub(super) fn step<'t>(announced: Option<&Self>, text: &'t str) -> &'t str {
        let (may_run, in_string) = announced.map_or((true, false), |open| (open.in_string, open.in_string));
        let is_run = |char: char| char.is_alphanumeric() || (in_string && char == ' ');
        let words = if may_run { text.find(|char| !is_run(char)).unwrap_or(text.len()) } else { 0 };
        let first = text.chars().next().map_or(0, char::len_utf8);
        &text[..words.max(first)]
    }

    /// Ends the announced call, if there is one, without a call.
    pub(super) fn discard<T>(announced: &mut Option<Box<Self>>, choice: u64, out: &mut EventQueue<T>) {
        if let Some(open) = announced.take() {
            let number = open.number;
            out.push(ResponseEvent::ToolCallDiscarded { choice, number });
        }
    }

    /// Ends it if it begins before `end`.
    pub(super) fn discard_before<T>(
        announced: &mut Option<Box<Self>>,
        end: u64,
        choice: u64,
        out: &mut EventQueue<T>,
    ) {
        Self::discard(&mut announced.take_if(|open| open.start < end), choice, out);
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
        out.push(ResponseEvent::ToolCallBegan { choice, number, call_id, name: name.clone() });
        let certain = CertainArguments::default();
        Self { number, start, name, sent: String::new(), in_string: false, is_escaped: false, certain }
    }

    /// Emits more arguments.
    fn send<T>(&mut self, choice: u64, more: Option<&str>, out: &mut EventQueue<T>) {
        if let Some(text) = more.filter(|text| !text.is_empty()) {
            self.sent.push_str(text);
            for byte in text.bytes() {
                (self.in_string, self.is_escaped) = match byte {
                    _ if self.is_escaped => (self.in_string, false),
                    b'\\' => (self.in_string, self.in_string),
                    b'"' => (!self.in_string, false),
                    _ => (self.in_string, false),
                };
            }
            out.arguments(choice, self.number, text);
        }
    }
}

/// The announced call that an event of the text ends. Its last updates come before the events of the call.
pub(super) struct EndingCall<'a> {
    open: Option<Box<Announced>>,
    /// Gives out numbers; `None` unless updates are wanted.
    numbers: Option<&'a mut ToolCallAssembler>,
    choice: u64,
}

impl<'a> EndingCall<'a> {
    /// The announced call, if it begins before `end`, where the text of an event ends.
    pub(super) fn new<T>(
        announced: &mut Option<Box<Announced>>,
        choice: u64,
        end: u64,
        numbers: &'a mut ToolCallAssembler,
        out: &EventQueue<T>,
    ) -> Self {
        let open = announced.take_if(|open| open.start < end);
        Self { open, numbers: out.settings.updates_text_calls().then_some(numbers), choice }
    }

    /// Ends it without a call.
    pub(super) fn discard<T>(&mut self, out: &mut EventQueue<T>) {
        Announced::discard(&mut self.open, self.choice, out);
    }

    /// Ends it with the call that begins at `start`, whose number is returned.
    pub(super) fn deliver<T>(&mut self, start: u64, call: &ToolCall, out: &mut EventQueue<T>) -> Option<u64> {
        let Self { open, numbers: Some(numbers), choice } = self else { return None };
        // What was emitted is the beginning of what is delivered, or it is discarded.
        let parameters = call.parameters.as_str();
        let is_own = |open: &mut Box<Announced>| {
            open.start == start && open.name == call.name && parameters.starts_with(&open.sent)
        };
        let own = open.take_if(is_own);
        Announced::discard(open, *choice, out);
        let mut own = own.unwrap_or_else(|| {
            Box::new(Announced::begin(*choice, start, &call.name, call.call_id.clone(), numbers, out))
        });
        own.send(*choice, parameters.strip_prefix(own.sent.as_str()), out);
        Some(own.number)
    }

    /// Ends it with a rejected call, whose number is returned: `None` if the call has no name.
    pub(super) fn reject<T>(&mut self, call: &mut RejectedCall, out: &mut EventQueue<T>) -> Option<u64> {
        let Self { open, numbers: Some(numbers), choice } = self else { return None };
        let own = open.take_if(|open| call.name.as_ref().is_none_or(|name| *name == open.name));
        Announced::discard(open, *choice, out);
        if let Some(own) = own {
            let Announced { number, name, .. } = *own;
            call.name.get_or_insert(name);
            return Some(number);
        }
        let (name, call_id) = (call.name.as_ref()?, call.call_id.clone());
        Some(Announced::begin(*choice, 0, name, call_id, numbers, out).number)
    }
}
