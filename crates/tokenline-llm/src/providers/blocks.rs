//! The blocks of a message that is streamed block by block.
//!
//! Where a text was cut by the token limit, providers send the end of its block all the same. The end of a text is
//! therefore held back until the next block begins, or until the message ends for a reason that proves it whole.

use tokenline_core::{CallDelta, CompletedBy};

use crate::Delta;

/// The blocks of the one choice of a message.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// Something of the message has come, or its end.
    pub(super) has_begun: bool,
    /// Those that are open, and the texts whose end is held back.
    blocks: Vec<Block>,
    /// The arguments with which the latest call began, in case no fragments follow, and its block.
    arguments: Option<(u64, String)>,
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
    /// For the server itself, or of an unknown kind.
    Ignored,
}

/// More of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) block: u64,
    pub(super) kind: BlockKind,
}

/// Blocks that are open at once. Stops a server that opens blocks for ever.
const MAX_BLOCKS: usize = 64;

impl Blocks {
    /// Begins a message. A second one in the same stream is a proxy's, which has tried again.
    pub(super) fn start_message(&mut self, sink: &mut impl FnMut(Delta<'_>)) {
        if self.has_begun {
            sink(Delta::Restart);
        }
        *self = Self::default();
        sink(Delta::Start { choice: 0 });
    }

    /// Begins a block. The texts that stopped before are whole.
    pub(super) fn start(&mut self, number: u64, kind: BlockKind, sink: &mut impl FnMut(Delta<'_>)) {
        self.settle(Some(CompletedBy::ItemStop), sink);
        self.blocks.retain(|block| block.number != number);
        self.push(Block { number, kind, is_stopped: false });
    }

    /// Begins a block with a call. `arguments` are those that stand in its header; fragments replace them.
    pub(super) fn start_call(
        &mut self,
        number: u64,
        (id, name): (Option<&str>, Option<&str>),
        arguments: Option<String>,
        sink: &mut impl FnMut(Delta<'_>),
    ) {
        self.start(number, BlockKind::Call, sink);
        let call = CallDelta { index: Some(number), id, name, ..CallDelta::default() };
        sink(Delta::ToolCall { choice: 0, call });
        self.arguments = arguments.map(|arguments| (number, arguments));
    }

    /// Whether more of this block is of no interest.
    pub(super) fn ignores(&self, number: u64) -> bool {
        self.kind(number) == Some(BlockKind::Ignored)
    }

    fn kind(&self, number: u64) -> Option<BlockKind> {
        self.blocks.iter().find(|block| block.number == number).map(|block| block.kind)
    }

    /// Reads on in a block, which begins with it if its start is missing.
    pub(super) fn piece(&mut self, piece: Piece, text: &str, sink: &mut impl FnMut(Delta<'_>)) {
        let Piece { block: number, kind } = piece;
        match self.kind(number) {
            Some(BlockKind::Ignored) => return,
            Some(_) => self.has_begun = true,
            None => self.start(number, kind, sink),
        }
        match kind {
            _ if text.is_empty() => {}
            BlockKind::Text => sink(Delta::Text { choice: 0, block: number, text }),
            BlockKind::Reasoning => sink(Delta::Reasoning { choice: 0, text }),
            BlockKind::Call => {
                self.arguments.take_if(|(of, _)| *of == number);
                let call = CallDelta { index: Some(number), arguments: text, ..CallDelta::default() };
                sink(Delta::ToolCall { choice: 0, call });
            }
            BlockKind::Ignored => {}
        }
    }

    /// Ends a block.
    pub(super) fn stop(&mut self, number: u64, sink: &mut impl FnMut(Delta<'_>)) {
        self.has_begun = true;
        self.give_arguments(sink);
        let at = self.blocks.iter().position(|block| block.number == number);
        match at.map(|at| (at, self.blocks[at].kind)) {
            Some((at, BlockKind::Text)) => self.blocks[at].is_stopped = true,
            Some((at, BlockKind::Call)) => {
                self.blocks.remove(at);
                sink(Delta::BlockStop { choice: 0, block: number, completion: Some(CompletedBy::ItemStop) });
            }
            Some((at, BlockKind::Reasoning | BlockKind::Ignored)) => drop(self.blocks.remove(at)),
            // Its start is missing: it may have been a text's.
            None => self.push(Block { number, kind: BlockKind::Text, is_stopped: true }),
        }
    }

    /// Ends the texts that have stopped; `completion` proves that they are whole.
    pub(super) fn settle(&mut self, completion: Option<CompletedBy>, sink: &mut impl FnMut(Delta<'_>)) {
        self.has_begun = true;
        self.give_arguments(sink);
        self.blocks.retain(|block| {
            if block.is_stopped {
                sink(Delta::BlockStop { choice: 0, block: block.number, completion });
            }
            !block.is_stopped
        });
    }

    /// Hands over the arguments that stood at a call's start, now that no fragments have come.
    fn give_arguments(&mut self, sink: &mut impl FnMut(Delta<'_>)) {
        if let Some((number, arguments)) = self.arguments.take() {
            // Whether they came with bad bytes is not known any more.
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
