//! Patterns matched by the engines of regex-automata, in linear time, and of fancy-regex, by a limited search.

use std::borrow::Cow;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use jsonschema_regex::{PatternAnalysis, analyze_pattern, contains_ecma_whitespace, to_rust_regex};
use regex_automata::meta;
use regex_automata::nfa::thompson::WhichCaptures;
use regex_automata::util::syntax;

use super::{PATTERN_SIZE, Refusal, Space, is_repetition};

/// A step of a search may read all of the text. On longer texts it counts as several, one for each so many bytes.
const STEP_BYTES: usize = 1 << 10;
/// The number of step limits, each a quarter of the one before.
const LIMITS: usize = 18;
/// A search is tried with so many quarterings of its steps, one try after the other; all but the first count for the record.
const TRIES: [usize; 4] = [6, 5, 3, 0];
/// How many searches of a record may take all of their steps. Shorter ones count by their part.
const RECORD_SEARCHES: usize = 16;
const RECORD_BUDGET: usize = RECORD_SEARCHES * cost(TRIES[3]);

/// The cost of a try in parts of the steps of the second one.
const fn cost(quarterings: usize) -> usize {
    1 << (2 * (TRIES[1] - quarterings))
}

thread_local! {
    /// The budget that is left to the record that this thread judges.
    static LEFT: Cell<usize> = const { Cell::new(RECORD_BUDGET) };
}

/// Begins with another record.
#[inline]
pub(crate) fn begin_record() {
    LEFT.set(RECORD_BUDGET);
}

/// The budget that is left to a record that is judged in parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordBudget(usize);

impl Default for RecordBudget {
    fn default() -> Self {
        Self(RECORD_BUDGET)
    }
}

impl RecordBudget {
    /// Judges a part.
    pub(crate) fn of<T>(&mut self, judge: impl FnOnce() -> T) -> T {
        LEFT.set(self.0);
        let verdict = judge();
        self.0 = LEFT.get();
        verdict
    }
}

/// Why there is no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// The text took more than so many steps.
    Steps(usize),
    /// The texts of the record together took too many.
    Record(usize),
    /// The engine failed.
    Engine,
}

impl Reason {
    /// The message for a pattern that gave no verdict.
    pub(super) fn message(self, pattern: &str) -> String {
        match self {
            Self::Steps(steps) => {
                format!("the pattern {pattern} could not be matched within {steps} steps")
            }
            Self::Record(steps) => format!(
                "the pattern {pattern} could not be matched within {} steps for all texts of the record",
                steps.saturating_mul(RECORD_SEARCHES)
            ),
            Self::Engine => format!("the pattern {pattern} could not be matched: its engine failed"),
        }
    }
}

/// The engine of a pattern.
#[derive(Debug)]
pub(super) enum Engine {
    Prefix(Box<str>),
    Exact(Box<str>),
    Alternatives(Box<[String]>),
    NoWhitespace,
    /// Matched in linear time.
    Linear(Box<meta::Regex>),
    /// With look-around or a back-reference.
    Search(Box<Search>),
}

impl Engine {
    /// Compiles a pattern. Returns how many bytes it takes as well.
    pub(super) fn compile(pattern: &str, space: &Space) -> Result<(Self, usize), Refusal> {
        let compiled = match analyze_pattern(pattern) {
            Some(PatternAnalysis::Prefix(prefix)) => Self::Prefix(prefix.into()),
            Some(PatternAnalysis::Exact(exact)) => Self::Exact(exact.into()),
            Some(PatternAnalysis::Alternation(alternatives)) => Self::Alternatives(alternatives.into()),
            Some(PatternAnalysis::NoWhitespace) => Self::NoWhitespace,
            None => return Self::compile_regex(pattern, space),
        };
        Ok((compiled, pattern.len()))
    }

    fn compile_regex(pattern: &str, space: &Space) -> Result<(Self, usize), Refusal> {
        let Space { bytes, tables, steps } = *space;
        let left = bytes.saturating_sub(tables);
        let size = PATTERN_SIZE.min(left);
        let plain = Plain::of(pattern);
        let translated = to_rust_regex(&plain.text).map_err(|()| refusal(&plain.text, tables))?;
        // The engine for look-around gives the parts between to the linear one, so this is about its size as well.
        let linear = linear(&translated, size, tables).map_err(|refused| match refused {
            Refusal::Malformed => refusal(&plain.text, tables),
            refused => refused,
        })?;
        let taken = linear.memory_usage() + tables + pattern.len();
        if taken > left + tables {
            return Err(Refusal::TooManyBytes);
        }
        if plain.replaced.is_empty() {
            return Ok((Self::Linear(Box::new(linear)), taken));
        }
        let search = Search { text: plain.restore(&translated), steps, tables, by_limit: Default::default() };
        // Compiles it for short texts.
        search.with_limit(TRIES[0]).ok_or(Refusal::Malformed)?;
        Ok((Self::Search(Box::new(search)), taken))
    }

    #[inline]
    pub(super) fn matches(&self, text: &str) -> Result<bool, Reason> {
        match self {
            Self::Prefix(prefix) => Ok(text.starts_with(&**prefix)),
            Self::Exact(exact) => Ok(*text == **exact),
            Self::Alternatives(alternatives) => {
                Ok(alternatives.iter().any(|alternative| alternative == text))
            }
            Self::NoWhitespace => Ok(!contains_ecma_whitespace(text)),
            // The engine panics on some patterns (rust-lang/regex#1344).
            Self::Linear(regex) => {
                catch_unwind(AssertUnwindSafe(|| regex.is_match(text))).map_err(|_| Reason::Engine)
            }
            Self::Search(search) => search.matches(text),
        }
    }
}

fn linear(pattern: &str, size: usize, tables: usize) -> Result<meta::Regex, Refusal> {
    let limits = meta::Config::new()
        .nfa_size_limit(Some(size))
        .onepass_size_limit(Some(size))
        .hybrid_cache_capacity(tables)
        .which_captures(WhichCaptures::Implicit);
    let built = meta::Regex::builder().configure(limits).syntax(syntax::Config::new()).build(pattern);
    built.map_err(|error| match error.size_limit() {
        Some(_) if size < PATTERN_SIZE => Refusal::TooManyBytes,
        Some(_) => Refusal::TooLarge,
        None => Refusal::Malformed,
    })
}

/// Why a pattern is refused that the engine cannot read.
#[cold]
fn refusal(pattern: &str, tables: usize) -> Refusal {
    let supported = supported(pattern);
    let is_read = supported != pattern
        && to_rust_regex(&supported).is_ok_and(|translated| {
            !matches!(linear(&translated, PATTERN_SIZE, tables), Err(Refusal::Malformed))
        });
    if is_read { Refusal::Unsupported } else { Refusal::Malformed }
}

/// A pattern that is searched for by trying.
#[derive(Debug)]
pub(super) struct Search {
    text: String,
    steps: usize,
    tables: usize,
    /// For each step limit: the engine has one limit for each that is compiled.
    by_limit: [OnceLock<Option<fancy_regex::Regex>>; LIMITS],
}

impl Search {
    fn with_limit(&self, quarterings: usize) -> Option<&fancy_regex::Regex> {
        let compile = || {
            fancy_regex::RegexBuilder::new(&self.text)
                .backtrack_limit(self.steps >> (2 * quarterings))
                .delegate_size_limit(PATTERN_SIZE)
                .delegate_dfa_size_limit(self.tables)
                .build()
                .ok()
        };
        self.by_limit[quarterings].get_or_init(compile).as_ref()
    }

    /// Searches with more and more of the steps, so that the record's budget pays for little more than a text takes. Longer
    /// texts have fewer steps.
    fn matches(&self, text: &str) -> Result<bool, Reason> {
        let mut size = 0;
        while size + TRIES[0] + 1 < LIMITS && text.len() > STEP_BYTES << (2 * size) {
            size += 1;
        }
        for quarterings in TRIES {
            if quarterings != TRIES[0] {
                let left = LEFT.get().checked_sub(cost(quarterings)).ok_or(Reason::Record(self.steps))?;
                LEFT.set(left);
            }
            let regex = self.with_limit(size + quarterings).ok_or(Reason::Engine)?;
            let input = fancy_regex::RegexInput::new(text).anchored(self.is_anchored());
            match catch_unwind(AssertUnwindSafe(|| regex.is_match_input(input))) {
                Ok(Ok(matches)) => return Ok(matches),
                Ok(Err(_)) => {}
                Err(_) => return Err(Reason::Engine),
            }
        }
        Err(Reason::Steps(self.steps))
    }

    /// Whether it matches at the start or not at all.
    fn is_anchored(&self) -> bool {
        self.text.starts_with('^') && !self.text.contains('|')
    }
}

/// A pattern with capture groups in the place of what only the engine for look-around knows.
struct Plain<'p> {
    text: Cow<'p, str>,
    /// The openings of the groups, or the whole of them, and what they stand for.
    replaced: Vec<(String, String)>,
}

impl<'p> Plain<'p> {
    fn of(pattern: &'p str) -> Self {
        const LOOK_AROUND: [&str; 4] = ["(?=", "(?!", "(?<=", "(?<!"];
        let mut text = String::new();
        let mut replaced: Vec<(String, String)> = Vec::new();
        let mut rest = pattern;
        let mut in_class = false;
        while let Some(first) = rest.chars().next() {
            let group = |closes: &str| format!("(?<tokenline{}>{closes}", replaced.len());
            let mut length = first.len_utf8();
            if first == '\\' {
                if let Some(length) = back_reference(rest).filter(|_| !in_class) {
                    let group = group(")");
                    text.push_str(&group);
                    replaced.push((group, rest[..length].to_owned()));
                    rest = &rest[length..];
                    continue;
                }
                length += rest[1..].chars().next().map_or(0, char::len_utf8);
            } else if in_class {
                in_class = first != ']';
            } else if first == '[' {
                in_class = true;
            } else if let Some(opening) = LOOK_AROUND.iter().find(|opening| rest.starts_with(**opening)) {
                let group = group("");
                text.push_str(&group);
                replaced.push((group, (*opening).to_owned()));
                rest = &rest[opening.len()..];
                continue;
            }
            text.push_str(&rest[..length]);
            rest = &rest[length..];
        }
        let text = if replaced.is_empty() { Cow::Borrowed(pattern) } else { Cow::Owned(text) };
        Self { text, replaced }
    }

    /// The pattern from its translation.
    fn restore(&self, translated: &str) -> String {
        let restore = |text: String, (group, original): &(String, String)| text.replacen(group, original, 1);
        self.replaced.iter().fold(translated.to_owned(), restore)
    }
}

/// A pattern with what is supported in the place of what ECMA 262 allows beyond it: classes without members, and braces
/// that repeat nothing.
fn supported(pattern: &str) -> String {
    let mut text = String::new();
    let mut rest = pattern;
    let mut in_class = false;
    while let Some(first) = rest.chars().next() {
        let mut length = first.len_utf8();
        if first == '\\' {
            length += rest[1..].chars().next().map_or(0, char::len_utf8);
            if [r"\p{", r"\P{", r"\u{"].iter().any(|escape| rest.starts_with(escape)) {
                length = rest.find('}').map_or(rest.len(), |end| end + 1);
            }
        } else if in_class {
            in_class = first != ']';
        } else if let Some(empty) = ["[]", "[^]"].iter().find(|empty| rest.starts_with(**empty)) {
            text.push('.');
            rest = &rest[empty.len()..];
            continue;
        } else if first == '{' && !is_repetition(rest) {
            text.push('\\');
        } else {
            in_class = first == '[';
        }
        text.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    text
}

/// The length of a back-reference, if the text begins with one.
fn back_reference(text: &str) -> Option<usize> {
    let after = text.strip_prefix('\\')?;
    if let Some(name) = after.strip_prefix("k<") {
        return Some(4 + name.find('>')?);
    }
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0 && !after.starts_with('0')).then_some(1 + digits)
}
