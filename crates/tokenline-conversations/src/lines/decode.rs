//! Decodes the lines of a block.

use std::ops::Range;

use memchr::memchr;
use tokenline_core::{CheckedChunk, LentEvent, Limits, Options, RecordDecoder, Span};

use super::blocks::{Progress, Text};

/// Receives the events of lines.
pub(super) trait Lines {
    /// Takes an event, placed in the source.
    fn event(&mut self, event: LentEvent<'_>);

    /// Takes a line above the limit, without its line feed.
    fn too_long(&mut self, line: u64, span: Span);

    /// Whether to pause after the current line.
    fn is_full(&self) -> bool;
}

/// Decodes blocks, one after another.
pub(super) struct LineDecoder {
    decoder: RecordDecoder,
    /// The maximum length of a line, in bytes.
    pub(super) limit: usize,
}

impl LineDecoder {
    pub(super) fn new(limits: Limits) -> Self {
        // The decoder's error for a long line depends on what it meets first, so long lines are handled here.
        let unlimited = Limits { line_bytes: usize::MAX, ..limits };
        Self { decoder: RecordDecoder::new(Options::strict().limits(unlimited)), limit: longest_line(limits) }
    }

    /// Decodes a block, or as much of its rest as `lines` takes.
    pub(super) fn decode(&mut self, text: &Text, progress: &mut Progress, lines: &mut impl Lines) {
        match text {
            Text::Lines(text) => self.decode_text(text, progress, lines),
            Text::TooLong(len) => {
                lines.too_long(progress.line, Span::new(progress.start, progress.start + *len));
                progress.at = 1;
                progress.line += 1;
            }
        }
    }

    pub(super) fn decode_text(&mut self, text: &[u8], progress: &mut Progress, lines: &mut impl Lines) {
        while progress.at < text.len() && !lines.is_full() {
            let Progress { start, at, line, within } = *progress;
            if at == within {
                let is_first = start == 0 && at == 0;
                let long = long_line(text, at, is_first, self.limit);
                if let Some(long) = long.as_ref().filter(|long| long.start == at) {
                    let content = text[long.clone()].strip_suffix(b"\n").unwrap_or(&text[long.clone()]);
                    let from = start + at as u64;
                    let content_start = from + bom_len(content, is_first) as u64;
                    lines.too_long(line, Span::new(content_start, from + content.len() as u64));
                    *progress = Progress { start, at: long.end, line: line + 1, within: long.end };
                    continue;
                }
                progress.within = long.map_or(text.len(), |long| long.start);
            }
            self.decode_within(&text[..progress.within], progress, lines);
        }
    }

    /// Decodes lines within the limit.
    fn decode_within(&mut self, text: &[u8], progress: &mut Progress, lines: &mut impl Lines) {
        let Progress { start, at, line, .. } = progress;
        // Allows a byte order mark at offset 0 only.
        self.decoder.reset_at(*line, *start + *at as u64);
        let mut chunk = CheckedChunk::new(&text[*at..]);
        while *at < text.len() {
            let event = self.decoder.next_event(&mut chunk);
            *at = text.len() - chunk.len();
            if let Some(event) = event {
                lines.event(event);
                if lines.is_full() && text[..*at].ends_with(b"\n") {
                    break;
                }
            }
        }
        let ends_open = !text[..*at].ends_with(b"\n");
        *line = self.decoder.line() + u64::from(ends_open);
        while let Some(event) = self.decoder.finish() {
            lines.event(event);
        }
    }
}

/// The limit, as the decoder applies it.
pub(super) fn longest_line(limits: Limits) -> usize {
    limits.line_bytes.min(1 << 31)
}

/// The length of a byte order mark at the start of a source, which belongs to no line.
pub(super) fn bom_len(text: &[u8], is_first: bool) -> usize {
    if is_first && text.starts_with("\u{feff}".as_bytes()) { 3 } else { 0 }
}

/// The next line from `at` on, which is a line start, whose content exceeds the limit. Line feed and carriage return do
/// not count.
fn long_line(text: &[u8], mut at: usize, is_first: bool, limit: usize) -> Option<Range<usize>> {
    // Rare: blocks are usually shorter than the limit.
    while text.len() - at > limit {
        let rest = &text[at..];
        let (content, end) = match memchr(b'\n', rest) {
            Some(feed) => (&rest[..feed], at + feed + 1),
            None => (rest, text.len()),
        };
        let content = content.strip_suffix(b"\r").unwrap_or(content);
        if content.len() - bom_len(content, is_first && at == 0) > limit {
            return Some(at..end);
        }
        at = end;
    }
    None
}
