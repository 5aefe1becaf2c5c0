//! Random schemas and instances from one small stock of names and constants, so that they match often.

use serde_json::{Map, Value, json};

/// SplitMix64: the same numbers for the same seed, on every platform.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub(crate) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

pub(crate) const DRAFTS: [&str; 5] = [
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
];

const NAMES: [&str; 7] = ["a", "b", "type", "é/~", "x-1", "", "\n\"q"];
const STRINGS: [&str; 8] = ["", "a", "ab", "éé", "\u{1F600}\u{1F600}", "\t\"\\/", "2024-02-29", "a\u{0}b"];
/// Spellings of numbers that serde_json keeps exactly; those of equal value are adjacent.
pub(super) const NUMBERS: [&str; 26] = [
    "0",
    "-0",
    "0.0",
    "1",
    "1.0",
    "10e-1",
    "1E0",
    "2",
    "-1",
    "-1.0",
    "1.5",
    "15e-1",
    "0.1",
    "1e2",
    "100",
    "9007199254740993",
    "9007199254740992.0",
    "18446744073709551615",
    "2e19",
    "1e19",
    "-9223372036854775808",
    "-1e19",
    "123e18",
    "1e22",
    "1e-300",
    "4.35",
];
const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];

/// Whether a text has a number that jsonschema takes for an integer of draft 4, or for none, because serde_json does not
/// keep how it is written.
pub(crate) fn is_unclear_in_draft_4(text: &str) -> bool {
    let is_part = |char: char| char.is_ascii_alphanumeric() || "+-.".contains(char);
    text.split(|char| !is_part(char)).any(|token| {
        let is_written_as_integer = token.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        let is_large = token.parse::<f64>().is_ok_and(|number| number.abs() >= 2_f64.powi(63));
        token == "-0" || is_large && !is_written_as_integer
    })
}

/// A schema of the draft at `draft` in [`DRAFTS`].
pub(crate) fn schema(random: &mut Random, draft: usize) -> Value {
    let mut schema = match subschema(random, draft, 3) {
        Value::Object(schema) => schema,
        other => return other,
    };
    schema.insert("$schema".to_owned(), DRAFTS[draft].into());
    let definitions = if draft < 3 { "definitions" } else { "$defs" };
    let target = |random: &mut Random| subschema(random, draft, 2);
    schema.insert(definitions.to_owned(), json!({ "d": target(random), "e": target(random) }));
    Value::Object(schema)
}

fn subschema(random: &mut Random, draft: usize, depth: usize) -> Value {
    if draft > 0 && random.one_in(12) {
        return random.one_in(2).into();
    }
    let mut schema = Map::new();
    for _ in 0..=random.below(3) {
        let (keyword, value) = rule(random, draft, depth);
        schema.insert(keyword.to_owned(), value);
    }
    Value::Object(schema)
}

fn rule(random: &mut Random, draft: usize, depth: usize) -> (&'static str, Value) {
    let leaf = depth == 0;
    let sub = |random: &mut Random| subschema(random, draft, depth.saturating_sub(1));
    match random.below(if leaf { 16 } else { 38 }) {
        0..=2 => ("type", random.pick(&TYPES).into()),
        3 => ("type", json!([TYPES[random.below(3)], TYPES[3 + random.below(4)]])),
        4 if draft > 0 => ("const", value(random, 1)),
        4 | 5 => ("enum", json!([value(random, 1), format!("{}!", random.below(1000)), value(random, 2)])),
        6 => ("minLength", random.below(3).into()),
        7 => ("maxLength", random.below(4).into()),
        8 => {
            ("pattern", random.pick(&["^a", "^a$", "b", "^\\S*$", "^(a|ab)$", "\\p{L}{2}", "^.{2}$"]).into())
        }
        9 => ("minimum", number(random)),
        10 => ("maximum", number(random)),
        11 if draft > 0 => ("exclusiveMinimum", number(random)),
        11 => ("minimum", number(random)),
        12 => ("multipleOf", json!([1, 2, 0.5, 0.01, 3, 1e10])[random.below(6)].clone()),
        13 => ("format", random.pick(&["date", "email", "ipv4", "uri", "regex"]).into()),
        14 => ("required", json!([NAMES[random.below(3)], NAMES[3 + random.below(4)]])),
        15 => ("uniqueItems", true.into()),
        16..=21 => ("properties", named(random, sub)),
        22 => ("additionalProperties", sub(random)),
        23 => ("patternProperties", json!({ random.pick(&["^x-", "^a$", "", "[^a]"]): sub(random) })),
        24 if draft > 0 => ("propertyNames", sub(random)),
        24 => ("minProperties", random.below(3).into()),
        25 => ("maxProperties", random.below(4).into()),
        26 if draft < 4 => ("items", json!([sub(random), sub(random)])),
        26 => ("prefixItems", json!([sub(random), sub(random)])),
        27 => ("items", sub(random)),
        28 => (random.pick(&["minItems", "maxItems"]), random.below(4).into()),
        29 if draft > 0 => ("contains", sub(random)),
        29 | 30 => ("allOf", json!([sub(random), sub(random)])),
        31 | 32 => ("anyOf", json!([sub(random), sub(random)])),
        33 => ("oneOf", json!([sub(random), sub(random), sub(random)])),
        34 => ("not", sub(random)),
        35 => {
            let root = if draft < 3 { "#/definitions/" } else { "#/$defs/" };
            ("$ref", format!("{root}{}", random.pick(&["d", "e"])).into())
        }
        36 if draft >= 3 && random.one_in(2) => ("dependentSchemas", named(random, sub)),
        36 if draft >= 3 => ("dependentRequired", json!({ random.pick(&NAMES): [random.pick(&NAMES)] })),
        36 => ("dependencies", json!({ random.pick(&NAMES): [random.pick(&NAMES)], "b": sub(random) })),
        _ if draft >= 3 => (random.pick(&["unevaluatedProperties", "unevaluatedItems"]), sub(random)),
        _ => ("additionalItems", sub(random)),
    }
}

fn named(random: &mut Random, mut sub: impl FnMut(&mut Random) -> Value) -> Value {
    (0..=random.below(3))
        .map(|_| ((*random.pick(&NAMES)).to_owned(), sub(random)))
        .collect::<Map<_, _>>()
        .into()
}

pub(super) fn number(random: &mut Random) -> Value {
    serde_json::from_str(random.pick(&NUMBERS)).unwrap()
}

fn value(random: &mut Random, depth: usize) -> Value {
    serde_json::from_str(&instance(random, depth)).unwrap()
}

/// The text of a JSON value, with numbers and strings spelled in various ways.
pub(crate) fn instance(random: &mut Random, depth: usize) -> String {
    match random.below(if depth == 0 { 5 } else { 9 }) {
        0 => random.pick(&["null", "true", "false"]).to_owned(),
        1 | 2 => random.pick(&NUMBERS).to_owned(),
        3 | 4 => {
            let string = if random.one_in(2) { random.pick(&STRINGS) } else { random.pick(&NAMES) };
            spell(random, string)
        }
        5 | 6 => {
            // Some longer than the length up to which elements are compared in pairs.
            let length = if random.one_in(8) { 14 + random.below(8) } else { random.below(4) };
            let elements: Vec<_> = (0..length).map(|_| instance(random, depth - 1)).collect();
            format!("[{}]", elements.join(" , "))
        }
        _ => {
            let mut names = NAMES.to_vec();
            let mut members = Vec::new();
            for _ in 0..random.below(5) {
                let name = names.swap_remove(random.below(names.len()));
                members.push(format!("{}: {}", spell(random, name), instance(random, depth - 1)));
            }
            format!("{{{}}}", members.join(","))
        }
    }
}

/// A string in quotes, with some characters needlessly escaped.
fn spell(random: &mut Random, string: &str) -> String {
    let plain = serde_json::to_string(string).unwrap();
    if !random.one_in(3) {
        return plain;
    }
    let mut spelled = String::from("\"");
    for unit in string.encode_utf16() {
        spelled.push_str(&format!("\\u{unit:04x}"));
    }
    spelled.push('"');
    spelled
}
