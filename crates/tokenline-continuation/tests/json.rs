//! Contexts and merges as JSON.

use serde_json::json;
use tokenline_continuation::{ContextOptions, Document, MergeOptions, merge};

#[test]
fn the_names_of_members() {
    let document = Document::of(r#"{"a":[1,"b"#);
    let contexts = serde_json::to_value(document.contexts(&ContextOptions::default())).unwrap();
    let expected = json!({
        "overlap_context": "{\"a\":[1,\"b",
        "hierarchy_context": "{\"a\":[1,\"b",
        "hierarchy_context_for_prompt": "{\"a\":[1,\"b",
        "complete_part": "{\"a\":[1,\"b\"]}",
        "json_parsing_success": true,
    });
    assert_eq!(contexts, expected);

    let merged = serde_json::to_value(merge("[1,2", ",3]", &MergeOptions::default())).unwrap();
    let expected = json!({
        "merged": "[1,2,3]",
        "has_overlap": false,
        "join": "none_but_grammatical",
        "overlap": 0,
        "confidence": "likely",
    });
    assert_eq!(merged, expected);
}
