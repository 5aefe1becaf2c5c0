//! A tool's name that comes in pieces.

use std::mem;

use super::ToolCallAssembler;
use super::call::{Call, CallDelta, State};
use crate::{Code, Violation};

/// A piece of a name, other than the first.
pub(super) struct NamePiece {
    /// Where it begins in the name.
    start: usize,
    /// It came with the id of the call.
    has_id: bool,
}

/// Most pieces after the first. Providers allow 64 characters. Stops a server whose name never ends.
const MAX_PIECES: usize = 64;
/// Pieces that a message shows, and characters of each.
const SHOWN: (usize, usize) = (8, 64);

impl ToolCallAssembler {
    /// The call whose name the fragment may continue: it has the same index and id, and another name, but not a byte of
    /// arguments.
    pub(super) fn named_in_pieces(&self, delta: &CallDelta<'_>) -> Option<usize> {
        let name = delta.name.filter(|_| delta.index.is_some() && !delta.is_whole)?;
        let at = self.calls.iter().rposition(|call| call.index == delta.index)?;
        let Call { id, name: own, state: State::Open(arguments), .. } = &self.calls[at] else { return None };
        let is_same_id = delta.id.is_none() || delta.id == id.as_deref();
        let is_other = own.as_deref().is_some_and(|own| own != name);
        (is_same_id && is_other && arguments.is_blank()).then_some(at)
    }

    /// Continues the name of a call, unless its latest piece came again. Returns whether it may go on.
    pub(super) fn join_name(&mut self, at: usize, delta: &CallDelta<'_>) -> bool {
        let new = delta.name.unwrap_or_default();
        let Call { name: Some(name), state: State::Open(arguments), .. } = &self.calls[at] else {
            return true;
        };
        let latest = arguments.name_pieces.last().map_or(0, |piece| piece.start);
        if name[latest..] == *new {
            return true;
        }
        if arguments.name_pieces.len() == MAX_PIECES {
            let message = format!("the name comes in more than {MAX_PIECES} pieces");
            self.reject(at, Violation::new(Code::UnknownTool, 0, message));
            return false;
        }
        if !self.reserve(at, new.len()) {
            return false;
        }
        if let Call { name: Some(name), state: State::Open(arguments), .. } = &mut self.calls[at] {
            arguments.name_pieces.push(NamePiece { start: name.len(), has_id: delta.id.is_some() });
            name.push_str(new);
        }
        true
    }

    /// Decides what the pieces of a name are, once all have arrived: one name if it is that of a tool, else one call
    /// each if all are names of tools. Returns the call that takes the arguments; `None` if they are a reject.
    #[cold]
    pub(super) fn settle_name(&mut self, at: usize) -> Option<usize> {
        let State::Open(arguments) = &mut self.calls[at].state else { return Some(at) };
        let pieces = mem::take(&mut arguments.name_pieces);
        let has_tool = |name: &str| self.tools.as_ref().is_some_and(|tools| tools.has_tool(name));
        let name = self.calls[at].name.as_deref().unwrap_or_default();
        if pieces.is_empty() || has_tool(name) {
            return Some(at);
        }
        let starts = pieces.iter().map(|piece| piece.start);
        let ends = starts.clone().chain([name.len()]);
        let names: Vec<String> =
            [0].into_iter().chain(starts).zip(ends).map(|(start, end)| name[start..end].to_owned()).collect();
        if !names.iter().all(|name| has_tool(name)) {
            self.reject(at, Violation::new(Code::UnknownTool, 0, no_tool(&names)));
            return None;
        }
        let Call { ordinal, index, id, .. } = &self.calls[at];
        let (first, index, id) = (*ordinal, *index, id.clone());
        let ids = pieces.iter().filter(|piece| piece.has_id).count();
        if !self.reserve(at, ids * id.as_ref().map_or(0, String::len)) {
            return None;
        }
        let mut names = names.into_iter();
        self.calls[at].name = names.next();
        for (piece, name) in pieces.iter().zip(names) {
            let at = self.open(&CallDelta { index, ..CallDelta::default() });
            let id = id.clone().filter(|_| piece.has_id);
            (self.calls[at].name, self.calls[at].id) = (Some(name), id);
            self.announce(at);
        }
        // The arguments are those of the last. The first may have been forgotten.
        let last = self.calls.len() - 1;
        let at = self.calls.iter().position(|call| call.ordinal == first)?;
        let (before, after) = self.calls.split_at_mut(last);
        mem::swap(&mut before[at].state, &mut after[0].state);
        self.current = after[0].ordinal;
        Some(last)
    }

    /// Settles all names, at the end of the response.
    pub(super) fn settle_names(&mut self) {
        let mut at = 0;
        while at < self.calls.len() {
            self.settle_name(at);
            at += 1;
        }
    }
}

fn no_tool(names: &[String]) -> String {
    let shown = |name: &String| {
        format!("`{}`", name.chars().take(SHOWN.1).flat_map(char::escape_debug).collect::<String>())
    };
    let (last, others) = names.split_last().expect("two names or more");
    let others = others.iter().take(SHOWN.0).map(shown).collect::<Vec<_>>().join(", ");
    let last = shown(last);
    format!("several names came for the call, {others} and {last}, and no tool is known to have the whole")
}
