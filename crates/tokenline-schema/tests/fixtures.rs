//! The folder `invalid` of the core's `fixtures/records`: records that break the schema or the tool
//! definitions next to them.

#[path = "../../tokenline-core/tests/common/mod.rs"]
mod common;

use common::cases::{Case, check};
use common::{Seen, at_every_split};
use tokenline_core::json::Parser;
use tokenline_core::{Diagnostic, Record, ToolCall};
use tokenline_schema::{SchemaValidator, ToolSet};

/// The validator of a case.
enum CaseValidator {
    Schema(Box<SchemaValidator>),
    Tools(ToolSet),
}

impl CaseValidator {
    fn of(case: &Case) -> Self {
        match (case.json("schema"), case.json("tools")) {
            (Some(schema), None) => Self::Schema(Box::new(schema.parse().expect("a schema"))),
            (None, Some(tools)) => Self::Tools(ToolSet::from_json_str(tools).expect("tool definitions")),
            _ => panic!("{}: a schema, or tools", case.name),
        }
    }

    fn validate(&self, raw: &str, record: Record<()>) -> Result<(), Diagnostic> {
        let mut parser = Parser::new();
        let value = parser.parse(raw).expect("a record is JSON");
        let record = record.map(|()| value);
        match self {
            Self::Schema(schema) => record.validate(&**schema).map_err(|diagnostic| *diagnostic),
            Self::Tools(tools) => {
                let call = ToolCall::from_record(&record, Some(tools));
                call.map(drop).map_err(|rejected| rejected.diagnostic)
            }
        }
    }
}

fn validated(case: &Case) -> Vec<Seen> {
    let validator = CaseValidator::of(case);
    let validate = |event| match event {
        Seen::Record { raw, record } => match validator.validate(&raw, record) {
            Ok(()) => Seen::Record { raw, record },
            Err(diagnostic) => Seen::Rejected(diagnostic),
        },
        other => other,
    };
    at_every_split(&case.options, &case.input).into_iter().map(validate).collect()
}

#[test]
fn invalid() {
    check("invalid", validated, |_, seen| seen.iter().any(|event| matches!(event, Seen::Rejected(_))));
}
