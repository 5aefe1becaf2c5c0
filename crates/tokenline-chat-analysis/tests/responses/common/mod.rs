//! Shared helpers.
#![allow(dead_code, reason = "not every test uses all of it")]

use serde_json::{Value, json};

pub(crate) const EXAMPLE_JSON: &str = include_str!("../../examples/college-savings.json");
pub(crate) const EXAMPLE_XML: &str = include_str!("../../examples/college-savings.xml");

/// A valid response with one subject and one keyword.
pub(crate) fn valid_response() -> Value {
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

/// The response with another value at a path.
pub(crate) fn with(path: &str, value: impl Into<Value>) -> String {
    let mut response = valid_response();
    *response.pointer_mut(path).unwrap_or_else(|| panic!("there is no {path}")) = value.into();
    response.to_string()
}

/// The response without a member.
pub(crate) fn without(path: &str) -> String {
    let mut response = valid_response();
    let (parent, name) = path.rsplit_once('/').unwrap();
    response.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(name).expect(path);
    response.to_string()
}
