//! Numbers by their exact decimal value.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use tokenline_core::json::Number;

/// The largest exponent, as written, up to which `multipleOf` divides. Comparisons know no such limit: they read an
/// exponent as a place, not as zeros.
pub(crate) const MOST_EXPONENT: i64 = 400;
/// The most digits of a `multipleOf`, which a division compares for each digit of the number.
const MOST_DIGITS: usize = 400;
/// Why a `multipleOf` cannot be used.
pub(crate) const TOO_PRECISE: &str = "the number has more than 400 digits, or an exponent beyond 400";
/// Exponents are counted up to here. Nobody writes so many digits that the sum of both could overflow.
const FURTHEST: i64 = i64::MAX / 4;

/// The value of a number as JSON writes it: ±0.`digits` × 10^`point`. Equal numbers have equal digits and points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decimal<'a> {
    is_negative: bool,
    /// The digits before the decimal point as written, and those after it, without zeros at either end of both.
    digits: (&'a [u8], &'a [u8]),
    point: i64,
    /// The exponent as written.
    exponent: i64,
}

impl<'a> Decimal<'a> {
    /// The value of a literal of JSON.
    pub(crate) fn new(literal: &'a str) -> Self {
        let (is_negative, text) = match literal.strip_prefix('-') {
            Some(text) => (true, text),
            None => (false, literal),
        };
        let (number, exponent) = match text.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, to_exponent(exponent)),
            None => (text, 0),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let (mut whole, mut fraction) = (without_leading_zeros(whole.as_bytes()), fraction.as_bytes());
        let mut point = whole.len() as i64;
        if whole.is_empty() {
            let significant = without_leading_zeros(fraction);
            point = -((fraction.len() - significant.len()) as i64);
            fraction = significant;
        }
        fraction = without_trailing_zeros(fraction);
        if fraction.is_empty() {
            whole = without_trailing_zeros(whole);
        }
        if whole.is_empty() && fraction.is_empty() {
            return Self { is_negative: false, digits: (whole, fraction), point: 0, exponent: 0 };
        }
        Self { is_negative, digits: (whole, fraction), point: point.saturating_add(exponent), exponent }
    }

    fn is_zero(&self) -> bool {
        self.len() == 0
    }

    fn len(&self) -> usize {
        self.digits.0.len() + self.digits.1.len()
    }

    fn digits(&self) -> impl Iterator<Item = u8> + use<'a> {
        self.digits.0.iter().chain(self.digits.1).copied()
    }

    /// The number of something; the largest one for all beyond it. `None` if it is negative or not whole.
    pub(crate) fn to_size(self) -> Option<u64> {
        let is_size = !self.is_negative && self.is_whole();
        is_size.then(|| whole(&self).unwrap_or(u64::MAX))
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.len() as i64 <= self.point
    }

    fn cmp_magnitude(&self, other: &Self) -> Ordering {
        match (self.is_zero(), other.is_zero()) {
            (false, false) => self.point.cmp(&other.point).then_with(|| self.digits().cmp(other.digits())),
            (own, others) => others.cmp(&own),
        }
    }
}

impl PartialEq for Decimal<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Decimal<'_> {}

impl PartialOrd for Decimal<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.is_negative, other.is_negative) {
            (false, false) => self.cmp_magnitude(other),
            (true, true) => other.cmp_magnitude(self),
            (own, others) => others.cmp(&own),
        }
    }
}

impl Hash for Decimal<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.is_negative, self.point, self.len()).hash(state);
        self.digits().for_each(|digit| state.write_u8(digit));
    }
}

fn to_exponent(text: &str) -> i64 {
    let (is_negative, digits) = match text.as_bytes() {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    let add =
        |sum: i64, digit: &u8| sum.saturating_mul(10).saturating_add(i64::from(digit - b'0')).min(FURTHEST);
    let exponent = digits.iter().fold(0, add);
    if is_negative { -exponent } else { exponent }
}

fn without_leading_zeros(digits: &[u8]) -> &[u8] {
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    &digits[zeros..]
}

fn without_trailing_zeros(digits: &[u8]) -> &[u8] {
    let zeros = digits.iter().rev().take_while(|digit| **digit == b'0').count();
    &digits[..digits.len() - zeros]
}

/// A number as the types of the machine hold it, which compare faster than digits.
#[cfg(feature = "jsonschema")]
#[derive(Clone, Copy)]
struct Rough {
    whole: Option<i128>,
    /// Rounded, or an infinity.
    rounded: f64,
}

#[cfg(feature = "jsonschema")]
impl Rough {
    #[inline]
    fn of_number(number: Number<'_>) -> Self {
        if let Some(whole) = number.as_u64() {
            Self { whole: Some(whole.into()), rounded: whole as f64 }
        } else if let Some(whole) = number.as_i64() {
            Self { whole: Some(whole.into()), rounded: whole as f64 }
        } else {
            Self { whole: None, rounded: round(number.as_str()) }
        }
    }

    fn of_limit(literal: &str) -> Self {
        Self { whole: literal.parse().ok(), rounded: round(literal) }
    }

    /// `None` if that does not tell.
    #[inline]
    fn compare(&self, limit: &Self) -> Option<Ordering> {
        if let (Some(number), Some(limit)) = (self.whole, limit.whole) {
            return Some(number.cmp(&limit));
        }
        // Rounding never swaps two numbers, it can only make them equal.
        self.rounded.partial_cmp(&limit.rounded).filter(|order| order.is_ne())
    }

    #[inline]
    fn whole(&self) -> Option<i128> {
        self.whole
    }
}

/// The nearest `f64`, or an infinity.
#[cfg(feature = "jsonschema")]
pub(crate) fn round(literal: &str) -> f64 {
    match literal.parse() {
        Ok(rounded) => rounded,
        Err(error) => unreachable!("a number of JSON is one of Rust: {error}"),
    }
}

/// Nothing: digits are compared. To read numbers, WebAssembly would need tables of 10 KB.
#[cfg(not(feature = "jsonschema"))]
#[derive(Clone, Copy)]
struct Rough;

#[cfg(not(feature = "jsonschema"))]
impl Rough {
    fn of_number(_: Number<'_>) -> Self {
        Self
    }

    fn of_limit(_: &str) -> Self {
        Self
    }

    fn compare(&self, _: &Self) -> Option<Ordering> {
        None
    }

    fn whole(&self) -> Option<i128> {
        None
    }
}

/// A number of a record, converted once for all rules.
#[derive(Clone, Copy)]
pub(crate) struct Prepared<'a> {
    literal: &'a str,
    rough: Rough,
}

impl<'a> Prepared<'a> {
    #[inline]
    pub(crate) fn new(number: Number<'a>) -> Self {
        Self { literal: number.as_str(), rough: Rough::of_number(number) }
    }
}

/// A number of the schema to compare with.
pub(crate) struct Limit {
    literal: Box<str>,
    rough: Rough,
}

impl Limit {
    pub(crate) fn new(literal: &str) -> Self {
        Self { literal: literal.into(), rough: Rough::of_limit(literal) }
    }

    /// How a number compares with the limit.
    #[inline]
    pub(crate) fn compare(&self, number: &Prepared<'_>) -> Ordering {
        number.rough.compare(&self.rough).unwrap_or_else(|| self.compare_exactly(number))
    }

    #[cold]
    fn compare_exactly(&self, number: &Prepared<'_>) -> Ordering {
        Decimal::new(number.literal).cmp(&Decimal::new(&self.literal))
    }
}

/// A `multipleOf`: its digits as an integer, and the power of ten of the last.
pub(crate) struct Multiple {
    /// The number, if it is whole and fits.
    whole: Option<u64>,
    divisor: Divisor,
    place: i64,
}

enum Divisor {
    Small(u64),
    /// Digits in base 10^9, the least significant first, with a zero at the end.
    Large(Box<[u64]>),
}

/// The most digits of [`Divisor::Small`]: ten times as much is still a `u64`.
const SMALL_DIGITS: usize = 18;
/// The base of [`Divisor::Large`], and how many decimal digits that are.
const BASE: u64 = 1_000_000_000;
const BASE_DIGITS: usize = 9;

impl Multiple {
    /// `None` if the literal is zero, or has more than [`MOST_DIGITS`] or an exponent beyond [`MOST_EXPONENT`].
    pub(crate) fn new(literal: &str) -> Option<Self> {
        let decimal = Decimal::new(literal);
        if decimal.is_zero() || decimal.len() > MOST_DIGITS || is_far(&decimal) {
            return None;
        }
        let digits: Vec<u8> = decimal.digits().collect();
        let number =
            |digits: &[u8]| digits.iter().fold(0_u64, |sum, digit| sum * 10 + u64::from(digit - b'0'));
        let divisor = match digits.len() {
            ..=SMALL_DIGITS => Divisor::Small(number(&digits)),
            _ => Divisor::Large(digits.rchunks(BASE_DIGITS).map(number).chain([0]).collect()),
        };
        Some(Self { whole: whole(&decimal), divisor, place: place(&decimal) })
    }

    /// Whether it divides a number; `None` if the number's exponent is too large to tell.
    #[inline]
    pub(crate) fn divides(&self, number: &Prepared<'_>) -> Option<bool> {
        if let (Some(multiple), Some(number)) = (self.whole, number.rough.whole()) {
            return Some((number.unsigned_abs() as u64).is_multiple_of(multiple));
        }
        self.divides_decimal(&Decimal::new(number.literal))
    }

    fn divides_decimal(&self, number: &Decimal<'_>) -> Option<bool> {
        if number.is_zero() {
            return Some(true);
        }
        if is_far(number) {
            return None;
        }
        // The last digit of the number is not zero, so no power of ten divides it.
        let Ok(zeros) = usize::try_from(place(number) - self.place) else { return Some(false) };
        let digits = number.digits().map(|digit| digit - b'0').chain(std::iter::repeat_n(0, zeros));
        Some(match &self.divisor {
            Divisor::Small(divisor) => {
                digits.fold(0, |rest, digit| (rest * 10 + u64::from(digit)) % divisor) == 0
            }
            Divisor::Large(divisor) => leaves_nothing(digits, divisor),
        })
    }
}

/// Whether a number has an exponent with which `multipleOf` cannot divide.
pub(crate) fn has_far_exponent(number: Number<'_>) -> bool {
    is_far(&Decimal::new(number.as_str()))
}

fn is_far(decimal: &Decimal<'_>) -> bool {
    decimal.exponent.abs() > MOST_EXPONENT
}

/// The power of ten of the last digit.
fn place(decimal: &Decimal<'_>) -> i64 {
    decimal.point - decimal.len() as i64
}

fn whole(decimal: &Decimal<'_>) -> Option<u64> {
    let zeros = usize::try_from(place(decimal)).ok()?;
    let digits = decimal.digits().map(|digit| digit - b'0').chain(std::iter::repeat_n(0, zeros));
    digits.into_iter().try_fold(0_u64, |sum, digit| sum.checked_mul(10)?.checked_add(digit.into()))
}

/// Whether the division of a number with these digits leaves no remainder.
fn leaves_nothing(digits: impl Iterator<Item = u8>, divisor: &[u64]) -> bool {
    // The divisor ends with zero, which leaves room for ten times the remainder.
    let mut rest = vec![0_u64; divisor.len()];
    for digit in digits {
        let mut carry = u64::from(digit);
        for part in &mut rest {
            let product = *part * 10 + carry;
            *part = product % BASE;
            carry = product / BASE;
        }
        while rest.iter().rev().cmp(divisor.iter().rev()).is_ge() {
            let mut borrow = false;
            for (part, less) in rest.iter_mut().zip(divisor) {
                let less = less + u64::from(borrow);
                borrow = *part < less;
                *part = if borrow { *part + BASE - less } else { *part - less };
            }
        }
    }
    rest.iter().all(|part| *part == 0)
}
