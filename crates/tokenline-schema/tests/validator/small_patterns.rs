//! The engine of patterns without the feature `jsonschema`: its verdicts are those of jsonschema.

use std::time::{Duration, Instant};

use jsonschema::PatternOptions;
use serde_json::json;
use tokenline_core::json::Parser;
use tokenline_schema::{SchemaErrorKind, SchemaValidator};

use crate::extent::cases;
use crate::support::random::Random;

fn oracle(pattern: &str) -> Option<jsonschema::Validator> {
    let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
    options.build(&json!({ "pattern": pattern })).ok()
}

fn matches(validator: &SchemaValidator, text: &str) -> bool {
    let text = json!(text).to_string();
    validator.is_valid(Parser::new().parse(&text).unwrap())
}

#[test]
fn usual_patterns_are_matched() {
    let cases = [
        ("", "", true),
        ("a", "bab", true),
        ("^a", "ba", false),
        ("a$", "ab", false),
        ("^a$|^b$", "b", true),
        ("^a|b$", "ab", true),
        ("^$", "\n", false),
        ("a$", "a\n", false),
        ("^.$", "\u{2028}", true),
        ("^.$", "\n", false),
        ("^.$", "\u{1F600}", true),
        (r"^\d{3}-\d{4}$", "555-1234", true),
        (r"^\d+$", "١٢", false),
        (r"^\w+$", "é", false),
        (r"^\s$", "\u{feff}", true),
        (r"^\s$", "\u{85}", false),
        (r"^\S+$", "a\u{3000}b", false),
        (r"^[\s\S]*$", "a\nb", true),
        (r"^[^\s\S]$", "a", false),
        (r"^[^\d\W]+$", "abc_", true),
        (r"^[^\d\W]+$", "abc1", false),
        (r"^[a-z0-9_.+-]+@[a-z0-9-]+\.[a-z]{2,}$", "a.b+c@example.org", true),
        (r"^[a-z0-9_.+-]+@[a-z0-9-]+\.[a-z]{2,}$", "a.b+c@example", false),
        (r"^(?:[01]\d|2[0-3]):[0-5]\d$", "23:59", true),
        (r"^(?:[01]\d|2[0-3]):[0-5]\d$", "24:00", false),
        (r"^(?<year>\d{4})-(\d\d)$", "2026-11", true),
        (r"^#(?:[0-9a-fA-F]{3}){1,2}$", "#a0b1c2", true),
        (r"^#(?:[0-9a-fA-F]{3}){1,2}$", "#a0b1", false),
        (r"^a{0}b{2}c{1,}d{0,1}$", "bbcc", true),
        (r"^(a|)+$", "aa", true),
        (r"^(a*)*$", "b", false),
        (r"^(?:){0,9}(){3,}x$", "x", true),
        (r"^\x41\u0042\u{43}\cJ$", "ABC\n", true),
        (r"^[\x41-\x43]\/\-\_\$$", "B/-_$", true),
        (r"^[-a][a-][\-a][a\]]$", "--a]", true),
        (r"^[[a]$", "[", true),
        (r"^[a&&b]+$", "&a", true),
        (r"^[a-c-e]+$", "-e", true),
        (r"^[a-c-e]+$", "d", false),
        (r"^[^a]$", "\u{10FFFF}", true),
        (r"^[\u{0}-\u{10FFFF}]$", "\u{E000}", true),
        (r"^]}$", "]}", true),
        (r"a**?", "", false),
    ];
    for (pattern, text, expected) in cases {
        let Ok(validator) = SchemaValidator::new(&json!({ "pattern": pattern })) else {
            assert_eq!(pattern, "a**?");
            continue;
        };
        assert_eq!(matches(&validator, text), expected, "{text:?} against {pattern}");
        let verdict = oracle(pattern).map(|oracle| oracle.is_valid(&json!(text)));
        assert_eq!(verdict, Some(expected), "{text:?} against {pattern}");
    }
}

#[test]
fn what_is_not_supported_is_told_from_what_is_malformed() {
    use SchemaErrorKind::{Pattern, Unsupported};
    let cases = [
        (
            Unsupported,
            "(?=a) (?!a) (?<=a) (?<!a) ((?=a)b)* \\p{L} \\P{Lu} [\\p{L}] \\pL \\b \\B \\<a (a)\\1 (?<a>x)\\k<a>",
        ),
        (
            Unsupported,
            "(?i)a (?s:.) (?-s:.) (?P<a>b) (?<é>b) \\A \\z \\x{41} \\U00000041 [\\w--z] [!--] a** ^* a{2}{3} a*+",
        ),
        (
            Pattern,
            "( ) (?= [a (?:a * + ? a|* (*) a{2,1} [z-a] [a-\\d] [\\d-z] \\ \\a \\0 \\c \\q [\\b] \\k<a> (?<a>b)(?<a>c)",
        ),
        (
            Pattern,
            "[^] [] { a{ a{,2} \\p{L}[^] (?=a){ \\uD83D \\u{110000} \\x4 a{4294967296} {2} (?#x) (?<>a) \\é",
        ),
    ];
    for (kind, patterns) in cases {
        for pattern in patterns.split(' ') {
            let error = SchemaValidator::new(&json!({ "pattern": pattern }));
            let error = error.expect_err(pattern);
            assert_eq!((error.kind(), error.path()), (kind, "/pattern"), "{pattern}: {error}");
        }
    }
    let nested = "(".repeat(1000) + &")".repeat(1000);
    assert_eq!(SchemaValidator::new(&json!({ "pattern": nested })).unwrap_err().kind(), Unsupported);
}

#[test]
fn large_patterns_are_read_once() {
    let all = |part: &dyn Fn(u32) -> String| (0..20_000).map(part).collect::<String>();
    let class = |at| format!("[a{}]", char::from_u32(0x4e00 + at % 0x1000).unwrap());
    for pattern in [
        "{".repeat(1 << 20),
        all(&class),
        all(&|at| format!("(?<n{at}>a)")),
        format!("(?:{}){{1000}}", all(&|_| "()".to_owned())),
        format!("(?:a{}){{1000}}", all(&|_| "(){5}".to_owned())),
    ] {
        let start = Instant::now();
        let _ = SchemaValidator::new(&json!({ "pattern": pattern }));
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}: {}", start.elapsed(), &pattern[..20]);
    }
}

const PIECES: [&str; 48] = [
    "a",
    "b",
    "ab",
    "é",
    "-",
    "_",
    "0",
    "9",
    " ",
    ".",
    "^",
    "$",
    "\\d",
    "\\D",
    "\\w",
    "\\W",
    "\\s",
    "\\S",
    "\\n",
    "\\.",
    "\\-",
    "\\/",
    "\\$",
    "\\x61",
    "\\u00e9",
    "\\cJ",
    "[ab]",
    "[^ab]",
    "[a-c]",
    "[^\\d]",
    "[\\w.-]",
    "[^\\s\\S]",
    "[-a]",
    "[a\\]]",
    "[^-\\W]",
    "[é-\u{3000}]",
    "(a|b)",
    "(?:a|)",
    "(?<n>b)",
    "]",
    "}",
    "#",
    "&&",
    "[a&&b]",
    "[~~]",
    "[[a]",
    "\u{1F600}",
    "\\\\",
];
const QUANTIFIERS: [&str; 12] =
    ["*", "+", "?", "*?", "+?", "??", "{2}", "{0}", "{1,}", "{0,2}", "{2,3}?", "{0,0}"];
const CHARS: [&str; 20] = [
    "a",
    "b",
    "c",
    "é",
    "-",
    "_",
    "0",
    "9",
    " ",
    "\n",
    "\u{2003}",
    ".",
    "/",
    "$",
    "]",
    "}",
    "#",
    "&",
    "\u{1F600}",
    "\\",
];

fn pattern(random: &mut Random, depth: usize) -> String {
    let mut pattern = String::new();
    for _ in 0..random.below(5) {
        let inner = depth > 0 && random.one_in(4);
        let is_assertion = if inner {
            let inner = self::pattern(random, depth - 1);
            let opening = random.pick(&["(", "(?:"]);
            pattern.push_str(&format!("{opening}{inner})"));
            false
        } else {
            let piece = random.pick(&PIECES);
            // One group of a name.
            if piece == "(?<n>b)" && depth < 2 {
                continue;
            }
            pattern.push_str(piece);
            ["^", "$"].contains(&piece)
        };
        if !is_assertion && random.one_in(3) {
            pattern.push_str(random.pick(&QUANTIFIERS));
        }
        if random.one_in(8) {
            pattern.push('|');
        }
    }
    pattern
}

#[test]
fn random_patterns_have_the_verdicts_of_jsonschema() {
    let mut random = Random(41);
    let (mut valid, mut invalid, mut refused) = (0, 0, 0);
    let patterns: usize = cases(1_500);
    for _ in 0..patterns {
        let pattern = pattern(&mut random, 2);
        let (oracle, validator) = (oracle(&pattern), SchemaValidator::new(&json!({ "pattern": pattern })));
        let (oracle, validator) = match (oracle, validator) {
            (Some(oracle), Ok(validator)) => (oracle, validator),
            (None, Err(error)) => {
                assert_eq!(error.kind(), SchemaErrorKind::Pattern, "{pattern}: {error}");
                refused += 1;
                continue;
            }
            (oracle, validator) => panic!("{pattern}: {} {validator:?}", oracle.is_some()),
        };
        for _ in 0..20 {
            let text: String = (0..random.below(7)).map(|_| random.pick(&CHARS)).collect();
            let expected = oracle.is_valid(&json!(text));
            assert_eq!(matches(&validator, &text), expected, "{text:?} against {pattern}");
            valid += usize::from(expected);
            invalid += usize::from(!expected);
        }
    }
    println!("{valid} valid, {invalid} invalid, {refused} refused");
    assert!(
        valid > patterns * 4 && invalid > patterns * 4 && refused * 5 < patterns,
        "{valid} {invalid} {refused}"
    );
}

#[test]
fn matching_takes_linear_time_and_limited_memory() {
    let text = "a".repeat(1 << 16) + "b";
    let start = Instant::now();
    for pattern in ["^(a*)*$", "^(a|a)*$", "^(a|aa)+$", "(a+)+c", "(.*)(.*)(.*)(.*)c", "^[^c]*c"] {
        let validator = SchemaValidator::new(&json!({ "pattern": pattern })).unwrap();
        assert!(!matches(&validator, &text), "{pattern}");
    }
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());

    let start = Instant::now();
    for pattern in
        ["((a{99}){99}){99}", "a{1000000000}", "(a{0,1000}){0,1000}", "((){4294967295}){4294967295}"]
    {
        let validator = SchemaValidator::new(&json!({ "pattern": pattern }));
        let reason = "/pattern: the pattern takes more than 1024 KiB; shorten it, above all its repetitions";
        match validator {
            Ok(validator) => assert!(pattern.starts_with("((){") && matches(&validator, "")),
            Err(error) => assert_eq!(error.to_string(), reason),
        }
    }
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
}
