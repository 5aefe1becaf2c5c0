//! Assembles native tool calls from the fragments that a provider sends.

use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::sync::Arc;

mod arguments;
mod call;
mod certain;
mod name;
mod partial;
mod repetition;
mod syntax;
mod update;

use crate::digest::Digest;
use arguments::Arguments;
pub use call::CallDelta;
use call::{Call, State, trim, trim_start};
pub use certain::CertainArguments;
pub use partial::{PartialArgument, PartialValue};
use repetition::AfterArguments;
pub use update::CallUpdate;

use crate::json::{Parser, error};
use crate::{Code, CompletedBy, Limits, Options, RejectedCall, Release, ToolCall, ValidateCall, Violation};

/// The start of the ids of calls for which the provider sent none.
pub const SYNTHETIC_ID_PREFIX: &str = "synthetic_";

/// Assembles the native tool calls of a response from their fragments. Sans-IO.
///
/// # Which call a fragment belongs to
///
/// A fragment belongs to the call with its `id`, unless that call has another `index` or another name; else
/// to the latest call with its `index`, if it has one; else to the call of the previous fragment. It opens a
/// new call if there is no such call. Because servers may give several calls one index, or none, it also
/// opens one if it names another tool, if it has another id (with an index only if it also names a tool: some
/// servers make up an id for every fragment), or if it names a tool and its arguments begin with `{` after
/// arguments that are balanced or rejected.
///
/// Some servers send the name in pieces: entries of one index and id with different names, before the first byte of
/// arguments. With tools, the whole is the name if it is that of a tool; else each is a call if all are names of tools,
/// and the arguments are those of the last. Otherwise it is one reject, [`Code::UnknownTool`].
///
/// The same id with the same name is the same call, and some servers send one twice. If its arguments are the
/// same, byte for byte, it is delivered once; otherwise it is rejected with [`Code::TrailingData`], unless it
/// was already released.
///
/// # When a call is released
///
/// The arguments are parsed as they arrive, each byte once. A balanced root alone proves nothing, because
/// `{"query":"test"}` may be followed by `, "limit": 10}`; the call is then rejected with
/// [`Code::TrailingData`]. A call is released once the provider ends it ([`finish_item`](Self::finish_item))
/// or the response ([`finish`](Self::finish)), but not after a token limit, an error or a missing terminator
/// ([`abort_item`](Self::abort_item), [`abort`](Self::abort)). Calls come one after another, so the next call
/// confirms the balanced ones before it ([`CompletedBy::NextItem`]). An object without members is a placeholder: some
/// servers send it first, and the arguments later. It is confirmed only by the end of its own item or of the
/// response, and an object that follows it without naming the tool again replaces it. A call without arguments may
/// therefore come after later ones. An object that follows other arguments and differs from them makes the call
/// ambiguous, [`Code::TrailingData`]; the same object again, and a placeholder, say nothing. A JSON string that holds an
/// object is read as this object. With [`Options::repair_syntax`], malformed arguments are held until the call ends, and
/// repaired if the text proves how, as those of a record; the call is then released with the same evidence as others.
/// Only tokens are repaired: closers are neither added, dropped nor exchanged, and no comma is added. No server is known
/// to interleave the fragments of parallel calls; for one that does, [`Release::AtFinish`] holds calls with an index of
/// their own until the end. More arguments for a released call are a [`Code::LateFragment`]. With [`Release::OnBalance`]
/// a balanced root is enough.
///
/// Missing arguments are `{}` only if the response ended cleanly, and with
/// [`with_item_ends`](Self::with_item_ends) only if the item did too. The arguments of all open calls together,
/// with their names and ids, may take [`Limits::line_bytes`](crate::Limits::line_bytes).
///
/// # Ids
///
/// A call keeps the provider's id. Without one it gets a synthetic id, so that its result can be matched to
/// it: `synthetic_1` for the first call of the response, and so on, the same in every run.
///
/// # Positions
///
/// The line, column and span of a diagnostic count from the first byte of the call's arguments. JSON Pointers
/// start at the call as it is serialized, so an argument is at `/parameters/city`; those into the schema
/// start at the tool's schema. The message names the call by its number in the response and its tool.
///
/// ```
/// use tokenline_core::{CallDelta, CompletedBy, Options, ToolCallAssembler};
///
/// let mut calls = ToolCallAssembler::new(&Options::default());
/// calls.push(CallDelta { index: Some(0), id: Some("c1"), name: Some("search"), ..CallDelta::default() });
/// for arguments in [r#"{"query":"fj"#, r#"ord"}"#] {
///     calls.push(CallDelta { index: Some(0), arguments, ..CallDelta::default() });
/// }
/// assert!(calls.next_event().is_none(), "balanced, but nothing proves that it is complete");
///
/// calls.finish(CompletedBy::FinishReason);
/// let call = calls.next_event().unwrap()?;
/// assert_eq!((call.name.as_str(), call.parameters.as_str()), ("search", r#"{"query":"fjord"}"#));
/// # Ok::<(), Box<tokenline_core::RejectedCall>>(())
/// ```
pub struct ToolCallAssembler {
    release: Release,
    limits: Limits,
    repairs_syntax: bool,
    tools: Option<Arc<dyn ValidateCall + Send + Sync>>,
    /// In the order in which they began. Ended calls are kept to recognize late fragments.
    calls: Vec<Call>,
    /// The ordinal of the call of the last fragment.
    current: u64,
    /// How many calls began.
    opened: u64,
    /// Bytes held for the calls: names, ids, and the arguments of calls that have not ended.
    held: u64,
    ready: VecDeque<CallUpdate>,
    /// Whether it also yields how calls grow.
    has_updates: bool,
    /// Whether missing arguments are allowed only if the item has ended.
    needs_item_end: bool,
    /// Whether the fragment comes after the end of the response: the calls that it opens take what is meant for them, and
    /// come to nothing.
    is_after_end: bool,
    /// The buffers of an ended call, for the next one.
    spare: Option<Box<Arguments>>,
    examined: u64,
}

/// Most calls to remember. Stops a server that opens calls for ever.
const MAX_CALLS: usize = 256;
/// Most calls to hold if some of them wait for the end because they have no arguments.
const MAX_WAITING: usize = 4096;
/// Initial capacity for the arguments of a call: few take more.
const ROOM: usize = 256;
/// The capacity kept once a call has ended: one long call must not pin memory.
const KEEP: usize = 64 * 1024;

// Setup.
impl ToolCallAssembler {
    /// An assembler at the start of a response. Uses only the release, the limits and the repair of syntax of the options.
    #[must_use]
    pub fn new(options: &Options) -> Self {
        Self {
            release: options.release,
            limits: options.limits,
            repairs_syntax: options.repairs_syntax(),
            tools: None,
            calls: Vec::new(),
            current: 0,
            opened: 0,
            held: 0,
            ready: VecDeque::new(),
            has_updates: false,
            needs_item_end: false,
            is_after_end: false,
            spare: None,
            examined: 0,
        }
    }

    /// Validates each call against tool definitions before it is released.
    #[must_use]
    pub fn with_tools(mut self, tools: impl ValidateCall + Send + Sync + 'static) -> Self {
        self.tools = Some(Arc::new(tools));
        self
    }

    /// Also yields the beginning of calls and the growth of their arguments; see
    /// [`next_update`](Self::next_update).
    #[must_use]
    pub fn with_updates(self) -> Self {
        Self { has_updates: true, ..self }
    }

    /// Makes a call without arguments [truncated](Code::Truncated) unless its item was
    /// [ended](Self::finish_item), for servers that end each item.
    #[must_use]
    pub fn with_item_ends(self) -> Self {
        Self { needs_item_end: true, ..self }
    }

    /// The bytes kept for the calls: names, ids, and the arguments of those that have not ended.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        self.held
    }

    /// Forgets everything and starts with the next response.
    pub fn reset(&mut self) {
        self.calls.clear();
        self.ready.clear();
        (self.current, self.opened, self.held) = (0, 0, 0);
    }
}

// Fragments in, calls out.
impl ToolCallAssembler {
    /// Takes the next fragment. Take the events after each push: they are queued until then.
    pub fn push(&mut self, delta: CallDelta<'_>) {
        let delta = delta.without_empty_header();
        let at = match self.locate(&delta) {
            Some(at) => at,
            None if delta.is_blank() => return,
            None => match self.named_in_pieces(&delta) {
                Some(at) if self.join_name(at, &delta) => at,
                Some(at) => {
                    self.current = self.calls[at].ordinal;
                    return;
                }
                None => {
                    let at = self.open(&delta);
                    if self.is_after_end {
                        self.current = self.calls[at].ordinal;
                        return;
                    }
                    at
                }
            },
        };
        self.current = self.calls[at].ordinal;
        if !self.set_header(at, &delta) {
            return;
        }
        if self.has_updates {
            return self.feed_with_updates(at, &delta);
        }
        self.feed_any(at, &delta);
    }

    /// Takes a fragment that comes after the end of the response. Calls that have not begun are neither delivered nor
    /// reported; more arguments for a released one are a [`Code::LateFragment`], as before the end.
    pub fn push_after_end(&mut self, delta: CallDelta<'_>) {
        self.is_after_end = true;
        self.push(delta);
        self.is_after_end = false;
    }

    fn feed_any(&mut self, at: usize, delta: &CallDelta<'_>) {
        if delta.is_whole { self.feed_complete(at, delta) } else { self.feed(at, delta) }
    }

    /// Takes a value of the arguments of the latest call with this index. The arguments of a call come either
    /// as values or as text.
    pub fn push_partial(&mut self, index: Option<u64>, part: PartialArgument<'_>, lossy: bool) {
        let at = match self.calls.iter().rposition(|call| index.is_none() || call.index == index) {
            Some(at) => at,
            None => self.open(&CallDelta { index, ..CallDelta::default() }),
        };
        self.current = self.calls[at].ordinal;
        if let Some(at) = self.settle_name(at) {
            self.push_value(at, &part, lossy);
        }
    }

    /// The next call, or the reason why a call that began is rejected; `None` if more is needed.
    pub fn next_event(&mut self) -> Option<Result<ToolCall, Box<RejectedCall>>> {
        loop {
            if let CallUpdate::Ended { outcome, .. } = self.ready.pop_front()? {
                return Some(outcome);
            }
        }
    }

    /// Like [`next_event`](Self::next_event), but with [updates](Self::with_updates) also yields the
    /// beginning of a call and the growth of its arguments.
    ///
    /// ```
    /// use tokenline_core::{CallDelta, CallUpdate, Options, ToolCallAssembler};
    ///
    /// let mut calls = ToolCallAssembler::new(&Options::default()).with_updates();
    /// calls.push(CallDelta { index: Some(0), id: Some("c1"), name: Some("search"), ..CallDelta::default() });
    /// calls.push(CallDelta { index: Some(0), arguments: "{\"query\":\"fj", ..CallDelta::default() });
    /// let Some(CallUpdate::Began { number: 1, name, .. }) = calls.next_update() else { panic!() };
    /// let Some(CallUpdate::Arguments { number: 1, text }) = calls.next_update() else { panic!() };
    /// assert_eq!((&*name, &*text), ("search", "{\"query\":\"fj"));
    /// ```
    pub fn next_update(&mut self) -> Option<CallUpdate> {
        self.ready.pop_front()
    }

    /// Ends the item with this index as complete; `completion` is the evidence. Whether missing arguments are
    /// allowed is decided at the end of the response.
    pub fn finish_item(&mut self, index: u64, completion: CompletedBy) {
        for at in 0..self.calls.len() {
            if self.calls[at].index == Some(index) {
                self.finish_call(at, completion, Arguments::is_blank);
            }
        }
    }

    /// Ends the item with this index as incomplete.
    pub fn abort_item(&mut self, index: u64) {
        for at in 0..self.calls.len() {
            if self.calls[at].index == Some(index) {
                self.abort_call(at);
            }
        }
    }

    /// Ends the response as complete; `completion` is the evidence. Completes every call whose arguments are
    /// balanced.
    pub fn finish(&mut self, completion: CompletedBy) {
        self.settle_names();
        for at in 0..self.calls.len() {
            self.finish_call(at, completion, |_| false);
        }
    }

    fn finish_call(&mut self, at: usize, completion: CompletedBy, is_exempt: fn(&Arguments) -> bool) {
        let call = &mut self.calls[at];
        if call.is_malformed() {
            self.release(at, completion);
        } else if let State::Open(arguments) = &mut call.state {
            if is_exempt(arguments) {
                call.is_item_ended = true;
                return;
            }
            if self.needs_item_end && !call.is_item_ended && arguments.is_blank() {
                return self.abort_call(at);
            }
            if arguments.partial.as_ref().is_some_and(|partial| partial.is_open()) {
                return self.abort_call(at);
            }
            if trim_start(&arguments.text).is_empty() {
                let text = arguments.partial.take().map_or("{}".to_owned(), |partial| partial.to_json());
                self.held += text.len() as u64;
                arguments.text.push_str(&text);
            }
            self.parse(at, Parser::finish);
        }
        match self.calls[at].state {
            State::Open(_) => self.abort_call(at),
            State::Released(_) | State::Balanced(_) if self.calls[at].is_being_repeated() => {
                self.reject_changed(at);
            }
            _ => self.release(at, completion),
        }
        self.calls[at].after_arguments = AfterArguments::Nothing;
    }

    /// Ends the response without evidence that it is complete: at a token limit, in an error, or without a
    /// terminator. Rejects all open calls.
    pub fn abort(&mut self) {
        self.settle_names();
        for at in 0..self.calls.len() {
            self.abort_call(at);
        }
    }

    /// Starts the response anew: rejected calls may come again. Released calls are remembered, so that they
    /// are not delivered twice.
    pub fn discard_rejected(&mut self) {
        for at in 0..self.calls.len() {
            if self.calls[at].is_malformed() {
                self.abort_call(at);
            }
        }
        self.calls.retain(|call| {
            let is_kept = !matches!(call.state, State::Rejected);
            if !is_kept {
                self.held -= call.header_len() as u64;
            }
            is_kept
        });
    }

    /// Bytes of arguments examined: each once, however they are split.
    #[must_use]
    pub fn examined(&self) -> u64 {
        self.examined
    }
}

// Matching fragments to calls.
impl ToolCallAssembler {
    /// The call that the fragment continues, if any.
    fn locate(&self, delta: &CallDelta<'_>) -> Option<usize> {
        let current = || self.calls.iter().rposition(|call| call.ordinal == self.current);
        let is_either = |own: Option<&str>, new: Option<&str>| own.is_none() || new.is_none() || own == new;
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

    /// Opens a call, which confirms the balanced calls before it; with [`Release::AtFinish`] only those with
    /// the same index. A corrupted fragment confirms nothing.
    fn open(&mut self, delta: &CallDelta<'_>) -> usize {
        let index = delta.index;
        let proves_all = self.release != Release::AtFinish;
        for at in 0..self.calls.len() {
            if (proves_all || self.calls[at].index == index) && !delta.is_header_corrupted() {
                self.release(at, CompletedBy::NextItem);
            }
        }
        if self.calls.len() >= MAX_CALLS {
            self.forget_oldest();
        }
        self.opened += 1;
        let arguments = self.spare.take().unwrap_or_else(|| {
            let json = Parser::new().with_limits(&self.limits);
            Box::new(Arguments {
                json,
                text: String::with_capacity(ROOM),
                partial: None,
                partial_bytes: 0,
                follows_placeholder: false,
                name_pieces: Vec::new(),
                fault: None,
            })
        });
        let state = State::Open(arguments);
        let (id, name, after_arguments) = (None, None, AfterArguments::Nothing);
        let (encoded, is_announced, published, ordinal) = (Digest::default(), false, 0, self.opened);
        let is_item_ended = false;
        self.calls.push(Call {
            ordinal,
            index,
            id,
            name,
            after_arguments,
            encoded,
            is_item_ended,
            state,
            is_announced,
            published,
            certain: None,
        });
        let at = self.calls.len() - 1;
        if self.is_after_end {
            self.end(at, State::Rejected);
        }
        at
    }

    /// Forgets the oldest call that has ended; if none has, rejects the oldest, unless calls wait for the end only because
    /// they have no arguments.
    fn forget_oldest(&mut self) {
        let oldest = self.calls.iter().position(Call::has_ended);
        let has_placeholder = || self.calls.iter().any(Call::is_placeholder);
        if oldest.is_none() && self.calls.len() < MAX_WAITING && has_placeholder() {
            return;
        }
        let oldest = oldest.unwrap_or_else(|| {
            let message = format!("more than {MAX_CALLS} calls are open at once");
            self.reject(0, Violation::new(Code::RecordTooLarge, 0, message));
            0
        });
        self.held -= self.calls.remove(oldest).header_len() as u64;
    }

    /// Stores a new id and name. Returns whether there was room, and they are valid.
    fn set_header(&mut self, at: usize, delta: &CallDelta<'_>) -> bool {
        if delta.id.is_none() && delta.name.is_none() {
            return self.reserve(at, 0);
        }
        let call = &self.calls[at];
        let id = delta.id.filter(|_| call.id.is_none() && !call.has_ended());
        let name = delta.name.filter(|_| call.name.is_none() && !call.has_ended());
        if !self.reserve(at, id.map_or(0, str::len) + name.map_or(0, str::len)) {
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
    /// Releases the call if it is balanced and valid, or can be repaired.
    fn release(&mut self, at: usize, completion: CompletedBy) {
        if self.calls[at].is_malformed() {
            return self.repair(at, completion);
        }
        let call = &self.calls[at];
        let State::Balanced(arguments) = &call.state else { return };
        let is_end = !matches!(completion, CompletedBy::NextItem | CompletedBy::Balanced);
        if arguments.is_placeholder() && !is_end {
            return;
        }
        match call.read(arguments.json.value(&arguments.text), self.validator(), completion) {
            Ok(tool_call) => self.deliver(at, tool_call),
            Err(violation) => self.reject(at, *violation),
        }
    }

    fn validator(&self) -> Option<&dyn ValidateCall> {
        self.tools.as_deref().map(|tools| tools as &dyn ValidateCall)
    }

    /// Delivers the call.
    fn deliver(&mut self, at: usize, mut tool_call: ToolCall) {
        (tool_call.call_id, tool_call.is_synthetic_id) = self.id_of(at);
        self.announce(at);
        let digest = Digest::of(trim(self.calls[at].text()));
        self.publish_rest(at, tool_call.parameters.as_str());
        self.end(at, State::Released(digest));
        let number = self.calls[at].ordinal;
        self.ready.push_back(CallUpdate::Ended { number, outcome: Ok(tool_call) });
    }

    /// Rejects the call if it is open or balanced: the response ended without evidence.
    fn abort_call(&mut self, at: usize) {
        if let Some(fault) = self.calls[at].take_fault() {
            return self.reject(at, fault);
        }
        match &self.calls[at].state {
            State::Open(arguments) => {
                let message = match trim_start(&arguments.text) {
                    _ if arguments.partial.is_some() => {
                        "the arguments should continue, but the response ended".to_owned()
                    }
                    "" => "the response ended before the arguments began".to_owned(),
                    _ => error::describe(arguments.json.expected(), error::UnexpectedToken::EndOfInput),
                };
                self.reject_at_end(at, Code::Truncated, message);
            }
            State::Balanced(_) => {
                let message = "the arguments are balanced, but the response ended without evidence that they are complete";
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

    /// The id of the call, and whether it is synthetic.
    fn id_of(&self, at: usize) -> (Option<String>, bool) {
        let call = &self.calls[at];
        if call.id.is_some() {
            return (call.id.clone(), false);
        }
        let mut id = format!("{SYNTHETIC_ID_PREFIX}{}", call.ordinal);
        // A provider may use such an id for some of its calls.
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
            self.held -= arguments.text.len() as u64 + arguments.partial_bytes;
            arguments.json.reset();
            arguments.partial = None;
            arguments.partial_bytes = 0;
            arguments.follows_placeholder = false;
            arguments.name_pieces.clear();
            arguments.fault = None;
            arguments.text.clear();
            arguments.text.shrink_to(KEEP);
            self.spare = Some(arguments);
        }
    }
}

/// Shows positions and counts only: names and arguments may be private.
impl fmt::Debug for ToolCallAssembler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCallAssembler")
            .field("opened", &self.opened)
            .field("held", &self.held)
            .field("ready", &self.ready.len())
            .finish_non_exhaustive()
    }
}
