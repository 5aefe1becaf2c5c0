//! A mapping, ready to be applied to rows.

use std::borrow::Cow;
use std::collections::HashMap;

use tokenline_core::json::{Array, Kind, Value};

use crate::cell::{json_string, write_string};
use crate::entry::{EntryWriter, OrderKey};
use crate::mapping::DEFAULT_ROLES;
use crate::time::{NoTime, TimeReader, decimal, json_decimal};
use crate::{Cell, EmptyMessages, ImportCode, ImportError, Mapping, Row, SeveralUsers, UnknownRoles};

/// The columns of a mapping, numbered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns(Vec<String>);

impl Columns {
    /// The names, in the order of their numbers.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.0
    }

    fn add(&mut self, name: &str) -> usize {
        let at = self.0.iter().position(|known| known == name);
        at.unwrap_or_else(|| {
            self.0.push(name.to_owned());
            self.0.len() - 1
        })
    }
}

/// A mapping, ready to be applied to rows.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The columns of rows.
    pub(crate) columns: Columns,
    pub(crate) conversation_id: Option<usize>,
    user_id: Option<usize>,
    timestamp: Option<usize>,
    messages: Option<usize>,
    metadata: Vec<usize>,
    /// The names of the metadata as JSON, each with a colon.
    pub(crate) metadata_names: Vec<String>,
    /// The columns of the elements of `messages`; else the same as `columns`.
    message_columns: Columns,
    role: usize,
    content: Vec<usize>,
    order: Option<usize>,
    time: TimeReader,
    /// The roles as JSON, by their names in lower case.
    roles: HashMap<String, String>,
    unknown_roles: UnknownRoles,
    empty_messages: EmptyMessages,
    separator: String,
    pub(crate) several_users: SeveralUsers,
    pub(crate) default_user_id: Option<String>,
    pub(crate) default_timestamp: Option<i128>,
}

/// The problem with a row or a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) code: ImportCode,
    pub(crate) message: Cow<'static, str>,
    pub(crate) column: Option<String>,
}

/// The message about an unknown role. It names one that looks like a name; anything else may be private text in the wrong
/// column.
fn unknown_role(role: &str) -> Cow<'static, str> {
    const MAX_NAME: usize = 32;
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if role.len() <= MAX_NAME && role.bytes().all(is_part) {
        format!("the mapping does not know the role `{role}`").into()
    } else {
        "the mapping does not know the role".into()
    }
}

impl Plan {
    pub(crate) fn new(mapping: &Mapping) -> Result<Self, ImportError> {
        let missing = |what: &str| ImportError::mapping(format!("the mapping has no column for the {what}"));
        let mut columns = Columns::default();
        let is_whole = mapping.messages.is_some();
        if mapping.conversation_id.is_none() && !is_whole {
            return Err(missing("conversation id"));
        }
        if mapping.user_id.is_none() && mapping.default_user_id.is_none() {
            return Err(ImportError::mapping(
                "the mapping has neither a column for the user id nor a default user id",
            ));
        }
        if mapping.timestamp.is_none() && mapping.default_timestamp.is_none() {
            return Err(ImportError::mapping(
                "the mapping has neither a column for the timestamp nor a default timestamp",
            ));
        }
        if mapping.content.is_empty() {
            return Err(missing("content"));
        }
        let mut add = |name: &Option<String>| name.as_ref().map(|name| columns.add(name));
        let conversation_id = add(&mapping.conversation_id);
        let user_id = add(&mapping.user_id);
        let timestamp = add(&mapping.timestamp);
        let messages = add(&mapping.messages);
        let metadata = mapping.metadata.values().map(|name| columns.add(name)).collect();
        let mut message_columns = if is_whole { Columns::default() } else { columns.clone() };
        let role = message_columns.add(mapping.role.as_ref().ok_or_else(|| missing("role"))?);
        let content = mapping.content.iter().map(|name| message_columns.add(name)).collect();
        let order = mapping.order.as_ref().map(|name| message_columns.add(name));
        if !is_whole {
            columns = message_columns.clone();
        }
        let time = TimeReader::new(mapping.time_format.as_deref(), mapping.time_zone.as_deref())?;
        let default_timestamp = mapping.default_timestamp.as_ref().map(|text| {
            let reader = TimeReader::new(None, None)?;
            reader.read(Cell::Text(text.into())).map_err(|_| {
                ImportError::mapping(format!("the default timestamp `{text}` is not a time in RFC 3339"))
            })
        });
        let given = mapping.roles.iter().map(|(name, role)| (name.as_str(), role.as_str()));
        let roles = DEFAULT_ROLES
            .into_iter()
            .chain(given)
            .map(|(name, role)| (name.to_lowercase(), json_string(role)));
        Ok(Self {
            columns,
            conversation_id,
            user_id,
            timestamp,
            messages,
            metadata,
            metadata_names: mapping.metadata.keys().map(|name| json_string(name) + ":").collect(),
            message_columns,
            role,
            content,
            order,
            time,
            roles: roles.collect(),
            unknown_roles: mapping.unknown_roles,
            empty_messages: mapping.empty_messages,
            separator: mapping.separator.clone().unwrap_or_else(|| "\n".to_owned()),
            several_users: mapping.several_users,
            default_user_id: mapping.default_user_id.clone(),
            default_timestamp: default_timestamp.transpose()?,
        })
    }

    /// Whether a row is a whole conversation.
    pub(crate) fn has_whole_conversations(&self) -> bool {
        self.messages.is_some()
    }

    /// The id of the row's conversation.
    pub(crate) fn conversation_id<'r>(&self, row: &'r impl Row) -> Result<Option<Cow<'r, str>>, Fault> {
        let Some(column) = self.conversation_id else { return Ok(None) };
        match row.cell(column).into_text() {
            Ok(Some(id)) => Ok(Some(id)),
            Ok(None) if self.has_whole_conversations() => Ok(None),
            Ok(None) => {
                Err(self.fault(ImportCode::MissingConversationId, "the conversation id is empty", column))
            }
            Err(()) => Err(self.fault(
                ImportCode::InvalidConversationId,
                "the conversation id is neither a text nor a number",
                column,
            )),
        }
    }

    /// Encodes a row that is one message.
    pub(crate) fn encode(&self, row: &impl Row, entry: &mut EntryWriter) -> Result<(), Fault> {
        let time = self.encode_head(row, entry)?;
        let order = self.order_key(row, time)?;
        entry.order(&order, row.tie());
        self.encode_message(row, entry)
    }

    /// The messages of a row that is a whole conversation.
    pub(crate) fn messages<'r>(&self, row: &'r impl Row) -> Result<Array<'r>, Fault> {
        let column = self.messages.unwrap_or_default();
        let missing = |message| self.fault(ImportCode::MissingMessages, message, column);
        match row.cell(column).resolve() {
            Cell::Null => Err(missing("the document has no messages")),
            Cell::Json(value) => value.as_array().ok_or_else(|| missing("the messages are not an array")),
            _ => Err(missing("the messages are not an array")),
        }
    }

    /// Encodes the user, the time and the metadata of a row.
    pub(crate) fn encode_head(&self, row: &impl Row, entry: &mut EntryWriter) -> Result<Option<i128>, Fault> {
        if let Some(column) = self.user_id {
            match row.cell(column).into_text() {
                Ok(user) => entry.user(user.as_deref().unwrap_or_default()),
                Err(()) => {
                    return Err(self.fault(
                        ImportCode::InvalidUserId,
                        "the user id is neither a text nor a number",
                        column,
                    ));
                }
            }
        }
        let mut time = None;
        if let Some(column) = self.timestamp {
            match self.time.read(row.cell(column)) {
                Ok(read) => time = Some(read),
                Err(NoTime::Missing) => {}
                Err(NoTime::NoZone) => {
                    let message = "the time has no offset; set the time zone";
                    return Err(self.fault(ImportCode::InvalidTimestamp, message, column));
                }
                Err(NoTime::Invalid) => {
                    let message = "the time cannot be read";
                    return Err(self.fault(ImportCode::InvalidTimestamp, message, column));
                }
            }
        }
        entry.time(time);
        for column in &self.metadata {
            let cell = row.cell(*column).resolve();
            if matches!(cell, Cell::Invalid) {
                return Err(self.fault(ImportCode::MalformedRow, "the value cannot be read", *column));
            }
            entry.metadata(|out| {
                if !matches!(cell, Cell::Null) {
                    cell.write_json(out);
                }
            });
        }
        Ok(time)
    }

    fn order_key(&self, row: &impl Row, time: Option<i128>) -> Result<OrderKey, Fault> {
        let Some(column) = self.order else {
            return match (self.timestamp, time) {
                (Some(column), None) => {
                    let message = "the time is empty, and orders the messages";
                    Err(self.fault(ImportCode::MissingOrder, message, column))
                }
                (_, Some(time)) => Ok(OrderKey::Time(time)),
                (None, None) => Ok(OrderKey::Input),
            };
        };
        self.order_of(row.cell(column)).map_err(|code| self.order_fault(code, &self.columns, column))
    }

    fn order_of(&self, cell: Cell<'_>) -> Result<OrderKey, ImportCode> {
        let text = match cell.resolve() {
            Cell::Null => return Err(ImportCode::MissingOrder),
            Cell::Integer(number) => return Ok(OrderKey::number(i128::from(number))),
            Cell::Time(time) => return Ok(OrderKey::Time(time)),
            Cell::Float(number) => return json_order(&number.to_string()),
            Cell::Text(text) => text,
            Cell::Json(value) => match value.kind() {
                Kind::String => value.as_str().unwrap_or_default(),
                Kind::Number => return json_order(value.raw()),
                _ => return Err(ImportCode::InvalidOrder),
            },
            Cell::Bool(_) | Cell::Invalid => return Err(ImportCode::InvalidOrder),
        };
        let text = text.trim();
        if text.is_empty() {
            return Err(ImportCode::MissingOrder);
        }
        if let Some(number) = decimal(text, OrderKey::UNIT) {
            return Ok(OrderKey::Number(number));
        }
        Ok(match self.time.read(Cell::Text(text.into())) {
            Ok(time) => OrderKey::Time(time),
            Err(_) => OrderKey::Text(text.to_owned()),
        })
    }

    #[cold]
    fn order_fault(&self, code: ImportCode, columns: &Columns, column: usize) -> Fault {
        let message = match code {
            ImportCode::MissingOrder => "the order is empty",
            _ => "the order is neither a number, nor a time, nor a text",
        };
        Fault { code, message: message.into(), column: Some(columns.0[column].clone()) }
    }

    /// Encodes one element of the messages of a document. `at` is its position.
    pub(crate) fn encode_element(
        &self,
        message: Value<'_>,
        at: u64,
        entry: &mut EntryWriter,
    ) -> Result<(), Fault> {
        let element = Document { value: message, columns: &self.message_columns };
        let order = match self.order {
            None => OrderKey::number(i128::from(at)),
            Some(column) => self
                .order_of(element.cell(column))
                .map_err(|code| self.order_fault(code, &self.message_columns, column))?,
        };
        entry.order(&order, "");
        self.encode_message(&element, entry)
    }

    fn encode_message(&self, row: &impl Row, entry: &mut EntryWriter) -> Result<(), Fault> {
        let out = entry.message();
        out.extend_from_slice(b"{\"role\":");
        self.write_role(row, out)?;
        out.extend_from_slice(b",\"content\":");
        let has_text = self.write_content(row, out)?;
        out.push(b'}');
        if !has_text {
            match self.empty_messages {
                EmptyMessages::Keep => {}
                EmptyMessages::Skip => entry.skip_message(),
                EmptyMessages::Reject => {
                    let message = "the message has no text";
                    return Err(self.message_fault(ImportCode::EmptyContent, message, self.content[0]));
                }
            }
        }
        Ok(())
    }

    fn write_role(&self, row: &impl Row, out: &mut Vec<u8>) -> Result<(), Fault> {
        let fault = |code, message: &'static str| self.message_fault(code, message, self.role);
        let role = row
            .cell(self.role)
            .into_text()
            .map_err(|()| fault(ImportCode::UnknownRole, "the role is not a text"))?
            .unwrap_or_default();
        let role = role.trim();
        if role.is_empty() {
            return Err(fault(ImportCode::MissingRole, "the role is empty"));
        }
        let known = self.roles.get(role).or_else(|| self.roles.get(&role.to_lowercase()));
        match (known, self.unknown_roles) {
            (Some(role), _) => out.extend_from_slice(role.as_bytes()),
            (None, UnknownRoles::Keep) => write_string(role, out),
            (None, UnknownRoles::Reject) => {
                return Err(self.message_fault(ImportCode::UnknownRole, unknown_role(role), self.role));
            }
        }
        Ok(())
    }

    /// Writes the text as a JSON string. Whether there is more than white space in it.
    fn write_content(&self, row: &impl Row, out: &mut Vec<u8>) -> Result<bool, Fault> {
        if let [column] = self.content[..] {
            // Usually one text.
            match row.cell(column) {
                Cell::Text(text) => {
                    write_string(&text, out);
                    return Ok(!text.trim().is_empty());
                }
                Cell::Json(value) if value.kind() == Kind::String => {
                    out.extend_from_slice(value.raw().as_bytes());
                    return Ok(value.as_str().is_some_and(|text| !text.trim().is_empty()));
                }
                _ => {}
            }
        }
        let mut texts = Vec::new();
        for column in &self.content {
            let cell = row.cell(*column).resolve();
            let read = match cell {
                Cell::Null => Ok(()),
                Cell::Text(text) => {
                    texts.push(text);
                    Ok(())
                }
                Cell::Integer(number) => {
                    texts.push(number.to_string().into());
                    Ok(())
                }
                Cell::Float(number) => {
                    texts.push(number.to_string().into());
                    Ok(())
                }
                Cell::Json(value) => parts(value, &mut texts),
                Cell::Bool(_) | Cell::Time(_) | Cell::Invalid => Err(()),
            };
            read.map_err(|()| {
                let message = "the content is neither a text nor parts of one";
                self.message_fault(ImportCode::InvalidContent, message, *column)
            })?;
        }
        texts.retain(|text| !text.is_empty());
        let text = texts.join(&self.separator);
        write_string(&text, out);
        Ok(!text.trim().is_empty())
    }

    #[cold]
    fn fault(&self, code: ImportCode, message: &'static str, column: usize) -> Fault {
        Fault { code, message: message.into(), column: Some(self.columns.0[column].clone()) }
    }

    #[cold]
    fn message_fault(&self, code: ImportCode, message: impl Into<Cow<'static, str>>, column: usize) -> Fault {
        Fault { code, message: message.into(), column: Some(self.message_columns.0[column].clone()) }
    }

    /// The mapped columns of a row, as a JSON object.
    pub(crate) fn content_of(&self, row: &impl Row) -> String {
        let mut out = b"{".to_vec();
        for (at, name) in self.columns.0.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            write_string(name, &mut out);
            out.push(b':');
            row.cell(at).write_json(&mut out);
        }
        out.push(b'}');
        String::from_utf8(out).expect("JSON is UTF-8")
    }
}

/// The place of a message whose order is a number.
fn json_order(number: &str) -> Result<OrderKey, ImportCode> {
    json_decimal(number, OrderKey::UNIT).map(OrderKey::Number).ok_or(ImportCode::InvalidOrder)
}

/// The texts of a content that has parts, in the forms that providers use: texts, `{"type":"text","text":"..."}`,
/// `{"text":{"value":"..."}}`, `{"parts":[...]}`. Parts of other types, such as images, have no text.
fn parts<'a>(value: Value<'a>, texts: &mut Vec<Cow<'a, str>>) -> Result<(), ()> {
    match value.kind() {
        Kind::Null => Ok(()),
        Kind::String => {
            texts.extend(value.as_str());
            Ok(())
        }
        Kind::Number => {
            texts.push(value.raw().into());
            Ok(())
        }
        Kind::Array => value.as_array().into_iter().flatten().try_for_each(|part| match part.kind() {
            // A part of another type, such as Gemini's `inlineData`.
            Kind::Object if part.get("text").is_none() && part.get("parts").is_none() => Ok(()),
            _ => parts(part, texts),
        }),
        Kind::Object => match (value.get("text"), value.get("parts")) {
            (Some(text), _) if text.kind() == Kind::Object => match text.get("value") {
                Some(text) if text.kind() == Kind::String => parts(text, texts),
                _ => Err(()),
            },
            (Some(text), _) if matches!(text.kind(), Kind::String | Kind::Null) => parts(text, texts),
            (Some(_), _) => Err(()),
            (None, Some(inner)) => parts(inner, texts),
            (None, None) if value.get("type").is_some() => Ok(()),
            (None, None) => Err(()),
        },
        Kind::Bool => Err(()),
    }
}

/// A JSON document as a row.
pub(crate) struct Document<'a> {
    pub(crate) value: Value<'a>,
    pub(crate) columns: &'a Columns,
}

impl Row for Document<'_> {
    fn cell(&self, column: usize) -> Cell<'_> {
        find(self.value, &self.columns.0[column]).map_or(Cell::Null, Cell::Json)
    }
}

/// The value of a column: the member with this name, or at this JSON Pointer.
pub(crate) fn find<'a>(document: Value<'a>, column: &str) -> Option<Value<'a>> {
    let at_pointer = || column.starts_with('/').then(|| document.pointer(column)).flatten();
    document.get(column).or_else(at_pointer)
}
