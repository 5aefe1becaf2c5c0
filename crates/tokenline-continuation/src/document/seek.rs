//! Where the JSON begins in an answer.

use memchr::memchr3;

use crate::text::SPACE;

/// How far the beginning was looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seek {
    at: usize,
    place: Place,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    /// At the beginning of the text or of a fence: any value may stand here.
    Fresh,
    /// In what stands behind the back quotes of a fence, on the same line.
    Info,
    /// In prose: objects and arrays, and fences.
    Prose,
    /// Within brackets that are no JSON, up to the end of the line.
    Brackets { depth: usize },
}

pub(super) enum Found {
    Nothing(Seek),
    Start { at: usize, is_fresh: bool },
}

impl Default for Seek {
    fn default() -> Self {
        Self { at: 0, place: Place::Fresh }
    }
}

impl Seek {
    pub(super) fn in_prose(at: usize) -> Self {
        Self { at, place: Place::Prose }
    }

    /// Behind the brackets that open at `start` and hold no JSON.
    pub(super) fn behind(start: usize) -> Self {
        Self { at: start, place: Place::Brackets { depth: 0 } }
    }

    /// Looks on, as far as there is text. What it finds does not depend on how the text was cut.
    pub(super) fn find(mut self, text: &str) -> Found {
        let bytes = text.as_bytes();
        loop {
            match self.place {
                Place::Fresh => {
                    let rest = text[self.at..]
                        .trim_start_matches(|next| next == '\u{feff}' || SPACE.contains(&next));
                    let at = text.len() - rest.len();
                    self.at = at;
                    match rest.as_bytes() {
                        [] | [b'`'] | [b'`', b'`'] => return Found::Nothing(self),
                        [b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n', ..] => {
                            return Found::Start { at, is_fresh: true };
                        }
                        [b'`', b'`', b'`', ..] => self = Self { at: at + 3, place: Place::Info },
                        _ => self = Self::in_prose(at),
                    }
                }
                // Its content begins on the next line, or on the same at a bracket.
                Place::Info => match memchr3(b'\n', b'{', b'[', &bytes[self.at..]) {
                    Some(found) => {
                        let end = self.at + found;
                        self = Self { at: end + usize::from(bytes[end] == b'\n'), place: Place::Fresh };
                    }
                    None => return Found::Nothing(Self { at: bytes.len(), place: Place::Info }),
                },
                Place::Prose => {
                    let Some(found) = memchr3(b'{', b'[', b'`', &bytes[self.at..]) else {
                        return Found::Nothing(Self::in_prose(text.len()));
                    };
                    let at = self.at + found;
                    match &bytes[at..] {
                        [b'{' | b'[', ..] => return Found::Start { at, is_fresh: false },
                        [b'`'] | [b'`', b'`'] => return Found::Nothing(Self::in_prose(at)),
                        [b'`', b'`', b'`', ..] if is_line_start(bytes, at) => {
                            self = Self { at, place: Place::Fresh };
                        }
                        _ => self = Self::in_prose(at + 1),
                    }
                }
                Place::Brackets { mut depth } => {
                    let mut end = None;
                    for (at, byte) in bytes.iter().enumerate().skip(self.at) {
                        match byte {
                            b'{' | b'[' => depth += 1,
                            b'}' | b']' => depth = depth.saturating_sub(1),
                            _ => {}
                        }
                        if depth == 0 || *byte == b'\n' {
                            end = Some(at + 1);
                            break;
                        }
                    }
                    match end {
                        Some(end) => self = Self::in_prose(end),
                        None => {
                            return Found::Nothing(Self {
                                at: bytes.len(),
                                place: Place::Brackets { depth },
                            });
                        }
                    }
                }
            }
        }
    }
}

fn is_line_start(bytes: &[u8], at: usize) -> bool {
    bytes[..at].iter().rev().find(|byte| !matches!(byte, b' ' | b'\t')).is_none_or(|byte| *byte == b'\n')
}
