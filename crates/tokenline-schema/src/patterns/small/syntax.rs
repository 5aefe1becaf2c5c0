//! The syntax of patterns, as far as it means the same to ECMA 262 and to the engines of the feature `jsonschema`.

use std::collections::HashSet;

use super::{Refusal, is_repetition};
use crate::order::in_order;

/// The syntax tree of a pattern, without what only captures need: the names of groups, and whether a repetition is lazy.
#[derive(Debug)]
pub(super) enum Expression {
    Char(char),
    /// A character of the class at this position.
    Class(u32),
    Start,
    End,
    Sequence(Vec<Expression>),
    Alternatives(Vec<Expression>),
    Repeated {
        least: u32,
        most: Option<u32>,
        inner: Box<Expression>,
    },
}

impl Expression {
    fn empty() -> Self {
        Self::Sequence(Vec::new())
    }

    fn is_empty(&self) -> bool {
        matches!(self, Self::Sequence(sequence) if sequence.is_empty())
    }
}

/// The most groups inside one another.
const MOST_GROUPS: usize = 100;

/// Reads a pattern. Returns its classes as well.
pub(super) fn parse(pattern: &str) -> Result<(Expression, Vec<Class>), Refusal> {
    let mut parser =
        Parser { rest: pattern, depth: 0, names: HashSet::new(), classes: Vec::new(), refusal: None };
    let expression = parser.alternatives()?;
    match parser.refusal {
        _ if !parser.rest.is_empty() => Err(Refusal::Malformed),
        Some(refusal) => Err(refusal),
        None => Ok((expression, parser.classes)),
    }
}

struct Parser<'p> {
    rest: &'p str,
    depth: usize,
    names: HashSet<&'p str>,
    classes: Vec<Class>,
    /// Why the pattern cannot be used, even if the rest of it is well-formed.
    refusal: Option<Refusal>,
}

impl<'p> Parser<'p> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next();
        self.rest = chars.as_str();
        next
    }

    fn take(&mut self, expected: &str) -> bool {
        let rest = self.rest.strip_prefix(expected);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Notes why the pattern cannot be used. What is not supported with the feature either comes first.
    fn refuse(&mut self, refusal: Refusal) {
        if self.refusal != Some(Refusal::Unsupported) {
            self.refusal = Some(refusal);
        }
    }

    /// Up to the end of the pattern, or of the group.
    fn alternatives(&mut self) -> Result<Expression, Refusal> {
        let mut alternatives = vec![self.sequence()?];
        while self.take("|") {
            alternatives.push(self.sequence()?);
        }
        Ok(match <[_; 1]>::try_from(alternatives) {
            Ok([only]) => only,
            Err(several) => Expression::Alternatives(several),
        })
    }

    fn sequence(&mut self) -> Result<Expression, Refusal> {
        let mut sequence = Vec::new();
        while let Some(next) = self.peek().filter(|next| !['|', ')'].contains(next)) {
            let rest = self.rest;
            self.next();
            let expression = match next {
                '*' | '+' | '?' => return Err(Refusal::Malformed),
                '{' if is_repetition(rest) => return Err(Refusal::Malformed),
                '^' => Expression::Start,
                '$' => Expression::End,
                '.' => self.one_of(Class::of(&[('\n', '\n')]).negated()),
                '(' => self.group()?,
                '[' => {
                    let class = self.class()?;
                    self.one_of(class)
                }
                '\\' => {
                    let class = self.escape(false)?;
                    self.one_of(class)
                }
                '{' => {
                    self.refuse(Refusal::Unsupported);
                    continue;
                }
                literal => Expression::Char(literal),
            };
            let expression = self.repeated(expression, ['^', '$'].contains(&next))?;
            // To repeat `a()()()` would otherwise take time that is in no proportion to its size.
            if !expression.is_empty() {
                sequence.push(expression);
            }
        }
        Ok(match <[_; 1]>::try_from(sequence) {
            Ok([only]) => only,
            Err(others) => Expression::Sequence(others),
        })
    }

    fn one_of(&mut self, class: Class) -> Expression {
        if let Some(only) = class.single() {
            return Expression::Char(only);
        }
        self.classes.push(class);
        Expression::Class(self.classes.len() as u32 - 1)
    }

    /// An expression with the quantifier behind it.
    fn repeated(&mut self, inner: Expression, is_assertion: bool) -> Result<Expression, Refusal> {
        let Some((least, most)) = self.quantifier()? else { return Ok(inner) };
        self.take("?");
        // Such a repetition is malformed in ECMA 262, but not for the engines of the feature.
        if is_assertion || self.quantifier()?.is_some() {
            self.refuse(Refusal::Beyond);
            while self.quantifier()?.is_some() || self.take("?") {}
        }
        if inner.is_empty() || most == Some(0) {
            return Ok(Expression::empty());
        }
        Ok(Expression::Repeated { least, most, inner: Box::new(inner) })
    }

    fn quantifier(&mut self) -> Result<Option<(u32, Option<u32>)>, Refusal> {
        let simple = [("*", 0, None), ("+", 1, None), ("?", 0, Some(1))];
        if let Some((_, least, most)) = simple.into_iter().find(|(text, ..)| self.take(text)) {
            return Ok(Some((least, most)));
        }
        if !is_repetition(self.rest) {
            return Ok(None);
        }
        let (inside, rest) = self.rest[1..].split_once('}').unwrap_or_default();
        self.rest = rest;
        let number = |text: &str| text.parse().map_err(|_| Refusal::Malformed);
        let (least, most) = match inside.split_once(',') {
            None => (number(inside)?, Some(number(inside)?)),
            Some((least, "")) => (number(least)?, None),
            Some((least, most)) => (number(least)?, Some(number(most)?)),
        };
        if most.is_some_and(|most| most < least) { Err(Refusal::Malformed) } else { Ok(Some((least, most))) }
    }

    /// A group, after its parenthesis.
    fn group(&mut self) -> Result<Expression, Refusal> {
        if ["?=", "?!", "?<=", "?<!"].iter().any(|look_around| self.take(look_around)) {
            self.refuse(Refusal::Beyond);
        } else if self.take("?<") {
            self.name()?;
        } else if self.take("?") && !self.take(":") {
            self.flags()?;
        }
        self.depth += 1;
        if self.depth > MOST_GROUPS {
            return Err(Refusal::Beyond);
        }
        let inner = self.alternatives()?;
        self.depth -= 1;
        if self.take(")") { Ok(inner) } else { Err(Refusal::Malformed) }
    }

    /// The name of a group.
    fn name(&mut self) -> Result<(), Refusal> {
        let (name, rest) = self.rest.split_once('>').ok_or(Refusal::Malformed)?;
        let is_simple = |char: char| char.is_ascii_alphanumeric() || char == '_';
        if name.is_empty()
            || name.starts_with(|first: char| first.is_ascii_digit())
            || !self.names.insert(name)
        {
            return Err(Refusal::Malformed);
        }
        if !name.chars().all(is_simple) {
            self.refuse(Refusal::Beyond);
        }
        self.rest = rest;
        Ok(())
    }

    /// The flags of a group.
    fn flags(&mut self) -> Result<(), Refusal> {
        self.refuse(Refusal::Beyond);
        let length = self.rest.find([':', ')', '<']).ok_or(Refusal::Malformed)?;
        let (flags, rest) = self.rest.split_at(length);
        let are_known = flags.chars().all(|flag| "imsxuURP-".contains(flag));
        if flags.is_empty() || !are_known {
            return Err(Refusal::Malformed);
        }
        self.rest = rest.strip_prefix([':', '<']).unwrap_or(rest);
        Ok(())
    }

    /// A class, after its bracket.
    fn class(&mut self) -> Result<Class, Refusal> {
        let is_negated = self.take("^");
        let mut class = Class::default();
        // It would be a class without members, or one with a bracket.
        if self.rest.starts_with(']') {
            self.refuse(Refusal::Unsupported);
        }
        loop {
            if self.take("]") {
                class.put_in_order();
                return Ok(if is_negated { class.negated() } else { class });
            }
            // Hyphens side by side are read in several ways.
            if self.rest.starts_with("--") {
                return Err(Refusal::Beyond);
            }
            let first = self.class_member()?;
            let is_range = self.rest.starts_with('-') && !self.rest.starts_with("-]");
            if !is_range || self.rest.starts_with("--") {
                class.0.extend(first.0);
                continue;
            }
            self.next();
            let (Some(first), Some(last)) = (first.single(), self.class_member()?.single()) else {
                return Err(Refusal::Malformed);
            };
            if first > last {
                return Err(Refusal::Malformed);
            }
            class.0.push((first, last));
        }
    }

    fn class_member(&mut self) -> Result<Class, Refusal> {
        match self.next() {
            None => Err(Refusal::Malformed),
            Some('\\') => self.escape(true),
            Some(literal) => Ok(Class::of(&[(literal, literal)])),
        }
    }

    /// An escape, after its backslash.
    fn escape(&mut self, in_class: bool) -> Result<Class, Refusal> {
        let first = self.next().ok_or(Refusal::Malformed)?;
        let char = match first {
            'd' => return Ok(Class::of(DIGITS)),
            'D' => return Ok(Class::of(DIGITS).negated()),
            'w' => return Ok(Class::of(WORD)),
            'W' => return Ok(Class::of(WORD).negated()),
            's' => return Ok(Class::of(WHITE_SPACE)),
            'S' => return Ok(Class::of(WHITE_SPACE).negated()),
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'f' => '\u{c}',
            'v' => '\u{b}',
            'c' => {
                let letter = self.next().filter(char::is_ascii_alphabetic).ok_or(Refusal::Malformed)?;
                char::from(letter as u8 % 32)
            }
            'x' if !self.rest.starts_with('{') => self.code(2)?,
            'u' if self.take("{") => {
                let length = self.rest.find('}').ok_or(Refusal::Malformed)?;
                let char = self.code(length)?;
                self.take("}");
                char
            }
            'u' => self.code(4)?,
            'p' | 'P' | 'x' | 'U' => {
                self.refuse(Refusal::Beyond);
                if self.take("{") {
                    let (_, rest) = self.rest.split_once('}').ok_or(Refusal::Malformed)?;
                    self.rest = rest;
                }
                '\0'
            }
            // Boundaries, as Unicode knows them, and back-references.
            'b' | 'B' | 'A' | 'z' | '<' | '>' | '1'..='9' if !in_class => {
                self.refuse(Refusal::Beyond);
                '\0'
            }
            'k' if !in_class && self.take("<") => {
                let (name, rest) = self.rest.split_once('>').ok_or(Refusal::Malformed)?;
                self.refuse(if self.names.contains(name) { Refusal::Beyond } else { Refusal::Malformed });
                self.rest = rest;
                '\0'
            }
            sign if sign.is_ascii() && !sign.is_ascii_alphanumeric() && !"<>".contains(sign) => sign,
            _ => return Err(Refusal::Malformed),
        };
        Ok(Class::of(&[(char, char)]))
    }

    /// A character by its code in so many hexadecimal digits.
    fn code(&mut self, length: usize) -> Result<char, Refusal> {
        let (digits, rest) = self.rest.split_at_checked(length).ok_or(Refusal::Malformed)?;
        let are_digits = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let code = u32::from_str_radix(digits, 16).ok().filter(|_| are_digits);
        self.rest = rest;
        code.and_then(char::from_u32).ok_or(Refusal::Malformed)
    }
}

const DIGITS: &[(char, char)] = &[('0', '9')];
const WORD: &[(char, char)] = &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')];
/// `WhiteSpace` and `LineTerminator` of ECMA 262.
const WHITE_SPACE: &[(char, char)] = &[
    ('\t', '\r'),
    (' ', ' '),
    ('\u{a0}', '\u{a0}'),
    ('\u{1680}', '\u{1680}'),
    ('\u{2000}', '\u{200a}'),
    ('\u{2028}', '\u{2029}'),
    ('\u{202f}', '\u{202f}'),
    ('\u{205f}', '\u{205f}'),
    ('\u{3000}', '\u{3000}'),
    ('\u{feff}', '\u{feff}'),
];

/// The characters with the codes from one to another, which may be surrogates; `None` if there are none.
fn range(first: u32, last: u32) -> Option<(char, char)> {
    if first > last || last > u32::from(char::MAX) {
        return None;
    }
    let (first, last) =
        (char::from_u32(first).unwrap_or('\u{e000}'), char::from_u32(last).unwrap_or('\u{d7ff}'));
    (first <= last).then_some((first, last))
}

/// A set of characters: ranges, in order and apart from one another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Class(Vec<(char, char)>);

impl Class {
    fn of(ranges: &[(char, char)]) -> Self {
        Self(ranges.to_vec())
    }

    /// The only character.
    pub(super) fn single(&self) -> Option<char> {
        match self.0[..] {
            [(first, last)] if first == last => Some(first),
            _ => None,
        }
    }

    fn put_in_order(&mut self) {
        let ranges = in_order(&self.0, |(first, _)| *first as usize);
        let mut merged: Vec<(char, char)> = Vec::new();
        for &(first, last) in ranges {
            match merged.last_mut() {
                Some((_, end)) if first <= *end => *end = last.max(*end),
                _ => merged.push((first, last)),
            }
        }
        self.0 = merged;
    }

    fn negated(&self) -> Self {
        let mut ranges = Vec::new();
        let mut next = 0;
        for &(first, last) in &self.0 {
            ranges.extend(range(next, u32::from(first).wrapping_sub(1)));
            next = u32::from(last) + 1;
        }
        ranges.extend(range(next, u32::from(char::MAX)));
        Self(ranges)
    }

    #[inline]
    pub(super) fn contains(&self, char: char) -> bool {
        let after = self.0.partition_point(|(first, _)| *first <= char);
        after.checked_sub(1).is_some_and(|at| char <= self.0[at].1)
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.len() * size_of::<(char, char)>()
    }
}
