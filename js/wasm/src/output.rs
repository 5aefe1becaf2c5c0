//! The output of a call: frames, in the order of the events.
//!
//! | frame | content |
//! |---|---|
//! | [`EVENTS`] | length (u32), then a JSON array of events |
//! | [`VALUES`] | length (u32), then a JSON array of the values of records |
//! | [`COUNT`] | how many records there were (u32) |
//! | [`BEGIN`] | the steps that follow build a value: 0 the open record, 1 the `value` of the last event, 2 the next value |
//! | [`GONE`] | the open record is none |
//! | [`OBJECT`], [`ARRAY`], [`STRING`] | the value begins; its name if it is a member |
//! | [`APPEND`] | more of the open string |
//! | [`NUMBER`] | its name if it is a member, and its text |
//! | [`NULL`], [`TRUE`], [`FALSE`] | its name if it is a member |
//! | [`CLOSE`] | the innermost open value is complete |
//!
//! Names and texts begin with their length, a varint of 7 bits a byte, the lowest first. Other numbers are little-endian.

use tokenline_core::json::{Change, Key, Kind, Value, ValueDelta, View};
#[cfg(feature = "providers")]
use tokenline_core::json::{OwnedChange, OwnedDelta, OwnedKey};

use crate::write::Json;

const EVENTS: u8 = 1;
const VALUES: u8 = 2;
const COUNT: u8 = 3;
const BEGIN: u8 = 4;
const GONE: u8 = 5;
const OBJECT: u8 = 6;
const ARRAY: u8 = 7;
const STRING: u8 = 8;
const APPEND: u8 = 9;
const NUMBER: u8 = 10;
const NULL: u8 = 11;
const TRUE: u8 = 12;
const FALSE: u8 = 13;
const CLOSE: u8 = 14;

/// What becomes of a record.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Emit {
    /// An event.
    Events,
    /// Its value alone; everything else is an event.
    Values,
    /// It is counted; everything else is an event.
    Counts,
}

/// A value that steps build.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    OpenRecord,
    LastEvent,
    NextValue,
}

pub(crate) struct Output {
    json: Json,
    /// The frame of JSON that is open, and where its content begins.
    open: Option<(u8, usize)>,
    count: u32,
    pub(crate) emit: Emit,
    /// Whether integers that a double cannot hold are kept.
    pub(crate) keeps_integers: bool,
}

/// A buffer that was larger is given back.
const KEPT: usize = 1 << 20;

impl Output {
    pub(crate) fn new(emit: Emit, keeps_integers: bool) -> Self {
        Self { json: Json::default(), open: None, count: 0, emit, keeps_integers }
    }

    pub(crate) fn begin(&mut self) {
        self.json.bytes.clear();
        self.json.bytes.shrink_to(KEPT);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.json.bytes.is_empty() && self.count == 0
    }

    /// Ends the frames, and returns the length of all.
    pub(crate) fn end(&mut self) -> usize {
        self.end_frame();
        if self.count > 0 {
            self.json.bytes.push(COUNT);
            self.json.bytes.extend_from_slice(&self.count.to_le_bytes());
            self.count = 0;
        }
        self.json.bytes.len()
    }

    pub(crate) fn as_ptr(&self) -> *const u8 {
        self.json.bytes.as_ptr()
    }

    fn end_frame(&mut self) {
        if let Some((_, start)) = self.open.take() {
            self.json.close(b']');
            let len = (self.json.bytes.len() - start) as u32;
            self.json.bytes[start - 4..start].copy_from_slice(&len.to_le_bytes());
        }
    }

    fn frame(&mut self, tag: u8) -> &mut Json {
        if self.open.is_none_or(|(open, _)| open != tag) {
            self.end_frame();
            self.json.bytes.push(tag);
            self.json.bytes.extend_from_slice(&[0; 4]);
            self.open = Some((tag, self.json.bytes.len()));
            self.json.bytes.push(b'[');
        }
        &mut self.json
    }

    /// An event.
    pub(crate) fn event(&mut self, kind: &str, members: impl FnOnce(&mut Json)) {
        let json = self.frame(EVENTS);
        json.open(b'{');
        json.text_member("type", kind);
        members(json);
        json.close(b'}');
    }

    pub(crate) fn counted(&mut self) {
        self.count += 1;
    }

    /// The value of a record alone.
    #[inline]
    pub(crate) fn value(&mut self, value: Value<'_>) {
        if self.needs_steps(value.raw()) {
            self.begin_steps(Target::NextValue);
            self.steps_of(None, value);
        } else {
            let json = self.frame(VALUES);
            json.open(b' ');
            json.raw(value.raw());
        }
    }

    /// Whether a value is to be built in steps, because `JSON.parse` would round a number in it. May say so of others.
    pub(crate) fn needs_steps(&self, raw: &str) -> bool {
        // 2^53 has sixteen digits.
        let mut digits = 0;
        self.keeps_integers
            && raw.bytes().any(|byte| {
                digits = if byte.is_ascii_digit() { digits + 1 } else { 0 };
                digits == 16
            })
    }

    pub(crate) fn begin_steps(&mut self, target: Target) {
        self.end_frame();
        self.json.bytes.extend_from_slice(&[BEGIN, target as u8]);
    }

    /// The open record is none.
    pub(crate) fn gone(&mut self) {
        self.end_frame();
        self.json.bytes.push(GONE);
    }

    fn bytes(&mut self, text: &str) {
        let mut len = text.len();
        while len >= 0x80 {
            self.json.bytes.push(len as u8 | 0x80);
            len >>= 7;
        }
        self.json.bytes.push(len as u8);
        self.json.raw(text);
    }

    fn step(&mut self, tag: u8, name: Option<&str>) {
        self.end_frame();
        self.json.bytes.push(tag);
        if let Some(name) = name {
            self.bytes(name);
        }
    }

    fn opens(&mut self, kind: Kind, name: Option<&str>) {
        let tag = match kind {
            Kind::Object => OBJECT,
            Kind::Array => ARRAY,
            _ => STRING,
        };
        self.step(tag, name);
    }

    pub(crate) fn appends(&mut self, text: &str) {
        self.step(APPEND, None);
        self.bytes(text);
    }

    fn sets(&mut self, raw: &str, name: Option<&str>) {
        match raw.as_bytes() {
            [b'n', ..] => self.step(NULL, name),
            [b't', ..] => self.step(TRUE, name),
            [b'f', ..] => self.step(FALSE, name),
            _ => {
                self.step(NUMBER, name);
                self.bytes(raw);
            }
        }
    }

    /// A step by which the open record grows.
    pub(crate) fn delta(&mut self, delta: &ValueDelta<'_>) {
        let name = match delta.key {
            Some(Key::Name(name)) => Some(name),
            _ => None,
        };
        match delta.change {
            Change::Open(kind) => self.opens(kind, name),
            Change::Append(text) => self.appends(text),
            Change::Set(value) => self.sets(value.raw(), name),
            Change::Close => self.step(CLOSE, None),
        }
    }

    /// The same, owned.
    #[cfg(feature = "providers")]
    pub(crate) fn owned_delta(&mut self, delta: &OwnedDelta) {
        let name = match &delta.key {
            Some(OwnedKey::Name(name)) => Some(&**name),
            _ => None,
        };
        match &delta.change {
            OwnedChange::Open(kind) => self.opens(*kind, name),
            OwnedChange::Append(text) => self.appends(text),
            OwnedChange::Set(raw) => self.sets(raw.as_str(), name),
            OwnedChange::Close => self.step(CLOSE, None),
        }
    }

    /// The steps that build a value. It is not nested deeper than the limit.
    pub(crate) fn steps_of(&mut self, name: Option<&str>, value: Value<'_>) {
        match value.view() {
            View::Object(object) => {
                self.opens(Kind::Object, name);
                for (name, member) in object {
                    self.steps_of(Some(name), member);
                }
                self.step(CLOSE, None);
            }
            View::Array(array) => {
                self.opens(Kind::Array, name);
                for element in array {
                    self.steps_of(None, element);
                }
                self.step(CLOSE, None);
            }
            View::String(text) => {
                self.opens(Kind::String, name);
                self.appends(&text);
                self.step(CLOSE, None);
            }
            _ => self.sets(value.raw(), name),
        }
    }
}
