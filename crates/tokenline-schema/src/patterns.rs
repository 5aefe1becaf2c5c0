//! Regular expressions of ECMA 262: matched in linear time where that is possible, with a limited search otherwise. Without
//! the feature `jsonschema`, those that need a search or tables of Unicode are not supported.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value as Schema};
use tokenline_core::Limits;

use crate::text::{json_string, shorten};

#[cfg(feature = "jsonschema")]
mod full;
#[cfg(not(feature = "jsonschema"))]
mod small;

#[cfg(feature = "jsonschema")]
use full as chosen;
#[cfg(not(feature = "jsonschema"))]
use small as chosen;

use chosen::{Engine, Reason};
pub(crate) use chosen::{RecordBudget, begin_record};

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
    /// Their positions, by their texts.
    positions: HashMap<Box<str>, usize>,
    patterns: Vec<Result<Arc<Pattern>, Refusal>>,
    bytes: usize,
}

/// The limits of one pattern.
struct Space {
    /// The memory, with the tables.
    bytes: usize,
    /// The tables that matching fills.
    #[cfg_attr(not(feature = "jsonschema"), expect(dead_code, reason = "the engine has no tables"))]
    tables: usize,
    /// The most steps of a search.
    #[cfg_attr(not(feature = "jsonschema"), expect(dead_code, reason = "the engine does not search"))]
    steps: usize,
}

/// Why a pattern cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Malformed,
    /// Something in it is valid in ECMA 262, but not supported.
    Unsupported,
    /// Something in it needs the feature `jsonschema`.
    #[cfg_attr(feature = "jsonschema", expect(dead_code, reason = "nothing does"))]
    Beyond,
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
            Self::Beyond => "the pattern needs the feature `jsonschema`".to_owned(),
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

impl Undecided {
    #[cold]
    fn new(pattern: &str, reason: Reason) -> Box<Self> {
        Box::new(Self { pattern: pattern.into(), reason, offset: None })
    }

    pub(crate) fn message(&self) -> String {
        let pattern = shorten(json_string(&self.pattern));
        self.reason.message(&pattern)
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
        if let Some(at) = known.positions.get(pattern) {
            return known.patterns[*at].clone();
        }
        let Self { limits, tables, .. } = *self;
        let space = Space { bytes: limits.bytes.saturating_sub(known.bytes), tables, steps: limits.steps };
        let compiled = Engine::compile(pattern, &space).map(|(engine, bytes)| {
            known.bytes += bytes;
            Arc::new(Pattern { text: pattern.into(), engine })
        });
        let at = known.patterns.len();
        known.positions.insert(pattern.into(), at);
        known.patterns.push(compiled.clone());
        compiled
    }

    /// The first pattern that cannot be used, in the order of their texts.
    #[cfg(feature = "jsonschema")]
    pub(crate) fn first_refused(&self) -> Option<(String, Refusal)> {
        let known = self.known();
        let refused = known
            .positions
            .iter()
            .filter_map(|(text, at)| Some((text, *known.patterns[*at].as_ref().err()?)));
        refused.min_by_key(|(text, _)| *text).map(|(text, refusal)| (text.to_string(), refusal))
    }

    /// How much memory they take, with the tables that matching fills.
    pub(crate) fn bytes(&self) -> usize {
        self.known().bytes
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
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

impl Pattern {
    #[inline]
    pub(crate) fn matches(&self, text: &str) -> Result<bool, Box<Undecided>> {
        self.engine.matches(text).map_err(|reason| Undecided::new(&self.text, reason))
    }
}

/// Whether a text begins with `{2}`, `{2,}` or `{2,3}`. Reads no further than that: a pattern may have many braces.
fn is_repetition(text: &str) -> bool {
    let is_digit = |char: char| char.is_ascii_digit();
    let Some(inside) = text.strip_prefix('{') else { return false };
    let least = inside.trim_start_matches(is_digit);
    let most = least.strip_prefix(',').map_or(least, |most| most.trim_start_matches(is_digit));
    least.len() < inside.len() && most.starts_with('}')
}
