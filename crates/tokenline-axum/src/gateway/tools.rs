//! The compiled tools of requests.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tokenline::ToolDefinition;
use tokenline::schema::{SchemaError, ToolSet};

/// The tools that are kept: each client sends the same ones with every request.
const MAX_SETS: usize = 32;

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
        Ok(compiled)
    }
}
