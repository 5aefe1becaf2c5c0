//! Types for the objects of the built-in prompts.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use tokenline_core::json::Raw;

/// An entity with its definition: an object of `extract-definitions`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Definition {
    /// The entity's name.
    pub entity: String,
    /// The definition.
    pub definition: String,
}

/// A relationship of an entity to an entity or value: an object of `extract-relationships`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Relationship {
    /// The subject, an entity.
    pub subject: String,
    /// The predicate.
    pub predicate: String,
    /// The object, an entity or a value.
    pub object: String,
    /// Whether the object is an entity, not a plain value. `object-entity` in JSON.
    #[serde(rename = "object-entity")]
    pub object_entity: bool,
}

/// A topic of a text: an object of `extract-topics`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Topic {
    /// The topic, in a few words.
    pub topic: String,
    /// The definition.
    pub definition: String,
}

/// A row of a table with arbitrary columns: an object of `extract-rows`.
///
/// Keeps the order of the columns, and the values as written. If the columns are known, use a type of your own instead.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Row {
    cells: Vec<(String, Raw)>,
}

impl Row {
    /// The value in a column; the last one if the column is repeated.
    #[must_use]
    pub fn get(&self, column: &str) -> Option<&Raw> {
        self.cells.iter().rev().find(|(name, _)| name == column).map(|(_, value)| value)
    }

    /// The columns and their values, in the order of the object.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Raw)> {
        self.cells.iter().map(|(column, value)| (column.as_str(), value))
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RowVisitor;

        impl<'de> Visitor<'de> for RowVisitor {
            type Value = Row;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Row, A::Error> {
                let mut row = Row::default();
                while let Some(cell) = map.next_entry()? {
                    row.cells.push(cell);
                }
                Ok(row)
            }
        }

        deserializer.deserialize_map(RowVisitor)
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.cells.len()))?;
        for (column, value) in self.iter() {
            map.serialize_entry(column, value)?;
        }
        map.end()
    }
}

/// An object of `agent-kg-extract`, selected by its `type`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum KnowledgeItem {
    /// `"type": "definition"`.
    Definition(Definition),
    /// `"type": "relationship"`.
    Relationship(Relationship),
}

/// The objects of `agent-kg-extract` by their `type`, each list in the order of the response.
///
/// ```
/// use tokenline_prompt::{KnowledgeGraph, KnowledgeItem, PromptManager};
///
/// let response = r#"{"type": "definition", "entity": "DNA", "definition": "Carries genetic instructions"}
/// {"type": "relationship", "subject": "DNA", "predicate": "located_in", "object": "cell nucleus", "object-entity": true}
/// {"type": "definition", "entity": "RNA", "definition": "Carries genetic information"}"#;
/// let response = PromptManager::built_in().apply("agent-kg-extract", response)?;
/// let graph: KnowledgeGraph = response.into_objects::<KnowledgeItem>()?.into_iter().collect();
/// assert_eq!((graph.definitions.len(), graph.relationships.len()), (2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnowledgeGraph {
    /// The definitions.
    pub definitions: Vec<Definition>,
    /// The relationships.
    pub relationships: Vec<Relationship>,
}

impl Extend<KnowledgeItem> for KnowledgeGraph {
    fn extend<I: IntoIterator<Item = KnowledgeItem>>(&mut self, items: I) {
        for item in items {
            match item {
                KnowledgeItem::Definition(definition) => self.definitions.push(definition),
                KnowledgeItem::Relationship(relationship) => self.relationships.push(relationship),
            }
        }
    }
}

impl FromIterator<KnowledgeItem> for KnowledgeGraph {
    fn from_iter<I: IntoIterator<Item = KnowledgeItem>>(items: I) -> Self {
        let mut graph = Self::default();
        graph.extend(items);
        graph
    }
}

/// An entity and its class.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct OntologyEntity {
    /// The entity's name.
    pub entity: String,
    /// The id of its class, such as `fo/Recipe`.
    pub entity_type: String,
}

/// A relationship between two entities.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct OntologyRelationship {
    /// The name of the subject.
    pub subject: String,
    /// The id of the subject's class.
    pub subject_type: String,
    /// The id of the property, such as `fo/has_ingredient`.
    pub relation: String,
    /// The name of the object.
    pub object: String,
    /// The id of the object's class.
    pub object_type: String,
}

/// An attribute of an entity.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct OntologyAttribute {
    /// The entity's name.
    pub entity: String,
    /// The id of the entity's class.
    pub entity_type: String,
    /// The id of the property, such as `fo/serves`.
    pub attribute: String,
    /// The value.
    pub value: String,
}

/// An object of `extract-with-ontologies`, selected by its `type`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum OntologyItem {
    /// `"type": "entity"`.
    Entity(OntologyEntity),
    /// `"type": "relationship"`.
    Relationship(OntologyRelationship),
    /// `"type": "attribute"`.
    Attribute(OntologyAttribute),
}

/// The objects of `extract-with-ontologies` by their `type`, each list in the order of the response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OntologyGraph {
    /// The entities.
    pub entities: Vec<OntologyEntity>,
    /// The relationships.
    pub relationships: Vec<OntologyRelationship>,
    /// The attributes.
    pub attributes: Vec<OntologyAttribute>,
}

impl Extend<OntologyItem> for OntologyGraph {
    fn extend<I: IntoIterator<Item = OntologyItem>>(&mut self, items: I) {
        for item in items {
            match item {
                OntologyItem::Entity(entity) => self.entities.push(entity),
                OntologyItem::Relationship(relationship) => self.relationships.push(relationship),
                OntologyItem::Attribute(attribute) => self.attributes.push(attribute),
            }
        }
    }
}

impl FromIterator<OntologyItem> for OntologyGraph {
    fn from_iter<I: IntoIterator<Item = OntologyItem>>(items: I) -> Self {
        let mut graph = Self::default();
        graph.extend(items);
        graph
    }
}
