//! The schemas that a schema may refer to, besides itself.

use std::error::Error;
use std::sync::Arc;

use jsonschema::{Retrieve, Uri, uri};
use serde_json::Value;

/// Schemas, each with its absolute URIs. Nothing else is ever read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Resources(Arc<Vec<(Vec<String>, Value)>>);

impl Resources {
    /// Resolves the URIs as given, and those that the schemas declare, against the URI of the schema that refers to them.
    pub(crate) fn new(given: &[(String, Value)], base: &str) -> Self {
        let base = uri::from_str(base).ok();
        let absolute = |reference: &str| absolute(base.as_ref()?, reference);
        let with_uris = |(reference, schema): &(String, Value)| {
            let declared = ["$id", "id"].into_iter().find_map(|keyword| schema.get(keyword)?.as_str());
            // Only an absolute one says where the schema is, whoever refers to it.
            let declared = declared.filter(|id| id.contains(':'));
            let uris = declared.into_iter().chain([reference.as_str()]).filter_map(absolute);
            (uris.collect(), schema.clone())
        };
        Self(Arc::new(given.iter().map(with_uris).collect()))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn schemas(&self) -> impl Iterator<Item = &Value> {
        self.0.iter().map(|(_, schema)| schema)
    }
}

fn absolute(base: &Uri<String>, reference: &str) -> Option<String> {
    let resolved = uri::resolve_against(&base.borrow(), reference.trim_end_matches('#')).ok()?;
    Some(resolved.as_str().trim_end_matches('#').to_owned())
}

impl Retrieve for Resources {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn Error + Send + Sync>> {
        let uri = uri.as_str().trim_end_matches('#');
        let found = self.0.iter().find(|(uris, _)| uris.iter().any(|own| own == uri));
        found.map(|(_, schema)| schema.clone()).ok_or_else(|| "it is not among the resources".into())
    }
}
