//! Writes JSON by hand, so that no library's formatting can change a corpus.

/// How to write non-ASCII text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unicode {
    /// As UTF-8.
    Raw,
    /// As `\u00e9`, in surrogate pairs where needed.
    Escaped,
}

/// Appends `text` as a JSON string, quotes included.
pub(super) fn string(out: &mut String, text: &str, unicode: Unicode) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_ascii() || unicode == Unicode::Raw => out.push(c),
            c => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    out.push('"');
}

/// Writes an object, member by member, to the end of a text.
pub(super) struct Object<'a> {
    out: &'a mut String,
    spacing: Spacing,
    unicode: Unicode,
    empty: bool,
}

/// The space after `:` and `,`.
#[derive(Clone, Copy)]
pub(super) enum Spacing {
    /// None, as from `JSON.stringify`.
    Compact,
    /// One, as from `json.dumps` and most models.
    Spaced,
}

impl<'a> Object<'a> {
    /// Opens an object. [`Object::close`] closes it.
    pub(super) fn open(out: &'a mut String, spacing: Spacing, unicode: Unicode) -> Self {
        out.push('{');
        Self { out, spacing, unicode, empty: true }
    }

    /// Writes the name of a member, and returns the text to append its value to.
    pub(super) fn name(&mut self, name: &str) -> &mut String {
        let (comma, colon) = match self.spacing {
            Spacing::Compact => (",", ":"),
            Spacing::Spaced => (", ", ": "),
        };
        if !self.empty {
            self.out.push_str(comma);
        }
        self.empty = false;
        string(self.out, name, self.unicode);
        self.out.push_str(colon);
        self.out
    }

    /// Writes a member whose value is a string.
    pub(super) fn text(&mut self, name: &str, value: &str) -> &mut Self {
        let unicode = self.unicode;
        string(self.name(name), value, unicode);
        self
    }

    /// Writes a member whose value is given as JSON: a number, a literal, an array.
    pub(super) fn raw(&mut self, name: &str, value: &str) -> &mut Self {
        self.name(name).push_str(value);
        self
    }

    /// Writes a member whose value is an object that `members` fills.
    pub(super) fn object(&mut self, name: &str, members: impl FnOnce(&mut Object<'_>)) -> &mut Self {
        let (spacing, unicode) = (self.spacing, self.unicode);
        let mut inner = Object::open(self.name(name), spacing, unicode);
        members(&mut inner);
        inner.close();
        self
    }

    /// Writes a member whose value is an array of strings.
    pub(super) fn texts(&mut self, name: &str, values: &[&str]) -> &mut Self {
        let unicode = self.unicode;
        let comma = match self.spacing {
            Spacing::Compact => ",",
            Spacing::Spaced => ", ",
        };
        let out = self.name(name);
        out.push('[');
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                out.push_str(comma);
            }
            string(out, value, unicode);
        }
        out.push(']');
        self
    }

    /// Writes the closing brace.
    pub(super) fn close(self) {
        self.out.push('}');
    }
}
