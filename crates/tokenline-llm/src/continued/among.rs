//! A text that begins among records, or inside one.

use super::progress::Form;

/// Follows a text whose beginning was in another response, and sees whether that is among records, or inside one.
#[derive(Debug)]
pub(super) struct Among {
    form: Form,
    /// Whether the array is inside another value.
    has_wrapper: bool,
    place: Place,
    depth: u32,
    in_string: bool,
    is_escaped: bool,
    /// The last byte outside strings that is no white space.
    last: char,
    has_record: bool,
    has_array: bool,
    began_inside: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Records,
    /// Directly behind the end of the array.
    Closed,
    /// In what follows the array in the value around it.
    Around,
}

impl Among {
    pub(super) fn new(form: Form, has_wrapper: bool) -> Self {
        Self {
            form,
            has_wrapper,
            place: Place::Records,
            depth: 0,
            in_string: false,
            is_escaped: false,
            last: '\0',
            has_record: false,
            has_array: false,
            began_inside: false,
        }
    }

    /// For a text that begins directly behind a record.
    pub(super) fn behind(form: Form, has_wrapper: bool) -> Self {
        Self { last: '}', has_record: true, ..Self::new(form, has_wrapper) }
    }

    /// Whether more was closed than was opened, or a member follows a record: then what came first was inside a value.
    pub(super) fn began_inside(&self) -> bool {
        self.began_inside
    }

    /// Whether an array was opened among the records.
    pub(super) fn has_array(&self) -> bool {
        self.has_array
    }

    /// Makes lines of the elements of an array: what stands between them becomes line feeds, and what is around the
    /// array spaces, byte for byte, so that places stay what they are. Lines are what they were.
    pub(super) fn relined(&mut self, text: &str) -> String {
        let mut lines = String::with_capacity(text.len());
        for char in text.chars() {
            let to = self.step(char);
            match self.form == Form::Lines || to == char {
                true => lines.push(char),
                false => lines.extend(std::iter::repeat_n(to, char.len_utf8())),
            }
        }
        lines
    }

    fn step(&mut self, char: char) -> char {
        let is_around = self.place == Place::Around;
        if self.in_string {
            // No string has a raw line feed in it: one that seems to is malformed, and is not to spoil the rest.
            self.in_string = (self.is_escaped || char != '"') && char != '\n';
            self.is_escaped = char == '\\' && !self.is_escaped;
            return if is_around && char != '\n' { ' ' } else { char };
        }
        if char.is_ascii_whitespace() {
            return char;
        }
        let before = std::mem::replace(&mut self.last, char);
        if self.place == Place::Closed {
            self.closed(char);
        }
        match self.place {
            Place::Around => self.around(char, before),
            Place::Records | Place::Closed => self.records(char, before),
        }
    }

    /// What follows the array.
    fn closed(&mut self, char: char) {
        self.place = match char {
            ',' | '}' if self.has_wrapper => Place::Around,
            ',' | '}' | ']' | '"' => {
                self.began_inside = true;
                Place::Records
            }
            _ => Place::Records,
        };
    }

    fn records(&mut self, char: char, before: char) -> char {
        match char {
            '"' if self.depth > 0 => (self.in_string, self.is_escaped) = (true, false),
            '"' => self.began_inside |= self.has_record,
            '{' => {
                self.depth += 1;
                self.has_record = true;
            }
            '[' if self.depth > 0 => self.depth += 1,
            '}' | ']' if self.depth > 0 => self.depth -= 1,
            '[' => {
                self.has_array = true;
                return '\n';
            }
            ']' => {
                let is_end = matches!(before, '}' | ',' | '[' | '\0')
                    && (self.form == Form::Elements || self.has_array);
                self.began_inside |= !is_end;
                if is_end {
                    self.place = Place::Closed;
                }
                return '\n';
            }
            '}' => {
                self.began_inside = true;
                return '\n';
            }
            ',' if self.depth == 0 => return '\n',
            _ => {}
        }
        char
    }

    fn around(&mut self, char: char, before: char) -> char {
        match char {
            '"' => (self.in_string, self.is_escaped) = (true, false),
            // After the object around the array no object or array goes on.
            '{' if self.depth == 0 && before == ',' => return self.again(char),
            ']' if self.depth == 0 => return self.again(char),
            '{' | '[' => self.depth += 1,
            '}' | ']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        ' '
    }

    /// What was taken for the end of the array was none.
    fn again(&mut self, char: char) -> char {
        self.began_inside = true;
        self.place = Place::Records;
        self.records(char, ',')
    }
}
