//! A model with a token limit, and habits.
#![allow(unreachable_pub, dead_code, reason = "a module shared by two test programs")]

/// Random numbers that can be repeated: xorshift.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    pub fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }
}

/// How records are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Lines,
    /// On one line, with white space between them.
    Row,
    /// On one line, with commas between them.
    Commas,
    Array,
    Pretty,
    Wrapped,
}

/// The way in which a continuation begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    Anchor,
    WhitespaceDiffers,
    NoOverlap,
    Several(usize),
    Restart,
    FencedRestart,
    Prose,
    /// Goes on at the cut, and repeats so many bytes before it.
    Inside(usize),
    /// Repeats the anchor, then goes on at the cut.
    AnchorInside,
    /// Says nothing of use.
    Talk,
    Empty,
    /// Opens and closes a fence.
    Fence,
    /// Goes on at the cut, in a fence.
    InsideFenced,
    /// Opens the array, and what is around it, again, and goes on with the anchor.
    Reopened,
    /// Repeats the anchor with another value in it.
    Changed,
    /// Does what it was asked for, in a fence.
    AskedFenced,
    /// Does what it was asked for.
    Asked,
}

/// The model: it always knows the whole answer, and has said some of it.
pub struct Model {
    pub records: Vec<String>,
    pub style: Style,
    pub text: String,
    /// Where each record begins and ends in the text.
    pub spans: Vec<(usize, usize)>,
}

impl Model {
    pub fn new(records: Vec<String>, style: Style) -> Self {
        let (open, between, close) = match style {
            Style::Lines => ("", "\n", "\n"),
            Style::Row => ("", " ", "\n"),
            Style::Commas => ("", ", ", "\n"),
            Style::Array => ("[", ",", "]"),
            Style::Pretty => ("[\n", ",\n", "\n]\n"),
            Style::Wrapped => ("{\"status\": {\"ok\": true}, \"rows\": [", ", ", "]}"),
        };
        let (mut text, mut spans) = (open.to_owned(), Vec::new());
        for (index, record) in records.iter().enumerate() {
            if index > 0 {
                text += between;
            }
            let record = written(record, style);
            let start = text.len() + record.len() - record.trim_start().len();
            text += &record;
            spans.push((start, text.len()));
        }
        text += close;
        Self { records, style, text, spans }
    }

    /// The next response, after `delivered` records and `heard` bytes of the whole one.
    pub fn goes_on(&self, delivered: usize, heard: usize, habit: Habit) -> String {
        let tail =
            |first: usize| self.spans.get(first).map_or("", |(start, _)| &self.text[*start..]).to_owned();
        let boundary = |mut at: usize| {
            while !self.text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let end = match self.style {
            Style::Lines | Style::Row | Style::Commas => "",
            Style::Array => "]",
            Style::Pretty => "\n]\n",
            Style::Wrapped => "]}",
        };
        let from = |first: usize| if first < self.records.len() { tail(first) } else { end.to_owned() };
        let anchor = delivered.saturating_sub(1);
        match habit {
            Habit::Anchor => from(anchor),
            Habit::WhitespaceDiffers if delivered > 0 => {
                let (start, end) = self.spans[anchor];
                let record = respaced(&self.text[start..end]);
                record + &self.text[self.spans[anchor].1..]
            }
            Habit::WhitespaceDiffers | Habit::NoOverlap => from(delivered),
            Habit::Several(several) => from(delivered.saturating_sub(several)),
            Habit::Restart => self.text.clone(),
            Habit::FencedRestart => format!("Here it is again:\n\n```json\n{}\n```\n", self.text.trim_end()),
            Habit::Prose => format!("Sure, I go on.\n\n{}", from(anchor)),
            Habit::Inside(repeated) => self.text[boundary(heard.saturating_sub(repeated))..].to_owned(),
            Habit::AnchorInside if delivered > 0 => {
                let (start, end) = self.spans[anchor];
                format!("{}\n{}", &self.text[start..end], &self.text[heard..])
            }
            Habit::AnchorInside => from(delivered),
            Habit::Fence => "```json\n```\n".to_owned(),
            Habit::InsideFenced => format!("```json\n{}\n```\n", &self.text[heard..]),
            Habit::Reopened => self.text[..self.spans[0].0].to_owned() + &from(anchor),
            Habit::Changed if delivered > 0 => {
                let (start, end) = self.spans[anchor];
                let changed: String =
                    self.text[start..end].chars().map(|char| if char == '1' { '7' } else { char }).collect();
                changed + &self.text[end..]
            }
            Habit::Changed => from(delivered),
            Habit::Asked | Habit::AskedFenced => unreachable!("that is for who knows what was asked"),
            Habit::Talk => "I am sorry, I cannot.\n".to_owned(),
            Habit::Empty => String::new(),
        }
    }
}

impl Model {
    /// The response that does what `asked` requests. The open record ends after `heard` bytes.
    pub fn does(&self, asked: &str, delivered: usize, heard: usize) -> String {
        if let Some((_, overlap)) = asked.rsplit_once("continue directly after them:\n\n") {
            // If no record was cut off, it is the end of the last one.
            let end = if !asked.contains("characters of the last complete") {
                heard
            } else {
                self.spans[delivered - 1].1
            };
            return overlap.to_owned() + &self.text[end..];
        }
        if asked.contains("Write the answer again from its beginning") {
            return self.text.clone();
        }
        let last = match between(asked, "exactly these last ", " complete") {
            Some(last) => last.parse().expect("a number"),
            None => usize::from(asked.contains("exactly this last complete")),
        };
        self.goes_on(delivered, heard, Habit::Several(last))
    }

    /// Whether that is the beginning of the record that is next.
    pub fn is_open(&self, delivered: usize, open: &str) -> bool {
        let Some((start, end)) = self.spans.get(delivered) else { return open.is_empty() };
        let record = &self.text[*start..*end];
        let chars = |text: &str| solid(text).map(|at| text[at..].chars().next()).collect::<Vec<_>>();
        chars(record).starts_with(&chars(open))
    }

    /// Where in the answer a record ends of which so much is there, whatever the white space.
    pub fn heard(&self, delivered: usize, open: &str) -> usize {
        let Some((start, _)) = self.spans.get(delivered) else { return self.text.len() };
        if self.text[*start..].starts_with(open) {
            return start + open.len();
        }
        let left = solid(open).count();
        let end = solid(&self.text[*start..]).nth(left);
        end.map_or(self.text.len(), |at| start + at)
    }
}

/// Where the characters are that are not white space between tokens.
pub fn solid(text: &str) -> impl Iterator<Item = usize> + '_ {
    let (mut in_string, mut is_escaped) = (false, false);
    text.char_indices()
        .filter(move |(_, char)| {
            let was_in_string = in_string;
            in_string = if in_string { is_escaped || *char != '"' } else { *char == '"' };
            is_escaped = was_in_string && *char == '\\' && !is_escaped;
            was_in_string || !char.is_whitespace()
        })
        .map(|(at, _)| at)
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let rest = text.rsplit_once(before)?.1;
    Some(rest.split_once(after)?.0)
}

fn written(record: &str, style: Style) -> String {
    match style {
        Style::Pretty => {
            let value: serde_json::Value = serde_json::from_str(record).expect("JSON");
            let pretty = serde_json::to_string_pretty(&value).expect("JSON");
            pretty.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
        }
        _ => record.to_owned(),
    }
}

/// The same with white space around some tokens.
fn respaced(record: &str) -> String {
    let (mut out, mut in_string, mut is_escaped) = (String::new(), false, false);
    for char in record.chars() {
        out.push(char);
        if in_string {
            in_string = is_escaped || char != '"';
            is_escaped = char == '\\' && !is_escaped;
        } else if char == '"' {
            in_string = true;
        } else if matches!(char, ',' | ':' | '{') {
            out.push(' ');
        }
    }
    out
}

/// A record that is like no other.
pub fn record(random: &mut Random, number: usize) -> String {
    let text: String = (0..random.below(40))
        .map(|_| {
            ['a', 'Z', ' ', 'é', '漢', '😀', '{', '}', '"', '\\', '\n', ',', ']', '\u{1}'][random.below(14)]
        })
        .collect();
    let list: Vec<u64> = (0..random.below(4)).map(|_| random.next() % 1000).collect();
    serde_json::json!({
        "n": number,
        "text": text,
        "nested": {"list": list, "rows": [{"deep": random.next() % 7}], "null": null},
        "x": random.one_in(2),
    })
    .to_string()
}

/// A record of about so many bytes: rows of text, numbers, and rows within rows.
pub fn long_record(random: &mut Random, bytes: usize) -> String {
    let (mut rows, mut len) = (Vec::new(), 0);
    while len < bytes {
        let row = match random.below(6) {
            0 => serde_json::json!([1.5, -20, 3e7, null, true, [], {}]).to_string(),
            1 => serde_json::json!(word(random, 300)).to_string(),
            _ => record(random, rows.len()),
        };
        len += row.len();
        rows.push(row);
    }
    format!("{{\"title\":\"long\",\"rows\":[{}],\"end\":{}}}", rows.join(","), random.below(1000))
}

fn word(random: &mut Random, most: usize) -> String {
    (0..random.below(most))
        .map(|_| ['a', 'b', ' ', 'é', '"', '\\', '\n', '{', ']'][random.below(9)])
        .collect()
}

/// Rows of which many are equal; the first is not.
pub fn rows(random: &mut Random, count: usize) -> Vec<String> {
    let row = |_| format!("{{\"row\":{}}}", u8::from(random.one_in(5)));
    std::iter::once("{\"row\":\"head\"}".to_owned()).chain((1..count).map(row)).collect()
}
