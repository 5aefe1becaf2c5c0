//! Validation of a record while it arrives.

use tokenline_core::json::Value;
use tokenline_core::{Validate, ValidateOpen, Violation};

use crate::SchemaValidator;
use crate::plan::{OpenRun, Outcome};

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

    /// Reads on in the record, or begins with another one. `None` without a plan.
    fn read_on(&mut self, value: Value<'_>) -> Option<Result<(), Outcome>> {
        if self.document != value.document_id() {
            self.document = value.document_id();
            self.violation = None;
            self.run.reset();
        }
        self.validator.compiled().map(|plan| self.run.advance(plan, value))
    }
}

impl ValidateOpen for Open {
    fn advance(&mut self, snapshot: Value<'_>) -> Result<(), Box<Violation>> {
        let outcome = self.read_on(snapshot);
        if let Some(violation) = &self.violation {
            return Err(violation.clone());
        }
        let validator = &self.validator;
        let violation = match outcome {
            _ if snapshot.repeated_name().is_some() => Violation::duplicate_key(snapshot),
            Some(Err(Outcome::Invalid(position))) => {
                Some(validator.violation_inside(snapshot, snapshot.at_position(position)))
            }
            Some(Err(Outcome::Undecided)) => {
                self.run.undecided().map(|undecided| Box::new(validator.without_verdict(snapshot, undecided)))
            }
            _ => None,
        };
        self.violation =
            violation.map(|violation| Box::new(validator.with_shown_names(*violation, snapshot)));
        self.violation.clone().map_or(Ok(()), Err)
    }

    fn finish(&mut self, record: Value<'_>) -> Result<(), Box<Violation>> {
        if record.document_id().is_some()
            && record.document_id() == self.document
            && record.repeated_name().is_none()
            && self.read_on(record) == Some(Ok(()))
        {
            return Ok(());
        }
        self.validator.validate(record)
    }
}
