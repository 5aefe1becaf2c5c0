//! Plans give the verdicts of jsonschema.
//!
//! `TOKENLINE_CASES=1000000` tries so many values.

use jsonschema::PatternOptions;
use tokenline_core::json::Parser;
use tokenline_schema::{SchemaOptions, SchemaValidator};

use crate::support::guided::Schemas;
use crate::support::near_miss::near_miss;
use crate::support::random::{DRAFTS, Random};

/// How many values are tried with each schema.
const PER_SCHEMA: usize = 24;

#[test]
fn equal_jsonschema_for_values_made_from_schemas() {
    let cases: usize =
        std::env::var("TOKENLINE_CASES").map_or(24_000, |cases| cases.parse().expect("a number of cases"));
    let mut random = Random(26);
    let mut parser = Parser::new();
    let (mut valid, mut repeated, mut compiled) = (0, 0, 0);
    let schemas = cases.div_ceil(PER_SCHEMA);
    for round in 0..schemas {
        let schema = Schemas { random: &mut random, draft: round % DRAFTS.len() }.schema();
        let reference = jsonschema::options()
            .offline()
            .with_pattern_options(PatternOptions::regex())
            .should_validate_formats(true)
            .build(&schema);
        let Ok(reference) = reference else {
            SchemaValidator::new(&schema).expect_err("both refuse the schema");
            continue;
        };
        let Ok(strict) = SchemaValidator::new(&schema) else { continue };
        let lenient = SchemaOptions::new().allow_duplicate_keys(true).build(&schema).unwrap();
        compiled += usize::from(strict.plan().is_compiled());
        for at in 0..PER_SCHEMA {
            let text = near_miss(&mut random, &schema, &schema, 6, at % 4 == 0);
            let expected = reference.is_valid(&serde_json::from_str(&text).unwrap());
            let value = parser.parse(&text).unwrap();
            let is_repeated = value.repeated_name().is_some();
            assert_eq!(lenient.is_valid(value), expected, "{text} against {schema} ({})", strict.plan());
            assert_eq!(strict.is_valid(value), expected && !is_repeated, "{text} against {schema}");
            valid += usize::from(expected);
            repeated += usize::from(is_repeated);
        }
    }
    println!(
        "{cases} values, {valid} valid, {repeated} with repeated names, {compiled} of {schemas} schemas compiled"
    );
    assert!(valid * 5 > cases && valid * 5 < cases * 4, "{valid} of {cases} are valid");
    assert!(repeated * 30 > cases, "{repeated} of {cases} have repeated names");
    assert!(compiled * 10 > schemas * 7, "{compiled} of {schemas} are compiled");
}
