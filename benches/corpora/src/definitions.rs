//! Entities and their definitions, about 130 bytes per line.

use super::random::Random;
use super::words;
use super::write::{Object, Spacing, Unicode};

/// The JSON Schema of every line.
pub(super) const SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "entity": { "type": "string" },
    "definition": { "type": "string" }
  },
  "required": ["entity", "definition"]
}"#;

/// Appends one object.
pub(super) fn write(random: &mut Random, out: &mut String) {
    let mut object = Object::open(out, Spacing::Spaced, Unicode::Raw);
    object.text("entity", random.pick(words::ENTITIES));
    object.text("definition", &words::definition(random));
    object.close();
}
