//! The order of events, checked as the front end does: `verifyEvents` in the npm package `@ag-ui/client` throws where this
//! panics. It knows nothing of the writer.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

/// Checks the events of one run.
pub(crate) fn check(events: &[Value], of: &str) {
    let text = |event: &Value, member: &str| {
        event[member].as_str().unwrap_or_else(|| panic!("{of}: no {member}: {event}")).to_owned()
    };
    let (mut steps, mut open, mut ids) = (HashSet::new(), HashSet::new(), HashSet::new());
    let mut calls: HashMap<String, (String, bool)> = HashMap::new();
    let mut results = HashSet::new();
    for (at, event) in events.iter().enumerate() {
        let members = event.as_object().expect("an object");
        assert!(members.values().all(|value| !value.is_null()), "{of}: {event}");
        let kind = text(event, "type");
        let has_delta = || !text(event, "delta").is_empty();
        let is_ok = match &*kind {
            "RUN_STARTED" => at == 0,
            "RUN_ERROR" => at + 1 == events.len() && !text(event, "message").is_empty(),
            "RUN_FINISHED" => {
                let closed =
                    steps.is_empty() && open.is_empty() && calls.values().all(|(_, is_open)| !is_open);
                at + 1 == events.len() && closed
            }
            "STEP_STARTED" => steps.insert(text(event, "stepName")),
            "STEP_FINISHED" => steps.remove(&text(event, "stepName")),
            "TEXT_MESSAGE_START" | "REASONING_START" => {
                let id = text(event, "messageId");
                ids.insert(id.clone()) && open.insert((kind.replace("_START", ""), id))
            }
            "REASONING_MESSAGE_START" => {
                open.insert(("REASONING_MESSAGE".to_owned(), text(event, "messageId")))
            }
            "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT" => {
                open.contains(&(kind.replace("_CONTENT", ""), text(event, "messageId"))) && has_delta()
            }
            "TEXT_MESSAGE_END" | "REASONING_MESSAGE_END" | "REASONING_END" => {
                open.remove(&(kind.replace("_END", ""), text(event, "messageId")))
            }
            "TOOL_CALL_START" => {
                let parent = event.get("parentMessageId").and_then(Value::as_str);
                parent.is_none_or(|parent| ids.contains(parent))
                    && !text(event, "toolCallName").is_empty()
                    && calls.insert(text(event, "toolCallId"), (String::new(), true)).is_none()
            }
            "TOOL_CALL_ARGS" => match calls.get_mut(&text(event, "toolCallId")) {
                Some((arguments, true)) => {
                    arguments.push_str(&text(event, "delta"));
                    has_delta()
                }
                _ => false,
            },
            "TOOL_CALL_END" => match calls.get_mut(&text(event, "toolCallId")) {
                Some((_, is_open)) => std::mem::take(is_open),
                None => false,
            },
            "TOOL_CALL_RESULT" => {
                let id = text(event, "toolCallId");
                calls.get(&id).is_some_and(|(_, is_open)| !is_open)
                    && results.insert(id)
                    && ids.insert(text(event, "messageId"))
                    && event["content"].is_string()
            }
            "STATE_SNAPSHOT" => event.get("snapshot").is_some(),
            "STATE_DELTA" => event["delta"].is_array(),
            "CUSTOM" => !text(event, "name").is_empty() && event.get("value").is_some(),
            _ => false,
        };
        assert!(is_ok, "{of}: {event} at {at} of {}", serde_json::json!(events));
    }
    let last = events.last().map(|last| text(last, "type"));
    assert!(matches!(last.as_deref(), Some("RUN_FINISHED" | "RUN_ERROR")), "{of}");
    // The arguments of a call that may run are JSON.
    for (id, (arguments, is_open)) in &calls {
        let may_run = !is_open && !results.contains(id);
        assert!(
            !may_run || serde_json::from_str::<Value>(arguments).is_ok_and(|it| it.is_object()),
            "{of}: {arguments}"
        );
    }
}
