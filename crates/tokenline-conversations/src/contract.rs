//! The contract as code: the rules of the schema, checked without a schema.

use std::borrow::Cow;

use tokenline_core::json::{Kind, Value};
use tokenline_core::{Code, Violation};

use crate::Profile;
use crate::ids::IdHash;
use crate::timestamp::is_date_time;

/// The facts kept about a valid conversation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fact {
    pub(crate) conversation_id: u128,
    pub(crate) user_id: u128,
    /// The offset of the conversation's id in the record, in bytes.
    pub(crate) id_at: usize,
    pub(crate) messages: u64,
    pub(crate) unusual_roles: u64,
    pub(crate) has_metadata: bool,
}

/// Checks a record against the contract. Reports the first fault: in the order of the text, missing members last.
pub(crate) fn check(value: Value<'_>, profile: Profile, ids: IdHash) -> Result<Fact, Box<Violation>> {
    let Some(members) = value.as_object() else { return Err(wrong_kind(value, Kind::Object, "", "")) };
    let (mut conversation_id, mut user_id, mut messages) = (None, None, None);
    let (mut has_timestamp, mut has_metadata) = (false, false);
    for (name, member) in members {
        match name {
            "conversation_id" => {
                let id = ids.of(&string(member, name)?);
                conversation_id = Some((id, member.range().start));
            }
            "user_id" => user_id = Some(ids.of(&string(member, name)?)),
            "timestamp" => {
                has_timestamp = true;
                if !is_date_time(&string(member, name)?) {
                    return Err(not_a_date_time(member));
                }
            }
            "messages" => messages = Some(check_messages(member)?),
            "metadata" if member.kind() != Kind::Object => {
                return Err(wrong_kind(member, Kind::Object, "/metadata", "/properties/metadata"));
            }
            "metadata" => has_metadata = true,
            _ if profile == Profile::Strict => return Err(unknown_member(member, "", "")),
            _ => {}
        }
    }
    let missing = |name| missing_member(value, name, "", "");
    let (conversation_id, id_at) = conversation_id.ok_or_else(|| missing("conversation_id"))?;
    let user_id = user_id.ok_or_else(|| missing("user_id"))?;
    if !has_timestamp {
        return Err(missing("timestamp"));
    }
    let Messages { count, unusual_roles } = messages.ok_or_else(|| missing("messages"))?;
    Ok(Fact { conversation_id, user_id, id_at, messages: count, unusual_roles, has_metadata })
}

struct Messages {
    count: u64,
    unusual_roles: u64,
}

fn check_messages(value: Value<'_>) -> Result<Messages, Box<Violation>> {
    const RULE: &str = "/properties/messages";
    const ITEMS: &str = "/properties/messages/items";
    let Some(elements) = value.as_array() else {
        return Err(wrong_kind(value, Kind::Array, "/messages", RULE));
    };
    let mut messages = Messages { count: 0, unusual_roles: 0 };
    for message in elements {
        let path = || format!("/messages/{}", messages.count);
        let Some(members) = message.as_object() else {
            return Err(wrong_kind(message, Kind::Object, &path(), ITEMS));
        };
        let (mut has_role, mut has_content) = (false, false);
        for (name, member) in members {
            let seen = match name {
                "role" => {
                    messages.unusual_roles += u64::from(!is_usual_role(member));
                    &mut has_role
                }
                "content" => &mut has_content,
                _ => return Err(unknown_member(member, &path(), ITEMS)),
            };
            *seen = true;
            if member.kind() != Kind::String {
                let (path, rule) = (format!("{}/{name}", path()), format!("{ITEMS}/properties/{name}"));
                return Err(wrong_kind(member, Kind::String, &path, &rule));
            }
        }
        if !(has_role && has_content) {
            let name = if has_role { "content" } else { "role" };
            return Err(missing_member(message, name, &path(), ITEMS));
        }
        messages.count += 1;
    }
    Ok(messages)
}

fn is_usual_role(role: Value<'_>) -> bool {
    // The usual spelling; the second pattern also decodes escapes.
    matches!(role.raw(), "\"user\"" | "\"assistant\"")
        || matches!(role.as_str().as_deref(), Some("user" | "assistant"))
}

/// The text of a member that must be a string.
fn string<'v>(value: Value<'v>, name: &str) -> Result<Cow<'v, str>, Box<Violation>> {
    value
        .as_str()
        .ok_or_else(|| wrong_kind(value, Kind::String, &format!("/{name}"), &format!("/properties/{name}")))
}

#[cold]
fn wrong_kind(value: Value<'_>, expected: Kind, path: &str, schema: &str) -> Box<Violation> {
    let message = format!("expected type {}, found {}", expected.as_str(), value.kind().with_article());
    violation(value, path, &format!("{schema}/type"), message)
}

#[cold]
fn missing_member(object: Value<'_>, name: &str, path: &str, schema: &str) -> Box<Violation> {
    violation(object, path, &format!("{schema}/required"), format!("the member \"{name}\" is missing"))
}

/// The message omits the name: unknown names may be private.
#[cold]
fn unknown_member(member: Value<'_>, path: &str, schema: &str) -> Box<Violation> {
    let message = "a member that the schema does not allow".to_owned();
    violation(member, path, &format!("{schema}/additionalProperties"), message)
}

#[cold]
fn not_a_date_time(value: Value<'_>) -> Box<Violation> {
    let message = "not a date-time with an offset, as in RFC 3339: 2026-02-10T12:34:56Z".to_owned();
    violation(value, "/timestamp", "/properties/timestamp/format", message)
}

fn violation(value: Value<'_>, path: &str, rule: &str, message: String) -> Box<Violation> {
    let violation = Violation::new(Code::SchemaViolation, value.range().start, message);
    Box::new(violation.with_instance_path(path).with_schema_path(rule))
}

/// The length of the part of a JSON Pointer that consists of the contract's names and of numbers. Other names may be
/// private.
pub(crate) fn known_part(path: &str) -> usize {
    let mut known = 0;
    for (depth, name) in path.split('/').skip(1).enumerate() {
        let is_known = match depth {
            0 => matches!(name, "conversation_id" | "user_id" | "timestamp" | "messages" | "metadata"),
            1 => path.starts_with("/messages/") && name.bytes().all(|byte| byte.is_ascii_digit()),
            2 => matches!(name, "role" | "content"),
            _ => false,
        };
        if !is_known {
            break;
        }
        known += 1 + name.len();
    }
    known
}
