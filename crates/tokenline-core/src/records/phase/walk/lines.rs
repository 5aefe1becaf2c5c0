//! Lines inside an array: which belong to it, and what to do with those that do not.

use super::super::{Found, Machine, Phase};
use super::{ElementLine, Next, begins_value};
use crate::records::line::{FenceKind, Line};
use crate::records::window::Window;
use crate::{Code, Diagnostic, Span};

impl Machine {
    /// A line begins inside an array. `None` if it is no part of that, and read like any other.
    #[inline(never)]
    pub(in crate::records::phase) fn begin_line_of_walk<'w>(
        &mut self,
        offset: u64,
        byte: u8,
    ) -> Option<Option<Found<'w>>> {
        let walk = self.walk.as_ref()?;
        let is_deeper = offset - self.line.text_start > walk.indent;
        let is_part = match byte {
            b'`' | b'~' => false,
            b'{' | b'}' | b'[' | b']' | b',' | b':' | b'"' => true,
            _ if walk.next == Next::Value && begins_value(byte) => true,
            _ => is_deeper,
        };
        if !is_part {
            return self.abandon().map(Some);
        }
        self.line.first = Some(offset);
        self.phase = Phase::Walk;
        Some(None)
    }

    /// What follows an element shows that the array was left open before it: reads its line again.
    #[cold]
    pub(in crate::records::phase) fn read_unjudged<'w>(
        &mut self,
        window: &Window<'_>,
        at: &mut usize,
    ) -> Option<Found<'w>> {
        let unjudged = self.walk.as_mut()?.unjudged.take()?;
        self.read_line_again(unjudged.line, unjudged.start, window, at)
    }

    /// The array was left open before the line whose text begins at `start`: reads that again.
    #[cold]
    pub(in crate::records::phase) fn read_line_again<'w>(
        &mut self,
        line: ElementLine,
        start: u64,
        window: &Window<'_>,
        at: &mut usize,
    ) -> Option<Found<'w>> {
        self.line = Line::new(line.number, line.start);
        self.line.text_start = line.text_start;
        self.counted_from = line.text_start;
        *at = window.index(start);
        self.abandon()
    }

    /// The array is left open: the line being read is no part of it.
    pub(super) fn abandon<'w>(&mut self) -> Option<Found<'w>> {
        let walk = self.walk.take()?;
        self.phase = Phase::LineStart;
        self.line.first = None;
        if walk.is_damaged {
            return None;
        }
        let is_data = walk.is_established || walk.is_meant || (walk.is_first && walk.has_value);
        if !is_data || self.fence_kind() == Some(FenceKind::Other) {
            return None;
        }
        let kind = if walk.frames.is_empty() { "array" } else { "value" };
        let message = format!("the {kind} is left open: what follows is no part of it");
        let span = Span::new(walk.start, self.line.start);
        let diagnostic = Diagnostic::new(Code::MalformedJson, walk.line, span, walk.column, message);
        Some(Found::Diagnostic(Box::new(diagnostic)))
    }
}
