//! Native tool calls out of the fragments that a provider sends of them.

use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::sync::Arc;

mod arguments;
mod call;
mod partial;
mod repetition;
mod update;

use arguments::Arguments;
pub use call::CallDelta;
use call::{Call, State, trim, trim_start};
pub use partial::{PartialArgument, PartialValue};
use repetition::{AfterArguments, Digest};
pub use update::CallUpdate;

use crate::json::{Parser, error};
use crate::{Code, CompletedBy, Options, RejectedCall, Release, ToolCall, ValidateCall, Violation};

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
/// [`Code::TrailingData`]. It is released once the provider says that this call has ended
/// ([`seal_item`](Self::seal_item)) or that the answer has ([`seal`](Self::seal)); after a token
/// limit, an error or a silent close ([`cut_item`](Self::cut_item), [`cut`](Self::cut)) it is not.
/// Calls come one after another, so the next call proves the balanced ones before it
/// ([`CompletedBy::NextItem`]). No server is known that interleaves the fragments of parallel calls; for one that does,
/// [`Release::AtFinish`] waits for the end where calls have an index of their own. More arguments for a call that was
/// released are a [`Code::LateFragment`]. With [`Release::OnBalance`] a balanced root is enough.
///
/// Arguments that never came are `{}` only where the answer's end was clean. The arguments of all open calls
/// together, and their names and ids, may take [`Limits::line_bytes`](crate::Limits::line_bytes).
///
/// # Ids
///
/// A call keeps the provider's id. Where there is none it gets one, so that its result can be told
/// from others: `synthetic_1` for the answer's first call, and so on, the same in every run.
///
/// # Places
///
/// A finding is placed in the text of its call's arguments: the line, the column and the span count
/// from their first byte. JSON Pointers start at the call as it is printed, so that an argument is at
/// `/parameters/city`; the schema's start at the tool's schema. The message tells which call it was,
/// by its number in the answer and its tool's name.
///
/// ```
/// use tokenline_core::{CallDelta, CompletedBy, Options, ToolCallAssembler};
///
/// let mut calls = ToolCallAssembler::new(Options::default());
/// calls.push(CallDelta { index: Some(0), id: Some("c1"), name: Some("search"), ..CallDelta::default() });
/// for arguments in [r#"{"query":"fj"#, r#"ord"}"#] {
///     calls.push(CallDelta { index: Some(0), arguments, ..CallDelta::default() });
/// }
/// assert!(calls.next_event().is_none(), "balanced, but nothing proves that it is whole");
///
/// calls.seal(CompletedBy::FinishReason);
/// let call = calls.next_event().unwrap()?;
/// assert_eq!((call.name.as_str(), call.parameters.as_str()), ("search", r#"{"query":"fjord"}"#));
/// # Ok::<(), Box<tokenline_core::RejectedCall>>(())
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
    ready: VecDeque<CallUpdate>,
    /// Whether it yields how calls grow.
    has_updates: bool,
    /// Of a call that has ended, for the next one.
    spare: Option<Box<Arguments>>,
    examined: u64,
}

/// Calls that are remembered. Stops a server that opens calls for ever.
const MAX_CALLS: usize = 256;
/// Bytes that there is room for when a call begins: few take more.
const ROOM: usize = 256;
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
            has_updates: false,
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

    /// Yields as well that a call begins, and how its arguments grow; see [`next_update`](Self::next_update).
    #[must_use]
    pub fn with_updates(self) -> Self {
        Self { has_updates: true, ..self }
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
        if !self.complete_header(at, &delta) {
            return;
        }
        if self.has_updates {
            return self.feed_with_updates(at, &delta);
        }
        self.feed_any(at, &delta);
    }

    fn feed_any(&mut self, at: usize, delta: &CallDelta<'_>) {
        match delta.is_whole {
            true => self.feed_whole(at, delta),
            false => self.feed(at, delta),
        }
    }

    /// Takes in a value of the arguments of the latest call of this index. A call's arguments come
    /// either so or as text.
    pub fn push_partial(&mut self, index: Option<u64>, part: PartialArgument<'_>, lossy: bool) {
        let at = match self.calls.iter().rposition(|call| index.is_none() || call.index == index) {
            Some(at) => at,
            None => self.open(&CallDelta { index, ..CallDelta::default() }),
        };
        self.current = self.calls[at].ordinal;
        self.fold(at, &part, lossy);
    }

    /// The next call, or why there is none although it began; `None` if more is needed.
    pub fn next_event(&mut self) -> Option<Result<ToolCall, Box<RejectedCall>>> {
        loop {
            if let CallUpdate::Ended { outcome, .. } = self.ready.pop_front()? {
                return Some(outcome);
            }
        }
    }

    /// The next of all that is known of calls: as [`next_event`](Self::next_event), and with
    /// [updates](Self::with_updates) that a call begins, and how its arguments grow.
    ///
    /// ```
    /// use tokenline_core::{CallDelta, CallUpdate, Options, ToolCallAssembler};
    ///
    /// let mut calls = ToolCallAssembler::new(Options::default()).with_updates();
    /// calls.push(CallDelta { index: Some(0), id: Some("c1"), name: Some("search"), ..CallDelta::default() });
    /// calls.push(CallDelta { index: Some(0), arguments: "{\"query\":\"fj", ..CallDelta::default() });
    /// let Some(CallUpdate::Began { number: 1, name, .. }) = calls.next_update() else { panic!() };
    /// let Some(CallUpdate::Arguments { number: 1, text }) = calls.next_update() else { panic!() };
    /// assert_eq!((&*name, &*text), ("search", "{\"query\":\"fj"));
    /// ```
    pub fn next_update(&mut self) -> Option<CallUpdate> {
        self.ready.pop_front()
    }

    /// Says that the item with this index has ended, and is whole; `completion` is the evidence for
    /// it. Arguments that never came are left for the end of the answer to judge.
    pub fn seal_item(&mut self, index: u64, completion: CompletedBy) {
        for at in 0..self.calls.len() {
            if self.calls[at].index == Some(index) {
                self.seal_call(at, completion, Arguments::is_blank);
            }
        }
    }

    /// Says that the item with this index has ended, and is not whole.
    pub fn cut_item(&mut self, index: u64) {
        for at in 0..self.calls.len() {
            if self.calls[at].index == Some(index) {
                self.cut_call(at);
            }
        }
    }

    /// Says that the provider itself came to a clean end, which `completion` names: every call is
    /// whole, unless its arguments are not balanced even so.
    pub fn seal(&mut self, completion: CompletedBy) {
        for at in 0..self.calls.len() {
            self.seal_call(at, completion, |_| false);
        }
    }

    fn seal_call(&mut self, at: usize, completion: CompletedBy, is_left: fn(&Arguments) -> bool) {
        if let State::Open(arguments) = &mut self.calls[at].state {
            if is_left(arguments) {
                return;
            }
            if arguments.folded.as_ref().is_some_and(|folded| folded.is_open()) {
                return self.cut_call(at);
            }
            if trim_start(&arguments.text).is_empty() {
                let text = arguments.folded.take().map_or("{}".to_owned(), |folded| folded.to_json());
                self.held += text.len() as u64;
                arguments.text.push_str(&text);
            }
            self.parse(at, Parser::finish);
        }
        match self.calls[at].state {
            State::Open(_) => self.cut_call(at),
            State::Released(_) if self.calls[at].is_being_repeated() => self.differ(at),
            _ => self.release(at, completion),
        }
        self.calls[at].sequel = AfterArguments::Nothing;
    }

    /// Says that the answer ended in a way that proves nothing: at a token limit, in an error, or
    /// silently. No call that is still open is released.
    pub fn cut(&mut self) {
        for at in 0..self.calls.len() {
            self.cut_call(at);
        }
    }

    /// Says that the answer begins anew, and that calls which were rejected may come again. Those that
    /// were released are remembered, so that they are not delivered twice.
    pub fn forget_rejected(&mut self) {
        self.calls.retain(|call| {
            let is_kept = !matches!(call.state, State::Rejected);
            if !is_kept {
                self.held -= call.header_len() as u64;
            }
            is_kept
        });
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
            call.id.as_deref() == delta.id
                && is_either(call.name.as_deref(), delta.name)
                && (call.index.is_none() || delta.index.is_none() || call.index == delta.index)
        };
        let of_id = delta.id.and_then(|_| self.calls.iter().rposition(has_id));
        let at = of_id.or_else(|| match delta.index {
            Some(_) => self.calls.iter().rposition(|call| call.index == delta.index),
            None => current(),
        })?;
        (!self.calls[at].is_superseded_by(delta)).then_some(at)
    }

    /// Opens a call. Calls come one after another, so this proves that the balanced ones are whole; with
    /// [`Release::AtFinish`] only those that share its index. What cannot be read proves nothing.
    fn open(&mut self, delta: &CallDelta<'_>) -> usize {
        let index = delta.index;
        let proves_all = self.options.release != Release::AtFinish;
        for at in 0..self.calls.len() {
            if (proves_all || self.calls[at].index == index) && !delta.is_header_corrupted() {
                self.release(at, CompletedBy::NextItem);
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
            let json = Parser::new().with_limits(&self.options.limits);
            Box::new(Arguments { json, text: String::with_capacity(ROOM), folded: None, folded_bytes: 0 })
        });
        let state = State::Open(arguments);
        let (id, name, sequel) = (None, None, AfterArguments::Nothing);
        let is_announced = false;
        self.calls.push(Call { ordinal: self.opened, index, id, name, sequel, state, is_announced });
        self.calls.len() - 1
    }

    /// Takes over an id and a name that are new. Answers whether there was room, and they are sound.
    fn complete_header(&mut self, at: usize, delta: &CallDelta<'_>) -> bool {
        if delta.id.is_none() && delta.name.is_none() {
            return self.admit(at, 0);
        }
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

// The end of a call.
impl ToolCallAssembler {
    /// Releases the call if it is balanced, and judged to be good.
    fn release(&mut self, at: usize, completion: CompletedBy) {
        let call = &self.calls[at];
        let State::Balanced(arguments) = &call.state else { return };
        match call.read(arguments, self.tools.as_deref(), completion) {
            Ok(mut tool_call) => {
                (tool_call.call_id, tool_call.is_synthetic_id) = self.id_of(at);
                self.announce(at);
                let call = &self.calls[at];
                let State::Balanced(arguments) = &call.state else { return };
                let is_known_again = call.id.is_some();
                let digest = is_known_again.then(|| Digest::of(trim(&arguments.text)));
                self.end(at, State::Released(digest.unwrap_or_default()));
                let number = self.calls[at].ordinal;
                self.ready.push_back(CallUpdate::Ended { number, outcome: Ok(tool_call) });
            }
            Err(violation) => self.reject(at, *violation),
        }
    }

    /// Rejects the call if it is open or balanced: the answer ended, and proves nothing.
    fn cut_call(&mut self, at: usize) {
        match &self.calls[at].state {
            State::Open(arguments) => {
                let message = match trim_start(&arguments.text) {
                    _ if arguments.folded.is_some() => {
                        "the arguments were to go on, found the end".to_owned()
                    }
                    "" => "the answer ended before the arguments began".to_owned(),
                    _ => error::describe(arguments.json.expected(), error::UnexpectedToken::EndOfInput),
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
        let held = self.calls[at].text().len() as u64;
        let mut rejected = self.calls[at].reject(violation);
        self.held -= held;
        (rejected.call_id, rejected.is_synthetic_id) = self.id_of(at);
        let number = self.calls[at].ordinal;
        self.ready.push_back(CallUpdate::Ended { number, outcome: Err(Box::new(rejected)) });
        self.end(at, State::Rejected);
    }

    /// The call's id, which is made up if it has none, and whether it was.
    fn id_of(&self, at: usize) -> (Option<String>, bool) {
        let call = &self.calls[at];
        if call.id.is_some() {
            return (call.id.clone(), false);
        }
        let mut id = format!("synthetic_{}", call.ordinal);
        // A provider may give some of its calls an id, and mean something like this.
        while self.calls.iter().any(|call| call.id.as_deref() == Some(&id)) {
            id.push('_');
        }
        (Some(id), true)
    }

    fn end(&mut self, at: usize, state: State) {
        let call = &mut self.calls[at];
        if let State::Open(mut arguments) | State::Balanced(mut arguments) =
            mem::replace(&mut call.state, state)
        {
            self.held -= arguments.text.len() as u64 + arguments.folded_bytes;
            arguments.json.reset();
            arguments.folded = None;
            arguments.folded_bytes = 0;
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
