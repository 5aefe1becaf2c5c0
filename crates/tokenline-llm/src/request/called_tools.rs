//! The tools that a conversation has called, by the ids of the calls.

use std::collections::HashMap;

use super::{ChatRequest, RequestError, ToolResult};

/// The tools that a conversation has called. A conversation may have many results: none looks through the messages.
pub(crate) struct CalledTools<'r>(HashMap<&'r str, Vec<Called<'r>>>);

/// A call.
struct Called<'r> {
    /// The index of its message.
    index: usize,
    name: &'r str,
    /// Whether the id of this call, or of an earlier one that has the same id, is synthetic.
    is_synthetic: bool,
}

impl<'r> CalledTools<'r> {
    pub(crate) fn of(request: &'r ChatRequest) -> Self {
        let mut by_id: HashMap<&str, Vec<Called<'_>>> = HashMap::new();
        for (index, message) in request.messages.iter().enumerate() {
            for call in message.tool_calls() {
                let Some(id) = &call.call_id else { continue };
                let calls = by_id.entry(id).or_default();
                let was_synthetic = calls.last().is_some_and(|called| called.is_synthetic);
                let is_synthetic = call.is_synthetic_id || was_synthetic;
                calls.push(Called { index, name: &call.name, is_synthetic });
            }
        }
        Self(by_id)
    }

    /// The name of the tool whose result this is.
    pub(crate) fn name(&self, index: usize, result: &'r ToolResult) -> Result<&'r str, RequestError> {
        let called = || Some(self.before(index, result)?.name);
        result.name.as_deref().or_else(called).ok_or_else(|| RequestError::Message {
            index,
            reason: "the tool result has neither a tool name nor the id of an earlier call".to_owned(),
        })
    }

    /// Whether the id of the result is synthetic, and so unknown to the provider.
    pub(crate) fn is_synthetic(&self, index: usize, result: &ToolResult) -> bool {
        self.before(index, result).is_some_and(|called| called.is_synthetic)
    }

    /// The latest call with the id of the result before the message at `index`.
    fn before(&self, index: usize, result: &ToolResult) -> Option<&Called<'r>> {
        let calls = self.0.get(result.call_id.as_deref()?)?;
        calls[..calls.partition_point(|called| called.index < index)].last()
    }
}
