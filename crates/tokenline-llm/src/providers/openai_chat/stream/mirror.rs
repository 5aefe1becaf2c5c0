//! Text that servers send twice: reasoning as `reasoning_content` and as `reasoning`, and all of it in a last message.

use std::borrow::Cow;

/// The texts of the choices that may come again.
#[derive(Debug, Default)]
pub(super) struct Mirrors {
    /// Their reasoning.
    reasoning: Vec<(u64, Mirror)>,
    /// Those of which text or reasoning has come in pieces.
    in_pieces: Vec<u64>,
    /// The event has a whole message, which may repeat them.
    pub(super) has_message: bool,
}

/// The reasoning of a choice.
#[derive(Debug, Default)]
struct Mirror {
    /// The reasoning, from where the slower name is; empty if it is too long to be kept.
    said: String,
    is_too_long: bool,
    /// The end of what came under each name so far.
    ends: [Option<usize>; 2],
}

/// The choices, and the bytes of each one's reasoning, that are watched. Servers mirror the reasoning from its start.
const MAX_CHOICES: usize = 16;
const MAX_BYTES: usize = 64 * 1024;

impl Mirrors {
    /// Takes note of a piece of the choice's text or reasoning, unless it is in a whole message.
    pub(super) fn add_piece(&mut self, choice: u64, is_whole: bool) {
        if !is_whole && !self.has_pieces(choice) && self.in_pieces.len() < MAX_CHOICES {
            self.in_pieces.push(choice);
        }
    }

    /// Whether text or reasoning of the choice came in pieces: a whole message repeats it.
    pub(super) fn has_pieces(&self, choice: u64) -> bool {
        self.in_pieces.contains(&choice)
    }

    /// The part of this text that is new in the reasoning of the choice. `names` says which of the two names it came
    /// under; while only one is used, the text is returned as it is.
    pub(super) fn new_text<'t>(&mut self, choice: u64, names: [bool; 2], text: &'t str) -> Cow<'t, str> {
        let at = self.reasoning.iter().position(|(known, _)| *known == choice);
        let at = at.unwrap_or_else(|| {
            if self.reasoning.len() < MAX_CHOICES {
                self.reasoning.push((choice, Mirror::default()));
            }
            self.reasoning.len() - 1
        });
        match &mut self.reasoning[at] {
            (known, mirror) if *known == choice => mirror.new_text(names, text),
            _ => text.into(),
        }
    }

    /// Adds text under the only name so far.
    pub(super) fn repeat(&mut self, choice: u64, text: &str) {
        if let Some((_, mirror)) = self.reasoning.iter_mut().find(|(known, _)| *known == choice) {
            mirror.append(text);
            for end in mirror.ends.iter_mut().flatten() {
                *end = mirror.said.len();
            }
        }
    }
}

impl Mirror {
    fn new_text<'t>(&mut self, names: [bool; 2], text: &'t str) -> Cow<'t, str> {
        let name = usize::from(!names[0]);
        let has_other = self.ends[1 - name].is_some();
        let repeated = &self.said[self.ends[name].unwrap_or_default().min(self.said.len())..];
        let more: Cow<'_, str> = if !has_other {
            text.into()
        } else if repeated.starts_with(text) {
            self.ends[name] = Some(self.said.len() - repeated.len() + text.len());
            self.forget();
            return "".into();
        } else {
            text.strip_prefix(repeated).unwrap_or(text).to_owned().into()
        };
        self.append(&more);
        self.ends[name] = Some(self.said.len());
        if names == [true, true] {
            self.ends[1] = Some(self.said.len());
        }
        if has_other {
            self.forget();
        }
        more
    }

    fn append(&mut self, text: &str) {
        self.is_too_long |= self.said.len() + text.len() > MAX_BYTES;
        if self.is_too_long {
            self.said = String::new();
        } else {
            self.said.push_str(text);
        }
    }

    /// Drops what came under both names.
    fn forget(&mut self) {
        let ends = self.ends.map(Option::unwrap_or_default);
        let both = ends[0].min(ends[1]).min(self.said.len());
        self.said.drain(..both);
        for end in self.ends.iter_mut().flatten() {
            *end = end.saturating_sub(both);
        }
    }
}
