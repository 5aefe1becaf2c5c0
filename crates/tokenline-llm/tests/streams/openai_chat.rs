//! OpenAI chat completions: the content of our own recordings.

use crate::common::{at_every_cut, fixture, parser};
use tokenline_llm::TextMode;

/// The lines that are neither text nor usage.
fn recorded(name: &str, text_as: TextMode) -> Vec<String> {
    let seen = at_every_cut(parser(text_as), &fixture(&format!("openai-chat/{name}")));
    assert!(seen.is_complete);
    assert_eq!(seen.unknown, "");
    let mut lines = seen.summary();
    lines.retain(|line| !line.starts_with("text ") && !line.starts_with("usage "));
    lines
}

#[test]
fn recorded_definitions() {
    let definition = |entity: &str, definition: &str| {
        format!(r#"newline {{"type": "definition", "entity": "{entity}", "definition": "{definition}"}}"#)
    };
    assert_eq!(
        recorded("definitions.sse", TextMode::Records),
        [
            definition(
                "photosynthesis",
                "The process where an enzyme catalyzes reactions by breaking down organic molecules into simpler forms."
            ),
            definition("chlorophyll", "A protein that is a precursor to the growth of cells."),
            definition(
                "mitochondria",
                "The organelle in which mitochondria are found and where energy-producing reactions take place."
            ),
            definition("DNA", "A long, circular molecule that carries genetic information."),
            definition(
                "RNA",
                "An RNA molecule that is used as a messenger in cells and serves to store or transfer genetic information."
            ),
            definition("ribosome", "The organelle that contains the ribosome."),
            definition(
                "cell membrane",
                "A semipermeable layer of a cell's outer covering, which allows water and other molecules to pass through."
            ),
            definition("café au lait", "The name for the French word 'au lait', meaning milk."),
            "finish stop".to_owned(),
        ]
    );
}

#[test]
fn recorded_records_in_a_fence() {
    let lines = recorded("fenced-mixed.sse", TextMode::Records);
    assert_eq!(lines.len(), 9);
    for (line, start) in lines.iter().zip([
        r#"newline {"type": "definition", "entity": "DNA", "#,
        r#"newline {"type": "relationship", "subject": "DNA", "predicate": "located_in", "object": "cell nucleus", "object-entity": true}"#,
        r#"newline {"type": "definition", "entity": "RNA", "#,
        r#"newline {"type": "relationship", "subject": "RNA", "predicate": "transcribed_from", "object": "DNA", "object-entity": true}"#,
        r#"newline {"type": "definition", "entity": "chlorophyll", "#,
        r#"newline {"type": "relationship", "subject": "chlorophyll", "predicate": "absorbs", "object": "sunlight", "object-entity": true}"#,
        r#"newline {"type": "definition", "entity": "mitochondria", "#,
        r#"newline {"type": "relationship", "subject": "mitochondria", "predicate": "produce", "object": "ATP", "object-entity": true}"#,
        "finish stop",
    ]) {
        assert!(line.starts_with(start), "{line}");
    }
}

#[test]
fn recorded_tool_calls_in_text() {
    assert_eq!(
        recorded("tool-calls-in-text.sse", TextMode::ToolCalls),
        [
            r#"textual call newline search {"query": "photosynthesis function", "limit": 1} call_1"#,
            r#"textual call newline search {"query": "chlorophyll pigment synthase function", "limit": 3} call_2"#,
            r#"textual call newline search {"query": "mitochondria ATP synthetase function", "limit": 1} call_3"#,
            r#"textual call newline search {"query": "cell nucleus function", "limit": 2} call_4"#,
            "finish stop",
        ]
    );
}

#[test]
fn recorded_text_truncated_by_the_token_limit() {
    assert_eq!(
        recorded("truncated.sse", TextMode::Records),
        [
            r#"newline {"entity": "Café au Lait", "definition": "Coffee, Milk, & Other Beverages"}"#,
            r#"newline {"entity": "Cafe au Lait", "definition": "Milk and other beverages"}"#,
            r#"newline {"entity": "Caramel Chocolate Cake", "definition": "Chocolate cake"}"#,
            r#"newline {"entity": "Cake with caramel sauce", "definition": "Cauliflower cakes"}"#,
            "rejected truncated: expected the rest of the string, found the end of the input",
            "finish length",
        ]
    );
}
