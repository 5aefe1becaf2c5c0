//! The validators of types.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{LazyLock, PoisonError, RwLock};

use schemars::JsonSchema;
use tokenline::SchemaValidator;
use tokenline::schema::SchemaError;

/// One for each type of lines that the program reads, so it does not grow with the requests.
static VALIDATORS: LazyLock<RwLock<HashMap<TypeId, SchemaValidator>>> = LazyLock::new(RwLock::default);

/// The validator for the schema of a type, compiled when it is first asked for.
pub(super) fn validator_for<T: JsonSchema + 'static>() -> Result<SchemaValidator, SchemaError> {
    let id = TypeId::of::<T>();
    if let Some(validator) = VALIDATORS.read().unwrap_or_else(PoisonError::into_inner).get(&id) {
        return Ok(validator.clone());
    }
    let validator = SchemaValidator::for_type::<T>()?;
    let mut validators = VALIDATORS.write().unwrap_or_else(PoisonError::into_inner);
    Ok(validators.entry(id).or_insert(validator).clone())
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::sync::atomic::{AtomicU32, Ordering};

    use schemars::{Schema, SchemaGenerator, json_schema};

    use super::*;

    static COMPILED: AtomicU32 = AtomicU32::new(0);

    struct Counted;

    impl JsonSchema for Counted {
        fn schema_name() -> Cow<'static, str> {
            "Counted".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            COMPILED.fetch_add(1, Ordering::SeqCst);
            json_schema!({"type": "object"})
        }
    }

    struct Broken;

    impl JsonSchema for Broken {
        fn schema_name() -> Cow<'static, str> {
            "Broken".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({"type": "no such type"})
        }
    }

    #[test]
    fn a_schema_is_compiled_once_for_each_type() {
        for _ in 0..3 {
            let schema = validator_for::<Counted>().unwrap().schema().to_string();
            assert!(schema.contains("Counted"), "{schema}");
            assert_ne!(validator_for::<u8>().unwrap().schema().to_string(), schema);
            assert!(validator_for::<Broken>().is_err());
        }
        assert_eq!(COMPILED.load(Ordering::SeqCst), 1);
    }
}
