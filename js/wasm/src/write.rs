//! Writes JSON.

/// Text of JSON objects and arrays, member by member.
#[derive(Default)]
pub(crate) struct Json {
    pub(crate) bytes: Vec<u8>,
}

impl Json {
    pub(crate) fn raw(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// A comma unless an object or array begins here.
    fn comma(&mut self) {
        if !matches!(self.bytes.last(), Some(b'{' | b'[' | b':')) {
            self.bytes.push(b',');
        }
    }

    pub(crate) fn name(&mut self, name: &str) {
        self.comma();
        self.bytes.push(b'"');
        self.raw(name);
        self.raw("\":");
    }

    pub(crate) fn open(&mut self, bracket: u8) {
        self.comma();
        self.bytes.push(bracket);
    }

    pub(crate) fn close(&mut self, bracket: u8) {
        self.bytes.push(bracket);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.comma();
        self.bytes.push(b'"');
        let mut rest = text;
        while let Some(at) = rest.bytes().position(|byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
            self.raw(&rest[..at]);
            let byte = rest.as_bytes()[at];
            self.raw(if byte >= 0x20 { "\\" } else { "\\u00" });
            if byte < 0x20 {
                self.bytes.push(b'0' + (byte >> 4));
                self.bytes.push(b"0123456789abcdef"[usize::from(byte & 15)]);
            } else {
                self.bytes.push(byte);
            }
            rest = &rest[at + 1..];
        }
        self.raw(rest);
        self.bytes.push(b'"');
    }

    pub(crate) fn number(&mut self, number: u64) {
        self.comma();
        let (mut digits, mut at, mut rest) = ([0; 20], 20, number);
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.bytes.extend_from_slice(&digits[at..]);
    }

    pub(crate) fn text_member(&mut self, name: &str, text: &str) {
        self.name(name);
        self.text(text);
    }

    pub(crate) fn number_member(&mut self, name: &str, number: u64) {
        self.name(name);
        self.number(number);
    }

    pub(crate) fn texts_member<'t>(&mut self, name: &str, texts: impl IntoIterator<Item = &'t str>) {
        self.name(name);
        self.open(b'[');
        texts.into_iter().for_each(|text| self.text(text));
        self.close(b']');
    }
}
