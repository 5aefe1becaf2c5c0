//! Writes responses as JSON, with numbers as written.

use crate::{LlmKeyword, LlmResponse, LlmSubject};

impl LlmResponse {
    /// The response as JSON on one line. Numbers are kept as written.
    #[must_use]
    pub fn to_json(&self) -> String {
        self.write(Layout::Compact)
    }

    /// The response as formatted JSON, one keyword per line. Numbers are kept as written.
    #[must_use]
    pub fn to_json_pretty(&self) -> String {
        self.write(Layout::Pretty)
    }

    fn write(&self, layout: Layout) -> String {
        let Self { response, analysis } = self;
        let mut out = Writer { json: String::with_capacity(256 + response.len()), layout, depth: 0 };
        out.object(|out| {
            out.member("response", |out| push_string(&mut out.json, response));
            out.member("analysis", |out| {
                out.object(|out| {
                    out.member("subjects", |out| out.array(&analysis.subjects, subject));
                    out.member("summaryUpdate", |out| push_string(&mut out.json, &analysis.summary_update));
                });
            });
        });
        out.json
    }
}

fn subject(out: &mut Writer, subject: &LlmSubject) {
    out.object(|out| {
        out.member("name", |out| push_string(&mut out.json, &subject.name));
        out.member("description", |out| push_string(&mut out.json, &subject.description));
        out.member("isNew", |out| out.json.push_str(if subject.is_new { "true" } else { "false" }));
        out.member("keywords", |out| out.array(&subject.keywords, keyword));
    });
}

fn keyword(out: &mut Writer, keyword: &LlmKeyword) {
    let (colon, comma) = match out.layout {
        Layout::Compact => (":", ","),
        Layout::Pretty => (": ", ", "),
    };
    out.json.push_str("{\"term\"");
    out.json.push_str(colon);
    push_string(&mut out.json, &keyword.term);
    out.json.push_str(comma);
    out.json.push_str("\"confidence\"");
    out.json.push_str(colon);
    out.json.push_str(keyword.confidence.as_str());
    out.json.push('}');
}

/// Appends a quoted string.
pub(crate) fn push_string(json: &mut String, text: &str) {
    json.push_str(&serde_json::Value::from(text).to_string());
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    Compact,
    Pretty,
}

struct Writer {
    json: String,
    layout: Layout,
    depth: usize,
}

impl Writer {
    fn object(&mut self, members: impl FnOnce(&mut Self)) {
        self.json.push('{');
        self.depth += 1;
        members(self);
        self.depth -= 1;
        self.new_line();
        self.json.push('}');
    }

    fn member(&mut self, name: &str, value: impl FnOnce(&mut Self)) {
        if !self.json.ends_with('{') {
            self.json.push(',');
        }
        self.new_line();
        push_string(&mut self.json, name);
        self.json.push_str(if self.layout == Layout::Pretty { ": " } else { ":" });
        value(self);
    }

    fn array<T>(&mut self, elements: &[T], write: impl Fn(&mut Self, &T)) {
        self.json.push('[');
        self.depth += 1;
        for (at, element) in elements.iter().enumerate() {
            if at > 0 {
                self.json.push(',');
            }
            self.new_line();
            write(self, element);
        }
        self.depth -= 1;
        if !elements.is_empty() {
            self.new_line();
        }
        self.json.push(']');
    }

    fn new_line(&mut self) {
        if self.layout == Layout::Pretty {
            self.json.push('\n');
            self.json.extend(std::iter::repeat_n("  ", self.depth));
        }
    }
}
