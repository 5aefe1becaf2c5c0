//! One record of a given size, to measure the work of its last chunk.

use super::random::Random;
use super::words;
use super::write::{Object, Spacing, Unicode};

/// The JSON Schema of the record.
pub(super) const SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "id": { "type": "string" },
    "items": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {
          "name": { "type": "string" },
          "quantity": { "type": "integer" },
          "price": { "type": "number", "minimum": 0 },
          "in_stock": { "type": "boolean" },
          "tags": { "type": "array", "items": { "type": "string" } },
          "size": {
            "type": "object",
            "properties": { "width": { "type": "number" }, "height": { "type": "number" } },
            "required": ["width", "height"]
          }
        },
        "required": ["name", "quantity", "price", "in_stock", "tags", "size"]
      }
    },
    "note": { "type": "string" }
  },
  "required": ["id", "items", "note"]
}"#;

/// The end of the record after its note, with the line feed.
const END: &str = "\"}\n";

/// A line of exactly `bytes` bytes, line feed included. From `items` bytes on, all is one text, the note.
///
/// # Panics
///
/// If `bytes` is below 256, too few for one item.
pub(super) fn line(random: &mut Random, bytes: usize, items: usize) -> String {
    assert!(bytes >= 256, "a record takes at least 256 bytes");
    let mut out = String::with_capacity(bytes);
    out.push_str(&format!("{{\"id\": \"order_{:08x}\", \"items\": [", random.below(1 << 32)));
    let note = "], \"note\": \"";
    let mut next = String::new();
    item(random, &mut next);
    loop {
        out.push_str(&next);
        next.clear();
        next.push_str(", ");
        item(random, &mut next);
        if out.len() + next.len() + note.len() + END.len() > items {
            break;
        }
    }
    out.push_str(note);
    while out.len() + END.len() < bytes {
        out.push_str(words::noun(random));
        out.push(' ');
    }
    out.truncate(bytes - END.len());
    out.push_str(END);
    out
}

fn item(random: &mut Random, out: &mut String) {
    let mut object = Object::open(out, Spacing::Spaced, Unicode::Raw);
    object.text("name", &format!("{} {}", words::adjective(random), words::noun(random)));
    object.raw("quantity", &random.below(1000).to_string());
    object.raw("price", &format!("{}.{:02}", random.below(900), random.below(100)));
    object.raw("in_stock", random.pick(&["true", "false"]));
    object.texts("tags", &[words::noun(random), words::adjective(random)]);
    object.object("size", |size| {
        size.raw("width", &random.below(200).to_string());
        size.raw("height", &format!("{}.{}", random.below(200), random.below(10)));
    });
    object.close();
}
