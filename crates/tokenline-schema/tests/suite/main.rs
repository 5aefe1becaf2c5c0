//! The JSON Schema Test Suite: verdicts are those of jsonschema and the expected ones, and a plan that covers a schema
//! gives them.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Read;

use jsonschema::{PatternOptions, Retrieve, Uri};
use serde_json::Value;
use tokenline_core::json::{Parser, Value as Written};
use tokenline_schema::{SchemaError, SchemaErrorKind, SchemaOptions, SchemaValidator, ValidationPlan};

const DRAFTS: [(&str, &str); 5] = [
    ("draft4", "http://json-schema.org/draft-04/schema#"),
    ("draft6", "http://json-schema.org/draft-06/schema#"),
    ("draft7", "http://json-schema.org/draft-07/schema#"),
    ("draft2019-09", "https://json-schema.org/draft/2019-09/schema"),
    ("draft2020-12", "https://json-schema.org/draft/2020-12/schema"),
];

/// Formats that jsonschema ignores without its feature `idna`.
const WITHOUT_IDNA: [&str; 2] = ["optional/format/idn-email", "optional/format/idn-hostname"];

/// The outcomes of the cases of a draft.
#[derive(Default, Debug)]
struct Counts {
    cases: usize,
    schemas: usize,
    compiled: usize,
    /// How many schemas are left to jsonschema, by the keyword that a plan does not cover. Without the feature, they are
    /// refused.
    outside: BTreeMap<String, usize>,
    /// Cases with another verdict than expected, by jsonschema too.
    unexpected: Vec<String>,
}

#[test]
fn verdicts_are_those_of_the_suite_and_of_jsonschema() {
    let mut text = String::new();
    let data = include_bytes!("suite.jsonl.xz");
    lzma_rust2::XzReader::new(&data[..], false).read_to_string(&mut text).expect("the data is whole");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();

    let resources =
        lines.iter().filter_map(|line| Some((line["uri"].as_str()?.to_owned(), line["schema"].clone())));
    let resources = Resources(resources.collect());
    let mut counts: BTreeMap<&str, Counts> = BTreeMap::new();
    // As written: serde_json rounds large numbers.
    let mut written = Parser::new();
    for (line, text) in lines.iter().zip(text.lines()) {
        let Some(draft) = line["draft"].as_str() else { continue };
        let file = line["file"].as_str().unwrap();
        let written = written.parse(text).unwrap().get("groups").and_then(Written::as_array).unwrap();
        for (group, written) in line["groups"].as_array().unwrap().iter().zip(written) {
            let counts = counts.entry(draft).or_default();
            check(draft, file, group, written, &resources, counts);
        }
    }
    for (draft, counts) in &counts {
        println!("{draft}: {counts:#?}");
        assert_eq!(counts.unexpected, [""; 0], "{draft}");
    }
    let total = |count: fn(&Counts) -> usize| counts.values().map(count).sum::<usize>();
    let (cases, schemas, compiled) =
        (total(|counts| counts.cases), total(|counts| counts.schemas), total(|counts| counts.compiled));
    println!("{cases} cases, {compiled} of {schemas} schemas compiled");
    let (least, share) = if cfg!(feature = "jsonschema") { (6000, 75) } else { (4000, 70) };
    assert!(cases > least && compiled * 100 > schemas * share, "{cases} {schemas} {compiled}");
}

fn check(
    draft: &str,
    file: &str,
    group: &Value,
    written: Written<'_>,
    resources: &Resources,
    counts: &mut Counts,
) {
    // The other files have formats as annotations.
    let asserts_formats = file.starts_with("optional/format");
    let name = format!("{file}: {}", group["description"].as_str().unwrap());
    let mut schema = group["schema"].clone();
    let dialect = DRAFTS.iter().find(|(name, _)| *name == draft).unwrap().1;
    if let Some(members) = schema.as_object_mut() {
        members.entry("$schema").or_insert_with(|| dialect.into());
    }
    counts.schemas += 1;
    let oracle = jsonschema::options()
        .with_retriever(resources.clone())
        .with_pattern_options(PatternOptions::regex())
        .should_validate_formats(asserts_formats)
        .build(&schema);
    let mut options = SchemaOptions::new().assert_formats(asserts_formats);
    for (uri, resource) in &resources.0 {
        options = options.resource(uri, resource);
    }
    let oracle = oracle.unwrap_or_else(|error| panic!("{draft} {name}: {error}"));
    let validator = match options.clone().build(&schema) {
        Err(error) if cfg!(not(feature = "jsonschema")) && !is_wrong(&error) => {
            let keyword = error.keyword().unwrap_or("$schema");
            assert!(schema.pointer(error.path()).is_some(), "{draft} {name}: {error}");
            *counts.outside.entry(keyword.to_owned()).or_default() += 1;
            if error.kind() == SchemaErrorKind::Unsupported {
                let weaker = options.ignore_unsupported(true).build(&schema);
                never_rejects(
                    &weaker.unwrap_or_else(|error| panic!("{draft} {name}: {error}")),
                    &oracle,
                    group,
                    written,
                );
            }
            return;
        }
        validator => validator.unwrap_or_else(|error| panic!("{draft} {name}: {error}")),
    };
    match validator.plan() {
        ValidationPlan::Compiled { .. } => counts.compiled += 1,
        ValidationPlan::Jsonschema { keyword, .. } => *counts.outside.entry(keyword).or_default() += 1,
        plan => panic!("{plan}"),
    }
    let mut parser = Parser::new();
    let written = written.get("tests").and_then(Written::as_array).unwrap();
    for (case, written) in group["tests"].as_array().unwrap().iter().zip(written) {
        counts.cases += 1;
        let text = written.get("data").unwrap().raw();
        let verdict = validator.is_valid(parser.parse(text).unwrap());
        let by_jsonschema = oracle.is_valid(&case["data"]);
        let plan = validator.plan();
        assert_eq!(verdict, by_jsonschema, "{draft} {name}: {text} against {schema} ({plan})");
        if Some(verdict) != case["valid"].as_bool() && !WITHOUT_IDNA.contains(&file) {
            counts.unexpected.push(format!("{name}: {}", case["description"].as_str().unwrap()));
        }
    }
}

/// Whether a schema is refused for another reason than that it needs the feature `jsonschema`.
fn is_wrong(error: &SchemaError) -> bool {
    // A dialect, which only jsonschema reads, or a reference to a draft.
    !matches!(error.kind(), SchemaErrorKind::Unsupported | SchemaErrorKind::Draft)
}

/// Checks that what a schema leaves of itself accepts all that it accepts.
fn never_rejects(
    weaker: &SchemaValidator,
    oracle: &jsonschema::Validator,
    group: &Value,
    written: Written<'_>,
) {
    let mut parser = Parser::new();
    let written = written.get("tests").and_then(Written::as_array).unwrap();
    for (case, written) in group["tests"].as_array().unwrap().iter().zip(written) {
        let text = written.get("data").unwrap().raw();
        let is_valid = weaker.is_valid(parser.parse(text).unwrap());
        assert!(is_valid || !oracle.is_valid(&case["data"]), "{text} against {}", weaker.schema());
    }
}

/// The schemas to which those of the suite refer.
#[derive(Clone)]
struct Resources(Vec<(String, Value)>);

impl Retrieve for Resources {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn Error + Send + Sync>> {
        let uri = uri.as_str().trim_end_matches('#');
        let found = self.0.iter().find(|(own, _)| own == uri);
        found.map(|(_, schema)| schema.clone()).ok_or_else(|| format!("unknown: {uri}").into())
    }
}
