//! Which column is what.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Which columns hold the parts of a message, and what to do with unusual rows.
///
/// A column is a name: of a column of a table, or of a member of a JSON document. In JSON documents it can also be a
/// JSON Pointer such as `/author/name`.
///
/// ```
/// use tokenline_import::Mapping;
///
/// let mapping: Mapping = toml::from_str(r#"
///     conversation-id = "thread"
///     user-id = "customer"
///     timestamp = "sent_at"
///     role = "author"
///     content = ["title", "body"]
///
///     [roles]
///     agent = "assistant"
///
///     [metadata]
///     channel = "source_channel"
/// "#)?;
/// assert_eq!(mapping.content.len(), 2);
/// # Ok::<_, toml::de::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Mapping {
    /// The id of the conversation: a text, taken as it is, or a number; 7 and 7.0 are the same. Documents with
    /// [messages](Self::messages) in which it is missing, empty or not mapped are numbered: `export.json:12`.
    pub conversation_id: Option<String>,
    /// The id of the user. Rows in which it is empty belong to the user of the others.
    pub user_id: Option<String>,
    /// The time. That of a conversation is the earliest of its rows.
    pub timestamp: Option<String>,
    /// The role of the author. White space around it does not count.
    pub role: Option<String>,
    /// The text: one column, or several, whose texts are joined. A text can also be a number, or have parts as in the
    /// APIs of providers: `["..."]`, `[{"type":"text","text":"..."}]`, `{"parts":[...]}`. Parts without text, such as
    /// images, are left out.
    #[serde(deserialize_with = "one_or_several")]
    pub content: Vec<String>,
    /// The order of the messages in a conversation: numbers, then times, then texts. A text of up to 20 digits, with or
    /// without a fraction, is a number. Default: the timestamp; if none is mapped, and in documents with
    /// [messages](Self::messages), the order of the input. Equal ones stay in the order of the input.
    pub order: Option<String>,
    /// The array of messages in a document that is a whole conversation. `role`, `content` and `order` are then columns of
    /// its elements, all others columns of the document.
    pub messages: Option<String>,
    /// The metadata of a conversation: the column of each member. The first message with a value counts; null and an empty
    /// field of a CSV file are not values.
    pub metadata: BTreeMap<String, String>,
    /// The user of conversations that name none.
    pub default_user_id: Option<String>,
    /// The time of conversations that have none, in RFC 3339.
    pub default_timestamp: Option<String>,
    /// Other names of roles, which override [`DEFAULT_ROLES`]. Upper and lower case are the same.
    pub roles: BTreeMap<String, String>,
    /// How to handle a role that is neither a usual one nor in [roles](Self::roles).
    pub unknown_roles: UnknownRoles,
    /// How to handle a message without text.
    pub empty_messages: EmptyMessages,
    /// How to handle a conversation whose rows name several users.
    pub several_users: SeveralUsers,
    /// How times are written: `auto`, `seconds` or `milliseconds` since 1970, or a pattern for [`strptime`] such as
    /// `%d.%m.%Y %H:%M`. `auto`, the default, reads RFC 3339 and numbers: below 100,000,000,000 they are seconds, from
    /// there on milliseconds. Of RFC 3339, the `T` may be a space, and the offset, the seconds, the minutes or the whole
    /// time may be missing; a zone in brackets may follow, and a leap second is the second before it. Times lie in the
    /// years 0 to 9999.
    ///
    /// [`strptime`]: https://docs.rs/jiff/latest/jiff/fmt/strtime/index.html
    pub time_format: Option<String>,
    /// The time zone of times without an offset, such as `Europe/Berlin` or `UTC`. Without one they are invalid. A time
    /// that a change of the clocks skips or repeats has the offset before the change.
    pub time_zone: Option<String>,
    /// The separator between the parts of a text. Default: a line feed.
    pub separator: Option<String>,
}

/// Names of roles that are understood without a mapping.
pub const DEFAULT_ROLES: [(&str, &str); 14] = [
    ("assistant", "assistant"),
    ("developer", "developer"),
    ("function", "function"),
    ("system", "system"),
    ("tool", "tool"),
    ("user", "user"),
    ("ai", "assistant"),
    ("bot", "assistant"),
    ("chatbot", "assistant"),
    ("chatgpt", "assistant"),
    ("gpt", "assistant"),
    ("human", "user"),
    ("model", "assistant"),
    ("prompter", "user"),
];

/// How to handle an unknown role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnknownRoles {
    /// Reject the conversation.
    #[default]
    Reject,
    /// Write the role as it is.
    Keep,
}

/// How to handle a message without text: null, empty, or white space only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EmptyMessages {
    /// Leave it out, and count it.
    #[default]
    Skip,
    /// Write it.
    Keep,
    /// Reject the conversation.
    Reject,
}

/// How to handle a conversation whose rows name several users.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeveralUsers {
    /// Reject the conversation.
    #[default]
    Reject,
    /// Use the first user in message order, including skipped messages.
    First,
}

impl Mapping {
    /// The mapping of ShareGPT files: documents with `conversations`, whose elements have `from` and `value`.
    ///
    /// They name neither users nor times: set [`default_user_id`](Self::default_user_id) and
    /// [`default_timestamp`](Self::default_timestamp).
    #[must_use]
    pub fn sharegpt() -> Self {
        Self {
            conversation_id: Some("id".to_owned()),
            messages: Some("conversations".to_owned()),
            role: Some("from".to_owned()),
            content: vec!["value".to_owned()],
            ..Self::default()
        }
    }

    /// The mapping of a file that starts like this, if it is one of [ShareGPT](Self::sharegpt) or of
    /// [OpenAI's for fine-tuning](Self::openai_fine_tuning).
    #[must_use]
    pub fn detect(start: &[u8]) -> Option<Self> {
        let has = |names: [&str; 3]| {
            let mut rest = start;
            // An array, not a count.
            names[..1].iter().all(|name| skip_past(&mut rest, name)) && is_followed_by(rest, b'[') && {
                // The members of an element are in any order.
                names[1..].iter().all(|name| skip_past(&mut &*rest, name))
            }
        };
        if has(["conversations", "from", "value"]) {
            Some(Self::sharegpt())
        } else if has(["messages", "role", "content"]) {
            // Documents that name more than OpenAI's.
            let column = |name: &str| skip_past(&mut &*start, name).then(|| name.to_owned());
            Some(Self {
                conversation_id: column("conversation_id"),
                user_id: column("user_id"),
                timestamp: column("timestamp"),
                ..Self::openai_fine_tuning()
            })
        } else {
            None
        }
    }

    /// The mapping of OpenAI's files for fine-tuning: documents with `messages`, whose elements have `role` and `content`.
    ///
    /// They name neither users nor times: set [`default_user_id`](Self::default_user_id) and
    /// [`default_timestamp`](Self::default_timestamp).
    #[must_use]
    pub fn openai_fine_tuning() -> Self {
        Self {
            messages: Some("messages".to_owned()),
            role: Some("role".to_owned()),
            content: vec!["content".to_owned()],
            ..Self::default()
        }
    }
}

/// Whether a member's value begins so.
fn is_followed_by(text: &[u8], opener: u8) -> bool {
    let value = text.trim_ascii_start().strip_prefix(b":");
    value.is_some_and(|value| value.trim_ascii_start().first() == Some(&opener))
}

/// Moves past the first member with this name.
fn skip_past(text: &mut &[u8], name: &str) -> bool {
    let name = format!("\"{name}\"");
    let found = memchr::memmem::find(text, name.as_bytes());
    if let Some(at) = found {
        *text = &text[at + name.len()..];
    }
    found.is_some()
}

/// A text, or an array of texts.
fn one_or_several<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrSeveral {
        One(String),
        Several(Vec<String>),
    }
    Ok(match OneOrSeveral::deserialize(deserializer)? {
        OneOrSeveral::One(column) => vec![column],
        OneOrSeveral::Several(columns) => columns,
    })
}
