//! The built-in prompts, each with a plausible response.

use crate::common::{cut, warnings};
use serde_json::{Value, json};
use tokenline_core::json::Raw;
use tokenline_prompt::{
    Definition, KnowledgeGraph, KnowledgeItem, Objects, OntologyGraph, OntologyItem, PromptManager,
    Relationship, ResponseType, Row, Topic,
};

const MIXED: &str = r#"{"type": "definition", "entity": "DNA", "definition": "Molecule carrying genetic instructions"}
{"type": "relationship", "subject": "DNA", "predicate": "located_in", "object": "cell nucleus", "object-entity": true}
{"type": "definition", "entity": "RNA", "definition": "Molecule that carries genetic information"}
{"type": "relationship", "subject": "RNA", "predicate": "transcribed_from", "object": "DNA", "object-entity": true}
"#;

const ONTOLOGY: &str = r#"{"type": "entity", "entity": "Cornish pasty", "entity_type": "fo/Recipe"}
{"type": "entity", "entity": "beef", "entity_type": "fo/Food"}
{"type": "relationship", "subject": "Cornish pasty", "subject_type": "fo/Recipe", "relation": "fo/has_ingredient", "object": "beef", "object_type": "fo/Food"}
{"type": "attribute", "entity": "Cornish pasty", "entity_type": "fo/Recipe", "attribute": "fo/serves", "value": "4 people"}
"#;

/// Terms for each prompt, and a part of the rendered text.
fn inputs() -> Vec<(&'static str, Value, &'static str)> {
    let text = json!({"text": "DNA carries <genes> & more."});
    let rows = json!({"text": "DNA carries <genes> & more.", "schema": {"fields": [{"name": "id", "type": "string"}], "name": "genes"}});
    let text_rows = json!({"text": "DNA carries <genes> & more.", "schema": "genes(id string)"});
    let ontology = json!({
        "text": "DNA carries <genes> & more.",
        "classes": {"fo/Recipe": {"comment": "A dish"}},
        "object_properties": {"fo/has_ingredient": {"domain": "fo/Recipe"}},
        "datatype_properties": {"fo/serves": {"range": "xsd:string"}},
    });
    let other =
        json!({"text": "DNA carries <genes> & more.", "classes": "Recipe, Food", "properties": ["serves"]});
    vec![
        ("extract-definitions", text.clone(), "{\"entity\": \"<name"),
        ("extract-relationships", text.clone(), "\"object-entity\": <true or false>}"),
        ("extract-topics", text.clone(), "{\"topic\": "),
        ("extract-rows", rows, "<schema>\n{\n  \"fields\": [\n    {\n      \"name\": \"id\","),
        ("extract-rows", text_rows, "<schema>\ngenes(id string)\n</schema>"),
        ("agent-kg-extract", text, "{\"type\": \"relationship\", "),
        (
            "extract-with-ontologies",
            ontology.clone(),
            "\"fo/has_ingredient\": {\n    \"domain\": \"fo/Recipe\"",
        ),
        ("extract-with-ontologies", ontology.clone(), "\"range\": \"xsd:string\""),
        ("ontology-extract", ontology, "{\"type\": \"attribute\", "),
        ("ontology-extract", other, "Recipe, Food\n\nProperties:\n[\n  \"serves\"\n]\n</ontology>"),
    ]
}

#[test]
fn they_render() {
    let manager = PromptManager::built_in();
    for (id, input, expected) in inputs() {
        let asked = manager.render(id, &input).unwrap();
        assert!(asked.prompt.contains(expected), "{}", asked.prompt);
        assert!(asked.prompt.contains("<text>\nDNA carries <genes> & more.\n</text>"), "{}", asked.prompt);
        assert!(asked.prompt.contains("Write JSON Lines"), "{}", asked.prompt);
        assert!(!asked.prompt.contains("\n\n\n"), "{}", asked.prompt);
        assert_eq!(asked.system, "");
        // Each term is required.
        let error = manager.render(id, json!({"text": "t", "schema": "s", "classes": "c"}));
        assert!(error.is_ok());
        for term in ["text", "schema", "classes"] {
            let mut input = input.clone();
            if input.as_object_mut().unwrap().remove(term).is_some() {
                let error = manager.render(id, input).unwrap_err().to_string();
                assert!(
                    error.contains(&format!(
                        "prompts.{}: `{term}` is undefined",
                        if id == "ontology-extract" { "extract-with-ontologies" } else { id }
                    )),
                    "{error}"
                );
            }
        }
    }
}

#[test]
fn their_schemas_are_these() {
    let string = || json!({"type": "string"});
    let object = |properties: Value, required: &[&str]| json!({"type": "object", "properties": properties, "required": required});
    let relationship = json!({"subject": string(), "predicate": string(), "object": string(), "object-entity": {"type": "boolean"}});
    let with_type = |kind: &str, mut properties: Value| {
        properties["type"] = json!({"const": kind});
        properties
    };
    let definition = json!({"entity": string(), "definition": string()});
    let expected = [
        ("extract-definitions", object(definition.clone(), &["entity", "definition"])),
        (
            "extract-relationships",
            object(relationship.clone(), &["subject", "predicate", "object", "object-entity"]),
        ),
        (
            "extract-topics",
            object(json!({"topic": string(), "definition": string()}), &["topic", "definition"]),
        ),
        ("extract-rows", json!({"type": "object"})),
        (
            "agent-kg-extract",
            json!({"oneOf": [
                object(with_type("definition", definition), &["type", "entity", "definition"]),
                object(with_type("relationship", relationship), &["type", "subject", "predicate", "object", "object-entity"]),
            ]}),
        ),
        (
            "extract-with-ontologies",
            json!({"oneOf": [
                object(with_type("entity", json!({"entity": string(), "entity_type": string()})), &["type", "entity", "entity_type"]),
                object(
                    with_type("relationship", json!({"subject": string(), "subject_type": string(), "relation": string(), "object": string(), "object_type": string()})),
                    &["type", "subject", "subject_type", "relation", "object", "object_type"],
                ),
                object(
                    with_type("attribute", json!({"entity": string(), "entity_type": string(), "attribute": string(), "value": string()})),
                    &["type", "entity", "entity_type", "attribute", "value"],
                ),
            ]}),
        ),
    ];
    let manager = PromptManager::built_in();
    assert_eq!(manager.ids().collect::<Vec<_>>(), expected.clone().map(|(id, _)| id));
    for (id, expected) in expected {
        let prompt = manager.prompt(id).unwrap();
        assert_eq!(prompt.response_type(), ResponseType::Jsonl);
        let mut schema = prompt.schema().unwrap().clone();
        for property in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
            property.1.as_object_mut().unwrap().remove("description");
        }
        assert_eq!(schema, expected, "{id}");
    }
    let alias = manager.prompt("ontology-extract").unwrap();
    assert_eq!(alias.template(), manager.prompt("extract-with-ontologies").unwrap().template());
}

fn extracted<T: serde::de::DeserializeOwned>(id: &str, response: &str) -> Objects<T> {
    PromptManager::built_in().apply(id, response).unwrap().into_objects().unwrap()
}

#[test]
fn objects_of_one_type_are_read() {
    let definitions: Objects<Definition> =
        extracted("extract-definitions", "{\"entity\":\"DNA\",\"definition\":\"d\"}\n{\"entity\":\"RNA\"}\n");
    assert_eq!(*definitions, [Definition { entity: "DNA".into(), definition: "d".into() }]);
    assert_eq!(warnings(&definitions), ["2:1: schema_violation: missing required member `definition`"]);

    let line = "{\"subject\":\"DNA\",\"predicate\":\"is in\",\"object\":\"nucleus\",\"object-entity\":true}";
    let relationships: Objects<Relationship> = extracted("extract-relationships", line);
    assert!(relationships[0].object_entity);
    assert_eq!(serde_json::to_string(&relationships[0]).unwrap(), line);

    let topics: Objects<Topic> = extracted("extract-topics", "{\"topic\":\"genes\",\"definition\":\"d\"}");
    assert_eq!(topics[0].topic, "genes");

    let rows: Objects<Row> = extracted("extract-rows", "{\"price\":0.90,\"id\":1}\n7\n[8]\n{\"id\":2}");
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0].get("price").map(Raw::as_str), Some("0.90"));
    assert_eq!(rows[0].get("name"), None);
    assert_eq!(rows[0].iter().map(|(column, _)| column).collect::<Vec<_>>(), ["price", "id"]);
    assert_eq!(serde_json::to_value(&rows[0]).unwrap(), json!({"price": 0.9, "id": 1}));
}

#[test]
fn mixed_objects_are_grouped_by_type() {
    let items: Objects<KnowledgeItem> = extracted("agent-kg-extract", MIXED);
    assert_eq!(warnings(&items), [""; 0]);
    let graph: KnowledgeGraph = items.into_iter().collect();
    assert_eq!(graph.definitions.iter().map(|d| d.entity.as_str()).collect::<Vec<_>>(), ["DNA", "RNA"]);
    assert_eq!(
        graph.relationships.iter().map(|r| r.object.as_str()).collect::<Vec<_>>(),
        ["cell nucleus", "DNA"]
    );

    let items: Objects<KnowledgeItem> = extracted(
        "agent-kg-extract",
        "{\"type\":\"definition\",\"entity\":\"a\"}\n{\"type\":\"opinion\",\"entity\":\"a\",\"definition\":\"b\"}\n{\"entity\":\"a\",\"definition\":\"b\"}\n{\"type\":\"definition\",\"entity\":\"a\",\"definition\":\"b\"}\n{\"type\":\"relationship\",\"subject\":\"a\",\"predicate\":\"b\",\"object\":\"c\",\"object-entity\":\"yes\"}",
    );
    assert_eq!(items.len(), 1);
    let lines: Vec<_> =
        items.report().rejects().map(|reject| (reject.line, reject.schema_path.clone().unwrap())).collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[0], (1, "/oneOf/0/required".to_owned()));
    assert_eq!(lines[3], (5, "/oneOf/1/properties/object-entity/type".to_owned()));
}

#[test]
fn an_ontology_has_entities_relationships_and_attributes() {
    for id in ["extract-with-ontologies", "ontology-extract"] {
        let items: Objects<OntologyItem> = extracted(id, ONTOLOGY);
        for (item, line) in items.iter().zip(ONTOLOGY.lines()) {
            assert_eq!(serde_json::to_value(item).unwrap(), serde_json::from_str::<Value>(line).unwrap());
        }
        let graph: OntologyGraph = items.into_iter().collect();
        assert_eq!((graph.entities.len(), graph.relationships.len(), graph.attributes.len()), (2, 1, 1));
        assert_eq!(graph.entities[0].entity_type, "fo/Recipe");
        assert_eq!(graph.relationships[0].relation, "fo/has_ingredient");
        assert_eq!(graph.attributes[0].value, "4 people");
    }
}

#[test]
fn truncation_never_loses_a_complete_line() {
    for (id, response) in [("agent-kg-extract", MIXED), ("ontology-extract", ONTOLOGY)] {
        let manager = PromptManager::built_in();
        for at in 0..=response.len() {
            let part = cut(response, at);
            let objects: Objects = manager.apply(id, part).unwrap().into_objects().unwrap();
            assert!(objects.len() >= part.matches('\n').count());
            assert!(
                objects.iter().map(Raw::as_str).zip(response.lines()).all(|(object, line)| object == line)
            );
        }
    }
}
