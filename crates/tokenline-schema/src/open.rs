//! Validation of a record while it arrives.

use tokenline_core::json::Value;
use tokenline_core::{Validate, ValidateOpen, Violation};

use crate::SchemaValidator;
use crate::plan::{OpenRun, Outcome, Plan};

/// Validates records against a plan while they arrive.
pub(crate) struct Open {
    validator: SchemaValidator,
    run: OpenRun,
    /// The record that is read.
    document: Option<u64>,
    violation: Option<Box<Violation>>,
}

impl Open {
    pub(crate) fn new(validator: SchemaValidator) -> Self {
        Self { validator, run: OpenRun::default(), document: None, violation: None }
    }

    fn read_on(&mut self, plan: &Plan, value: Value<'_>) -> Result<(), Outcome> {
        if self.document != value.document_id() {
            self.document = value.document_id();
            self.violation = None;
            self.run.reset();
        }
        self.run.advance(plan, value)
    }
}

impl ValidateOpen for Open {
    fn advance(&mut self, snapshot: Value<'_>) -> Result<(), Box<Violation>> {
        let validator = self.validator.clone();
        let Some(plan) = validator.compiled() else { return Ok(()) };
        let outcome = self.read_on(plan, snapshot);
        if let Some(violation) = &self.violation {
            return Err(violation.clone());
        }
        let violation = match outcome {
            _ if snapshot.repeated_name().is_some() => Violation::duplicate_key(snapshot),
            Err(Outcome::Invalid(position)) => {
                Some(validator.violation_inside(snapshot, snapshot.at_position(position)))
            }
            Ok(()) | Err(Outcome::Unknown) => None,
        };
        self.violation =
            violation.map(|violation| Box::new(validator.with_shown_names(*violation, snapshot)));
        self.violation.clone().map_or(Ok(()), Err)
    }

    fn finish(&mut self, record: Value<'_>) -> Result<(), Box<Violation>> {
        if record.document_id().is_some()
            && record.document_id() == self.document
            && record.repeated_name().is_none()
        {
            let validator = self.validator.clone();
            let outcome = validator.compiled().map(|plan| self.read_on(plan, record));
            if outcome == Some(Ok(())) {
                return Ok(());
            }
        }
        self.validator.validate(record)
    }
}
