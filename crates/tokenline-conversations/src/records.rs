//! Validation against a JSON Schema.

use std::io;

use tokenline_core::json::Value;
use tokenline_core::syntax_repair::{RepairOptions, repair_syntax};
use tokenline_core::{Validate as _, Violation};
use tokenline_schema::SchemaValidator;

use crate::lines::{Contract, Count, Engine, Fault, shared_methods};
use crate::report::{RecordReport, ValidationReport};

/// Validates JSON Lines against a JSON Schema, as [`ConversationValidator`](crate::ConversationValidator) does against
/// its contract. Each line must be an object.
///
/// ```
/// use tokenline_conversations::RecordValidator;
/// use tokenline_schema::SchemaValidator;
///
/// let schema = serde_json::json!({"required": ["n"], "properties": {"n": {"type": "integer"}}});
/// let mut validator = RecordValidator::new(SchemaValidator::new(&schema)?);
/// validator.push(b"{\"n\":1}\n{\"n\":\"two\"}\n{\"n\":3}\n{\"n\"");
/// let report = validator.finish()?;
/// assert_eq!((report.valid_line_count, report.invalid_line_count), (2, 2));
/// assert_eq!(report.errors[0].to_string(), "2:6: schema_violation: expected type integer, found a string (at /n)");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[must_use = "call `finish` for the report"]
pub struct RecordValidator<'s> {
    engine: Engine<'s, Records, Valid>,
}

shared_methods!(RecordValidator);

impl RecordValidator<'_> {
    /// A validator before its first input.
    pub fn new(schema: SchemaValidator) -> Self {
        let contract = Records { schema, max_violations: 1, repairs_syntax: false };
        Self { engine: Engine::new(contract, Valid::default()) }
    }

    /// Whether a malformed line is valid if its [syntax can be repaired](tokenline_core::syntax_repair): one kind of edit of
    /// a closed list makes it an object that satisfies the schema, and no other edit gives another value. The report counts
    /// such lines; a reader must [repair](tokenline_core::Options::repair_syntax) them as well. Not for the elements of a
    /// document.
    ///
    /// ```
    /// use tokenline_conversations::RecordValidator;
    ///
    /// let mut validator = RecordValidator::new(r#"{"required": ["n"]}"#.parse()?).repair_syntax(true);
    /// validator.push(b"{\"n\":1,}\n{'n':2}\n{\"n\":}\n");
    /// let report = validator.finish()?;
    /// assert_eq!((report.valid_line_count, report.repaired_line_count, report.error_count), (2, 2, 1));
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn repair_syntax(mut self, yes: bool) -> Self {
        self.engine.contract.repairs_syntax = yes;
        self
    }

    /// Whether every violation of a record is an error, and not only the first; at most 1,000 for each record. The
    /// [`SchemaValidator::violations`] say which.
    ///
    /// ```
    /// use tokenline_conversations::RecordValidator;
    ///
    /// let schema = r#"{"required": ["n"], "properties": {"a": {"minimum": 1}}}"#.parse()?;
    /// let mut validator = RecordValidator::new(schema).all_errors(true);
    /// validator.push(b"{\"a\":0}\n");
    /// let report = validator.finish()?;
    /// assert_eq!((report.invalid_line_count, report.error_count), (1, 2));
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn all_errors(mut self, yes: bool) -> Self {
        self.engine.contract.max_violations = if yes { MAX_VIOLATIONS } else { 1 };
        self
    }

    /// Reads a JSON document whose records are the elements of the array at `pointer`, a JSON Pointer; an empty one is the
    /// root. The document is read as a whole, and must be valid JSON. A line of the report is then an element.
    ///
    /// ```
    /// use tokenline_conversations::RecordValidator;
    ///
    /// let mut validator = RecordValidator::new(r#"{"required": ["n"]}"#.parse()?);
    /// validator.read_items("export.json", b"{\"items\": [\n  {\"n\": 1},\n  {}\n]}", "/items")?;
    /// let report = validator.finish()?;
    /// assert_eq!((report.valid_line_count, report.errors[0].line_number, report.errors[0].column), (1, 3, 3));
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the [callback for invalid lines](Self::on_invalid) fails.
    pub fn read_items(
        &mut self,
        path: impl Into<String>,
        document: impl AsRef<[u8]>,
        pointer: &str,
    ) -> io::Result<()> {
        self.engine.read_items(path.into(), document.as_ref(), pointer)
    }

    /// Ends the input, and returns the report.
    ///
    /// # Errors
    ///
    /// If the [callback for invalid lines](Self::on_invalid) failed for a pushed line.
    pub fn finish(self) -> io::Result<RecordReport> {
        let (input_path, counts, Valid { all, repaired }) = self.engine.finish()?;
        Ok(RecordReport {
            schema_version: ValidationReport::SCHEMA_VERSION.to_owned(),
            input_path,
            total_lines: counts.lines,
            non_empty_lines: counts.non_empty,
            valid_line_count: all,
            repaired_line_count: repaired,
            invalid_line_count: counts.invalid,
            error_count: counts.invalid + counts.further,
            dropped_error_count: counts.dropped,
            is_valid: counts.invalid == 0,
            errors: counts.errors,
        })
    }
}

/// The most violations of a record.
const MAX_VIOLATIONS: usize = 1000;

/// The contract of a schema.
struct Records {
    schema: SchemaValidator,
    /// The violations of a record that are errors.
    max_violations: usize,
    repairs_syntax: bool,
}

/// A valid line.
enum ValidLine {
    AsIs,
    Repaired,
}

impl Contract for Records {
    type Fact = ValidLine;

    fn check(&self, record: Value<'_>, _: &mut Vec<u8>) -> Result<ValidLine, Box<Violation>> {
        self.schema.validate(record).map(|()| ValidLine::AsIs)
    }

    fn repairs_syntax(&self) -> bool {
        self.repairs_syntax
    }

    fn repaired(&self, line: &str) -> Option<ValidLine> {
        let is_valid =
            &mut |value: Value<'_>| value.as_object().is_some() && self.schema.validate(value).is_ok();
        let repaired = repair_syntax(line, &RepairOptions::default(), Some(is_valid));
        repaired.ok().map(|_| ValidLine::Repaired)
    }

    fn violations(&self, record: Value<'_>) -> Vec<Violation> {
        if self.max_violations > 1 { self.schema.violations(record, self.max_violations) } else { Vec::new() }
    }

    /// With the names in its path that the schema knows; others may be private.
    fn duplicate_key(&self, record: Value<'_>) -> Option<Box<Violation>> {
        let violation = Violation::duplicate_key(record)?;
        match self.schema.validate(record) {
            Err(shown) if shown.code == violation.code => Some(shown),
            _ => Some(Box::new(violation.with_instance_path(""))),
        }
    }
}

/// The number of valid lines.
#[derive(Default)]
struct Valid {
    all: u64,
    repaired: u64,
}

impl Count<Records> for Valid {
    fn count(&mut self, line: ValidLine, _: u64) -> Result<(), Box<Fault>> {
        self.all += 1;
        self.repaired += u64::from(matches!(line, ValidLine::Repaired));
        Ok(())
    }
}
