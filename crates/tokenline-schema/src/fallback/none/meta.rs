//! The rules of the drafts for schemas: a schema of schemas, which a plan validates.

use std::sync::OnceLock;

use serde_json::Value as Schema;
use tokenline_core::json::Parser;
use tokenline_core::{Limits, Validate};

use crate::draft::Draft;
use crate::error::{SchemaError, SchemaErrorKind};
use crate::literals;
use crate::place::Document;
use crate::tree::children;
use crate::validator::{SchemaOptions, SchemaValidator};

/// The types of the keywords' values: in each row a keyword, its shape, and the first and the last draft with that shape.
const KEYWORDS: &str = include_str!("keywords.txt");
/// The shapes, as definitions of a schema.
const SHAPES: &str = include_str!("shapes.json");

/// Checks that a schema keeps the rules of its draft.
///
/// # Errors
///
/// If it does not, or is nested too deeply.
pub(crate) fn check_schema(document: &Document) -> Result<(), SchemaError> {
    if Draft::of(&document.schema).is_none() {
        // The dialect is what is wrong.
        return Ok(());
    }
    let too_deep = || {
        let reason = format!("the schema is nested deeper than {} containers", Limits::MAX_DEPTH);
        SchemaError::new(SchemaErrorKind::Invalid, "", reason)
    };
    if is_deeper(&document.schema, Limits::MAX_DEPTH) {
        return Err(too_deep());
    }
    let json = document.literals.json(&document.schema);
    let mut parser = Parser::new().with_limits(&Limits { depth: Limits::MAX_DEPTH, ..Limits::DEFAULT });
    let schema = parser.parse(&json).map_err(|_| too_deep())?;
    rules(document.draft).validate(schema).map_err(|violation| {
        SchemaError::new(SchemaErrorKind::Invalid, violation.instance_path, violation.message)
    })
}

/// Whether so many containers are inside one another.
fn is_deeper(schema: &Schema, most: usize) -> bool {
    let mut level = vec![schema];
    for _ in 0..=most {
        level = level.into_iter().flat_map(children).collect();
    }
    !level.is_empty()
}

/// The validator of a draft's schemas.
fn rules(draft: Draft) -> &'static SchemaValidator {
    static RULES: [OnceLock<SchemaValidator>; 5] = [const { OnceLock::new() }; 5];
    RULES[draft as usize].get_or_init(|| {
        let options = SchemaOptions::new().allow_duplicate_keys(true);
        match options.build_unchecked(schema_of_schemas(draft)) {
            Ok(validator) => validator.show_names(true),
            Err(error) => unreachable!("the schema of schemas has a plan: {error}"),
        }
    })
}

fn schema_of_schemas(draft: Draft) -> Schema {
    let (own, other) = match draft {
        Draft::Draft4 => (
            4,
            r##""$schema":"http://json-schema.org/draft-04/schema#","type":"object","dependencies":{"exclusiveMaximum":["maximum"],"exclusiveMinimum":["minimum"]}"##,
        ),
        Draft::Draft6 => (6, ANY_TYPE),
        Draft::Draft7 => (7, ANY_TYPE),
        Draft::Draft201909 => (2019, ANY_TYPE),
        Draft::Draft202012 => (2020, ANY_TYPE),
    };
    let mut json = format!("{{\"definitions\":{SHAPES},{other},\"properties\":{{\"default\":{{}}");
    for row in KEYWORDS.lines() {
        let mut columns = row.split(' ');
        let (Some(keyword), Some(shape)) = (columns.next(), columns.next()) else { continue };
        let mut bound = || columns.next().and_then(|draft| draft.parse::<u32>().ok());
        if let (Some(first), Some(last)) = (bound(), bound())
            && (first..=last).contains(&own)
        {
            json.push_str(&format!(",\"{keyword}\":{{\"$ref\":\"#/definitions/{shape}\"}}"));
        }
    }
    json.push_str("}}");
    match Parser::new().parse(&json) {
        Ok(schema) => literals::read(schema).0,
        Err(error) => unreachable!("the keywords are JSON: {error}"),
    }
}

const ANY_TYPE: &str = r#""type":["object","boolean"]"#;
