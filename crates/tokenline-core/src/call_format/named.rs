//! A name, then its arguments: `[TOOL_CALLS]weather[ARGS]{"city":"Paris"}`, `<function=weather>` with a tag for
//! each parameter.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use super::key_value::KeyValues;
use super::scan::{
    Firsts, Literal, MAX_BLANKS, MAX_NAME, found, is_space, literal, next_byte, parameters_parser,
};
use super::skip::{BalanceSkip, TagSkip};
use super::step::Flow;
use super::syntax::CallSyntax;
use super::{CallFault, CallReader, CallStep, CallText, tags, write};
use crate::json::{Expected, Parser, Step};
use crate::{Code, Limits};

/// The beginning of a value in which tags are text.
const CDATA: &[u8] = b"<![CDATA[";

/// Reads the calls of a run.
#[derive(Debug)]
pub(super) struct Named {
    syntax: Arc<CallSyntax>,
    json: Parser,
    key_values: KeyValues,
    /// The first bytes of what may end a parameter's value.
    value_firsts: Firsts,
    at: usize,
    /// The start of the open call.
    start: usize,
    state: State,
    /// The index of the open block's markers.
    block: Option<usize>,
    /// The index of the open call's markers.
    call: usize,
    /// Whether there was a call, valid or not.
    has_step: bool,
    /// Whether no marker begins the call.
    is_bare: bool,
    name: String,
    id: Option<String>,
    /// The parameters so far that have their own tags.
    parameters: String,
    names: HashSet<String>,
    /// Whether the open value is in `<![CDATA[`.
    is_in_cdata: bool,
    /// Whether a parameter was given twice: the last counts.
    is_repeated: bool,
}

#[derive(Debug)]
enum State {
    Start,
    /// Inside a block, before a call or the end.
    Block,
    Name {
        from: usize,
    },
    /// After the name.
    Header {
        name_end: usize,
    },
    Id {
        from: usize,
    },
    Body {
        from: usize,
    },
    Json {
        from: usize,
    },
    KeyValues,
    AfterJson {
        from: usize,
        to: usize,
    },
    /// Without a closer, what follows the arguments shows whether they are complete.
    Confirming {
        from: usize,
        to: usize,
        is_after_comma: bool,
    },
    Parameters,
    Key {
        from: usize,
        tag: usize,
    },
    BeforeValue {
        tag: usize,
        is_json: Option<bool>,
    },
    Value {
        from: usize,
        tag: usize,
        is_json: Option<bool>,
        /// Calls that its text has opened and not closed.
        depth: u32,
    },
    /// After the last call of a run.
    Closing {
        end: usize,
    },
    SkipToTag(CallFault, TagSkip),
    SkipToBalance(CallFault, BalanceSkip),
    Over,
}

impl CallReader for Named {
    fn read(&mut self, text: &str, is_end: bool) -> CallStep {
        Flow::run(|| self.step(text, is_end))
    }

    fn is_in_text(&self) -> bool {
        matches!(self.state, State::Value { .. } | State::SkipToTag(..))
    }
}

impl Named {
    pub(super) fn new(syntax: Arc<CallSyntax>, limits: &Limits) -> Self {
        let key_values = KeyValues::new(syntax.quote.as_deref().unwrap_or("\""), limits);
        let tags = syntax.parameter.iter().flat_map(|parameter| &parameter.tags).chain(&syntax.call);
        let tags = tags.flat_map(|(open, close)| [open.as_str(), close.as_str()]);
        let value_firsts = Firsts::of_literals(tags.chain(syntax.block_closers()));
        Self {
            syntax,
            json: parameters_parser(limits),
            key_values,
            value_firsts,
            at: 0,
            start: 0,
            state: State::Start,
            block: None,
            call: 0,
            has_step: false,
            is_bare: false,
            name: String::new(),
            id: None,
            parameters: String::new(),
            names: HashSet::new(),
            is_in_cdata: false,
            is_repeated: false,
        }
    }

    /// A call without a marker, whose name begins the text.
    pub(super) fn without_marker(syntax: Arc<CallSyntax>, limits: &Limits) -> Self {
        Self { state: State::Name { from: 0 }, is_bare: true, ..Self::new(syntax, limits) }
    }

    fn step(&mut self, text: &str, is_end: bool) -> Flow {
        match &mut self.state {
            State::Start => self.start(text, is_end),
            State::Block => self.between(text, is_end),
            &mut State::Name { from } => self.name(text, is_end, from),
            &mut State::Header { name_end } => self.header(text, is_end, name_end),
            &mut State::Id { from } => self.id(text, is_end, from),
            &mut State::Body { from } => self.body(text, is_end, from),
            &mut State::Json { from } => self.json(text, is_end, from),
            State::KeyValues => self.key_values(text, is_end),
            &mut State::AfterJson { from, to } => self.after_json(text, is_end, from, to),
            &mut State::Confirming { from, to, is_after_comma } => {
                self.confirming(text, is_end, from, to, is_after_comma)
            }
            State::Parameters => self.parameters(text, is_end),
            &mut State::Key { from, tag } => self.key(text, is_end, from, tag),
            &mut State::BeforeValue { tag, is_json } => self.before_value(text, is_end, tag, is_json),
            &mut State::Value { from, tag, is_json, depth } => {
                self.value(text, is_end, from, tag, is_json, depth)
            }
            &mut State::Closing { end } => self.closing(text, is_end, end),
            State::SkipToTag(fault, skip) => {
                let Some(skipped) = skip.end(text, is_end) else { return Flow::Return(CallStep::NeedMore) };
                let fault = std::mem::replace(fault, CallFault::truncated(0, 0)).ending_at(skipped.end);
                self.end_call(CallStep::Malformed(fault))
            }
            State::SkipToBalance(fault, skip) => {
                let Some(skipped) = skip.end(text, is_end) else { return Flow::Return(CallStep::NeedMore) };
                let fault = std::mem::replace(fault, CallFault::truncated(0, 0)).ending_at(skipped.end);
                self.end_call(CallStep::Malformed(fault))
            }
            State::Over => Flow::Return(CallStep::Done { end: 0 }),
        }
    }

    fn start(&mut self, text: &str, is_end: bool) -> Flow {
        let blocks = self.syntax.block.iter().map(|(open, _)| open.as_str());
        let calls = self.syntax.call.iter().map(|(open, _)| open.as_str());
        let count = self.syntax.block.len();
        match literal(text, 0, is_end, blocks.chain(calls)) {
            Literal::Found(index) if index < count => {
                self.block = Some(index);
                self.at = self.syntax.block[index].0.len();
                self.enter(State::Block)
            }
            Literal::Found(index) => self.begin_call(0, index - count),
            Literal::NeedMore if !is_end => Flow::Return(CallStep::NeedMore),
            _ => self.not_a_call(),
        }
    }

    fn begin_call(&mut self, at: usize, call: usize) -> Flow {
        self.start = at;
        self.call = call;
        self.id = None;
        self.at = at + self.syntax.call[call].0.len();
        self.enter(State::Name { from: self.at })
    }

    fn between(&mut self, text: &str, is_end: bool) -> Flow {
        next_byte(text, &mut self.at);
        let Some(block) = self.block else { return self.not_a_call() };
        let close = self.syntax.block[block].1.as_str();
        let calls = self.syntax.call.iter().map(|(open, _)| open.as_str());
        let closers = self.syntax.call_closers();
        let count = self.syntax.call.len();
        let closes = [close].into_iter().filter(|close| !close.is_empty());
        let between = self.syntax.between.iter().map(String::as_str);
        let literals = calls.chain(closes).chain(closers).chain(between.clone());
        let all = literals.clone().count();
        match literal(text, self.at, is_end, literals) {
            Literal::Found(index) if index + between.clone().count() >= all => {
                self.at += between.clone().nth(index + between.clone().count() - all).map_or(0, str::len);
                Flow::Continue
            }
            Literal::Found(index) if index < count => self.begin_call(self.at, index),
            Literal::Found(index) if index == count && !close.is_empty() && self.has_step => {
                let end = self.at + close.len();
                self.state = State::Over;
                Flow::Return(CallStep::Done { end })
            }
            // Of a malformed call.
            Literal::Found(index) if index >= count + usize::from(!close.is_empty()) && self.has_step => {
                let closer = index - count - usize::from(!close.is_empty());
                self.at += self.syntax.call_closers().nth(closer).map_or(0, str::len);
                Flow::Continue
            }
            Literal::NeedMore if !is_end => Flow::Return(CallStep::NeedMore),
            _ => self.not_a_call(),
        }
    }

    /// What may follow the name, and stays to be read.
    fn after_name(syntax: &CallSyntax, call: usize) -> impl Iterator<Item = &str> {
        let parameters = syntax.parameter.iter().flat_map(|it| it.tags.iter().map(|(open, _)| open.as_str()));
        let close = syntax.call[call].1.as_str();
        let close = if syntax.parameter.is_some() { Some(close).filter(|it| !it.is_empty()) } else { None };
        parameters.chain(close).chain(["{"]).chain(syntax.before.iter().map(String::as_str))
    }

    fn name(&mut self, text: &str, is_end: bool, from: usize) -> Flow {
        let bytes = text.as_bytes();
        let mut at = from;
        if next_byte(text, &mut at).is_none() && !is_end {
            self.state = State::Name { from: at };
            return Flow::Return(CallStep::NeedMore);
        }
        let quote = bytes.get(at).copied().filter(|byte| matches!(byte, b'"' | b'\''));
        at += usize::from(quote.is_some());
        let len = bytes[at..].iter().take(MAX_NAME + 1).take_while(|byte| is_part_of_name(**byte)).count();
        let Some(len) = self.name_len(text, is_end, at, len) else { return self.wait(text, is_end) };
        let mut end = at + len;
        match bytes.get(end) {
            _ if len > MAX_NAME => return self.not_a_call(),
            None if is_end && len == 0 => return self.not_a_call(),
            None => return self.wait(text, is_end),
            Some(_) if len == 0 => return self.not_a_call(),
            Some(_) => {}
        }
        text[at..end].clone_into(&mut self.name);
        if let Some(quote) = quote {
            if bytes[end] != quote {
                return self.not_a_call();
            }
            end += 1;
        }
        self.at = end;
        self.enter(State::Header { name_end: end })
    }

    /// The length of a name at `at` that has at most `len` bytes, before the marker that ends it; `None` if the
    /// marker may have begun.
    fn name_len(&self, text: &str, is_end: bool, at: usize, len: usize) -> Option<usize> {
        let name = &text.as_bytes()[at..at + len];
        for end in self.syntax.name_end.iter().filter(|end| is_part_of_name(end.as_bytes()[0])) {
            for start in memchr::memchr_iter(end.as_bytes()[0], name) {
                match literal(text, at + start, is_end, [end.as_str()]) {
                    Literal::Found(_) => return Some(start),
                    Literal::NeedMore if !is_end => return None,
                    _ => {}
                }
            }
        }
        Some(len)
    }

    fn header(&mut self, text: &str, is_end: bool, name_end: usize) -> Flow {
        let syntax = Arc::clone(&self.syntax);
        let count = syntax.name_end.len();
        let id = syntax.id.as_deref();
        loop {
            let ends = syntax.name_end.iter().map(String::as_str).chain(id);
            let all = ends.chain(Self::after_name(&syntax, self.call));
            match literal(text, self.at, is_end, all) {
                Literal::Found(index) if index < count => {
                    self.at += syntax.name_end[index].len();
                    break;
                }
                Literal::Found(index) if id.is_some() && index == count => {
                    self.at += id.unwrap_or_default().len();
                    if self.id.is_some() {
                        return self.not_a_call();
                    }
                    return self.enter(State::Id { from: self.at });
                }
                // `<tool_call> and </tool_call>` in a sentence.
                Literal::Found(_) if self.has_blanks(text, name_end) && self.is_at_closer(text) => {
                    return self.not_a_call();
                }
                Literal::Found(_) => break,
                Literal::NeedMore if !is_end => return Flow::Return(CallStep::NeedMore),
                Literal::NeedMore => return self.wait(text, is_end),
                Literal::None => match text.as_bytes().get(self.at) {
                    Some(byte) if is_space(*byte) && (*byte != b'\n' || syntax.header_is_id) => self.at += 1,
                    // Attributes.
                    Some(_)
                        if syntax.parameter.as_ref().is_some_and(|it| it.type_attribute.is_some())
                            && self.at < name_end + 256 =>
                    {
                        self.at += 1;
                    }
                    Some(_) => return self.not_a_call(),
                    None => return self.wait(text, is_end),
                },
            }
        }
        if syntax.header_is_id {
            let (name, index) = self.name.rsplit_once(':').unwrap_or((&self.name, ""));
            if index.is_empty() || !index.bytes().all(|byte| byte.is_ascii_digit()) {
                let message = "expected a name and an index, such as `functions.weather:0`";
                return self.fault(text, Code::MalformedJson, name_end, message);
            }
            let name = name.strip_prefix("functions.").unwrap_or(name).to_owned();
            let header = std::mem::replace(&mut self.name, name);
            self.id = Some(match syntax.call[self.call].0.as_str() {
                "functions." => format!("functions.{header}"),
                _ => header,
            });
        }
        if syntax.namespace
            && let Some((namespace, name)) = self.name.split_once('.')
            && namespace == name
        {
            self.name.truncate(namespace.len());
        }
        self.enter(State::Body { from: self.at })
    }

    /// Whether there are blanks around the name that ends here.
    fn has_blanks(&self, text: &str, name_end: usize) -> bool {
        let before = self.start + if self.is_bare { 0 } else { self.syntax.call[self.call].0.len() };
        text[before..].starts_with(' ') || text[name_end..].starts_with(' ')
    }

    fn is_at_closer(&self, text: &str) -> bool {
        let close = self.syntax.call[self.call].1.as_str();
        !close.is_empty() && text[self.at..].starts_with(close)
    }

    fn id(&mut self, text: &str, is_end: bool, from: usize) -> Flow {
        let len = text.as_bytes()[from..].iter().take_while(|byte| super::scan::is_name(**byte)).count();
        if from + len == text.len() {
            return self.wait(text, is_end);
        }
        if len == 0 || len > MAX_NAME {
            return self.not_a_call();
        }
        self.id = Some(text[from..from + len].to_owned());
        self.at = from + len;
        self.enter(State::Header { name_end: self.at })
    }

    fn body(&mut self, text: &str, is_end: bool, from: usize) -> Flow {
        let syntax = Arc::clone(&self.syntax);
        let first = next_byte(text, &mut self.at);
        let before = syntax.before.iter().map(String::as_str);
        let close = syntax.call[self.call].1.as_str();
        let closers = Some(close).filter(|close| !close.is_empty());
        match literal(text, self.at, is_end, before.chain(closers)) {
            Literal::Found(index) if index < syntax.before.len() => {
                self.at += syntax.before[index].len();
                return Flow::Continue;
            }
            Literal::Found(_) => {
                self.parameters.clear();
                self.parameters.push('{');
                return self.enter(State::Parameters);
            }
            Literal::NeedMore if !is_end && first.is_some() => return Flow::Return(CallStep::NeedMore),
            _ => {}
        }
        match first {
            None => self.wait(text, is_end),
            Some(b'{') if syntax.quote.is_some() => {
                self.key_values.begin(self.at);
                self.enter(State::KeyValues)
            }
            Some(b'{') => {
                self.json.reset();
                self.enter(State::Json { from: self.at })
            }
            Some(_) if syntax.parameter.is_some() && self.begins_parameter(text) => {
                self.names.clear();
                self.is_repeated = false;
                self.parameters.clear();
                self.parameters.push('{');
                self.enter(State::Parameters)
            }
            Some(b'[' | b'"') if self.at == from || close.is_empty() => {
                self.fault(text, Code::InvalidParameters, self.at, "the arguments must be an object")
            }
            Some(_) if close.is_empty() && !syntax.name_end.is_empty() && self.ended_name(text, from) => {
                self.fault(text, Code::InvalidParameters, self.at, "the arguments must be an object")
            }
            // A sentence about the tag that mentions its name.
            Some(_) => self.not_a_call(),
        }
    }

    /// Whether a marker stands between the name and `at`.
    fn ended_name(&self, text: &str, at: usize) -> bool {
        self.syntax.name_end.iter().any(|end| end.trim() != "" && text[..at].ends_with(end.as_str()))
    }

    fn begins_parameter(&self, text: &str) -> bool {
        let rest = &text[self.at..];
        let tags = self.syntax.parameter.iter().flat_map(|it| &it.tags);
        let mut tags = tags.map(|(open, _)| open.as_str());
        tags.any(|open| rest.starts_with(open) || open.starts_with(rest))
    }

    fn json(&mut self, text: &str, is_end: bool, from: usize) -> Flow {
        match self.json.resume(&text[from..]) {
            Step::NeedMore => self.wait(text, is_end),
            Step::Complete { end } => {
                self.at = from + end;
                self.enter(State::AfterJson { from, to: from + end })
            }
            // A sentence about the tag that mentions `{...}`.
            Step::Malformed(error) if error.expected == Expected::NameOrBrace && !self.has_step => {
                self.not_a_call()
            }
            Step::Malformed(error) => {
                let fault = CallFault::from_syntax(self.start, from, error);
                let is_in_string = error.expected.is_in_string();
                let depth = self.json.depth();
                self.skip(text, fault, is_in_string, depth)
            }
        }
    }

    fn key_values(&mut self, text: &str, is_end: bool) -> Flow {
        match self.key_values.read(text, is_end) {
            None if is_end && self.key_values.end_before(text, &self.syntax.call[self.call].1) => {
                std::mem::swap(&mut self.parameters, self.key_values.json());
                self.call(text, (0, 0), text.len(), true)
            }
            None => self.wait(text, is_end),
            Some(Ok(end)) => {
                self.at = end;
                std::mem::swap(&mut self.parameters, self.key_values.json());
                self.enter(State::AfterJson { from: end, to: end })
            }
            Some(Err((at, message))) => self.fault(text, Code::MalformedJson, at, message),
        }
    }

    /// The arguments as JSON on one line.
    fn arguments<'t>(&'t self, text: &'t str, from: usize, to: usize) -> Cow<'t, str> {
        if from == to {
            return self.parameters.as_str().into();
        }
        let json = &text[from..to];
        // Outside strings, which cannot contain one, a newline is white space.
        match memchr::memchr2(b'\n', b'\r', json.as_bytes()) {
            Some(_) => json.replace(['\n', '\r'], " ").into(),
            None => json.into(),
        }
    }

    fn call(&mut self, text: &str, (from, to): (usize, usize), end: usize, is_closed: bool) -> Flow {
        let call = self.call_text(text, (from, to), end);
        let call = if is_closed { call } else { call.without_end() };
        self.end_call(CallStep::Call(call))
    }

    fn call_text(&mut self, text: &str, (from, to): (usize, usize), end: usize) -> CallText {
        if from == to && std::mem::take(&mut self.is_repeated) {
            self.parameters = write::without_repetitions(&self.parameters);
        }
        let arguments = self.arguments(text, from, to);
        let call = CallText::from_parts(self.start..end, &self.name, &arguments, self.id.as_deref());
        if from == to { call.untyped() } else { call }
    }

    fn after_json(&mut self, text: &str, is_end: bool, from: usize, to: usize) -> Flow {
        let syntax = Arc::clone(&self.syntax);
        let close = syntax.call[self.call].1.as_str();
        if close.is_empty() && syntax.after.is_empty() {
            return self.enter(State::Confirming { from, to, is_after_comma: false });
        }
        next_byte(text, &mut self.at);
        let after = syntax.after.iter().map(String::as_str);
        let count = syntax.after.len();
        let nexts = self.nexts_in_block();
        let literals = after.chain([close].into_iter().filter(|it| !it.is_empty())).chain(nexts);
        match literal(text, self.at, is_end, literals) {
            Literal::Found(index) if index < count => {
                self.at += syntax.after[index].len();
                Flow::Continue
            }
            Literal::Found(index) if index == count && !close.is_empty() => {
                self.call(text, (from, to), self.at + close.len(), true)
            }
            Literal::Found(_) => self.call(text, (from, to), self.at, false),
            Literal::NeedMore if !is_end => Flow::Return(CallStep::NeedMore),
            Literal::NeedMore | Literal::None if is_end && self.is_cut_here(text, close) => {
                let end = text.len();
                let call = self.call_text(text, (from, to), end);
                self.end_call(CallStep::Call(call.without_end().unconfirmed()))
            }
            _ if close.is_empty() => self.call(text, (from, to), to, true),
            _ => {
                let found = found(text, self.at);
                let message = format!("expected `{close}` after the arguments, found {found}");
                self.fault(text, Code::TrailingData, self.at, message)
            }
        }
    }

    /// Whether the text ends here, or inside one of the markers that may follow the arguments.
    fn is_cut_here(&self, text: &str, close: &str) -> bool {
        let rest = &text[self.at..];
        rest.is_empty() || close.starts_with(rest) || self.syntax.after.iter().any(|it| it.starts_with(rest))
    }

    /// Inside a block, what shows that the call before it is over.
    fn nexts_in_block(&self) -> impl Iterator<Item = &str> {
        let block = self.block.map(|block| self.syntax.block[block].1.as_str());
        let is_in_block = block.is_some_and(|close| !close.is_empty());
        let calls = self.syntax.call_openers().filter(move |_| is_in_block);
        block.into_iter().filter(|close| !close.is_empty()).chain(calls)
    }

    fn confirming(
        &mut self,
        text: &str,
        is_end: bool,
        from: usize,
        to: usize,
        mut is_after_comma: bool,
    ) -> Flow {
        while let Some(&byte) = text.as_bytes().get(self.at) {
            match byte {
                b' ' | b'\t' | b'\r' => self.at += 1,
                b',' if !is_after_comma => {
                    is_after_comma = true;
                    self.at += 1;
                }
                b'"' | b':' | b'}' | b']' if byte != b'"' || is_after_comma => {
                    let found = found(text, self.at);
                    let message = format!("the arguments are balanced, but go on with {found}");
                    let fault = CallFault::new(Code::TrailingData, self.start, self.at, message);
                    return self.skip(text, fault, false, 1);
                }
                _ => return self.call(text, (from, to), to, true),
            }
        }
        if is_end {
            let call = self.call_text(text, (from, to), to);
            return self.end_call(CallStep::Call(call.unconfirmed()));
        }
        self.state = State::Confirming { from, to, is_after_comma };
        Flow::Return(CallStep::NeedMore)
    }

    fn parameters(&mut self, text: &str, is_end: bool) -> Flow {
        next_byte(text, &mut self.at);
        let syntax = Arc::clone(&self.syntax);
        let close = syntax.call[self.call].1.as_str();
        let tags = syntax.parameter.iter().flat_map(|it| it.tags.iter().map(|(open, _)| open.as_str()));
        let count = syntax.parameter.as_ref().map_or(0, |it| it.tags.len());
        let nexts = self.nexts_in_block();
        match literal(text, self.at, is_end, tags.chain([close]).chain(nexts)) {
            Literal::Found(index) if index < count => {
                let from = self.at + syntax.parameter.as_ref().map_or(0, |it| it.tags[index].0.len());
                self.enter(State::Key { from, tag: index })
            }
            Literal::Found(index) if index == count => {
                self.parameters.push('}');
                self.call(text, (0, 0), self.at + close.len(), true)
            }
            Literal::Found(_) if !self.names.is_empty() => {
                self.parameters.push('}');
                self.call(text, (0, 0), self.at, false)
            }
            Literal::NeedMore if !is_end => Flow::Return(CallStep::NeedMore),
            _ if is_end
                && !self.names.is_empty()
                && (self.at == text.len() || is_start_of(text, self.at, close)) =>
            {
                self.parameters.push('}');
                let call = self.call_text(text, (0, 0), text.len());
                self.end_call(CallStep::Call(call.without_end().unconfirmed()))
            }
            Literal::NeedMore => self.wait(text, is_end),
            _ if self.names.is_empty() => self.not_a_call(),
            _ => {
                let found = found(text, self.at);
                let tags = syntax.parameter.as_ref().and_then(|it| it.tags.first());
                let open = tags.map_or("", |(open, _)| open);
                let message = format!("expected `{open}` or `{close}`, found {found}");
                self.fault(text, Code::MalformedJson, self.at, message)
            }
        }
    }

    fn key(&mut self, text: &str, is_end: bool, from: usize, tag: usize) -> Flow {
        let syntax = Arc::clone(&self.syntax);
        let Some(parameter) = &syntax.parameter else { return self.not_a_call() };
        match tags::key(text, from, is_end, parameter) {
            tags::Key::NeedMore => self.wait(text, is_end),
            tags::Key::None { at } => {
                self.fault(text, Code::MalformedJson, at, "expected the name of a parameter")
            }
            tags::Key::Found { name, is_json, end } => {
                self.is_repeated |= !self.names.insert(name.to_owned());
                if self.parameters.len() > 1 {
                    self.parameters.push(',');
                }
                write::string(&mut self.parameters, name);
                self.parameters.push(':');
                self.at = end;
                self.enter(State::BeforeValue { tag, is_json })
            }
        }
    }

    fn before_value(&mut self, text: &str, is_end: bool, tag: usize, is_json: Option<bool>) -> Flow {
        let syntax = Arc::clone(&self.syntax);
        let Some(parameter) = &syntax.parameter else { return self.not_a_call() };
        let Some(value) = &parameter.value else {
            return self.enter(State::Value { from: self.at, tag, is_json, depth: 0 });
        };
        next_byte(text, &mut self.at);
        let type_open = parameter.type_tags.iter().map(|(open, _)| open.as_str());
        match literal(text, self.at, is_end, [value.as_str()].into_iter().chain(type_open)) {
            Literal::Found(0) => {
                self.at += value.len();
                self.enter(State::Value { from: self.at, tag, is_json, depth: 0 })
            }
            Literal::Found(_) => {
                let (open, close) = parameter.type_tags.as_ref().expect("it was found");
                let from = self.at + open.len();
                match memchr::memmem::find(&text.as_bytes()[from..], close.as_bytes()) {
                    Some(len) => {
                        let is_json = Some(!tags::is_string_type(text[from..from + len].trim()));
                        self.at = from + len + close.len();
                        self.enter(State::BeforeValue { tag, is_json })
                    }
                    None if text.len() - from > 256 => {
                        self.fault(text, Code::MalformedJson, from, "expected the type of a parameter")
                    }
                    None => self.wait(text, is_end),
                }
            }
            Literal::NeedMore => self.wait(text, is_end),
            Literal::None => {
                let message = format!("expected `{value}`, found {}", found(text, self.at));
                self.fault(text, Code::MalformedJson, self.at, message)
            }
        }
    }

    /// The text of a parameter, up to its closing tag. A call inside it, on lines of its own, is text.
    fn value(
        &mut self,
        text: &str,
        is_end: bool,
        from: usize,
        tag: usize,
        is_json: Option<bool>,
        mut depth: u32,
    ) -> Flow {
        let syntax = Arc::clone(&self.syntax);
        let Some(parameter) = &syntax.parameter else { return self.not_a_call() };
        let close = parameter.tags[tag].1.as_str();
        let call = &syntax.call[self.call];
        let bytes = text.as_bytes();
        let blanks = bytes[from..].iter().take(MAX_BLANKS).take_while(|byte| is_space(**byte)).count();
        let cdata = from + blanks + CDATA.len();
        if self.at < cdata && bytes[from + blanks..].starts_with(CDATA) {
            self.at = cdata;
            self.is_in_cdata = true;
        }
        if self.is_in_cdata {
            // Its end may have begun.
            let searched = self.at.saturating_sub(2).max(cdata);
            match memchr::memmem::find(&bytes[searched..], b"]]>") {
                Some(found) => (self.at, self.is_in_cdata) = (searched + found + 3, false),
                None => {
                    self.at = text.len();
                    return self.wait(text, is_end);
                }
            }
        }
        while let Some(found) = self.value_firsts.find(&bytes[self.at..]) {
            self.at += found;
            let before = text[from..self.at].trim_end_matches([' ', '\t']);
            let is_line_start = before.ends_with('\n');
            let opens = parameter.tags.iter().map(|(open, _)| open.as_str());
            let block = syntax.block_closers();
            let others = [call.1.as_str(), call.0.as_str()].into_iter().chain(opens).chain(block);
            let tags = [close].into_iter().chain(others.filter(|it| !it.is_empty()));
            match literal(text, self.at, is_end, tags) {
                Literal::Found(2) if is_line_start => {
                    depth += 1;
                    self.at += 1;
                }
                Literal::Found(tag) if depth > 0 => {
                    depth -= u32::from(tag == 1);
                    self.at += 1;
                }
                Literal::Found(0) => {
                    tags::value(&mut self.parameters, parameter, &text[from..self.at], is_json);
                    self.at += close.len();
                    return self.enter(State::Parameters);
                }
                // The closing tag is missing: what follows must not become part of the value.
                Literal::Found(_) if is_line_start => {
                    let message = "a parameter's closing tag is missing";
                    return self.fault(text, Code::MalformedJson, self.at, message);
                }
                Literal::NeedMore => {
                    self.state = State::Value { from, tag, is_json, depth };
                    return self.wait(text, is_end);
                }
                Literal::Found(_) | Literal::None => self.at += 1,
            }
        }
        self.at = text.len();
        self.state = State::Value { from, tag, is_json, depth };
        self.wait(text, is_end)
    }

    /// After the last call of a run without an open block.
    fn closing(&mut self, text: &str, is_end: bool, end: usize) -> Flow {
        next_byte(text, &mut self.at);
        let syntax = Arc::clone(&self.syntax);
        match literal(text, self.at, is_end, syntax.block_closers()) {
            Literal::Found(index) => {
                let close = syntax.block_closers().nth(index).unwrap_or_default();
                self.state = State::Over;
                Flow::Return(CallStep::Done { end: self.at + close.len() })
            }
            Literal::NeedMore if !is_end => Flow::Return(CallStep::NeedMore),
            _ => {
                self.state = State::Over;
                Flow::Return(CallStep::Done { end })
            }
        }
    }

    fn enter(&mut self, state: State) -> Flow {
        self.state = state;
        Flow::Continue
    }

    /// The text so far is an open call.
    fn wait(&mut self, text: &str, is_end: bool) -> Flow {
        match is_end {
            true => {
                self.state = State::Over;
                let fault = CallFault::truncated(self.start, text.len());
                Flow::Return(CallStep::Malformed(fault))
            }
            false => Flow::Return(CallStep::NeedMore),
        }
    }

    fn fault(&mut self, text: &str, code: Code, at: usize, message: impl Into<Cow<'static, str>>) -> Flow {
        let fault = CallFault::new(code, self.start, at, message);
        self.skip(text, fault, false, 0)
    }

    fn skip(&mut self, text: &str, fault: CallFault, is_in_string: bool, depth: u32) -> Flow {
        let (open, close) = &self.syntax.call[self.call];
        if !close.is_empty() {
            let skip = TagSkip::new(&self.syntax, text, fault.at, is_in_string);
            return self.enter(State::SkipToTag(fault, skip));
        }
        let skip = BalanceSkip::new(fault.at, depth, is_in_string.then_some(b'"'), b"\"");
        let skip = if depth > 0 { skip.before(open, text) } else { skip };
        self.enter(State::SkipToBalance(fault, skip))
    }

    fn not_a_call(&mut self) -> Flow {
        self.state = State::Over;
        Flow::Return(CallStep::no_more(self.has_step))
    }

    /// Ends the call: the text then begins after it.
    fn end_call(&mut self, step: CallStep) -> Flow {
        self.has_step = true;
        self.at = 0;
        let has_close = !self.syntax.call[self.call].1.is_empty();
        self.state = match self.block {
            Some(_) => State::Block,
            None if has_close && !self.syntax.block.is_empty() => State::Closing { end: 0 },
            None => State::Over,
        };
        Flow::Return(step)
    }
}

/// Whether the text ends inside this literal.
fn is_start_of(text: &str, at: usize, literal: &str) -> bool {
    literal.starts_with(&text[at..])
}

/// Only a bracket, a quote or white space ends a name.
fn is_part_of_name(byte: u8) -> bool {
    !byte.is_ascii_control() && !matches!(byte, b' ' | b'<' | b'>' | b'[' | b'{' | b'}' | b'"' | b'\'' | b'=')
}
