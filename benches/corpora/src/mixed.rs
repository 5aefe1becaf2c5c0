//! A union of four record types discriminated by `type`, about 190 bytes per line.

use super::random::Random;
use super::words;
use super::write::{Object, Spacing, Unicode};

/// The JSON Schema of every line.
pub(super) const SCHEMA: &str = r#"{
  "oneOf": [
    {
      "type": "object",
      "properties": {
        "type": { "const": "definition" },
        "entity": { "type": "string" },
        "definition": { "type": "string" },
        "confidence": { "type": "number", "minimum": 0, "maximum": 1 }
      },
      "required": ["type", "entity", "definition"]
    },
    {
      "type": "object",
      "properties": {
        "type": { "const": "relationship" },
        "subject": { "type": "string" },
        "subject_type": { "type": "string" },
        "predicate": { "type": "string" },
        "object": { "type": "string" },
        "object-entity": { "type": "boolean" },
        "evidence": { "type": "string" }
      },
      "required": ["type", "subject", "predicate", "object", "object-entity"]
    },
    {
      "type": "object",
      "properties": {
        "type": { "const": "entity" },
        "entity": { "type": "string" },
        "entity_type": { "type": "string" },
        "aliases": { "type": "array", "items": { "type": "string" } },
        "evidence": { "type": "string" }
      },
      "required": ["type", "entity", "entity_type"]
    },
    {
      "type": "object",
      "properties": {
        "type": { "const": "attribute" },
        "entity": { "type": "string" },
        "entity_type": { "type": "string" },
        "attribute": { "type": "string" },
        "value": { "type": ["string", "number"] },
        "evidence": { "type": "string" }
      },
      "required": ["type", "entity", "entity_type", "attribute", "value"]
    }
  ]
}"#;

#[rustfmt::skip]
const TYPES: &[&str] = &[
    "fo/Recipe", "fo/Food", "bio/Molecule", "bio/Organelle", "geo/Region", "cs/Algorithm", "cs/Protocol",
    "law/Treaty", "org/Person", "org/Company", "phys/Particle", "fin/Instrument",
];
#[rustfmt::skip]
const PREDICATES: &[&str] = &[
    "located_in", "transcribed_from", "has_ingredient", "part_of", "causes", "prevents", "discovered_by",
    "depends_on", "supersedes", "derived_from", "measured_in", "regulated_by",
];
#[rustfmt::skip]
const ATTRIBUTES: &[&str] = &[
    "fo/serves", "bio/length", "geo/area", "cs/complexity", "org/founded", "phys/mass", "fin/price",
    "law/signed",
];

/// Appends one object.
pub(super) fn write(random: &mut Random, out: &mut String) {
    let mut object = Object::open(out, Spacing::Spaced, Unicode::Raw);
    match random.below(4) {
        0 => definition(random, &mut object),
        1 => relationship(random, &mut object),
        2 => entity(random, &mut object),
        _ => attribute(random, &mut object),
    }
    object.close();
}

fn definition(random: &mut Random, object: &mut Object<'_>) {
    object.text("type", "definition");
    object.text("entity", random.pick(words::ENTITIES));
    object.text("definition", &words::definition(random));
    object.raw("confidence", &format!("0.{:02}", random.between(50, 99)));
}

fn relationship(random: &mut Random, object: &mut Object<'_>) {
    let is_entity = random.chance(70);
    object.text("type", "relationship");
    object.text("subject", random.pick(words::ENTITIES));
    object.text("subject_type", random.pick(TYPES));
    object.text("predicate", random.pick(PREDICATES));
    if is_entity {
        object.text("object", random.pick(words::ENTITIES));
    } else {
        object.text("object", words::noun(random));
    }
    object.raw("object-entity", if is_entity { "true" } else { "false" });
    if random.chance(80) {
        object.text("evidence", &words::sentence(random));
    }
}

fn entity(random: &mut Random, object: &mut Object<'_>) {
    object.text("type", "entity");
    object.text("entity", random.pick(words::ENTITIES));
    object.text("entity_type", random.pick(TYPES));
    let aliases = [random.pick(words::ENTITIES), words::noun(random), words::adjective(random)];
    let count = random.below(4);
    object.texts("aliases", &aliases[..usize::try_from(count).expect("at most 3")]);
    object.text("evidence", &words::sentence(random));
}

fn attribute(random: &mut Random, object: &mut Object<'_>) {
    object.text("type", "attribute");
    object.text("entity", random.pick(words::ENTITIES));
    object.text("entity_type", random.pick(TYPES));
    object.text("attribute", random.pick(ATTRIBUTES));
    if random.chance(50) {
        let value = format!("{}.{}", random.below(5000), random.below(10));
        object.raw("value", &value);
    } else {
        let value = format!("{} {}", random.between(2, 40), words::noun(random));
        object.text("value", &value);
    }
    object.text("evidence", &words::sentence(random));
}
