//! An element for each parameter: `<city>Paris</city>`, each tag after a marker; arrays have elements `<item>`.

use std::sync::Arc;

use super::scan::{Literal, MAX_NAME, char_start, literal, next_byte};
use super::skip::TagSkip;
use super::step::Flow;
use super::syntax::CallSyntax;
use super::{CallFault, CallReader, CallStep, CallText, write};
use crate::{Code, Limits};

/// Reads the calls of a block. The row's first `before` is the marker in front of each tag.
#[derive(Debug)]
pub(super) struct Elements {
    syntax: Arc<CallSyntax>,
    depth_limit: usize,
    at: usize,
    start: usize,
    state: State,
    has_step: bool,
    is_in_block: bool,
    name: String,
    json: String,
    /// The open elements; the first is the call.
    open: Vec<Element>,
}

#[derive(Debug)]
struct Element {
    name: String,
    kind: Kind,
    /// The text beside its elements.
    text: String,
    /// Whether one of its elements has the name that this text would have.
    has_text_element: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Nothing but text so far.
    Leaf,
    Object,
    List,
}

#[derive(Debug)]
enum State {
    Start,
    Block,
    Name {
        from: usize,
    },
    /// In the text of an element, before the next tag.
    Text {
        from: usize,
    },
    Skip(CallFault, TagSkip),
    Over,
}

impl CallReader for Elements {
    fn read(&mut self, text: &str, is_end: bool) -> CallStep {
        Flow::run(|| self.step(text, is_end))
    }

    fn is_in_text(&self) -> bool {
        matches!(self.state, State::Text { .. } | State::Skip(..))
    }
}

impl Elements {
    pub(super) fn new(syntax: Arc<CallSyntax>, limits: &Limits) -> Self {
        Self {
            syntax,
            depth_limit: (limits.effective_depth() as usize).saturating_sub(1),
            at: 0,
            start: 0,
            state: State::Start,
            has_step: false,
            is_in_block: false,
            name: String::new(),
            json: String::new(),
            open: Vec::new(),
        }
    }

    fn step(&mut self, text: &str, is_end: bool) -> Flow {
        match &mut self.state {
            State::Start | State::Block => self.between(text, is_end),
            &mut State::Name { from } => self.call_name(text, is_end, from),
            &mut State::Text { from } => self.text(text, is_end, from),
            State::Skip(fault, skip) => {
                let Some(skipped) = skip.end(text, is_end) else { return Flow::Return(CallStep::NeedMore) };
                let fault = std::mem::replace(fault, CallFault::truncated(0, 0)).ending_at(skipped.end);
                self.end_call(CallStep::Malformed(fault))
            }
            State::Over => Flow::Return(CallStep::Done { end: 0 }),
        }
    }

    /// Outside calls.
    fn between(&mut self, text: &str, is_end: bool) -> Flow {
        if !matches!(self.state, State::Start) {
            next_byte(text, &mut self.at);
        }
        let syntax = Arc::clone(&self.syntax);
        let (blocks, calls) = (syntax.block_openers(), syntax.call_openers());
        let (block_count, call_count) = (blocks.clone().count(), calls.clone().count());
        match literal(text, self.at, is_end, blocks.clone().chain(calls.clone()).chain(syntax.closers())) {
            Literal::Found(index) if index < block_count => {
                self.is_in_block = true;
                self.at += blocks.clone().nth(index).map_or(0, str::len);
                self.state = State::Block;
                Flow::Continue
            }
            Literal::Found(index) if index < block_count + call_count => {
                self.start = self.at;
                self.at += calls.clone().nth(index - block_count).map_or(0, str::len);
                self.state = State::Name { from: self.at };
                Flow::Continue
            }
            Literal::Found(index) if self.has_step => {
                let close = syntax.closers().nth(index - block_count - call_count);
                let end = self.at + close.map_or(0, str::len);
                self.state = State::Over;
                Flow::Return(CallStep::Done { end })
            }
            Literal::NeedMore if !is_end => Flow::Return(CallStep::NeedMore),
            _ => {
                self.state = State::Over;
                Flow::Return(CallStep::no_more(self.has_step))
            }
        }
    }

    fn call_name(&mut self, text: &str, is_end: bool, from: usize) -> Flow {
        let rest = &text[from..];
        match rest.find('>') {
            Some(len) if len <= MAX_NAME && !rest[..len].contains('<') => {
                rest[..len].trim().trim_matches(['"', '\'']).clone_into(&mut self.name);
                self.json.clear();
                self.open.clear();
                self.open.push(Element {
                    name: String::new(),
                    kind: Kind::Leaf,
                    text: String::new(),
                    has_text_element: false,
                });
                self.state = State::Text { from: from + len + 1 };
                self.at = from + len + 1;
                Flow::Continue
            }
            None if rest.len() <= MAX_NAME => self.wait(text, is_end),
            _ => {
                self.state = State::Over;
                Flow::Return(CallStep::no_more(self.has_step))
            }
        }
    }

    /// The text of an element, and the tag after it.
    fn text(&mut self, text: &str, is_end: bool, from: usize) -> Flow {
        let syntax = Arc::clone(&self.syntax);
        let marker = syntax.before.first().map_or("<", String::as_str);
        let Some(found) = memchr::memmem::find(&text.as_bytes()[self.at..], marker.as_bytes()) else {
            self.at = char_start(text, text.len().saturating_sub(marker.len())).max(self.at);
            return self.wait(text, is_end);
        };
        let stop = self.at + found;
        self.at = stop;
        match literal(text, stop, is_end, syntax.call_closers()) {
            Literal::Found(index) if self.open.len() == 1 => {
                let end = stop + syntax.call_closers().nth(index).map_or(0, str::len);
                self.close("");
                let call = CallText::from_parts(self.start..end, &self.name, &self.json, None).untyped();
                return self.end_call(CallStep::Call(call));
            }
            Literal::NeedMore => return self.wait(text, is_end),
            _ => {}
        }
        let tag = &text[stop + marker.len()..];
        let Some(len) = tag.find('>') else {
            if tag.len() > MAX_NAME + 2 {
                return self.fault(text, Code::MalformedJson, stop, "expected the end of a tag");
            }
            return self.wait(text, is_end);
        };
        let end = stop + marker.len() + len + 1;
        let Some(tag) = tag[..len].strip_prefix('<') else {
            return self.fault(text, Code::MalformedJson, stop, "expected a tag after the marker");
        };
        self.at = end;
        self.state = State::Text { from: end };
        match tag.strip_prefix('/') {
            Some(name) if self.open.len() > 1 && self.open.last().is_some_and(|open| open.name == name) => {
                self.close(&text[from..stop]);
                Flow::Continue
            }
            Some(_) => {
                self.fault(text, Code::MalformedJson, stop, "a tag closes another element than the last")
            }
            None if self.open.len() >= self.depth_limit => {
                self.fault(text, Code::TooDeep, stop, "expected less nesting: the depth limit is reached")
            }
            None => {
                self.keep_text(&text[from..stop]);
                self.open_element(tag);
                Flow::Continue
            }
        }
    }

    /// Keeps the text beside the elements of an object, which is its member `$text`.
    fn keep_text(&mut self, text: &str) {
        if self.open.len() > 1
            && !text.trim().is_empty()
            && let Some(element) = self.open.last_mut()
        {
            element.text.push_str(text);
        }
    }

    fn open_element(&mut self, name: &str) {
        let is_call = self.open.len() == 1;
        if let Some(parent) = self.open.last_mut() {
            parent.has_text_element |= name == "$text";
            if parent.kind == Kind::Leaf {
                parent.kind = if name == "item" && !is_call { Kind::List } else { Kind::Object };
                self.json.push(if parent.kind == Kind::List { '[' } else { '{' });
            } else {
                self.json.push(',');
            }
            if parent.kind == Kind::Object {
                write::string(&mut self.json, name);
                self.json.push(':');
            }
        }
        self.open.push(Element {
            name: name.to_owned(),
            kind: Kind::Leaf,
            text: String::new(),
            has_text_element: false,
        });
    }

    /// Closes the innermost element.
    fn close(&mut self, text: &str) {
        let is_call = self.open.len() == 1;
        if self.open.last().is_some_and(|element| element.kind == Kind::Object) {
            self.keep_text(text);
        }
        let Some(element) = self.open.pop() else { return };
        if element.kind == Kind::Object && !element.text.is_empty() {
            self.json.push(',');
            write::string(&mut self.json, if element.has_text_element { "$$text" } else { "$text" });
            self.json.push(':');
            write::string(&mut self.json, &element.text);
        }
        match element.kind {
            Kind::Leaf if is_call => self.json.push_str("{}"),
            Kind::Leaf => write::string(&mut self.json, text),
            Kind::Object => self.json.push('}'),
            Kind::List => self.json.push(']'),
        }
    }

    fn wait(&mut self, text: &str, is_end: bool) -> Flow {
        if !is_end {
            return Flow::Return(CallStep::NeedMore);
        }
        self.state = State::Over;
        Flow::Return(CallStep::Malformed(CallFault::truncated(self.start, text.len())))
    }

    fn fault(&mut self, text: &str, code: Code, at: usize, message: &'static str) -> Flow {
        let fault = CallFault::new(code, self.start, at, message);
        self.state = State::Skip(fault, TagSkip::new(&self.syntax, text, at, true));
        Flow::Continue
    }

    fn end_call(&mut self, step: CallStep) -> Flow {
        self.has_step = true;
        self.at = 0;
        self.state = if self.is_in_block { State::Block } else { State::Over };
        Flow::Return(step)
    }
}
