//! An element for each parameter: `<city>Paris</city>`, each tag after a marker; arrays have elements `<item>`.

use super::notation::Notation;
use crate::call_format::literals::Fault;
use crate::call_format::scan::{Literal, MAX_NAME, char_start, one_of};
use crate::json::write;
use crate::{Code, Limits};

const UNNAMED: &str = "expected the closing tag of a text without an opening one";

/// Reads the elements of a call, up to the marker that closes it.
#[derive(Debug)]
pub(super) struct Elements {
    /// In front of each tag.
    marker: String,
    depth_limit: usize,
    at: usize,
    /// Where the text of the innermost element begins.
    from: usize,
    json: String,
    /// The length of its part with the complete parameters.
    complete: usize,
    /// The open elements; the first is the call.
    open: Vec<Element>,
    /// Whether the opening tag of the first parameter is missing, so that its closing tag names it.
    is_unnamed: bool,
}

#[derive(Debug, Default)]
struct Element {
    name: String,
    kind: Kind,
    /// The text beside its elements.
    text: String,
    /// Whether one of its elements has the name that this text would have.
    has_text_element: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    /// Nothing but text so far.
    #[default]
    Leaf,
    Object,
    List,
}

impl Notation for Elements {
    fn begin(&mut self, at: usize) {
        (self.at, self.from, self.complete, self.is_unnamed) = (at, at, 0, false);
        self.json.clear();
        self.open.clear();
        self.open.push(Element::default());
    }

    fn json(&mut self) -> &mut String {
        &mut self.json
    }

    fn complete_members(&self) -> &str {
        &self.json[..self.complete]
    }

    fn read(&mut self, text: &str, is_end: bool, close: &str) -> Option<Result<usize, Fault>> {
        loop {
            let marker = self.marker.as_bytes();
            let Some(found) = memchr::memmem::find(&text.as_bytes()[self.at..], marker) else {
                self.at = char_start(text, text.len().saturating_sub(marker.len())).max(self.at);
                return None;
            };
            let stop = self.at + found;
            self.at = stop;
            match one_of(text, stop, is_end, [close]) {
                Literal::Found(..) if self.is_unnamed => {
                    return Some(Err(Fault::new(stop, Code::MalformedJson, UNNAMED)));
                }
                Literal::Found(..) if self.open.len() == 1 => {
                    self.close("");
                    return Some(Ok(stop));
                }
                Literal::NeedMore => return None,
                _ => {}
            }
            let from = stop + marker.len();
            if self.open.len() == 1 && self.json.is_empty() && !self.is_unnamed {
                match text.as_bytes().get(from) {
                    None => return None,
                    Some(b'<') => {}
                    Some(_) => {
                        (self.at, self.from, self.is_unnamed) = (from, from, true);
                        continue;
                    }
                }
            }
            let tag = &text[from..char_start(text, from + MAX_NAME + 3)];
            let fault = |code, message: &'static str| Some(Err(Fault::new(stop, code, message)));
            let Some(len) = tag.find('>') else {
                if text.len() - from > MAX_NAME + 2 {
                    return fault(Code::MalformedJson, "expected the end of a tag");
                }
                return None;
            };
            let end = stop + marker.len() + len + 1;
            let Some(tag) = tag[..len].strip_prefix('<') else {
                return fault(Code::MalformedJson, "expected a tag after the marker");
            };
            let from = std::mem::replace(&mut self.from, end);
            self.at = end;
            match tag.strip_prefix('/') {
                Some(name)
                    if self.open.len() > 1
                        && self.open.last().is_some_and(|element| element.name == name) =>
                {
                    self.close(&text[from..stop]);
                }
                Some(name) if self.is_unnamed && self.open.len() == 1 && !name.is_empty() => {
                    self.open_element(name);
                    self.close(&text[from..stop]);
                    self.is_unnamed = false;
                }
                Some(_) => {
                    return fault(Code::MalformedJson, "a tag closes another element than the last");
                }
                None if self.is_unnamed => {
                    return fault(Code::MalformedJson, UNNAMED);
                }
                None if self.open.len() >= self.depth_limit => {
                    return fault(Code::TooDeep, "expected less nesting: the depth limit is reached");
                }
                None => {
                    self.keep_text(&text[from..stop]);
                    self.open_element(tag);
                }
            }
        }
    }

    fn is_in_text(&self) -> bool {
        true
    }
}

impl Elements {
    pub(super) fn new(marker: &str, limits: &Limits) -> Self {
        Self {
            marker: marker.to_owned(),
            depth_limit: (limits.effective_depth() as usize).saturating_sub(1),
            at: 0,
            from: 0,
            json: String::new(),
            complete: 0,
            open: Vec::new(),
            is_unnamed: false,
        }
    }

    /// Keeps the text beside the elements of an object, which is its member `$text`.
    fn keep_text(&mut self, text: &str) {
        if self.open.len() > 1
            && !text.trim().is_empty()
            && let Some(element) = self.open.last_mut()
        {
            element.text.push_str(text);
        }
    }

    fn open_element(&mut self, name: &str) {
        let is_call = self.open.len() == 1;
        if let Some(parent) = self.open.last_mut() {
            parent.has_text_element |= name == "$text";
            if parent.kind == Kind::Leaf {
                parent.kind = if name == "item" && !is_call { Kind::List } else { Kind::Object };
                self.json.push(if parent.kind == Kind::List { '[' } else { '{' });
            } else {
                self.json.push(',');
            }
            if parent.kind == Kind::Object {
                write::string(&mut self.json, name);
                self.json.push(':');
            }
        }
        self.open.push(Element { name: name.to_owned(), ..Element::default() });
    }

    /// Closes the innermost element.
    fn close(&mut self, text: &str) {
        let is_call = self.open.len() == 1;
        if self.open.last().is_some_and(|element| element.kind == Kind::Object) {
            self.keep_text(text);
        }
        let Some(element) = self.open.pop() else { return };
        if element.kind == Kind::Object && !element.text.is_empty() {
            self.json.push(',');
            write::string(&mut self.json, if element.has_text_element { "$$text" } else { "$text" });
            self.json.push(':');
            write::string(&mut self.json, &element.text);
        }
        match element.kind {
            Kind::Leaf if is_call => self.json.push_str("{}"),
            Kind::Leaf => write::string(&mut self.json, text),
            Kind::Object => self.json.push('}'),
            Kind::List => self.json.push(']'),
        }
        if self.open.len() == 1 {
            self.complete = self.json.len();
        }
    }
}
