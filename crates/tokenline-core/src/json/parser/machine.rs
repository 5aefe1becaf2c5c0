//! The state machine itself.

use std::mem;

use super::super::error::Expected;
use super::super::names::{self, Names};
use super::super::scan::StringRuns;
use super::super::tape::{ESCAPED, NONE, Node, NodeKind, REPEATED, Tape};
use super::token::{
    NumberEnd, is_simple_escape, literal, next_token, number, number_end, number_flags, unicode, unicode_step,
};
use super::{Parser, State, Stop};

impl Parser {
    /// Runs the machine. All its state is in locals while it runs, and is saved when it stops.
    ///
    /// The outer loop continues a token that the last call left open. The inner one reads complete members: a
    /// name in an object, a value and what follows it. Nearly all bytes are read by the inner loop.
    pub(super) fn run<const SINGLE_LINE: bool>(&mut self, bytes: &[u8]) -> Stop {
        let mut len = self.tape.len;
        let Tape { nodes, decoded, repeated_name, has_lone_surrogates, .. } = &mut self.tape;
        let nodes: &mut [Node] = nodes;
        let hashes: &mut [u32] = &mut self.name_hashes;
        let mut hashes_len = self.name_hashes_len;
        let mut at = self.at;
        let mut state = self.state;
        let mut token = self.token;
        let mut flags = self.token_flags;
        let mut is_name = self.token_is_name;
        let mut progress = self.progress;
        let mut container = self.container;
        let mut depth = self.depth;
        let mut count = self.count;
        let (mut in_object, mut base) = open_container(nodes, container);
        let mut strings = StringRuns::new();

        let stop = 'machine: loop {
            // Whether a member comes next, the first of its container, or one with a name; otherwise what
            // follows a value.
            let (mut is_member, mut is_first, mut has_name) = match state {
                State::Value => (true, false, false),
                State::FirstElement => (true, true, false),
                State::Name => (true, false, true),
                State::FirstName => (true, true, true),
                State::AfterValue => (false, false, false),
                State::String => {
                    at = strings.end(bytes, at);
                    match bytes.get(at) {
                        None => break Stop::NeedMore,
                        Some(b'"') if is_name => state = State::NameEnd,
                        Some(b'"') => {
                            nodes[len] = Node::new(NodeKind::String, flags, token, at);
                            len += 1;
                            at += 1;
                            state = State::AfterValue;
                        }
                        Some(b'\\') => {
                            flags |= ESCAPED;
                            at += 1;
                            state = State::Escape;
                        }
                        Some(_) => break Stop::Fault(Expected::StringCharacter),
                    }
                    continue;
                }
                State::Escape => {
                    match bytes.get(at) {
                        None => break Stop::NeedMore,
                        Some(b'u') => {
                            progress = 0;
                            self.surrogate = 0;
                            state = State::Unicode;
                        }
                        Some(&byte) if is_simple_escape(byte) => state = State::String,
                        Some(_) => break Stop::Fault(Expected::Escape),
                    }
                    at += 1;
                    continue;
                }
                State::Unicode => {
                    let Some(&byte) = bytes.get(at) else { break Stop::NeedMore };
                    match unicode_step(progress, &mut self.surrogate, byte, *has_lone_surrogates) {
                        Ok(unicode::WHOLE) => state = State::String,
                        Ok(next) => progress = next,
                        Err(expected) => break Stop::Fault(expected),
                    }
                    at += 1;
                    continue;
                }
                State::Number => {
                    match number_end(bytes, &mut at, &mut progress) {
                        NumberEnd::Whole => {
                            nodes[len] = Node::new(NodeKind::Number, number_flags(progress), token, at);
                            len += 1;
                            state = State::AfterValue;
                        }
                        NumberEnd::NeedMore => break Stop::NeedMore,
                        NumberEnd::Fault => break Stop::Fault(Expected::Digit),
                    }
                    continue;
                }
                State::Literal => {
                    let (word, kind) = literal(bytes[token]);
                    while let Some(&letter) = word.get(progress as usize) {
                        match bytes.get(at) {
                            None => break 'machine Stop::NeedMore,
                            Some(&byte) if byte == letter => {
                                at += 1;
                                progress += 1;
                            }
                            Some(_) => break 'machine Stop::Fault(Expected::Literal),
                        }
                    }
                    nodes[len] = Node::new(kind, 0, token, at);
                    len += 1;
                    state = State::AfterValue;
                    continue;
                }
                // `at` is on the closing quote of a name.
                State::NameEnd => {
                    let mut node = Node::new(NodeKind::Key, flags, token, at);
                    let hash = if flags & ESCAPED == 0 {
                        names::hash(bytes, token, at)
                    } else {
                        // The bytes may not be UTF-8; then the line is rejected before anyone sees the name.
                        let decoded = decoded.get_or_insert_default();
                        node.link = decoded.push(&String::from_utf8_lossy(&bytes[token..at]));
                        let name = decoded.name(node.link).as_bytes();
                        names::hash(name, 0, name.len())
                    };
                    nodes[len] = node;
                    if count < names::SMALL && hashes[base..hashes_len].contains(&hash) {
                        let names = Names { nodes, decoded, bytes };
                        if names.is_repeated(container, len as u32) {
                            nodes[container as usize].meta |= REPEATED;
                            repeated_name.get_or_insert(token as u32 - 1);
                        }
                    }
                    hashes[hashes_len] = hash;
                    hashes_len += 1;
                    len += 1;
                    at += 1;
                    state = State::Colon;
                    continue;
                }
                State::Colon => {
                    match next_token::<SINGLE_LINE>(bytes, &mut at) {
                        None => break Stop::NeedMore,
                        Some(b':') => {
                            at += 1;
                            state = State::Value;
                        }
                        Some(_) => break Stop::Fault(Expected::Colon),
                    }
                    continue;
                }
                State::Done | State::Failed => break Stop::Complete,
            };

            loop {
                let mut is_empty = false;
                if is_member {
                    if has_name {
                        let Some(byte) = next_token::<SINGLE_LINE>(bytes, &mut at) else {
                            state = if is_first { State::FirstName } else { State::Name };
                            break 'machine Stop::NeedMore;
                        };
                        if byte == b'"' {
                            if len + 1 >= nodes.len() || hashes_len >= hashes.len() {
                                state = if is_first { State::FirstName } else { State::Name };
                                break 'machine Stop::Grow;
                            }
                            token = at + 1;
                            at = strings.end(bytes, token);
                            if bytes.get(at) != Some(&b'"') {
                                flags = 0;
                                is_name = true;
                                state = State::String;
                                continue 'machine;
                            }
                            nodes[len] = Node::new(NodeKind::Key, 0, token, at);
                            let hash = names::hash(bytes, token, at);
                            if count < names::SMALL {
                                for &other in &hashes[base..hashes_len] {
                                    if other == hash {
                                        // Compare the names themselves, and note a repetition, on the slow
                                        // path.
                                        flags = 0;
                                        state = State::NameEnd;
                                        continue 'machine;
                                    }
                                }
                            }
                            hashes[hashes_len] = hash;
                            hashes_len += 1;
                            len += 1;
                            at += 1;
                            is_first = false;
                            if bytes.get(at) != Some(&b':') {
                                state = State::Colon;
                                continue 'machine;
                            }
                            at += 1;
                        } else if byte == b'}' && is_first {
                            at += 1;
                            is_empty = true;
                        } else {
                            state = if is_first { State::FirstName } else { State::Name };
                            break 'machine Stop::Fault(if is_first {
                                Expected::NameOrBrace
                            } else {
                                Expected::Name
                            });
                        }
                    }
                    if !is_empty {
                        let Some(byte) = next_token::<SINGLE_LINE>(bytes, &mut at) else {
                            state = if is_first { State::FirstElement } else { State::Value };
                            break 'machine Stop::NeedMore;
                        };
                        if len >= nodes.len() {
                            state = if is_first { State::FirstElement } else { State::Value };
                            break 'machine Stop::Grow;
                        }
                        match byte {
                            b'"' => {
                                token = at + 1;
                                flags = 0;
                                at = strings.end(bytes, token);
                                while bytes.get(at) == Some(&b'\\') {
                                    flags = ESCAPED;
                                    match bytes.get(at + 1) {
                                        Some(&byte) if is_simple_escape(byte) => {
                                            at = strings.end(bytes, at + 2);
                                        }
                                        _ => break,
                                    }
                                }
                                if bytes.get(at) != Some(&b'"') {
                                    is_name = false;
                                    state = State::String;
                                    continue 'machine;
                                }
                                nodes[len] = Node::new(NodeKind::String, flags, token, at);
                                len += 1;
                                at += 1;
                            }
                            b'{' | b'[' => {
                                if depth >= self.depth_limit {
                                    break 'machine Stop::Fault(Expected::LessDepth);
                                }
                                if let Some(parent) = nodes.get_mut(container as usize) {
                                    parent.set_count(count);
                                }
                                in_object = byte == b'{';
                                base = hashes_len;
                                let kind = if in_object { NodeKind::Object } else { NodeKind::Array };
                                nodes[len] = Node { link: container, ..Node::new(kind, 0, at, base) };
                                container = len as u32;
                                count = 0;
                                depth += 1;
                                len += 1;
                                at += 1;
                                has_name = in_object;
                                is_first = true;
                                continue;
                            }
                            b'0'..=b'9' | b'-' => {
                                token = at;
                                progress = match byte {
                                    b'-' => number::MINUS,
                                    b'0' => number::ZERO,
                                    _ => number::INT,
                                };
                                at += 1;
                                state = State::Number;
                                match number_end(bytes, &mut at, &mut progress) {
                                    NumberEnd::Whole => {
                                        nodes[len] =
                                            Node::new(NodeKind::Number, number_flags(progress), token, at);
                                        len += 1;
                                    }
                                    NumberEnd::NeedMore => break 'machine Stop::NeedMore,
                                    NumberEnd::Fault => break 'machine Stop::Fault(Expected::Digit),
                                }
                            }
                            b't' | b'f' | b'n' => {
                                let (word, kind) = literal(byte);
                                if bytes.get(at..at + word.len()) != Some(word) {
                                    token = at;
                                    progress = 1;
                                    at += 1;
                                    state = State::Literal;
                                    continue 'machine;
                                }
                                nodes[len] = Node::new(kind, 0, at, at + word.len());
                                len += 1;
                                at += word.len();
                            }
                            b']' if is_first => {
                                at += 1;
                                is_empty = true;
                            }
                            _ if is_first => {
                                state = State::FirstElement;
                                break 'machine Stop::Fault(Expected::ValueOrBracket);
                            }
                            _ => {
                                state = State::Value;
                                break 'machine Stop::Fault(Expected::Value);
                            }
                        }
                    }
                }

                // After the value: any number of containers may end.
                loop {
                    if !is_empty {
                        if container == NONE {
                            break 'machine Stop::Complete;
                        }
                        let Some(byte) = next_token::<SINGLE_LINE>(bytes, &mut at) else {
                            state = State::AfterValue;
                            break 'machine Stop::NeedMore;
                        };
                        let end = if in_object { b'}' } else { b']' };
                        if byte == b',' {
                            count += 1;
                            at += 1;
                            break;
                        }
                        if byte != end {
                            state = State::AfterValue;
                            break 'machine Stop::Fault(if in_object {
                                Expected::CommaOrBrace
                            } else {
                                Expected::CommaOrBracket
                            });
                        }
                        count += 1;
                        at += 1;
                    }
                    is_empty = false;
                    if in_object && count > names::SMALL {
                        let mut scratch = mem::take(&mut decoded.get_or_insert_default().scratch);
                        let names = Names { nodes, decoded, bytes };
                        let repeated = names.find_repeated(container, len as u32, &mut scratch);
                        decoded.get_or_insert_default().scratch = scratch;
                        if let Some(name) = repeated {
                            nodes[container as usize].meta |= REPEATED;
                            let start = nodes[name as usize].start - 1;
                            *repeated_name = Some(repeated_name.map_or(start, |first| first.min(start)));
                        }
                    }
                    hashes_len = base;
                    let node = &mut nodes[container as usize];
                    container = node.link;
                    node.link = len as u32;
                    node.end = at as u32;
                    node.set_count(count);
                    depth -= 1;
                    (in_object, base) = open_container(nodes, container);
                    count = nodes.get(container as usize).map_or(0, Node::count);
                }
                is_member = true;
                is_first = false;
                has_name = in_object;
            }
        };

        self.tape.len = len;
        self.name_hashes_len = hashes_len;
        self.at = at;
        self.state = state;
        self.token = token;
        self.token_flags = flags;
        self.token_is_name = is_name;
        self.progress = progress;
        self.container = container;
        self.depth = depth;
        self.count = count;
        stop
    }
}

/// Whether the open container is an object, and where its names start.
#[inline(always)]
fn open_container(nodes: &[Node], container: u32) -> (bool, usize) {
    match nodes.get(container as usize) {
        Some(node) => (node.is(NodeKind::Object), node.end as usize),
        None => (false, 0),
    }
}
