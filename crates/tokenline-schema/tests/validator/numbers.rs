//! Numbers are compared and divided exactly.

use std::cmp::Ordering;
use std::time::{Duration, Instant};

use num_bigint::BigInt;
use serde_json::{Value, json};
use tokenline_core::Validate;
use tokenline_core::json::{Parser, Step};
use tokenline_schema::{SchemaOptions, SchemaValidator};

use crate::extent::cases;
use crate::support::random::{DRAFTS, Random};

/// An exact number: a fraction of integers.
#[derive(Clone, Debug)]
struct Fraction {
    numerator: BigInt,
    denominator: BigInt,
}

impl Fraction {
    fn new(literal: &str) -> Self {
        let (number, exponent) = literal.split_once(['e', 'E']).unwrap_or((literal, "0"));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let exponent = exponent.parse::<i32>().unwrap() - fraction.len() as i32;
        let power = BigInt::from(10).pow(exponent.unsigned_abs());
        let digits: BigInt = format!("{whole}{fraction}").parse().unwrap();
        if exponent < 0 {
            Self { numerator: digits, denominator: power }
        } else {
            Self { numerator: digits * power, denominator: 1.into() }
        }
    }

    fn compare(&self, other: &Self) -> Ordering {
        (&self.numerator * &other.denominator).cmp(&(&other.numerator * &self.denominator))
    }

    fn is_multiple_of(&self, other: &Self) -> bool {
        let zero = BigInt::from(0);
        (&self.numerator * &other.denominator) % (&other.numerator * &self.denominator) == zero
    }

    fn is_whole(&self) -> bool {
        self.is_multiple_of(&Self::new("1"))
    }
}

/// The literal of a number, often near to others of these.
fn literal(random: &mut Random) -> String {
    let sign = if random.one_in(3) { "-" } else { "" };
    let near = [
        "9007199254740992",
        "9223372036854775807",
        "18446744073709551615",
        "340282366920938463463374607431768211455",
        "100000000000000000000000",
        "17976931348623157",
        "125",
        "1",
        "0",
    ];
    let mut digits = random.pick(&near).to_owned();
    if random.one_in(2) {
        // The last digit is another one.
        digits.pop();
        digits.push(char::from(b'0' + random.below(10) as u8));
    }
    digits.push_str(&"0".repeat(if random.one_in(4) { random.below(5) } else { 0 }));
    if random.one_in(3) {
        let at = random.below(digits.len() + 1);
        let fraction = digits.split_off(at);
        digits = format!("{}.{fraction}{}", if at == 0 { "0" } else { &digits }, random.below(20));
    }
    let leading = digits.trim_start_matches('0');
    if !leading.is_empty() && !leading.starts_with('.') {
        digits = leading.to_owned();
    } else if leading.starts_with('.') {
        digits = format!("0{leading}");
    } else {
        digits = "0".to_owned();
    }
    let exponent = match random.below(8) {
        0 => format!("e{}", random.below(40) as i32 - 20),
        1 => format!("E+{}", random.below(400)),
        2 => format!("e-{}", random.below(400)),
        3 => format!("e{}", if random.one_in(2) { "400" } else { "-400" }),
        _ => String::new(),
    };
    format!("{sign}{digits}{exponent}")
}

/// Another spelling of a number, or a number near to it.
fn related(random: &mut Random, literal: &str) -> String {
    if literal.contains(['e', 'E']) || random.one_in(3) {
        return literal.to_owned();
    }
    match random.below(4) {
        0 if literal.contains('.') => format!("{literal}0"),
        0 => format!("{literal}.00"),
        1 => format!("{literal}e0"),
        2 if literal.contains('.') => format!("{literal}000000000000000000001"),
        2 => format!("{literal}.000000000000000000001"),
        _ => format!("{literal}e1"),
    }
}

#[test]
fn verdicts_are_those_of_exact_fractions() {
    let mut random = Random(31);
    let mut parser = Parser::new();
    let (mut valid, mut invalid) = (0, 0);
    let values: usize = cases(2_500);
    for round in 0..values {
        let own = literal(&mut random);
        let other = if random.one_in(2) { related(&mut random, &own) } else { literal(&mut random) };
        let (value, limit) = (Fraction::new(&own), Fraction::new(&other));
        let order = value.compare(&limit);
        let is_positive = limit.compare(&Fraction::new("0")).is_gt();
        let draft = round % DRAFTS.len();
        // What it is that only a fallback to jsonschema validates.
        let outside = if draft >= 3 && random.one_in(2) && cfg!(feature = "jsonschema") {
            r#","unevaluatedProperties":true"#
        } else {
            ""
        };
        let (rule, fits) = match random.below(9) {
            0 => (format!(r#""minimum":{other}"#), order.is_ge()),
            1 => (format!(r#""maximum":{other}"#), order.is_le()),
            2 if draft > 0 => (format!(r#""exclusiveMinimum":{other}"#), order.is_gt()),
            3 if draft > 0 => (format!(r#""exclusiveMaximum":{other}"#), order.is_lt()),
            2 => (format!(r#""minimum":{other},"exclusiveMinimum":true"#), order.is_gt()),
            3 => (format!(r#""maximum":{other},"exclusiveMaximum":true"#), order.is_lt()),
            4 if is_positive => (format!(r#""multipleOf":{other}"#), value.is_multiple_of(&limit)),
            5 if draft > 0 => (format!(r#""const":{other}"#), order.is_eq()),
            6 => (format!(r#""enum":["x",{other},null]"#), order.is_eq()),
            7 if draft == 0 => (r#""type":"integer""#.to_owned(), !own.contains(['.', 'e', 'E'])),
            7 => (r#""type":"integer""#.to_owned(), value.is_whole()),
            _ => (format!(r#""enum":[[{other}],{{"a":{other}}}]"#), false),
        };
        let schema = format!(r#"{{"$schema":"{}","properties":{{"n":{{{rule}}}}}{outside}}}"#, DRAFTS[draft]);
        let validator: SchemaValidator = schema.parse().unwrap_or_else(|error| panic!("{schema}: {error}"));
        assert_eq!(validator.plan().is_compiled(), outside.is_empty());
        let text = format!(r#"{{"n":{own},"m":[{{}}]}}"#);
        let verdict = validator.validate(parser.parse(&text).unwrap());
        assert_eq!(verdict.is_ok(), fits, "{text} against {schema}");
        if let Err(violation) = &verdict {
            assert_eq!(violation.instance_path, "/n", "{text} against {schema}: {violation}");
            let is_told = violation.schema_path.starts_with("/properties/n/");
            assert!(is_told, "{text} against {schema}: {violation}");
        }
        if let Some(is_invalid) = is_invalid_early(&validator, &text) {
            assert_eq!(is_invalid, !fits, "{text} against {schema} while the record is open");
        }

        let unique = format!("[{own},{other}]");
        let many = format!(
            "[{own}{},{other}]",
            ",[]".to_owned() + &(0..20).map(|at| format!(r#","{at}""#)).collect::<String>()
        );
        let validator: SchemaValidator = r#"{"uniqueItems":true}"#.parse().unwrap();
        for text in [unique, many] {
            assert_eq!(validator.is_valid(parser.parse(&text).unwrap()), order.is_ne(), "{text}");
        }
        valid += usize::from(fits);
        invalid += usize::from(!fits);
    }
    assert!(valid * 5 > values && invalid * 5 > values, "{valid} valid, {invalid} invalid");
}

/// Whether the record is known to be invalid before its last bytes; `None` if the schema has no plan.
fn is_invalid_early(validator: &SchemaValidator, text: &str) -> Option<bool> {
    let mut open = validator.open()?;
    let mut parser = Parser::new();
    let before = &text[..text.len() - 2];
    assert!(!matches!(parser.resume(before), Step::Complete { .. }));
    let snapshot = parser.snapshot(before).expect("an open record");
    let early = open.advance(snapshot);
    let _ = parser.resume(text);
    let _ = parser.finish(text);
    assert_eq!(open.finish(parser.value(text)).is_err(), early.is_err(), "{text}");
    Some(early.is_err())
}

#[test]
fn exponents_are_places_not_digits() {
    let digits = "9".repeat(400);
    let cases = [
        (r#"{"type":"number","minimum":1}"#, "1e400", true),
        (r#"{"maximum":1e308}"#, "1e400", false),
        (r#"{"exclusiveMaximum":-1e308}"#, "-1e400", true),
        (r#"{"minimum":-1e308}"#, "-1e400", false),
        (r#"{"maximum":1e400}"#, "1e400", true),
        (r#"{"maximum":1e400}"#, "1.0000000000000000000001e400", false),
        (r#"{"type":"integer"}"#, "1e400", true),
        (r#"{"type":"integer"}"#, "1e-400", false),
        (r#"{"type":"integer"}"#, "1e1000000000", true),
        (r#"{"type":"integer"}"#, "0e-1000000000", true),
        (r#"{"maximum":1e1000000000}"#, "9e999999999", true),
        (r#"{"minimum":1e1000000000}"#, "9e999999999", false),
        (r#"{"minimum":-1}"#, "-1e99999999999999999999999", false),
        (r#"{"minimum":-1}"#, "-1e-99999999999999999999999", true),
        (r#"{"exclusiveMinimum":0}"#, "1e-99999999999999999999999", true),
        (r#"{"const":1e1000000000}"#, "10e999999999", true),
        (r#"{"const":1e1000000000}"#, "10e999999998", false),
        (r#"{"enum":[1e308]}"#, "1e400", false),
        (r#"{"const":0}"#, "-0.000e5", true),
        (r#"{"uniqueItems":true}"#, "[1e400,1e401,-1e400]", true),
        (r#"{"uniqueItems":true}"#, "[1e400,2,10e399]", false),
        (r#"{"multipleOf":3}"#, digits.as_str(), true),
        (r#"{"multipleOf":2}"#, digits.as_str(), false),
        (r#"{"multipleOf":0.5}"#, "1e400", true),
        (r#"{"multipleOf":7}"#, "7e-400", false),
        (r#"{"multipleOf":7e-400}"#, "7e-399", true),
        (
            r#"{"multipleOf":340282366920938463463374607431768211457}"#,
            "680564733841876926926749214863536422914",
            true,
        ),
        (
            r#"{"multipleOf":340282366920938463463374607431768211457}"#,
            "680564733841876926926749214863536422913",
            false,
        ),
        // Too large to divide.
        (r#"{"multipleOf":0.5}"#, "1e401", false),
        (r#"{"multipleOf":0.5}"#, "0e401", true),
        (r#"{"multipleOf":1}"#, "1e1000000000", false),
    ];
    let mut parser = Parser::new();
    let start = Instant::now();
    for (schema, text, expected) in cases {
        let validator = SchemaOptions::new().build_str(schema).unwrap();
        let value = parser.parse(text).unwrap();
        assert_eq!(validator.is_valid(value), expected, "{text} against {schema}");
        assert_eq!(validator.validate(value).is_ok(), expected, "{text} against {schema}");
    }
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    let validator: SchemaValidator = r#"{"multipleOf":0.5}"#.parse().unwrap();
    let violation = validator.validate(parser.parse("1e1000000000").unwrap()).unwrap_err();
    assert_eq!(violation.message, "cannot tell whether it is a multiple of 0.5: the exponent is beyond 400");
    let validator: SchemaValidator = r#"{"maximum":12345678901234567890123}"#.parse().unwrap();
    let violation = validator.validate(parser.parse("12345678901234567890124").unwrap()).unwrap_err();
    assert_eq!(violation.message, "more than the maximum 12345678901234567890123");
}

/// A `serde_json::Value` does not keep how its numbers were written: what it prints counts.
#[test]
fn numbers_of_a_value_are_what_it_prints() {
    let mut parser = Parser::new();
    let cases: [(Value, &str, bool); 6] = [
        (json!({"const": 0.1}), "0.1", true),
        (json!({"const": 0.1}), "0.1000000000000000055511151231257827", false),
        (json!({"multipleOf": 0.01}), "4.35", true),
        (json!({"const": 1e23}), "100000000000000000000000", true),
        (json!({"maximum": u64::MAX}), "18446744073709551616", false),
        (json!({"maximum": u64::MAX}), "18446744073709551615.0", true),
    ];
    for (schema, text, expected) in cases {
        let validator = SchemaValidator::new(&schema).unwrap();
        assert_eq!(validator.is_valid(parser.parse(text).unwrap()), expected, "{text} against {schema}");
    }
}
