//! A name, then its arguments: `[TOOL_CALLS]weather[ARGS]{"city":"Paris"}`, `<function=weather>` with a tag for
//! each parameter.

mod arguments;
mod elements;
mod header;
mod notation;
mod parameters;
mod tags;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use super::format::debug_by_name;
use super::scan::{Firsts, Literal, kind, literal, next_byte, one_of, parameters_parser};
use super::skip::{BalanceSkip, TagSkip};
use super::step::Flow;
use super::syntax::{CallSyntax, Reads};
use super::{CallFault, CallReader, CallSoFar, CallStep};
use crate::json::Parser;
use crate::{Code, Limits};
use notation::Notation;

/// Reads the calls of a run.
pub(super) struct Named {
    syntax: Arc<CallSyntax>,
    json: Parser,
    notation: Option<Box<dyn Notation>>,
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
    /// Whether the arguments are in parentheses.
    is_in_parentheses: bool,
    name: String,
    id: Option<String>,
    /// The name of the open parameter, if it has a tag of its own.
    key: String,
    /// The parameters so far that have their own tags.
    parameters: String,
    names: HashSet<String>,
    /// Whether the open value is in `<![CDATA[`.
    is_in_cdata: bool,
    /// Whether a parameter was given twice: the last counts.
    is_repeated: bool,
    /// The end of the first tag after which the open value went on.
    passed_end: Option<usize>,
    /// Whether in a longer text the last value could go on, because its closing tag is missing.
    may_go_on: bool,
}

debug_by_name!(Named);

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
    Notation,
    /// Before the parenthesis that closes the arguments.
    Parenthesis {
        from: usize,
        to: usize,
    },
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

/// The role of a marker.
#[derive(Clone, Copy)]
enum Marker {
    /// Opens the block with this index.
    Block(usize),
    BlockEnd,
    /// Opens the call with this index.
    Call(usize),
    CallEnd,
    /// In a block, shows that the call before it is over.
    NextCall,
    NameEnd,
    Id,
    /// Opens the parameter with the tags of this index.
    Parameter(usize),
    ValueEnd,
    /// The arguments begin.
    Arguments,
    /// To be skipped.
    Markup,
}

impl Marker {
    /// The first markers of pairs.
    fn openers(pairs: &[(String, String)], of: impl Fn(usize) -> Self) -> impl Iterator<Item = (Self, &str)> {
        pairs.iter().enumerate().map(move |(index, (open, _))| (of(index), open.as_str()))
    }
}

impl CallReader for Named {
    fn read(&mut self, text: &str, is_end: bool) -> CallStep {
        Flow::run(|| self.step(text, is_end))
    }

    fn is_in_text(&self) -> bool {
        match self.state {
            State::Notation => self.notation.as_ref().is_some_and(|notation| notation.is_in_text()),
            _ => matches!(self.state, State::Value { .. } | State::SkipToTag(..)),
        }
    }

    fn call_so_far<'t>(&'t mut self, text: &'t str) -> Option<CallSoFar<'t>> {
        let (parameters, is_untyped) = match self.state {
            State::Header { .. } if self.syntax.header_is_id => return None,
            State::Header { .. } | State::Id { .. } | State::Body { .. } => ("", false),
            State::Json { from } => (&text[from..from + self.json.len()], false),
            State::Parenthesis { from, to }
            | State::AfterJson { from, to }
            | State::Confirming { from, to, .. }
                if from < to =>
            {
                (&text[from..to], false)
            }
            State::Parenthesis { .. } | State::AfterJson { .. } | State::Confirming { .. } => {
                (self.parameters.strip_suffix('}').unwrap_or_default(), true)
            }
            State::Notation => (self.notation.as_ref()?.complete_members(), true),
            State::Parameters | State::Key { .. } | State::BeforeValue { .. } | State::Value { .. } => {
                (self.parameters.as_str(), true)
            }
            _ => return None,
        };
        let open_parameter = self.open_value(text).map(|value| (self.key.as_str().into(), value));
        let call_id = self.id.as_deref().map(Into::into);
        Some(CallSoFar {
            call_id,
            is_untyped,
            open_parameter,
            ..CallSoFar::new(self.start, &self.name, parameters)
        })
    }
}

impl Named {
    pub(super) fn new(syntax: Arc<CallSyntax>, reads: Reads, limits: &Limits) -> Self {
        let notation = notation::of(&syntax, reads, limits);
        let tags = syntax.parameter.iter().flat_map(|parameter| &parameter.tags).chain(&syntax.call);
        let tags = tags.flat_map(|(open, close)| [open.as_str(), close.as_str()]);
        let value_firsts = Firsts::of_literals(tags.chain(syntax.block_closers()));
        Self {
            syntax,
            json: parameters_parser(limits),
            notation,
            value_firsts,
            at: 0,
            start: 0,
            state: State::Start,
            block: None,
            call: 0,
            has_step: false,
            is_bare: false,
            is_in_parentheses: false,
            name: String::new(),
            id: None,
            key: String::new(),
            parameters: String::new(),
            names: HashSet::new(),
            is_in_cdata: false,
            is_repeated: false,
            passed_end: None,
            may_go_on: false,
        }
    }

    /// A call without a marker, whose name begins the text.
    pub(super) fn without_marker(syntax: Arc<CallSyntax>, limits: &Limits) -> Self {
        Self { state: State::Name { from: 0 }, is_bare: true, ..Self::new(syntax, Reads::Named, limits) }
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
            State::Notation => self.notation(text, is_end),
            &mut State::Parenthesis { from, to } => self.parenthesis(text, is_end, from, to),
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
        let blocks = Marker::openers(&self.syntax.block, Marker::Block);
        let calls = Marker::openers(&self.syntax.call, Marker::Call);
        match literal(text, 0, is_end, blocks.chain(calls)) {
            Literal::Found(Marker::Block(block), len) => {
                self.block = Some(block);
                self.at = len;
                self.enter(State::Block)
            }
            Literal::Found(Marker::Call(call), _) => self.begin_call(0, call),
            Literal::NeedMore if !is_end => Flow::Return(CallStep::NeedMore),
            _ => self.not_a_call(),
        }
    }

    fn begin_call(&mut self, at: usize, call: usize) -> Flow {
        self.start = at;
        self.call = call;
        self.id = None;
        self.is_in_parentheses = false;
        self.passed_end = None;
        self.at = at + self.syntax.call[call].0.len();
        self.enter(State::Name { from: self.at })
    }

    fn between(&mut self, text: &str, is_end: bool) -> Flow {
        next_byte(text, &mut self.at);
        let Some(block) = self.block else { return self.not_a_call() };
        let syntax = Arc::clone(&self.syntax);
        let calls = Marker::openers(&syntax.call, Marker::Call);
        let close = (Marker::BlockEnd, syntax.block[block].1.as_str());
        // Closers are those of malformed calls.
        let others = syntax.call_closers().filter(|_| self.has_step);
        let others = others.chain(syntax.between.iter().map(String::as_str));
        let others = kind(Marker::Markup, others);
        match literal(text, self.at, is_end, calls.chain([close]).chain(others)) {
            Literal::Found(Marker::Call(index), _) => self.begin_call(self.at, index),
            Literal::Found(Marker::BlockEnd, len) if self.has_step => {
                self.state = State::Over;
                Flow::Return(CallStep::Done { end: self.at + len })
            }
            Literal::Found(Marker::Markup, len) => {
                self.at += len;
                Flow::Continue
            }
            Literal::NeedMore if !is_end => Flow::Return(CallStep::NeedMore),
            _ => self.not_a_call(),
        }
    }

    /// After the last call of a run without an open block.
    fn closing(&mut self, text: &str, is_end: bool, end: usize) -> Flow {
        next_byte(text, &mut self.at);
        let syntax = Arc::clone(&self.syntax);
        match one_of(text, self.at, is_end, syntax.block_closers()) {
            Literal::Found((), len) => {
                self.state = State::Over;
                Flow::Return(CallStep::Done { end: self.at + len })
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
        if is_end {
            self.state = State::Over;
            let fault = CallFault::truncated(self.start, text.len());
            Flow::Return(CallStep::Malformed(fault))
        } else {
            Flow::Return(CallStep::NeedMore)
        }
    }

    fn fault(&mut self, text: &str, code: Code, at: usize, message: impl Into<Cow<'static, str>>) -> Flow {
        let fault = CallFault::new(code, self.start, at, message);
        self.skip(text, fault, false, 0)
    }

    fn skip(&mut self, text: &str, fault: CallFault, is_in_string: bool, depth: u32) -> Flow {
        let (open, close) = self.syntax.call_markers(self.call);
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
        let has_close = !self.syntax.call_markers(self.call).1.is_empty();
        self.state = match self.block {
            Some(_) => State::Block,
            None if has_close && !self.syntax.block.is_empty() => State::Closing { end: 0 },
            None => State::Over,
        };
        Flow::Return(step)
    }
}
