//! The folder `invalid` of the core's `fixtures/records`: records that break the schema or the tools'
//! definitions beside them.

#[path = "../../tokenline-core/tests/common/mod.rs"]
mod common;

use common::cases::{Case, check};
use common::{Seen, at_every_cut};
use tokenline_core::json::Parser;
use tokenline_core::{Diagnostic, Record, ToolCall};
use tokenline_schema::{SchemaValidator, ToolSet};

/// What judges the records of a case.
enum Judge {
    Schema(Box<SchemaValidator>),
    Tools(ToolSet),
}

impl Judge {
    fn of(case: &Case) -> Self {
        match (case.json("schema"), case.json("tools")) {
            (Some(schema), None) => Self::Schema(Box::new(schema.parse().expect("a schema"))),
            (None, Some(tools)) => Self::Tools(ToolSet::from_json_str(tools).expect("tool definitions")),
            _ => panic!("{}: a schema, or tools", case.name),
        }
    }

    fn judge(&self, raw: &str, record: Record<()>) -> Result<(), Diagnostic> {
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

fn judged(case: &Case) -> Vec<Seen> {
    let judge = Judge::of(case);
    let judged = |event| match event {
        Seen::Record { raw, record } => match judge.judge(&raw, record) {
            Ok(()) => Seen::Record { raw, record },
            Err(diagnostic) => Seen::Rejected(diagnostic),
        },
        other => other,
    };
    at_every_cut(&case.options, &case.input).into_iter().map(judged).collect()
}

#[test]
fn invalid() {
    check("invalid", judged, |_, seen| seen.iter().any(|event| matches!(event, Seen::Rejected(_))));
}
