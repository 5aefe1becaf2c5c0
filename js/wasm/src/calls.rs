//! How tool calls are written.

use tokenline_core::{Coercion, Record, RejectedCall, ToolCall};

use crate::machine::{self, Part};
use crate::output::{Emit, Output, Target};
use crate::write::Json;

/// A complete call. Its parameters are in steps if `JSON.parse` would round a number in them.
pub(crate) fn tool_call(
    call: &ToolCall,
    number: Option<u64>,
    part: Part,
    record: Option<&Record<()>>,
    out: &mut Output,
) {
    if out.emit == Emit::Counts {
        return out.counted();
    }
    let raw = call.parameters.as_str();
    let in_steps = out.needs_steps(raw);
    out.event("tool_call", |json| {
        json.text_member("name", &call.name);
        json.name("parameters");
        json.raw(if in_steps { "null" } else { raw });
        id(call.call_id.as_deref(), call.is_synthetic_id, json);
        if let Some(number) = number {
            json.number_member("number", number);
        }
        json.text_member("completion", call.completion.as_str());
        machine::recovered(call.recovered, json);
        if let Some(error) = &call.error {
            json.name("error");
            json.raw(error.as_str());
        }
        if !call.coerced.is_empty() {
            json.name("coerced");
            json.open(b'[');
            call.coerced.iter().for_each(|change| coercion(change, json));
            json.close(b']');
        }
        if let Some(record) = record {
            json.number_member("line", record.line);
            json.number_member("column", record.column);
            json.number_member("start", record.span.start);
            json.number_member("end", record.span.end);
        }
        part.write(json);
    });
    if in_steps {
        out.begin_steps(Target::LastEvent);
        call.parameters.with_value(|value| out.steps_of(None, value));
    }
}

fn coercion(change: &Coercion, json: &mut Json) {
    json.open(b'{');
    json.text_member("instancePath", &change.instance_path);
    json.text_member("from", change.from.as_str());
    json.text_member("to", change.to.as_str());
    json.close(b'}');
}

/// A call that is not delivered.
pub(crate) fn rejected_call(
    call: &RejectedCall,
    number: Option<u64>,
    part: Part,
    shows_values: bool,
    out: &mut Output,
) {
    out.event("rejected_call", |json| {
        if let Some(name) = &call.name {
            json.text_member("name", name);
        }
        id(call.call_id.as_deref(), call.is_synthetic_id, json);
        if let Some(number) = number {
            json.number_member("number", number);
        }
        machine::diagnostic(&call.diagnostic, json);
        if shows_values {
            json.text_member("received", &call.received);
        }
        part.write(json);
    });
}

fn id(id: Option<&str>, is_synthetic: bool, json: &mut Json) {
    if let Some(id) = id {
        json.text_member("id", id);
    }
    if is_synthetic {
        json.name("syntheticId");
        json.raw("true");
    }
}
