//! The parameters of a call that is not complete yet, as they grow.

use super::CallSoFar;
use crate::ValidateCall;
use crate::json::Parser;
use crate::json::write;

/// The parameters of the open call as JSON text, which only grows.
#[derive(Debug, Default)]
pub(crate) struct Growth {
    json: String,
    /// How much of the parameters as written is in it.
    taken: usize,
    /// Of the open parameter, how much of its text is in it, and how much JSON text that is.
    open: (usize, usize),
}

impl Growth {
    pub(crate) fn clear(&mut self) {
        self.json.clear();
        (self.taken, self.open) = (0, (0, 0));
    }

    pub(crate) fn json(&self) -> &str {
        &self.json
    }

    /// Takes what the call has more than before, with the types of the tool's parameters.
    pub(crate) fn take(&mut self, call: &CallSoFar<'_>, tools: Option<&dyn ValidateCall>) {
        let new = call.parameters.get(self.taken..).unwrap_or_default();
        self.taken += new.len();
        if !call.is_untyped {
            // Outside strings, which cannot contain one, a newline is white space.
            let from = self.json.len();
            self.json.push_str(new);
            if !call.is_as_written && memchr::memchr2(b'\n', b'\r', new.as_bytes()).is_some() {
                let line = new.replace(['\n', '\r'], " ");
                self.json.replace_range(from.., &line);
            }
            return;
        }
        let members = new.trim_start_matches(['{', ',']);
        if members.is_empty() {
            self.json.push_str(new);
        } else {
            if self.open.1 == 0 {
                self.json.push_str(&new[..new.len() - members.len()]);
            }
            let object = format!("{{{members}}}");
            let mut parser = Parser::new();
            let typed = parser.parse(&object).ok().and_then(|value| tools?.type_text(&call.name, value));
            let typed = typed.as_ref().map_or(object.as_str(), |typed| typed.as_str());
            self.json.push_str(typed.get(1 + self.open.1..typed.len() - 1).unwrap_or_default());
            self.open = (0, 0);
        }
        let Some((key, text)) = &call.open_parameter else { return };
        let (taken, before) = (self.open.0, self.json.len());
        let is_text = |tools: &dyn ValidateCall| tools.is_text(&call.name, key);
        if text.len() <= taken || !tools.is_none_or(is_text) {
            return;
        }
        let mut begin = 0;
        if self.open.1 == 0 {
            if !self.json.ends_with('{') {
                self.json.push(',');
                begin = 1;
            }
            write::string(&mut self.json, key);
            self.json.push_str(":\"");
        }
        write::escaped(&mut self.json, &text[taken..]);
        self.open = (text.len(), self.open.1 + self.json.len() - before - begin);
    }
}
