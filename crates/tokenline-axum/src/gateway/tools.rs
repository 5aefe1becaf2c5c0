//! The compiled tools of requests.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tokenline::ToolDefinition;
use tokenline::schema::{SchemaError, ToolSet};

/// The tools that are kept: each client sends the same ones with every request.
const MAX_SETS: usize = 32;
/// The bytes of their schemas. A compiled schema of many values takes thirty times as much.
const MAX_BYTES: usize = 1 << 20;

/// The latest tools, compiled. Their streams share them.
#[derive(Debug, Default)]
pub(super) struct ToolCache(Mutex<VecDeque<ToolSet>>);

impl ToolCache {
    /// The validator of these tools, which converts arguments to the types that they declare.
    pub(super) fn compile(&self, tools: &[ToolDefinition]) -> Result<ToolSet, SchemaError> {
        let sets = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = {
            let mut sets = sets();
            let at = sets.iter().position(|set| set.definitions() == tools);
            let known = at.and_then(|at| sets.remove(at));
            if let Some(known) = &known {
                sets.push_front(known.clone());
            }
            known
        };
        if let Some(known) = known {
            return Ok(known);
        }
        // Not while others wait: a large schema takes milliseconds.
        let compiled = ToolSet::new(tools)?.with_coercion();
        let mut sets = sets();
        sets.push_front(compiled.clone());
        sets.truncate(MAX_SETS);
        let mut bytes = 0;
        sets.retain(|set| {
            bytes += size(set.definitions());
            bytes <= MAX_BYTES
        });
        Ok(compiled)
    }
}

/// The bytes of the tools' schemas.
fn size(tools: &[ToolDefinition]) -> usize {
    tools.iter().map(|tool| tool.parameters.as_str().len()).sum()
}

#[cfg(test)]
mod tests {
    use tokenline::json::Raw;

    use super::*;

    #[test]
    fn large_tools_are_not_kept() {
        let cache = ToolCache::default();
        let tool = |count: usize, first: usize| {
            let values: Vec<String> = (first..first + count).map(|number| format!("\"v{number}\"")).collect();
            let schema = format!(
                "{{\"type\":\"object\",\"properties\":{{\"a\":{{\"enum\":[{}]}}}}}}",
                values.join(",")
            );
            let mut tool = ToolDefinition::new("choose");
            tool.parameters = Raw::new(&schema).expect("JSON");
            [tool]
        };
        let held = || cache.0.lock().unwrap().iter().map(|set| size(set.definitions())).sum::<usize>();
        for first in 0..40 {
            cache.compile(&tool(4000, first)).expect("a schema");
            assert!(held() <= MAX_BYTES && held() > 0);
        }
        cache.compile(&tool(200_000, 0)).expect("a schema");
        assert!(held() <= MAX_BYTES);
    }
}
