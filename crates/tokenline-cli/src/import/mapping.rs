//! The mapping of the options and of a file.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use tokenline_import::{EmptyMessages, Mapping, SeveralUsers, UnknownRoles};

use crate::failure::Failure;
use crate::load;

/// Which column is what. A column is the name of a column or a member, or a JSON Pointer such as /author/id.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Mapping")]
pub(crate) struct MappingArgs {
    /// Mapping file, TOML or JSON. Its keys are the options of this section without the leading `--`; `content` is an
    /// array, `metadata` a table, `[roles]` a table of other names of roles, and `separator` joins several texts.
    /// Options override it.
    #[arg(long, value_name = "FILE")]
    pub(super) map: Option<PathBuf>,
    /// Column of the conversation id. A column is the name of a column of a table or of a member of a document, or a
    /// JSON Pointer into a document, such as /author/id. Default without --map: conversation_id; whole conversations
    /// are numbered.
    #[arg(long, value_name = "COLUMN")]
    conversation_id: Option<String>,
    /// Column of the user id. A row without one takes the user of the other rows of its conversation. Default without
    /// --map and --default-user-id: user_id.
    #[arg(long, value_name = "COLUMN")]
    user_id: Option<String>,
    /// User id of conversations without one.
    #[arg(long, value_name = "ID")]
    default_user_id: Option<String>,
    /// Column of the message time. A conversation gets the earliest of its rows. Default without --map and
    /// --default-timestamp: timestamp.
    #[arg(long, value_name = "COLUMN")]
    timestamp: Option<String>,
    /// Time of conversations without one, in RFC 3339.
    #[arg(long, value_name = "TIME")]
    default_timestamp: Option<String>,
    /// Format of times: auto, seconds, milliseconds, or a pattern such as '%d.%m.%Y %H:%M'. auto reads RFC 3339 and
    /// Unix times: numbers below 100,000,000,000 as seconds, others as milliseconds. Default: auto.
    #[arg(long, value_name = "FORMAT")]
    time_format: Option<String>,
    /// Time zone of times without an offset, such as Europe/Berlin or UTC. Default: none, such times are rejected.
    #[arg(long, value_name = "ZONE")]
    time_zone: Option<String>,
    /// Column of the role. Usual names such as human, bot and gpt are understood; --map-role names others. Default
    /// without --map: role.
    #[arg(long, value_name = "COLUMN")]
    pub(super) role: Option<String>,
    /// Column of the text. Repeatable: the texts are joined by line feeds. Default without --map: content.
    #[arg(long, value_name = "COLUMN")]
    pub(super) content: Vec<String>,
    /// Column that orders the messages of a conversation: numbers, times or texts. Default: the time.
    #[arg(long, value_name = "COLUMN")]
    order: Option<String>,
    /// Column with the array of messages, if each document is a whole conversation. --role, --content and --order are
    /// then columns of its elements.
    #[arg(long, value_name = "COLUMN")]
    pub(super) messages: Option<String>,
    /// Take the metadata member NAME from COLUMN. Repeatable; the first message with a value counts.
    #[arg(long, value_name = "NAME=COLUMN")]
    metadata: Vec<String>,
    /// Write the role ROLE for NAME, such as `customer=user`. Upper and lower case of NAME are the same. Repeatable.
    #[arg(long, value_name = "NAME=ROLE")]
    map_role: Vec<String>,
    /// Action for an unknown role. Default: reject the conversation.
    #[arg(long, value_enum, value_name = "ACTION")]
    unknown_roles: Option<UnknownRolesArg>,
    /// Action for a message without text. Default: skip it.
    #[arg(long, value_enum, value_name = "ACTION")]
    empty_messages: Option<EmptyMessagesArg>,
    /// Action for a conversation whose rows name several users. Default: reject it.
    #[arg(long, value_enum, value_name = "ACTION")]
    several_users: Option<SeveralUsersArg>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum UnknownRolesArg {
    /// Reject the conversation.
    Reject,
    /// Write the role as it is.
    Keep,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum EmptyMessagesArg {
    /// Leave the message out, and count it.
    Skip,
    /// Write the message.
    Keep,
    /// Reject the conversation.
    Reject,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SeveralUsersArg {
    /// Reject the conversation.
    Reject,
    /// Take the user of the first message.
    First,
}

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
    if text.trim_start().starts_with('{') {
        serde_json::from_str(&text).map_err(|error| invalid(&error))
    } else {
        toml::from_str(&text).map_err(|error| invalid(&error))
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
        for pair in &self.map_role {
            let (name, role) = pair
                .split_once('=')
                .ok_or_else(|| Failure::Usage(format!("--map-role {pair}: expected NAME=ROLE")))?;
            // The file may have the name in another case.
            mapping.roles.retain(|other, _| other.to_lowercase() != name.to_lowercase());
            mapping.roles.insert(name.to_owned(), role.to_owned());
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
