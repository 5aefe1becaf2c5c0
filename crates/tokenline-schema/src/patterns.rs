//! Regular expressions of ECMA 262: matched in linear time where that is possible, with a limited search otherwise.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use jsonschema_regex::{PatternAnalysis, analyze_pattern, contains_ecma_whitespace, to_rust_regex};
use regex_automata::meta;
use regex_automata::nfa::thompson::WhichCaptures;
use regex_automata::util::syntax;
use serde_json::{Map, Value as Schema};
use tokenline_core::Limits;

use crate::text::shorten;

/// The memory limit of one compiled regular expression in bytes. A pattern of a few bytes, such as
/// `((a{99}){99}){99}`, could otherwise exhaust memory.
pub(crate) const PATTERN_SIZE: usize = 1 << 20;
/// The memory limit of all patterns of a schema, or of the schemas of a set of tools, with the tables that matching fills.
const ALL_PATTERNS: usize = 64 << 20;
/// The tables that matching may fill, for all patterns of a schema; each gets a share of at least the smallest size.
const ALL_TABLES: usize = 16 << 20;
const SMALLEST_TABLE: usize = 32 << 10;
/// The tables of a pattern in the schema of a tool, which may be one of hundreds.
const TOOL_TABLES: usize = 64 << 10;
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

/// The limits of the patterns of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PatternLimits {
    /// The most steps of a search.
    steps: usize,
    /// The most bytes of all.
    bytes: usize,
    /// The size of each pattern's tables; by default a share of [`ALL_TABLES`].
    tables: Option<usize>,
}

impl PatternLimits {
    pub(crate) const fn new(limits: &Limits) -> Self {
        Self { steps: limits.pattern_steps, bytes: ALL_PATTERNS, tables: None }
    }

    /// For one of many schemas, of which the others take so many bytes.
    pub(crate) fn beside(self, used: usize) -> Self {
        Self { bytes: self.bytes.saturating_sub(used), tables: Some(TOOL_TABLES), ..self }
    }
}

/// The patterns of a schema, each compiled once.
#[derive(Debug)]
pub(crate) struct Patterns {
    limits: PatternLimits,
    /// The size of a pattern's tables.
    tables: usize,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    patterns: HashMap<Box<str>, Result<Arc<Pattern>, Refusal>>,
    bytes: usize,
}

/// Why a pattern cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Malformed,
    /// Something in it is valid in ECMA 262, but not supported.
    Unsupported,
    TooLarge,
    /// All patterns together are too large.
    TooManyBytes,
}

impl Refusal {
    pub(crate) fn reason(self) -> String {
        match self {
            Self::Malformed => "the pattern is malformed".to_owned(),
            Self::Unsupported => {
                "the pattern has something that is not supported: write `[^]` as `[\\s\\S]`, a literal `{` as `\\{`"
                    .to_owned()
            }
            Self::TooLarge => format!(
                "the pattern takes more than {} KiB; shorten it, above all its repetitions",
                PATTERN_SIZE >> 10
            ),
            Self::TooManyBytes => format!(
                "the patterns take more than {} MiB in total; shorten them, above all their repetitions",
                ALL_PATTERNS >> 20
            ),
        }
    }
}

/// A pattern that was given up: it took more steps on a text than allowed. The record then has no verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Undecided {
    pub(crate) pattern: Box<str>,
    reason: Reason,
    /// The place of the text, or of the member that it names, in bytes from the start of the document.
    pub(crate) offset: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// The text took more than so many steps.
    Steps(usize),
    /// The texts of the record together took too many.
    Record(usize),
    /// The engine failed.
    Engine,
}

impl Undecided {
    #[cold]
    fn new(pattern: &str, reason: Reason) -> Box<Self> {
        Box::new(Self { pattern: pattern.into(), reason, offset: None })
    }

    pub(crate) fn message(&self) -> String {
        let pattern = shorten(Schema::from(&*self.pattern).to_string());
        match self.reason {
            Reason::Steps(steps) => {
                format!("the pattern {pattern} could not be matched within {steps} steps")
            }
            Reason::Record(steps) => format!(
                "the pattern {pattern} could not be matched within {} steps for all texts of the record",
                steps.saturating_mul(RECORD_SEARCHES)
            ),
            Reason::Engine => format!("the pattern {pattern} could not be matched: its engine failed"),
        }
    }
}

impl Patterns {
    /// For these schemas, of which none is compiled yet.
    pub(crate) fn new<'s>(schemas: impl Iterator<Item = &'s Schema>, limits: PatternLimits) -> Self {
        let share = || ALL_TABLES / schemas.map(count).sum::<usize>().max(1);
        let tables = limits.tables.unwrap_or_else(|| share().clamp(SMALLEST_TABLE, PATTERN_SIZE));
        Self { limits, tables, known: Mutex::default() }
    }

    pub(crate) fn get(&self, pattern: &str) -> Result<Arc<Pattern>, Refusal> {
        let mut known = self.known();
        if let Some(found) = known.patterns.get(pattern) {
            return found.clone();
        }
        let compiled = self.compile(pattern, known.bytes).map(|(engine, bytes)| {
            known.bytes += bytes;
            Arc::new(Pattern { text: pattern.into(), engine })
        });
        known.patterns.insert(pattern.into(), compiled.clone());
        compiled
    }

    /// The first pattern that cannot be used, in the order of their texts.
    pub(crate) fn first_refused(&self) -> Option<(String, Refusal)> {
        let known = self.known();
        let refused =
            known.patterns.iter().filter_map(|(text, pattern)| Some((text, *pattern.as_ref().err()?)));
        refused.min_by_key(|(text, _)| *text).map(|(text, refusal)| (text.to_string(), refusal))
    }

    /// How much memory they take, with the tables that matching fills.
    pub(crate) fn bytes(&self) -> usize {
        self.known().bytes
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn compile(&self, pattern: &str, used: usize) -> Result<(Engine, usize), Refusal> {
        let compiled = match analyze_pattern(pattern) {
            Some(PatternAnalysis::Prefix(prefix)) => Engine::Prefix(prefix.into()),
            Some(PatternAnalysis::Exact(exact)) => Engine::Exact(exact.into()),
            Some(PatternAnalysis::Alternation(alternatives)) => Engine::Alternatives(alternatives.into()),
            Some(PatternAnalysis::NoWhitespace) => Engine::NoWhitespace,
            None => return self.compile_regex(pattern, used),
        };
        Ok((compiled, pattern.len()))
    }

    fn compile_regex(&self, pattern: &str, used: usize) -> Result<(Engine, usize), Refusal> {
        let left = self.limits.bytes.saturating_sub(used).saturating_sub(self.tables);
        let size = PATTERN_SIZE.min(left);
        let plain = Plain::of(pattern);
        let translated = to_rust_regex(&plain.text).map_err(|()| self.refusal(&plain.text))?;
        // The engine for look-around gives the parts between to the linear one, so this is about its size as well.
        let linear = self.linear(&translated, size).map_err(|refusal| match refusal {
            Refusal::Malformed => self.refusal(&plain.text),
            refusal => refusal,
        })?;
        let bytes = linear.memory_usage() + self.tables + pattern.len();
        if bytes > left + self.tables {
            return Err(Refusal::TooManyBytes);
        }
        if plain.replaced.is_empty() {
            return Ok((Engine::Linear(Box::new(linear)), bytes));
        }
        let text = plain.restore(&translated);
        let search =
            Search { text, steps: self.limits.steps, tables: self.tables, by_limit: Default::default() };
        // Compiles it for short texts.
        search.with_limit(TRIES[0]).ok_or(Refusal::Malformed)?;
        Ok((Engine::Search(Box::new(search)), bytes))
    }

    fn linear(&self, pattern: &str, size: usize) -> Result<meta::Regex, Refusal> {
        let limits = meta::Config::new()
            .nfa_size_limit(Some(size))
            .onepass_size_limit(Some(size))
            .hybrid_cache_capacity(self.tables)
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
    fn refusal(&self, pattern: &str) -> Refusal {
        let supported = supported(pattern);
        let is_read = supported != pattern
            && to_rust_regex(&supported).is_ok_and(|translated| {
                !matches!(self.linear(&translated, PATTERN_SIZE), Err(Refusal::Malformed))
            });
        if is_read { Refusal::Unsupported } else { Refusal::Malformed }
    }
}

/// How many patterns there may be in a schema.
fn count(schema: &Schema) -> usize {
    let mut count = 0;
    let mut open = vec![schema];
    while let Some(value) = open.pop() {
        match value {
            Schema::Object(members) => {
                count += usize::from(members.get("pattern").is_some_and(Schema::is_string));
                count += members.get("patternProperties").and_then(Schema::as_object).map_or(0, Map::len);
                open.extend(members.values());
            }
            Schema::Array(elements) => open.extend(elements),
            _ => {}
        }
    }
    count
}

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct Pattern {
    text: Box<str>,
    engine: Engine,
}

#[derive(Debug)]
enum Engine {
    Prefix(Box<str>),
    Exact(Box<str>),
    Alternatives(Box<[String]>),
    NoWhitespace,
    /// Matched in linear time.
    Linear(Box<meta::Regex>),
    /// With look-around or a back-reference.
    Search(Box<Search>),
}

impl Pattern {
    #[inline]
    pub(crate) fn matches(&self, text: &str) -> Result<bool, Box<Undecided>> {
        match &self.engine {
            Engine::Prefix(prefix) => Ok(text.starts_with(&**prefix)),
            Engine::Exact(exact) => Ok(*text == **exact),
            Engine::Alternatives(alternatives) => {
                Ok(alternatives.iter().any(|alternative| alternative == text))
            }
            Engine::NoWhitespace => Ok(!contains_ecma_whitespace(text)),
            // The engine panics on some patterns (rust-lang/regex#1344).
            Engine::Linear(regex) => catch_unwind(AssertUnwindSafe(|| regex.is_match(text)))
                .map_err(|_| Undecided::new(&self.text, Reason::Engine)),
            Engine::Search(search) => {
                search.matches(text).map_err(|reason| Undecided::new(&self.text, reason))
            }
        }
    }
}

/// A pattern that is searched for by trying.
#[derive(Debug)]
struct Search {
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

/// Whether a text begins with `{2}`, `{2,}` or `{2,3}`.
fn is_repetition(text: &str) -> bool {
    let inside = text.strip_prefix('{').and_then(|text| text.split_once('}'));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    inside.is_some_and(|(inside, _)| match inside.split_once(',') {
        Some((least, most)) => is_number(least) && (most.is_empty() || is_number(most)),
        None => is_number(inside),
    })
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
