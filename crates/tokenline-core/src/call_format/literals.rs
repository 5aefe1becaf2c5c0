//! Arguments as literals: those of Python, and keys and values whose strings have a delimiter of their own.

mod delimited;
mod python;
mod string;

use std::borrow::Cow;
use std::collections::HashSet;

use super::scan::{found, is_space};
use crate::json::write;
use crate::{Code, Limits};

/// A fault in arguments.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) at: usize,
    pub(super) code: Code,
    pub(super) message: Cow<'static, str>,
    /// The quote of the string that is open there.
    pub(super) quote: Option<u8>,
}

impl Fault {
    pub(super) fn new(at: usize, code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self { at, code, message: message.into(), quote: None }
    }
}

/// A step: `None` if more text is needed.
type Step = Option<Result<(), Fault>>;

/// How values are written.
#[derive(Clone, Debug)]
pub(super) enum Dialect {
    /// `city="Paris", days=3`: strings with Python's escapes (surrogate pairs are accepted as well), decimal numbers,
    /// `True`, `False`, `None`, lists, tuples, and dictionaries with strings as keys. JSON's `true`, `false` and `null`
    /// are accepted too.
    Python { is_line: bool },
    /// `{city:<|"|>Paris<|"|>,days:3}`: keys without quotes, and strings between delimiters, without escapes. Models
    /// slip into `days=3`.
    Delimited(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Container {
    /// The arguments of a call, in parentheses.
    Call,
    Object,
    List,
    /// A tuple, or until its first comma a value in parentheses, whose JSON begins at the offset.
    Tuple {
        from: usize,
        has_comma: bool,
    },
}

impl Container {
    fn close(self) -> u8 {
        match self {
            Self::Call | Self::Tuple { .. } => b')',
            Self::Object => b'}',
            Self::List => b']',
        }
    }

    /// Whether it has elements, not members.
    fn is_list(self) -> bool {
        match self {
            Self::List | Self::Tuple { .. } => true,
            Self::Call | Self::Object => false,
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Before a key, or the end of the container.
    Key,
    /// The name of an argument.
    Name {
        from: usize,
    },
    /// Before the `=` of an argument.
    Equals {
        from: usize,
        to: usize,
    },
    /// Before the `:` of a member.
    Colon,
    /// Before a value, or the end of a list.
    Value,
    AfterValue,
    Word {
        from: usize,
        is_key: bool,
    },
    Number {
        from: usize,
    },
    /// A string of Python.
    String {
        quote: u8,
        is_triple: bool,
        is_key: bool,
    },
    /// A string that ends with the delimiter.
    Delimited {
        from: usize,
        is_key: bool,
    },
    /// A string that ends with this quote.
    Quoted {
        from: usize,
        quote: u8,
        is_key: bool,
    },
}

/// Reads them as JSON.
#[derive(Debug)]
pub(super) struct Literals {
    dialect: Dialect,
    depth_limit: usize,
    at: usize,
    /// Up to where a token of keys and values has been searched for its end.
    searched: usize,
    state: State,
    open: Vec<Container>,
    json: String,
    /// The length of its part with the complete members.
    complete: usize,
    /// The names of the arguments so far.
    names: HashSet<String>,
    /// Whether there was a literal: this is not just text that looks like a call.
    is_certain: bool,
    /// The marker that ends the call. A Python string may continue on the next line unless its line ends with this
    /// marker; without a marker, it never does.
    close: Option<String>,
}

impl Literals {
    pub(super) fn new(dialect: Dialect, limits: &Limits) -> Self {
        Self {
            dialect,
            depth_limit: (limits.effective_depth() as usize).saturating_sub(1),
            at: 0,
            searched: 0,
            state: State::Key,
            open: Vec::new(),
            json: String::new(),
            complete: 0,
            names: HashSet::new(),
            is_certain: false,
            close: None,
        }
    }

    /// Accepts newlines in strings of Python if there is a marker, but not where the line ends with it: then the end of
    /// the string is missing.
    pub(super) fn allow_lines_before(&mut self, close: Option<&str>) {
        self.close = close.map(str::to_owned);
    }

    /// Begins with the bracket at `at`.
    pub(super) fn begin(&mut self, at: usize, container: Container) {
        self.open.clear();
        self.names.clear();
        self.json.clear();
        self.is_certain = false;
        self.at = at;
        self.open(container);
        self.complete = 1;
    }

    /// Goes on with JSON that is open, where it is no longer JSON: its containers, the outermost first, and whether a
    /// key follows.
    pub(super) fn go_on_from(
        &mut self,
        json: &str,
        at: usize,
        open: impl Iterator<Item = Container>,
        is_key: bool,
    ) {
        self.open.clear();
        self.open.extend(open);
        self.names.clear();
        self.json.clear();
        self.json.push_str(json);
        self.is_certain = self.json.len() > 1;
        (self.at, self.complete) = (at, 0);
        self.state = if is_key { State::Key } else { State::Value };
    }

    /// The arguments as JSON, so far.
    pub(super) fn json(&mut self) -> &mut String {
        &mut self.json
    }

    /// The same, without what is certain to be incomplete.
    pub(super) fn complete_members(&self) -> &str {
        &self.json[..self.complete]
    }

    /// The same, without a value in parentheses that may become a tuple.
    pub(super) fn so_far(&self) -> &str {
        let undecided = self.open.iter().find_map(|container| match container {
            Container::Tuple { from, has_comma: false } => Some(*from),
            Container::Tuple { .. } | Container::Call | Container::Object | Container::List => None,
        });
        &self.json[..undecided.unwrap_or(self.json.len())]
    }

    pub(super) fn is_certain(&self) -> bool {
        self.is_certain
    }

    /// The number of open brackets.
    pub(super) fn depth(&self) -> u32 {
        self.open.len() as u32
    }

    /// Reads on: where the arguments end, or a fault; `None` if more text is needed.
    pub(super) fn read(&mut self, text: &str, is_end: bool) -> Option<Result<usize, Fault>> {
        loop {
            let step = match self.state {
                State::Name { from } => self.name(text, from),
                State::Word { from, is_key } => self.word(text, from, is_key),
                State::Number { from } => self.number(text, from),
                State::String { quote, is_triple, is_key } => self.string(text, quote, is_triple, is_key),
                State::Delimited { from, is_key } => self.delimited(text, from, is_key),
                State::Quoted { from, quote, is_key } => self.quoted(text, is_end, from, quote, is_key),
                _ => self.token(text, is_end),
            };
            match step? {
                Ok(()) if self.open.is_empty() => return Some(Ok(self.at)),
                Ok(()) => {}
                Err(fault) => return Some(Err(fault)),
            }
        }
    }

    fn token(&mut self, text: &str, is_end: bool) -> Step {
        // A call that takes a line must not continue on the next.
        let is_line = matches!(self.dialect, Dialect::Python { is_line: true });
        let rest = &text.as_bytes()[self.at..];
        let space = rest.iter().take_while(|byte| is_space(**byte) && !(is_line && **byte == b'\n')).count();
        self.at += space;
        let &byte = rest.get(space)?;
        let container = *self.open.last()?;
        let may_close = match self.state {
            State::Key | State::AfterValue => true,
            State::Value => container.is_list(),
            _ => false,
        };
        if may_close && byte == container.close() {
            return self.close(container);
        }
        match self.state {
            State::AfterValue if byte == b',' => {
                if self.open.len() == 1 {
                    self.complete = self.json.len();
                }
                if let Some(Container::Tuple { has_comma, .. }) = self.open.last_mut() {
                    *has_comma = true;
                }
                self.go_on(if container.is_list() { State::Value } else { State::Key })
            }
            State::AfterValue => {
                self.unexpected(text, &format!("`,` or `{}`", char::from(container.close())))
            }
            State::Colon if byte == b':' || (byte == b'=' && self.is_delimited()) => {
                self.json.push(':');
                self.go_on(State::Value)
            }
            State::Colon => self.unexpected(text, "`:`"),
            State::Equals { from, to } => self.equals(text, byte, from, to),
            State::Value
                if matches!(byte, b'{' | b'[') && !self.delimiter().starts_with(char::from(byte)) =>
            {
                if self.open.len() >= self.depth_limit {
                    return self.fault(Code::TooDeep, "expected less nesting: the depth limit is reached");
                }
                self.comma(container.is_list());
                self.is_certain = true;
                self.open(if byte == b'{' { Container::Object } else { Container::List });
                Some(Ok(()))
            }
            State::Value if byte == b'(' && !self.is_delimited() => {
                if self.open.len() >= self.depth_limit {
                    return self.fault(Code::TooDeep, "expected less nesting: the depth limit is reached");
                }
                self.comma(container.is_list());
                self.open(Container::Tuple { from: self.json.len(), has_comma: false });
                Some(Ok(()))
            }
            state => {
                let is_key = matches!(state, State::Key);
                match self.dialect {
                    Dialect::Python { .. } if is_key => self.python_key(text, byte, container),
                    Dialect::Python { .. } => self.python_value(text, byte, container),
                    Dialect::Delimited(_) => self.delimited_token(text, is_end, byte, is_key),
                }
            }
        }
    }

    /// Opens the container whose bracket is here.
    fn open(&mut self, container: Container) {
        self.open.push(container);
        self.json.push(if container.is_list() { '[' } else { '{' });
        self.at += 1;
        self.state = if container.is_list() { State::Value } else { State::Key };
    }

    fn close(&mut self, container: Container) -> Step {
        self.open.pop();
        if self.open.is_empty() {
            self.complete = self.json.len();
        }
        match container {
            // A value in parentheses is the value.
            Container::Tuple { from, has_comma: false } if self.json.len() > from + 1 => {
                self.json.remove(from);
            }
            Container::Tuple { .. } | Container::List => self.json.push(']'),
            Container::Call | Container::Object => self.json.push('}'),
        }
        self.go_on(State::AfterValue)
    }

    fn is_delimited(&self) -> bool {
        matches!(self.dialect, Dialect::Delimited(_))
    }

    /// Writes a comma before the next member or element, if this is one.
    fn comma(&mut self, is_item: bool) {
        // A string ends with a quote, so a bracket here was just opened, and a comma just written.
        if is_item && !self.json.trim_end().ends_with(['{', '[', ',']) {
            self.json.push(',');
        }
    }

    /// Moves past this byte, into the state.
    fn go_on(&mut self, state: State) -> Step {
        self.at += 1;
        self.state = state;
        Some(Ok(()))
    }

    fn end_token(&mut self, is_key: bool) -> Step {
        self.state = if is_key { State::Colon } else { State::AfterValue };
        Some(Ok(()))
    }

    fn unexpected(&self, text: &str, expected: &str) -> Step {
        self.fault(Code::MalformedJson, format!("expected {expected}, found {}", found(text, self.at)))
    }

    fn fault(&self, code: Code, message: impl Into<Cow<'static, str>>) -> Step {
        Some(Err(Fault::new(self.at, code, message)))
    }

    /// Writes a key or a value that is a string.
    fn push_string(&mut self, text: &str) {
        write::string(&mut self.json, text);
    }
}

/// A list or a dictionary of Python, as JSON on one line; `None` if the text is something else.
///
/// ```
/// use tokenline_core::call_format::python_literal;
///
/// let json = python_literal("{'name': \"L'Aquila\", 'at': None}");
/// assert_eq!(json.as_deref(), Some(r#"{"name":"L'Aquila","at":null}"#));
/// ```
#[must_use]
pub fn python_literal(text: &str) -> Option<String> {
    let text = text.trim();
    let container = match text.bytes().next()? {
        b'{' => Container::Object,
        b'[' => Container::List,
        _ => return None,
    };
    let mut literals = Literals::new(Dialect::Python { is_line: false }, &Limits::default());
    literals.begin(0, container);
    match literals.read(text, true)? {
        Ok(end) if end == text.len() => Some(literals.json),
        _ => None,
    }
}
