//! What the tests share.
#![allow(dead_code, reason = "not every test uses all of it")]

use serde_json::{Value, json};

pub(crate) const EXAMPLE_JSON: &str = include_str!("../../examples/college-savings.json");
pub(crate) const EXAMPLE_XML: &str = include_str!("../../examples/college-savings.xml");

/// An answer that passes, with one subject that has one keyword.
pub(crate) fn answer() -> Value {
    json!({
        "response": "A 529 plan is a good start.",
        "analysis": {
            "subjects": [{
                "name": "college-savings",
                "description": "How to save for college",
                "isNew": true,
                "keywords": [{"term": "529-plan", "confidence": 0.9}],
            }],
            "summaryUpdate": "User asked how to save for college.",
        },
    })
}

/// The same with another value at a path.
pub(crate) fn with(path: &str, value: impl Into<Value>) -> String {
    let mut answer = answer();
    *answer.pointer_mut(path).unwrap_or_else(|| panic!("there is no {path}")) = value.into();
    answer.to_string()
}

/// The same without a member.
pub(crate) fn without(path: &str) -> String {
    let mut answer = answer();
    let (parent, name) = path.rsplit_once('/').unwrap();
    answer.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(name).expect(path);
    answer.to_string()
}
