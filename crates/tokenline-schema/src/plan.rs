//! Compiled schemas. A plan decides whether a value is valid, without allocating, for schemas that use only common
//! keywords. Other schemas are left to the [`fallback`](crate::fallback) as a whole.
//!
//! A plan is flat: each subschema is a node, and the rules for each kind of value have a table of their own. Only the
//! nesting of the value causes recursion, and subschemas that validate the same value, which never lead back to
//! themselves. [`compile`] turns a schema into nodes, and [`run`] validates. The rules for each kind have a file each.

mod array;
mod compile;
mod constant;
mod format;
mod keywords;
mod names;
mod number;
mod object;
mod omit;
mod open;
mod parts;
mod run;
mod same_value;
mod string;
mod summary;
mod union;

use tokenline_core::json::KindSet;

use crate::fallback::Delegate;
use array::ArrayRules;
pub(crate) use compile::{Outside, compile};
pub(crate) use constant::Constants;
#[cfg(feature = "jsonschema")]
pub(crate) use number::Bound;
pub(crate) use number::NumberRules;
use object::ObjectRules;
pub(crate) use open::{OpenRun, Outcome};
pub(crate) use parts::{Parts, compile_parts};
use string::StringRules;
pub use summary::ValidationPlan;
use union::Union;

/// A compiled schema.
pub(crate) struct Plan {
    /// The first two are [`ANY`] and [`NOTHING`].
    nodes: Vec<Node>,
    root: u32,
    /// How many nodes there are without those that only unions use.
    subschemas: usize,
    rules: Vec<Rule>,
    numbers: Vec<NumberRules>,
    strings: Vec<StringRules>,
    arrays: Vec<ArrayRules>,
    objects: Vec<ObjectRules>,
    constants: Vec<Constants>,
    unions: Vec<Union>,
    /// Validators for rules that a plan does not implement, such as most formats.
    delegates: Vec<Delegate>,
    /// Whether `1.0` is not an integer, as in draft 4.
    integers_as_written: bool,
}

/// The node that fits every value.
const ANY: u32 = 0;
/// The node that fits no value.
const NOTHING: u32 = 1;
/// No position.
const NONE: u32 = u32::MAX;

/// A subschema.
#[derive(Clone, Copy)]
struct Node {
    kinds: KindSet,
    /// The kinds of values that fit whatever they are.
    plain: KindSet,
    /// Whether numbers must be integers.
    integers_only: bool,
    /// Whether several subschemas refer to it, so that it may be reached more than once for one value.
    is_shared: bool,
    applies: Applies,
    /// The positions of the rules for each kind of value, or [`NONE`].
    number: u32,
    string: u32,
    array: u32,
    object: u32,
    /// `const` and `enum`: the first and the end of them.
    constants: (u32, u32),
    /// The rules for any value: the first and the end of them.
    rules: (u32, u32),
}

/// The rules for values of the kinds of a node. Most nodes have little, and the rest need not be looked at.
#[derive(Clone, Copy)]
enum Applies {
    /// Only the rules for the value's kind.
    OfKind,
    /// Only a union.
    Union(u32),
    /// Anything.
    All,
}

impl Node {
    const fn of_kinds(kinds: KindSet) -> Self {
        Self {
            kinds,
            plain: kinds,
            integers_only: false,
            is_shared: false,
            applies: Applies::All,
            number: NONE,
            string: NONE,
            array: NONE,
            object: NONE,
            constants: (0, 0),
            rules: (0, 0),
        }
    }

    #[inline(always)]
    fn has_constants(&self) -> bool {
        self.constants.0 != self.constants.1
    }

    #[inline(always)]
    fn has_rules(&self) -> bool {
        self.rules.0 != self.rules.1
    }
}

/// A rule for values of any kind.
#[derive(Clone, Copy)]
enum Rule {
    /// `$ref`, or one of `allOf`.
    All(u32),
    /// `anyOf` or `oneOf`.
    Union(u32),
    Not(u32),
    If {
        condition: u32,
        then: u32,
        otherwise: u32,
    },
}

impl Plan {
    /// How many subschemas it has; several that only refer to the same one count once.
    pub(crate) fn len(&self) -> usize {
        self.subschemas
    }

    #[inline(always)]
    fn constants_of(&self, node: &Node) -> &[Constants] {
        &self.constants[node.constants.0 as usize..node.constants.1 as usize]
    }

    #[inline(always)]
    fn rules_of(&self, node: &Node) -> &[Rule] {
        &self.rules[node.rules.0 as usize..node.rules.1 as usize]
    }
}
