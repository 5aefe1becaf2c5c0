//! Rules for records and calls, as traits, so that a decoder need not know its validators.

use std::fmt;
use std::sync::Arc;

use crate::json::{Kind, Raw};
use crate::{Code, json};

/// A rule that a value breaks, and where.
///
/// Private by design: the message names rules, kinds and parts of the schema, never values of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The diagnostic code.
    pub code: Code,
    /// JSON Pointer from the validated value to the place. A token is `*` where a validator hides a member's
    /// name.
    pub instance_path: String,
    /// JSON Pointer to the rule in the schema; empty if the rule is not from a schema.
    pub schema_path: String,
    /// One sentence for the user.
    pub message: String,
    /// The place, in bytes from the start of the document.
    pub offset: usize,
    /// The other rules that the value breaks, if a validator looks for all; see `all_violations` of `tokenline-schema`'s
    /// validators.
    pub further: Vec<Violation>,
}

impl Violation {
    /// A violation at `offset` in the document, without paths.
    #[must_use]
    pub fn new(code: Code, offset: usize, message: impl Into<String>) -> Self {
        let (instance_path, schema_path) = (String::new(), String::new());
        Self { code, instance_path, schema_path, message: message.into(), offset, further: Vec::new() }
    }

    /// The same with the JSON Pointer to the place.
    #[must_use]
    pub fn with_instance_path(self, instance_path: impl Into<String>) -> Self {
        Self { instance_path: instance_path.into(), ..self }
    }

    /// The same with the JSON Pointer to the rule.
    #[must_use]
    pub fn with_schema_path(self, schema_path: impl Into<String>) -> Self {
        Self { schema_path: schema_path.into(), ..self }
    }

    /// The same with the other rules that the value breaks.
    #[must_use]
    pub fn with_further(self, further: Vec<Self>) -> Self {
        Self { further, ..self }
    }

    /// The same of a value at this path, and of the others with it.
    pub(crate) fn under(self, path: &str) -> Self {
        let further = self.further.into_iter().map(|violation| violation.under(path)).collect();
        Self { instance_path: format!("{path}{}", self.instance_path), further, ..self }
    }

    /// The violation for a document in which an object names a member twice, if this is one. Checks the whole
    /// document, also around `value`; the path leads to the second member if it is inside `value`, and is
    /// empty otherwise.
    #[must_use]
    pub fn duplicate_key(value: json::Value<'_>) -> Option<Box<Self>> {
        value.repeated_name().map(|offset| Self::duplicate_key_at(value, offset))
    }

    #[cold]
    fn duplicate_key_at(value: json::Value<'_>, offset: usize) -> Box<Self> {
        let mut path = String::new();
        if value.range().contains(&offset) {
            path = value.pointer_at(offset);
            // The path ends at the object, because a name is not inside a member's value. The member is the
            // first whose value comes after the name.
            let object = value.pointer(&path).and_then(json::Value::as_object);
            let mut members = object.into_iter().flatten();
            if let Some((name, _)) = members.find(|(_, member)| member.range().start > offset) {
                json::pointer::push_key(&mut path, json::Key::Name(name));
            }
        }
        let message = "an object has two members of this name";
        Box::new(Self::new(Code::DuplicateKey, offset, message).with_instance_path(path))
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)?;
        if !self.instance_path.is_empty() {
            write!(f, " (at {})", self.instance_path)?;
        }
        Ok(())
    }
}

impl std::error::Error for Violation {}

/// Validates records.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not validate records",
    note = "compile a schema with `SchemaValidator::new`, or parse one from text: `text.parse::<SchemaValidator>()?`"
)]
pub trait Validate {
    /// Validates a record, or a value inside one.
    ///
    /// # Errors
    ///
    /// If the value breaks a rule: one of the violations.
    fn validate(&self, value: json::Value<'_>) -> Result<(), Box<Violation>>;

    /// Begins to validate records while they arrive; see [`OpenValidation`](crate::adapter::OpenValidation). By default, `None`:
    /// each record is validated once it is complete.
    fn open(&self) -> Option<Box<dyn ValidateOpen + Send + Sync>> {
        None
    }
}

/// Validates one record after the other while they arrive.
pub trait ValidateOpen {
    /// Validates what is new in the open record, a [snapshot](json::Parser::snapshot) of it.
    ///
    /// # Errors
    ///
    /// If a complete value in it breaks a rule, so that the record cannot become valid: that violation, in this and each
    /// later snapshot of the record.
    fn advance(&mut self, snapshot: json::Value<'_>) -> Result<(), Box<Violation>>;

    /// Validates a complete record: what [`advance`](Self::advance) has not seen of it. The result is that of
    /// [`Validate::validate`].
    ///
    /// # Errors
    ///
    /// If the record breaks a rule: one of the violations.
    fn finish(&mut self, record: json::Value<'_>) -> Result<(), Box<Violation>>;
}

/// Validators in a row: a record must pass all of them.
pub(crate) struct Validators(pub(crate) [Arc<dyn Validate + Send + Sync>; 2]);

impl Validate for Validators {
    fn validate(&self, value: json::Value<'_>) -> Result<(), Box<Violation>> {
        self.0.iter().try_for_each(|validator| validator.validate(value))
    }

    fn open(&self) -> Option<Box<dyn ValidateOpen + Send + Sync>> {
        let each = self
            .0
            .each_ref()
            .map(|validator| OpenValidator { open: validator.open(), validator: Arc::clone(validator) });
        each.iter().any(|each| each.open.is_some()).then(|| Box::new(each) as _)
    }
}

/// A validator, and its open record if it validates records while they arrive.
struct OpenValidator {
    validator: Arc<dyn Validate + Send + Sync>,
    open: Option<Box<dyn ValidateOpen + Send + Sync>>,
}

impl ValidateOpen for [OpenValidator; 2] {
    fn advance(&mut self, snapshot: json::Value<'_>) -> Result<(), Box<Violation>> {
        self.iter_mut().filter_map(|each| each.open.as_mut()).try_for_each(|open| open.advance(snapshot))
    }

    fn finish(&mut self, record: json::Value<'_>) -> Result<(), Box<Violation>> {
        self.iter_mut().try_for_each(|each| match &mut each.open {
            Some(open) => open.finish(record),
            None => each.validator.validate(record),
        })
    }
}

/// Validates tool calls.
pub trait ValidateCall {
    /// Validates a call of the tool `name` with these parameters. The violation's paths start at the
    /// parameters; its offset counts from the start of the document that contains them.
    ///
    /// # Errors
    ///
    /// [`Code::UnknownTool`] if there is no tool of this name, [`Code::InvalidParameters`] if the parameters
    /// are not an object or break the tool's rules, [`Code::DuplicateKey`] if an object of the document names
    /// a member twice.
    fn validate_call(&self, name: &str, parameters: json::Value<'_>) -> Result<(), Box<Violation>>;

    /// Whether there is a tool of this name. By default, tries [`validate_call`](Self::validate_call) without
    /// parameters.
    fn has_tool(&self, name: &str) -> bool {
        let mut parser = json::Parser::new();
        let Ok(empty) = parser.parse("{}") else { return false };
        !self.validate_call(name, empty).is_err_and(|violation| violation.code == Code::UnknownTool)
    }

    /// Converts the kinds of values that did not fit, such as a string that holds a number, and lists the
    /// changes. The result is validated again. By default, nothing is converted: the user must ask for it.
    ///
    /// Each parameter must be converted for itself, whatever the others are, and the text around it kept: while a call
    /// grows, those that are complete are shown.
    fn coerce(&self, name: &str, parameters: json::Value<'_>) -> Option<(Raw, Vec<Coercion>)> {
        let _ = (name, parameters);
        None
    }

    /// Whether [`coerce`](Self::coerce) may change a call: of its arguments, only texts are then shown while they grow. By
    /// default, no.
    fn coerces(&self) -> bool {
        false
    }

    /// Whether paths show the names of all members. By default, no: a name that calls do not have, which the model chose,
    /// is `*`.
    fn shows_names(&self) -> bool {
        false
    }

    /// Gives parameters that were written as text, without types, those of the tool's definition; `None` if
    /// nothing changes. A value that fits no type stays a string, and is judged as one. By default, all stay
    /// strings.
    fn type_text(&self, name: &str, parameters: json::Value<'_>) -> Option<Raw> {
        let _ = (name, parameters);
        None
    }

    /// Whether [`type_text`](Self::type_text) leaves this parameter a string, whatever its text is: then the
    /// text can be shown while it grows. By default, no.
    fn is_text(&self, name: &str, parameter: &str) -> bool {
        let _ = (name, parameter);
        false
    }
}

macro_rules! forward {
    ($($wrapper:ty),+) => {$(
        impl<T: Validate + ?Sized> Validate for $wrapper {
            fn validate(&self, value: json::Value<'_>) -> Result<(), Box<Violation>> {
                (**self).validate(value)
            }

            fn open(&self) -> Option<Box<dyn ValidateOpen + Send + Sync>> {
                (**self).open()
            }
        }

        impl<T: ValidateCall + ?Sized> ValidateCall for $wrapper {
            fn validate_call(&self, name: &str, parameters: json::Value<'_>) -> Result<(), Box<Violation>> {
                (**self).validate_call(name, parameters)
            }

            fn has_tool(&self, name: &str) -> bool {
                (**self).has_tool(name)
            }

            fn coerce(&self, name: &str, parameters: json::Value<'_>) -> Option<(Raw, Vec<Coercion>)> {
                (**self).coerce(name, parameters)
            }

            fn coerces(&self) -> bool {
                (**self).coerces()
            }

            fn shows_names(&self) -> bool {
                (**self).shows_names()
            }

            fn type_text(&self, name: &str, parameters: json::Value<'_>) -> Option<Raw> {
                (**self).type_text(name, parameters)
            }

            fn is_text(&self, name: &str, parameter: &str) -> bool {
                (**self).is_text(name, parameter)
            }
        }
    )+};
}

forward!(&T, Box<T>, Arc<T>);

/// A value of a call's parameters that was written as one kind and is delivered as another, because [coercion
/// was asked for](ValidateCall::coerce).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Coercion {
    /// JSON Pointer to it, from the parameters.
    pub instance_path: String,
    /// The kind as written.
    pub from: Kind,
    /// The kind as delivered.
    pub to: Kind,
}

impl Coercion {
    /// A value whose kind was changed.
    #[must_use]
    pub fn new(instance_path: impl Into<String>, from: Kind, to: Kind) -> Self {
        Self { instance_path: instance_path.into(), from, to }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn duplicate(text: &str) -> Option<(String, usize)> {
        let mut parser = json::Parser::new();
        let value = parser.parse(text).unwrap();
        Violation::duplicate_key(value).map(|violation| (violation.instance_path, violation.offset))
    }

    #[test]
    fn duplicate_keys_are_placed_at_the_second_name() {
        assert_eq!(duplicate(r#"{"a":1,"b":{"a":1}}"#), None);
        assert_eq!(duplicate(r#"{"a":1,"a":2}"#), Some(("/a".to_owned(), 7)));
        assert_eq!(duplicate(r#"[{},{"x":{"a/b":[],"a\/b":{"c":1}}}]"#), Some(("/1/x/a~1b".to_owned(), 19)));
        assert_eq!(duplicate(r#"{"":{"":1},"":2}"#), Some(("/".to_owned(), 11)));
    }

    #[test]
    fn a_duplicate_key_around_the_value_counts() {
        let mut parser = json::Parser::new();
        let record = parser.parse(r#"{"name":"a","name":"b","parameters":{"x":1}}"#).unwrap();
        let violation = Violation::duplicate_key(record.get("parameters").unwrap()).unwrap();
        assert_eq!((violation.instance_path.as_str(), violation.offset), ("", 12));
    }

    #[test]
    fn the_traits_are_object_safe() {
        struct Nothing;
        impl Validate for Nothing {
            fn validate(&self, value: json::Value<'_>) -> Result<(), Box<Violation>> {
                Err(Box::new(Violation::new(
                    Code::SchemaViolation,
                    value.range().start,
                    "nothing is allowed",
                )))
            }
        }
        let validators: [Box<dyn Validate + Send + Sync>; 2] =
            [Box::new(Nothing), Box::new(Arc::new(&Nothing))];
        let mut parser = json::Parser::new();
        let value = parser.parse(" 1").unwrap();
        for validator in validators {
            assert_eq!(
                validator.validate(value).unwrap_err().to_string(),
                "schema_violation: nothing is allowed"
            );
        }
    }
}
