//! Tools from Rust types.

use schemars::JsonSchema;
use serde::Deserialize;
use tokenline_core::{CallFormat, ToolDefinition};
use tokenline_prompt::tools::ToolPrompter;

/// The input of the tool.
#[derive(Deserialize, JsonSchema)]
struct Journey {
    from: Place,
    to: Place,
    days: Option<u8>,
}

#[derive(Deserialize, JsonSchema)]
struct Place {
    city: String,
}

#[derive(Deserialize, JsonSchema)]
struct Tree {
    branches: Vec<Tree>,
}

#[test]
fn a_type_is_a_tool() {
    let tool = ToolDefinition::of::<Journey>("plan_journey", "Plans a journey.");
    assert_eq!(tool.name, "plan_journey");
    assert_eq!(tool.description.as_deref(), Some("Plans a journey."));
    let schema = tool.parameters.to_value().unwrap();
    assert_eq!(
        schema["properties"]["from"]["properties"]["city"]["type"], "string",
        "it stands where it is used"
    );
    for absent in ["$defs", "$schema", "title", "description"] {
        assert!(schema.get(absent).is_none(), "{absent}");
    }

    let prompter = ToolPrompter::new();
    let parser = prompter.parser(&CallFormat::Jsonl.into(), &[tool]).unwrap();
    let line =
        r#"{"name": "plan_journey", "parameters": {"from": {"city": "Bonn"}, "to": {"city": "Oslo"}}}"#;
    let call = parser.parse_line(line).unwrap().unwrap();
    let journey: Journey = call.parse_parameters().unwrap();
    assert_eq!((&*journey.from.city, &*journey.to.city, journey.days), ("Bonn", "Oslo", None));
    let rejected = parser
        .parse_line(r#"{"name": "plan_journey", "parameters": {"from": "Bonn"}}"#)
        .unwrap()
        .unwrap_err();
    assert_eq!(rejected.diagnostic.code.as_str(), "invalid_parameters");
}

#[test]
fn a_recursive_type_keeps_its_definitions() {
    let tool = ToolDefinition::of::<Tree>("Tree", "A tree.");
    assert_eq!((&*tool.name, tool.description.as_deref()), ("Tree", Some("A tree.")));
    let parser = ToolPrompter::new().parser(&CallFormat::Jsonl.into(), &[tool]).unwrap();
    let call = parser.parse_line(r#"{"name": "Tree", "parameters": {"branches": [{"branches": []}]}}"#);
    let tree: Tree = call.unwrap().unwrap().parse_parameters().unwrap();
    assert_eq!(tree.branches[0].branches.len(), 0);
    assert!(parser.parse_line(r#"{"name": "Tree", "parameters": {"branches": [7]}}"#).unwrap().is_err());
}
