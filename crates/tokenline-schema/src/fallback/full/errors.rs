//! Explains why jsonschema rejects a schema: the place in it, and the reason in one line.

use jsonschema::ReferencingError;
use jsonschema::error::{TypeKind, ValidationError, ValidationErrorKind};
use serde_json::Value;

use crate::error::{SchemaError, SchemaErrorKind};
use crate::messages;
use crate::number::Multiple;
use crate::place::Document;
use crate::pointer;
use crate::text::{shorten, shorten_to};

pub(crate) fn explain(document: &Document, error: &ValidationError<'_>) -> SchemaError {
    let path = error.instance_path().as_str();
    if let Some((pattern, refusal)) = document.patterns.first_refused()
        && !matches!(error.kind(), ValidationErrorKind::Referencing(_))
    {
        let path = document.pattern_path(&pattern).unwrap_or_default();
        return SchemaError::new(SchemaErrorKind::Pattern, path, refusal.reason());
    }
    match error.kind() {
        ValidationErrorKind::Referencing(error) => unresolved(document, error),
        ValidationErrorKind::Format { format } if format == "regex" => {
            // Names that a pattern selects are matched by jsonschema where it validates.
            let reason = "the pattern is malformed, too large, or has look-around or a back-reference beside \
                          `unevaluatedProperties` or another keyword without a plan";
            SchemaError::new(SchemaErrorKind::Pattern, path, reason)
        }
        ValidationErrorKind::Custom { message, .. } => {
            // The only rule that this crate refuses besides patterns.
            let path = document.find(&mut |members, here| {
                let literal = document.literals.number(members.get("multipleOf")?)?;
                Multiple::new(&literal).is_none().then(|| pointer::join(&here.pointer(), "multipleOf"))
            });
            let path = path.unwrap_or_default();
            SchemaError::new(SchemaErrorKind::Invalid, path, message.as_str())
        }
        _ => {
            let error = closest(error);
            let path = error.instance_path().as_str();
            SchemaError::new(SchemaErrorKind::Invalid, path, reason(error))
        }
    }
}

fn reason(error: &ValidationError<'_>) -> String {
    let found = shorten(error.instance().to_string());
    if let ValidationErrorKind::Enum { options } = error.kind() {
        let options: Vec<_> = options.as_array().into_iter().flatten().map(Value::to_string).collect();
        return format!("{found} is not one of {}", options.join(", "));
    }
    error.masked_with(found).to_string()
}

/// The most specific error among the alternatives in a draft's own rules: `"strin"` is not a type name,
/// rather than not a list of type names.
fn closest<'e>(error: &'e ValidationError<'e>) -> &'e ValidationError<'e> {
    let mut closest = error;
    while let ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } =
        closest.kind()
    {
        let specificity = |error: &&ValidationError<'_>| {
            let is_other_type = matches!(
                error.kind(),
                ValidationErrorKind::Type { kind: TypeKind::Single(_) | TypeKind::Multiple(_) }
            );
            (error.instance_path().as_str().len(), !is_other_type)
        };
        // The first of the best.
        let Some(best) = context.iter().filter_map(|errors| errors.first()).rev().max_by_key(specificity)
        else {
            break;
        };
        closest = best;
    }
    closest
}

fn unresolved(document: &Document, error: &ReferencingError) -> SchemaError {
    let fragment = |reference: &str| {
        reference.split_once('#').and_then(|(_, fragment)| pointer::from_fragment(fragment))
    };
    let find = |fits: &dyn Fn(&str) -> bool| find_reference(&document.schema, fits).unwrap_or_default();
    match error {
        ReferencingError::UnknownSpecification { specification } => {
            let reason = messages::unknown_draft(specification);
            SchemaError::new(SchemaErrorKind::Draft, "/$schema", reason)
        }
        ReferencingError::Unretrievable { uri, .. } => {
            let path = find(&|reference| {
                let file = |uri: &str| uri.split('#').next().unwrap_or_default().to_owned();
                let target = file(reference);
                !target.is_empty() && file(uri).ends_with(target.trim_start_matches("./"))
            });
            let reason = messages::outside(uri, !document.resources.is_empty());
            SchemaError::new(SchemaErrorKind::Reference, path, reason)
        }
        ReferencingError::PointerToNowhere { pointer } => {
            let path = find(&|reference| {
                reference.ends_with(pointer) || fragment(reference).as_deref() == Some(pointer)
            });
            SchemaError::new(SchemaErrorKind::Reference, path, messages::no_target(pointer))
        }
        ReferencingError::NoSuchAnchor { anchor } | ReferencingError::InvalidAnchor { anchor } => {
            let path = find(&|reference| fragment(reference).as_deref() == Some(anchor));
            SchemaError::new(SchemaErrorKind::Reference, path, messages::no_anchor(anchor))
        }
        other => SchemaError::new(SchemaErrorKind::Reference, "", shorten_to(other.to_string(), 256)),
    }
}

/// The pointer of the first reference for which `fits` is true.
fn find_reference(schema: &Value, fits: &dyn Fn(&str) -> bool) -> Option<String> {
    let mut open = vec![(schema, String::new())];
    while let Some((schema, here)) = open.pop() {
        match schema {
            Value::Object(object) => {
                for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
                    if object.get(keyword).and_then(Value::as_str).is_some_and(fits) {
                        return Some(pointer::join(&here, keyword));
                    }
                }
                open.extend(object.iter().map(|(name, value)| (value, pointer::join(&here, name))));
            }
            Value::Array(array) => {
                let at = |(at, value)| (value, pointer::join(&here, &usize::to_string(&at)));
                open.extend(array.iter().enumerate().map(at));
            }
            _ => {}
        }
    }
    None
}
