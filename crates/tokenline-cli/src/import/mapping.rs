//! The mapping of the options and of a file.

use std::path::Path;

use tokenline_import::{EmptyMessages, Mapping, SeveralUsers, UnknownRoles};

use crate::args::{EmptyMessagesArg, MappingArgs, SeveralUsersArg, UnknownRolesArg};
use crate::failure::Failure;
use crate::load;

/// Uses the names of the output for columns that are not given.
pub(super) fn set_default_columns(mapping: &mut Mapping) {
    let set = |column: &mut Option<String>, name: &str| {
        column.get_or_insert_with(|| name.to_owned());
    };
    if mapping.messages.is_none() {
        set(&mut mapping.conversation_id, "conversation_id");
    }
    if mapping.default_user_id.is_none() {
        set(&mut mapping.user_id, "user_id");
    }
    if mapping.default_timestamp.is_none() {
        set(&mut mapping.timestamp, "timestamp");
    }
    set(&mut mapping.role, "role");
    if mapping.content.is_empty() {
        mapping.content.push("content".to_owned());
    }
}

pub(super) fn load_mapping(path: &Path) -> Result<Mapping, Failure> {
    let text = load::text("mapping", path)?;
    let invalid = |error: &dyn std::fmt::Display| {
        Failure::Usage(format!("invalid mapping {}: {error}", path.display()))
    };
    match text.trim_start().starts_with('{') {
        true => serde_json::from_str(&text).map_err(|error| invalid(&error)),
        false => toml::from_str(&text).map_err(|error| invalid(&error)),
    }
}

impl MappingArgs {
    /// Overrides what options set.
    pub(super) fn override_in(&self, mapping: &mut Mapping) -> Result<(), Failure> {
        let texts = [
            (&self.conversation_id, &mut mapping.conversation_id),
            (&self.user_id, &mut mapping.user_id),
            (&self.default_user_id, &mut mapping.default_user_id),
            (&self.timestamp, &mut mapping.timestamp),
            (&self.default_timestamp, &mut mapping.default_timestamp),
            (&self.time_format, &mut mapping.time_format),
            (&self.time_zone, &mut mapping.time_zone),
            (&self.role, &mut mapping.role),
            (&self.order, &mut mapping.order),
            (&self.messages, &mut mapping.messages),
        ];
        for (given, target) in texts {
            if given.is_some() {
                target.clone_from(given);
            }
        }
        if !self.content.is_empty() {
            mapping.content.clone_from(&self.content);
        }
        for pair in &self.metadata {
            let (name, column) = pair
                .split_once('=')
                .ok_or_else(|| Failure::Usage(format!("--metadata {pair}: expected NAME=COLUMN")))?;
            mapping.metadata.insert(name.to_owned(), column.to_owned());
        }
        if let Some(action) = self.unknown_roles {
            mapping.unknown_roles = match action {
                UnknownRolesArg::Reject => UnknownRoles::Reject,
                UnknownRolesArg::Keep => UnknownRoles::Keep,
            };
        }
        if let Some(action) = self.empty_messages {
            mapping.empty_messages = match action {
                EmptyMessagesArg::Skip => EmptyMessages::Skip,
                EmptyMessagesArg::Keep => EmptyMessages::Keep,
                EmptyMessagesArg::Reject => EmptyMessages::Reject,
            };
        }
        if let Some(action) = self.several_users {
            mapping.several_users = match action {
                SeveralUsersArg::Reject => SeveralUsers::Reject,
                SeveralUsersArg::First => SeveralUsers::First,
            };
        }
        Ok(())
    }
}
