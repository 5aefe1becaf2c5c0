//! Random texts of calls, prose, quotes and blocks of code.

use crate::random::Random;

/// A random text, and its calls and words.
#[derive(Default)]
pub(crate) struct Text {
    pub(crate) text: String,
    pub(crate) calls: Vec<(String, String)>,
    /// Words that stand once in the text.
    pub(crate) words: Vec<String>,
}

const WORDS: [&str; 14] = [
    "Sure",
    "ok.",
    "Answer:",
    "json",
    "assistant",
    "null",
    "search",
    "weather",
    "search:",
    "I",
    "(see)",
    "é",
    "1.",
    "don't",
];
/// Scraps that stand inside a line of prose.
const SCRAPS: [&str; 12] = [
    "<tool_call>",
    "</tool_call>",
    "</function>",
    "[see]",
    "{x}",
    "\"",
    "'",
    "[1, 2]",
    "a[0]",
    "<b>",
    "call:",
    "()",
];

const LISTS: [&str; 5] = ["\n", "- item\n", "* \n", "1. one\n", "---\n"];

impl Text {
    pub(crate) fn generate(random: &mut Random) -> Self {
        let mut text = Self::default();
        for _ in 0..1 + random.below(7) {
            match random.below(10) {
                0..=3 => text.add_call(random),
                4..=6 => text.add_prose(random),
                7 if random.once_in(4) => text.text.push_str("```ls -l``` lists files.\n"),
                7 => text.add_block(random),
                8 => text.add_quote(random),
                _ => text.text.push_str(random.pick::<&str>(&LISTS)),
            }
        }
        text
    }

    fn add_word(&mut self, random: &mut Random) {
        let word = format!("w{}x", self.words.len());
        self.text.push_str(&word);
        self.text.push(' ');
        self.words.push(word);
        if random.once_in(2) {
            self.text.push_str(random.pick::<&str>(&WORDS));
            self.text.push(' ');
        }
    }

    fn add_prose(&mut self, random: &mut Random) {
        if random.once_in(3) {
            // A word that takes a line.
            self.text.push_str(random.pick::<&str>(&WORDS));
        } else {
            self.add_word(random);
            if random.once_in(3) {
                self.text.push_str(random.pick::<&str>(&SCRAPS));
                self.text.push(' ');
                self.add_word(random);
            }
        }
        self.text.push('\n');
    }

    fn call(&mut self, random: &mut Random, is_quoted: bool) -> String {
        let name = *random.pick::<&str>(&["search", "weather"]);
        let arguments = format!("{{\"q\":\"v{}\"}}", self.calls.len());
        let value = format!("v{}", self.calls.len());
        if !is_quoted {
            self.calls.push((name.to_owned(), arguments.clone()));
        }
        match random.below(8) {
            6 => format!("Action: {name}\nAction Input: {arguments}\n"),
            7 => format!(
                "<|START_ACTION|>[{{\"tool_name\":\"{name}\",\"parameters\":{arguments}}}]<|END_ACTION|>"
            ),
            0 => format!("{{\"name\":\"{name}\",\"arguments\":{arguments}}}"),
            1 => format!("<tool_call>{{\"name\":\"{name}\",\"arguments\":{arguments}}}</tool_call>"),
            2 => format!("<function={name}><parameter=q>{value}</parameter></function>"),
            3 => format!("[{name}(q=\"{value}\")]"),
            4 => format!("<|tool_call_start|>[{name}(q='{value}')]<|tool_call_end|>"),
            _ => format!("<function={name}>{arguments}</function>"),
        }
    }

    fn add_call(&mut self, random: &mut Random) {
        let call = self.call(random, false);
        self.text.push_str(&call);
        self.text.push('\n');
    }

    /// A call in a block of code, which is one only in some languages.
    fn add_block(&mut self, random: &mut Random) {
        let language = *random.pick::<&str>(&["python", "rust", "text", "json5", "json", "jsonl", ""]);
        let is_code = !matches!(language, "json" | "jsonl" | "");
        let fence = *random.pick::<&str>(&["```", "```", "````", "~~~"]);
        let (first, rest) = *random.pick::<(&str, &str)>(&[("", ""), ("", ""), ("- ", "  "), ("> ", "> ")]);
        let call = self.call(random, is_code);
        let is_plain = fence == "~~~" || call.contains('\n');
        let (first, rest) = if is_plain { ("", "") } else { (first, rest) };
        self.text.push_str(&format!("{first}{fence}{language}\n"));
        if is_code && random.once_in(2) {
            // What would end another block.
            let other = match fence {
                "```" => "~~~",
                _ => "```",
            };
            self.text.push_str(&format!("{rest}{other}\n"));
        }
        self.text.push_str(&format!("{rest}{call}\n{rest}{fence}\n"));
    }

    /// A call in inline code.
    fn add_quote(&mut self, random: &mut Random) {
        let ticks = *random.pick::<&str>(&["`", "``"]);
        self.add_word(random);
        let call = self.call(random, true).replace('\n', " ");
        self.text.push_str(&format!("{ticks}{call}{ticks}"));
        if random.once_in(2) {
            self.text.push(' ');
            self.add_word(random);
        }
        self.text.push('\n');
    }
}
