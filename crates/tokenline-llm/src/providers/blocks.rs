//! The blocks of a message that is streamed block by block.
//!
//! Providers end the block of a text even if the token limit cut it off. The end of a text is therefore held back until
//! the next block starts, or until the message ends for a reason that proves it complete.

use tokenline_core::{CallDelta, CompletedBy};

use super::api::Sink;
use crate::Delta;

/// The blocks of a message's only choice.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// The message has begun, or ended.
    pub(super) has_begun: bool,
    /// Open blocks, and texts whose end is held back.
    blocks: Vec<Block>,
    /// The block of the latest call and the arguments in its header, used if no fragments follow but a placeholder.
    arguments: Option<(u64, String)>,
    /// The number after the highest of a text so far.
    next: u64,
}

#[derive(Debug)]
struct Block {
    number: u64,
    kind: BlockKind,
    is_stopped: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    Text,
    Reasoning,
    Call,
    /// Meant for the server itself, or of an unknown kind.
    Ignored,
}

/// The next piece of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) block: u64,
    pub(super) kind: BlockKind,
}

/// Blocks open at once. Limits a server that never closes blocks.
const MAX_BLOCKS: usize = 64;

impl Blocks {
    /// Starts a message. A second one in the same stream comes from a proxy that retried.
    pub(super) fn start_message(&mut self, sink: &mut Sink<'_>) {
        if self.has_begun {
            sink(Delta::Restart);
        }
        *self = Self::default();
        sink(Delta::Start { choice: 0 });
    }

    /// Starts a block. The texts that stopped before are complete.
    pub(super) fn start(&mut self, number: u64, kind: BlockKind, sink: &mut Sink<'_>) {
        let is_known = number < self.next;
        self.open(number, kind, sink);
        // Some servers number all blocks 0.
        if is_known && kind == BlockKind::Text {
            sink(Delta::BlockStart { choice: 0, block: number });
        }
    }

    fn open(&mut self, number: u64, kind: BlockKind, sink: &mut Sink<'_>) {
        self.settle(Some(CompletedBy::ItemStop), sink);
        self.blocks.retain(|block| block.number != number);
        self.push(Block { number, kind, is_stopped: false });
        if kind == BlockKind::Text {
            self.next = self.next.max(number.saturating_add(1));
        }
    }

    /// Starts a block with a call. `arguments` are those in its header; fragments with members replace them.
    pub(super) fn start_call(
        &mut self,
        number: u64,
        (id, name): (Option<&str>, Option<&str>),
        arguments: Option<String>,
        sink: &mut Sink<'_>,
    ) {
        self.start(number, BlockKind::Call, sink);
        let call = CallDelta { index: Some(number), id, name, ..CallDelta::default() };
        sink(Delta::ToolCall { choice: 0, call });
        self.arguments = arguments.map(|arguments| (number, arguments));
    }

    /// Whether the next piece may replace the arguments in a call's header.
    pub(super) fn has_arguments(&self) -> bool {
        self.arguments.is_some()
    }

    /// Whether pieces of this block are ignored.
    pub(super) fn ignores(&self, number: u64) -> bool {
        self.kind(number) == Some(BlockKind::Ignored)
    }

    fn kind(&self, number: u64) -> Option<BlockKind> {
        self.blocks.iter().find(|block| block.number == number).map(|block| block.kind)
    }

    /// Reads a piece of a block, and starts the block if its start is missing.
    pub(super) fn piece(&mut self, piece: Piece, text: &str, sink: &mut Sink<'_>) {
        let Piece { block: number, kind } = piece;
        match self.kind(number) {
            Some(BlockKind::Ignored) => return,
            Some(_) => self.has_begun = true,
            None => self.open(number, kind, sink),
        }
        match kind {
            _ if text.is_empty() => {}
            BlockKind::Text => sink(Delta::Text { choice: 0, block: number, text }),
            BlockKind::Reasoning => sink(Delta::Reasoning { choice: 0, text }),
            BlockKind::Call => {
                let is_placeholder = || text.bytes().all(|byte| b" \t\r\n{}\"nul".contains(&byte));
                self.arguments.take_if(|(of, _)| *of == number && !is_placeholder());
                let call = CallDelta { index: Some(number), arguments: text, ..CallDelta::default() };
                sink(Delta::ToolCall { choice: 0, call });
            }
            BlockKind::Ignored => {}
        }
    }

    /// Ends a block.
    pub(super) fn stop(&mut self, number: u64, sink: &mut Sink<'_>) {
        self.has_begun = true;
        // The end of another block may come again.
        if self.arguments.as_ref().is_some_and(|(of, _)| *of == number) {
            self.emit_arguments(sink);
        }
        let at = self.blocks.iter().position(|block| block.number == number);
        match at.map(|at| (at, self.blocks[at].kind)) {
            Some((at, BlockKind::Text)) => self.blocks[at].is_stopped = true,
            Some((at, BlockKind::Call)) => {
                self.blocks.remove(at);
                sink(Delta::BlockStop { choice: 0, block: number, completion: Some(CompletedBy::ItemStop) });
            }
            Some((at, BlockKind::Reasoning | BlockKind::Ignored)) => drop(self.blocks.remove(at)),
            // Its start is missing: it may have been a text.
            None => self.push(Block { number, kind: BlockKind::Text, is_stopped: true }),
        }
    }

    /// Ends the texts that have stopped; `completion` proves them complete.
    pub(super) fn settle(&mut self, completion: Option<CompletedBy>, sink: &mut Sink<'_>) {
        self.has_begun = true;
        self.emit_arguments(sink);
        self.blocks.retain(|block| {
            if block.is_stopped {
                sink(Delta::BlockStop { choice: 0, block: block.number, completion });
            }
            !block.is_stopped
        });
    }

    /// Emits the arguments in a call's header, because no others followed.
    fn emit_arguments(&mut self, sink: &mut Sink<'_>) {
        if let Some((number, arguments)) = self.arguments.take() {
            // Whether they contained invalid UTF-8 is no longer known.
            let lossy = arguments.contains(char::REPLACEMENT_CHARACTER);
            let header = CallDelta { index: Some(number), ..CallDelta::default() };
            let call = CallDelta { arguments: &arguments, is_whole: true, lossy, ..header };
            sink(Delta::ToolCall { choice: 0, call });
        }
    }

    fn push(&mut self, block: Block) {
        if self.blocks.len() == MAX_BLOCKS {
            self.blocks.remove(0);
        }
        self.blocks.push(block);
    }
}
