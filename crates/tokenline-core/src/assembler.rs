//! Native tool calls out of the fragments that a provider sends of them.

use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::sync::Arc;

mod call;
mod repetition;

pub use call::CallDelta;
use call::{Arguments, Call, State, trim_start};
use repetition::{Digest, Sequel};

use crate::json::{Kind, Parser, Step, error};
use crate::{Code, Completion, Diagnostic, Emit, Options, ToolCall, ValidateCall, Violation};

/// Puts the native tool calls of one answer together from their fragments. Sans-IO.
///
/// # Which call a fragment belongs to
///
/// To the call of its `id`, unless that has another `index` or another name; else to the latest call
/// of its `index`, where it has one; else to the call that the fragment before it belonged to. It
/// opens a new call if there is no such call, and also where servers give several calls one index,
/// or none: if it names another tool, if it has another id (with an index only if it names a tool as
/// well: there are servers that mint an id for every fragment), or if it names a tool and its
/// arguments begin with `{` after arguments that are balanced or given up.
///
/// The same id and the same name are the same call, though, and some servers send one twice. If its
/// arguments are the same, byte for byte, it is delivered once; if not, that is a
/// [`Code::TrailingData`], and it is withheld unless it was released already.
///
/// # When a call is released
///
/// The arguments are parsed as they arrive, each byte once. A balanced root alone proves nothing,
/// because `{"query":"test"}` may be followed by `, "limit": 10}`; the call is then given up, as
/// [`Code::TrailingData`]. It is released once the provider's own end follows
/// ([`seal`](Self::seal)); after a token limit, an error or a silent close ([`cut`](Self::cut)) it is
/// not. Where calls are not told apart by an index, because they share one or have none, they come
/// one after another: there the next call proves the one before ([`Completion::NextItem`]). Calls of
/// several indexes may come interleaved, and prove nothing about each other. With [`Emit::Eager`] a
/// balanced root is enough.
///
/// Arguments that never came are `{}` only where the end was clean. The arguments of all open calls
/// together, and their names and ids, may take [`Limits::line_bytes`](crate::Limits::line_bytes).
///
/// # Places
///
/// A finding is placed in the text of its call's arguments: the line, the column and the span count
/// from their first byte, and JSON Pointers start at the arguments themselves, as the tool's schema
/// does. The message tells which call it was, by its number in the answer and its tool's name.
///
/// ```
/// use tokenline_core::{CallDelta, Completion, Options, ToolCallAssembler};
///
/// let mut calls = ToolCallAssembler::new(Options::default());
/// calls.push(CallDelta { index: Some(0), id: Some("c1"), name: Some("search"), ..CallDelta::default() });
/// for arguments in [r#"{"query":"fj"#, r#"ord"}"#] {
///     calls.push(CallDelta { index: Some(0), arguments, ..CallDelta::default() });
/// }
/// assert!(calls.next_event().is_none(), "balanced, but nothing proves that it is whole");
///
/// calls.seal(Completion::FinishReason);
/// let call = calls.next_event().unwrap()?;
/// assert_eq!((call.name.as_str(), call.parameters.as_str()), ("search", r#"{"query":"fjord"}"#));
/// # Ok::<(), Box<tokenline_core::Diagnostic>>(())
/// ```
pub struct ToolCallAssembler {
    options: Options,
    tools: Option<Arc<dyn ValidateCall + Send + Sync>>,
    /// In the order in which they began. The ended ones are kept so that what still comes for them
    /// is known for what it is.
    calls: Vec<Call>,
    /// The ordinal of the call that the last fragment belonged to.
    current: u64,
    /// How many calls began.
    opened: u64,
    /// Bytes held by the calls: names, ids, and the arguments of those that have not ended.
    held: u64,
    ready: VecDeque<Result<ToolCall, Box<Diagnostic>>>,
    /// Of a call that has ended, for the next one.
    spare: Option<Box<Arguments>>,
    examined: u64,
}

/// Calls that are remembered. Stops a server that opens calls for ever.
const MAX_CALLS: usize = 256;
/// A text larger than this is given back once its call has ended: one long call must not pin memory.
const KEEP: usize = 64 * 1024;

// Life of an assembler.
impl ToolCallAssembler {
    /// An assembler at the start of an answer. Of the options it uses when a call is released and
    /// the limits.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            options,
            tools: None,
            calls: Vec::new(),
            current: 0,
            opened: 0,
            held: 0,
            ready: VecDeque::new(),
            spare: None,
            examined: 0,
        }
    }

    /// Holds each call against the definitions of tools before it is released.
    #[must_use]
    pub fn with_tools(mut self, tools: Arc<dyn ValidateCall + Send + Sync>) -> Self {
        self.tools = Some(tools);
        self
    }

    /// Forgets everything and starts with the next answer.
    pub fn reset(&mut self) {
        self.calls.clear();
        self.ready.clear();
        (self.current, self.opened, self.held) = (0, 0, 0);
    }
}

// Fragments in, calls out.
impl ToolCallAssembler {
    /// Takes in the next fragment. Take the events after each: they queue up until then.
    pub fn push(&mut self, delta: CallDelta<'_>) {
        let delta = CallDelta {
            id: delta.id.filter(|id| !id.is_empty()),
            name: delta.name.filter(|name| !name.is_empty()),
            ..delta
        };
        let at = match self.locate(&delta) {
            Some(at) => at,
            None if delta.is_blank() => return,
            None => self.open(&delta),
        };
        self.current = self.calls[at].ordinal;
        if self.complete_header(at, &delta) {
            self.feed(at, &delta);
        }
    }

    /// The next call, or why there is none although it began; `None` if more is needed.
    pub fn next_event(&mut self) -> Option<Result<ToolCall, Box<Diagnostic>>> {
        self.ready.pop_front()
    }

    /// Says that the provider itself came to a clean end, which `completion` names: every call is
    /// whole, unless its arguments are not balanced even so.
    pub fn seal(&mut self, completion: Completion) {
        for at in 0..self.calls.len() {
            if let State::Open(arguments) = &mut self.calls[at].state {
                if trim_start(&arguments.text).is_empty() {
                    arguments.text.push_str("{}");
                    self.held += 2;
                }
                self.parse(at, Parser::finish);
            }
            match self.calls[at].state {
                State::Open(_) => self.cut_call(at),
                State::Released(_) if self.calls[at].is_being_repeated() => self.differ(at),
                _ => self.release(at, completion),
            }
            self.calls[at].sequel = Sequel::Nothing;
        }
    }

    /// Says that the answer ended in a way that proves nothing: at a token limit, in an error, or
    /// silently. No call that is still open is released.
    pub fn cut(&mut self) {
        for at in 0..self.calls.len() {
            self.cut_call(at);
        }
    }

    /// How many bytes of arguments were looked at: each once, whatever the fragments.
    #[must_use]
    pub fn examined(&self) -> u64 {
        self.examined
    }
}

// Telling calls apart.
impl ToolCallAssembler {
    /// The call that the fragment goes on with, if it opens none.
    fn locate(&self, delta: &CallDelta<'_>) -> Option<usize> {
        let current = || self.calls.iter().rposition(|call| call.ordinal == self.current);
        let is_either = |own: Option<&str>, its: Option<&str>| own.is_none() || its.is_none() || own == its;
        let has_id = |call: &Call| {
            delta.id.is_some()
                && call.id.as_deref() == delta.id
                && is_either(call.name.as_deref(), delta.name)
                && (call.index.is_none() || delta.index.is_none() || call.index == delta.index)
        };
        let at = self.calls.iter().rposition(has_id).or_else(|| match delta.index {
            Some(_) => self.calls.iter().rposition(|call| call.index == delta.index),
            None => current(),
        })?;
        (!self.calls[at].is_left_by(delta)).then_some(at)
    }

    /// Opens a call. That it begins proves that the balanced ones of its index are whole, or of
    /// none, for those come one after another; what cannot be read proves nothing.
    fn open(&mut self, delta: &CallDelta<'_>) -> usize {
        let index = delta.index;
        for at in 0..self.calls.len() {
            if self.calls[at].index == index && !delta.is_header_corrupted() {
                self.release(at, Completion::NextItem);
            }
        }
        if self.calls.len() == MAX_CALLS {
            let oldest = self.calls.iter().position(Call::has_ended).unwrap_or_else(|| {
                let message = format!("more than {MAX_CALLS} calls are open at once");
                self.reject(0, Violation::new(Code::RecordTooLarge, 0, message));
                0
            });
            self.held -= self.calls.remove(oldest).header_len() as u64;
        }
        self.opened += 1;
        let arguments = self.spare.take().unwrap_or_else(|| {
            Box::new(Arguments { json: Parser::new().with_limits(&self.options.limits), text: String::new() })
        });
        let state = State::Open(arguments);
        let (id, name, sequel) = (None, None, Sequel::Nothing);
        self.calls.push(Call { ordinal: self.opened, index, id, name, sequel, state });
        self.calls.len() - 1
    }

    /// Takes over an id and a name that are new. Answers whether there was room, and they are sound.
    fn complete_header(&mut self, at: usize, delta: &CallDelta<'_>) -> bool {
        let call = &self.calls[at];
        let id = delta.id.filter(|_| call.id.is_none() && !call.has_ended());
        let name = delta.name.filter(|_| call.name.is_none() && !call.has_ended());
        if !self.admit(at, id.map_or(0, str::len) + name.map_or(0, str::len)) {
            return false;
        }
        let call = &mut self.calls[at];
        call.id = call.id.take().or(id.map(str::to_owned));
        call.name = call.name.take().or(name.map(str::to_owned));
        let is_sound = !CallDelta { id, name, ..*delta }.is_header_corrupted();
        if !is_sound {
            self.reject_at_end(at, Code::InvalidUtf8, "the name or the id is not UTF-8");
        }
        is_sound
    }
}

// Arguments.
impl ToolCallAssembler {
    fn feed(&mut self, at: usize, delta: &CallDelta<'_>) {
        let mut rest = delta.arguments;
        if delta.is_corrupted(rest) && !matches!(self.calls[at].state, State::Rejected) {
            return self.reject_at_end(at, Code::InvalidUtf8, "the arguments are not UTF-8");
        }
        if self.calls[at].is_open() {
            if !self.admit(at, rest.len()) {
                return;
            }
            if let State::Open(arguments) = &mut self.calls[at].state {
                arguments.text.push_str(rest);
            }
            let Some(after) = self.parse(at, Parser::resume) else { return };
            rest = &rest[rest.len() - after..];
            if self.options.emit == Emit::Eager {
                self.release(at, Completion::Balanced);
            }
        } else if delta.is_start() && self.calls[at].is_named_by(delta) {
            self.calls[at].name_again(delta);
        }
        self.follow(at, rest, delta);
    }

    /// Takes in what follows the arguments of a call once they are balanced, or given up.
    fn follow(&mut self, at: usize, rest: &str, delta: &CallDelta<'_>) {
        let Some(rest) = self.calls[at].repeat(rest) else { return self.differ(at) };
        let call = &mut self.calls[at];
        let rest = trim_start(rest);
        let Some(&byte) = rest.as_bytes().first() else {
            if delta.name.is_some() && trim_start(delta.arguments).is_empty() {
                call.name_again(delta);
            }
            return;
        };
        let found = error::Found::classify(byte);
        match call.state {
            _ if byte == b'{' && matches!(call.sequel, Sequel::Named) => {
                let name = call.name.clone();
                self.push(CallDelta { name: name.as_deref(), arguments: rest, ..*delta });
            }
            State::Rejected => {}
            _ if byte == b'{' => {
                // A header would have opened the call that these arguments belong to.
                let at = self.open(delta);
                self.current = self.calls[at].ordinal;
                self.reject_at_end(at, Code::MissingField, "arguments follow without the name of a tool");
            }
            State::Released(_) => {
                let message = format!("the call was released, but its arguments go on with {found}");
                self.reject_at_end(at, Code::TrailingData, message);
            }
            State::Open(_) | State::Balanced(_) => {
                let message = format!("the arguments are balanced, but go on with {found}");
                self.reject_at_end(at, Code::TrailingData, message);
            }
        }
    }

    /// Says that the call came again, and not as it was.
    fn differ(&mut self, at: usize) {
        let message = match self.calls[at].state {
            State::Released(_) => "the call was released, but came again with other arguments",
            _ => "the call came again with other arguments",
        };
        self.reject_at_end(at, Code::TrailingData, message);
    }

    /// Parses what is new of an open call's arguments. Once they are balanced: how many bytes follow.
    fn parse(&mut self, at: usize, step: fn(&mut Parser, &str) -> Step) -> Option<usize> {
        let call = &mut self.calls[at];
        let State::Open(arguments) = &mut call.state else { return None };
        let Arguments { json, text } = &mut **arguments;
        let before = json.examined();
        let step = step(json, text);
        self.examined += json.examined() - before;
        let violation = match step {
            Step::NeedMore => return None,
            Step::Complete { end } if json.root_kind() == Kind::Object => {
                let after = text.len() - end;
                text.truncate(end);
                self.held -= after as u64;
                if let State::Open(arguments) = mem::replace(&mut call.state, State::Rejected) {
                    call.state = State::Balanced(arguments);
                }
                return Some(after);
            }
            Step::Complete { .. } => {
                let message = format!("the arguments must be an object, found {}", json.root_kind().as_str());
                Violation::new(Code::InvalidParameters, 0, message)
            }
            Step::Malformed(error) if error.expected == error::Expected::LessDepth => {
                Violation::new(Code::TooDeep, error.offset, error.description())
            }
            Step::Malformed(error) => Violation::new(Code::MalformedJson, error.offset, error.description()),
        };
        self.reject(at, violation);
        None
    }

    /// Makes room for so many more bytes of this call, or rejects it.
    fn admit(&mut self, at: usize, bytes: usize) -> bool {
        let limit = self.options.limits.effective_line_bytes();
        let is_admitted = self.held + bytes as u64 <= limit;
        if is_admitted {
            self.held += bytes as u64;
        } else {
            let message = format!("the open calls are larger than {limit} bytes");
            self.reject_at_end(at, Code::RecordTooLarge, message);
        }
        is_admitted
    }
}

// The end of a call.
impl ToolCallAssembler {
    /// Releases the call if it is balanced, and judged to be good.
    fn release(&mut self, at: usize, completion: Completion) {
        let call = &self.calls[at];
        let State::Balanced(arguments) = &call.state else { return };
        match call.read(arguments, self.tools.as_deref(), completion) {
            Ok(tool_call) => {
                let is_known_again = call.id.is_some();
                let digest = is_known_again.then(|| Digest::of(trim_start(&arguments.text)));
                self.end(at, State::Released(digest.unwrap_or_default()));
                self.ready.push_back(Ok(tool_call));
            }
            Err(violation) => self.reject(at, *violation),
        }
    }

    /// Rejects the call if it is open or balanced: the answer ended, and proves nothing.
    fn cut_call(&mut self, at: usize) {
        match &self.calls[at].state {
            State::Open(arguments) => {
                let expected = arguments.json.expected();
                let message = match trim_start(&arguments.text) {
                    "" => "the answer ended before the arguments began".to_owned(),
                    _ => error::describe(expected, error::Found::EndOfInput),
                };
                self.reject_at_end(at, Code::Truncated, message);
            }
            State::Balanced(_) => {
                let message =
                    "the arguments are balanced, but the answer ended without proof that they are whole";
                self.reject(at, Violation::new(Code::Unsealed, 0, message));
            }
            State::Released(_) | State::Rejected => {}
        }
    }

    fn reject_at_end(&mut self, at: usize, code: Code, message: impl Into<String>) {
        let offset = self.calls[at].text().len();
        self.reject(at, Violation::new(code, offset, message));
    }

    #[cold]
    fn reject(&mut self, at: usize, violation: Violation) {
        let diagnostic = self.calls[at].diagnose(violation);
        self.ready.push_back(Err(Box::new(diagnostic)));
        self.end(at, State::Rejected);
    }

    fn end(&mut self, at: usize, state: State) {
        let call = &mut self.calls[at];
        if let State::Open(mut arguments) | State::Balanced(mut arguments) =
            mem::replace(&mut call.state, state)
        {
            self.held -= arguments.text.len() as u64;
            arguments.json.reset();
            arguments.text.clear();
            arguments.text.shrink_to(KEEP);
            self.spare = Some(arguments);
        }
    }
}

/// Places and counts only: names and arguments may be private.
impl fmt::Debug for ToolCallAssembler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCallAssembler")
            .field("opened", &self.opened)
            .field("held", &self.held)
            .field("ready", &self.ready.len())
            .finish_non_exhaustive()
    }
}
