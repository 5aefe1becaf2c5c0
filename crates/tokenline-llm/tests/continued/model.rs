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
    Array,
    Pretty,
    Wrapped,
}

/// What a continuation begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    Anchor,
    Respaced,
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

    /// What it says next, when so much of the answer has been taken down: `delivered` records and `heard` bytes.
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
            Style::Lines => "",
            Style::Array => "]",
            Style::Pretty => "\n]\n",
            Style::Wrapped => "]}",
        };
        let from = |first: usize| if first < self.records.len() { tail(first) } else { end.to_owned() };
        let anchor = delivered.saturating_sub(1);
        match habit {
            Habit::Anchor => from(anchor),
            Habit::Respaced if delivered > 0 => {
                let record = respaced(&self.records[anchor]);
                record + &self.text[self.spans[anchor].1..]
            }
            Habit::Respaced | Habit::NoOverlap => from(delivered),
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
            Habit::Talk => "I am sorry, I cannot.\n".to_owned(),
            Habit::Empty => String::new(),
        }
    }
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

/// Rows of which many are equal; the first is not.
pub fn rows(random: &mut Random, count: usize) -> Vec<String> {
    let row = |_| format!("{{\"row\":{}}}", u8::from(random.one_in(5)));
    std::iter::once("{\"row\":\"head\"}".to_owned()).chain((1..count).map(row)).collect()
}
