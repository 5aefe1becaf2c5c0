//! Keywords of which this crate judges also where jsonschema validates: numbers exactly, and patterns within limits.

use std::cell::RefCell;
use std::sync::Arc;

use jsonschema::{Keyword, ValidationError};
use serde_json::{Map, Value as Schema};
use tokenline_core::json::Value;

use super::Options;
use super::tape::{Tape, TapeNode};
use crate::draft::Draft;
use crate::literals::Literals;
use crate::number::TOO_PRECISE;
use crate::patterns::{Pattern, Undecided};
use crate::place::Document;
use crate::plan::{Bound, Constants, NumberRules};

thread_local! {
    /// A pattern without a verdict in the validation that this thread does.
    static UNDECIDED: RefCell<Option<Box<Undecided>>> = const { RefCell::new(None) };
}

/// The verdict of jsonschema, unless a pattern had none.
pub(crate) fn verdict(validate: impl FnOnce() -> bool) -> Result<bool, Box<Undecided>> {
    UNDECIDED.take();
    let fits = validate();
    UNDECIDED.take().map_or(Ok(fits), Err)
}

/// Options with these keywords, for a document.
pub(crate) fn with_own(mut options: Options<'static>, document: &Document) -> Options<'static> {
    let patterns = Arc::clone(&document.patterns);
    options = options.with_keyword("pattern", move |_: &Map<_, _>, value: &Schema, _| {
        let Some(pattern) = value.as_str() else { return Ok(any()) };
        let pattern = patterns.get(pattern);
        let pattern = pattern.map_err(|refusal| ValidationError::custom(refusal.reason()))?;
        Ok(own(Rule::Pattern(pattern)))
    });
    let bounds = [
        ("minimum", Bound::Minimum, "exclusiveMinimum", Bound::ExclusiveMinimum),
        ("maximum", Bound::Maximum, "exclusiveMaximum", Bound::ExclusiveMaximum),
    ];
    for (keyword, inclusive, flag, exclusive) in bounds {
        let literals = Arc::clone(&document.literals);
        options = options.with_keyword(keyword, move |members: &Map<_, _>, value: &Schema, _| {
            // In draft 4, a flag beside the limit makes it exclusive.
            let is_exclusive = members.get(flag) == Some(&Schema::Bool(true));
            Ok(bounded(if is_exclusive { exclusive } else { inclusive }, value, &literals))
        });
        let literals = Arc::clone(&document.literals);
        options = options.with_keyword(flag, move |_: &Map<_, _>, value: &Schema, _| {
            Ok(bounded(exclusive, value, &literals))
        });
    }
    let literals = Arc::clone(&document.literals);
    options = options.with_keyword("multipleOf", move |_: &Map<_, _>, value: &Schema, _| {
        let Some(multiple) = literals.number(value) else { return Ok(any()) };
        let mut rules = NumberRules::default();
        rules.multiple_of(&multiple).ok_or_else(|| ValidationError::custom(TOO_PRECISE))?;
        Ok(own(Rule::Number(rules)))
    });
    let literals = Arc::clone(&document.literals);
    options = options.with_keyword("enum", move |_: &Map<_, _>, value: &Schema, _| {
        Ok(value
            .as_array()
            .map_or_else(any, |values| own(Rule::Constants(Box::new(Constants::new(values, &literals))))))
    });
    if document.draft > Draft::Draft4 {
        let literals = Arc::clone(&document.literals);
        options = options.with_keyword("const", move |_: &Map<_, _>, value: &Schema, _| {
            Ok(own(Rule::Constants(Box::new(Constants::new([value], &literals)))))
        });
    }
    options
}

type Boxed = Box<dyn for<'i> Keyword<'i, Tape>>;

fn own(rule: Rule) -> Boxed {
    Box::new(rule)
}

/// The rule for a bound. A flag is not a bound.
fn bounded(bound: Bound, value: &Schema, literals: &Literals) -> Boxed {
    let Some(limit) = literals.number(value) else { return any() };
    let mut rules = NumberRules::default();
    rules.bound(bound, &limit);
    own(Rule::Number(rules))
}

fn any() -> Boxed {
    own(Rule::Any)
}

enum Rule {
    /// Breaches of the draft's own rules are reported elsewhere.
    Any,
    Pattern(Arc<Pattern>),
    Number(NumberRules),
    Constants(Box<Constants>),
}

impl Rule {
    fn fits(&self, value: Value<'_>) -> bool {
        match self {
            Self::Any => true,
            Self::Pattern(pattern) => value.as_str().is_none_or(|text| matches(pattern, &text, value)),
            Self::Number(rules) => value.as_number().is_none_or(|number| rules.fits(number)),
            Self::Constants(constants) => constants.fits(value),
        }
    }
}

fn matches(pattern: &Pattern, text: &str, value: Value<'_>) -> bool {
    UNDECIDED.with_borrow_mut(|known| {
        if known.is_some() {
            return false;
        }
        pattern.matches(text).unwrap_or_else(|mut undecided| {
            undecided.offset = Some(value.range().start);
            *known = Some(undecided);
            false
        })
    })
}

impl<'i> Keyword<'i, Tape> for Rule {
    fn validate(&self, node: TapeNode<'i>) -> Result<(), ValidationError<'i>> {
        if self.fits(node.value()) { Ok(()) } else { Err(ValidationError::custom("breaks the rule")) }
    }

    fn is_valid(&self, node: TapeNode<'i>) -> bool {
        self.fits(node.value())
    }
}
