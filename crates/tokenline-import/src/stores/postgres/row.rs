//! The rows of a query: one as the server sends it, and how far they were read.

use super::copy::Fields;
use super::query::{OrderColumn, Position, QueryPlan};
use crate::stores::sql::{Document, write_position};
use crate::{Cell, Row};

/// How far the rows were read.
pub(super) struct Progress {
    /// Where a new connection goes on.
    pub(super) after: Option<Position>,
    pub(super) row_count: u64,
    pub(super) is_connected: bool,
    /// The values of the last row over this connection.
    has_last: bool,
    last_key: Vec<u8>,
    last_conversation: Vec<u8>,
    last_has_conversation: bool,
}

impl Progress {
    pub(super) fn new(after: Option<Position>, row_count: u64) -> Self {
        Self {
            after,
            row_count,
            is_connected: false,
            has_last: false,
            last_key: Vec::new(),
            last_conversation: Vec::new(),
            last_has_conversation: false,
        }
    }

    pub(super) fn passed(&mut self, row: &CopyRow<'_>) {
        self.row_count += 1;
        let Some(key) = row.key() else { return };
        self.has_last = true;
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        let conversation = row.conversation();
        self.last_has_conversation = conversation.is_some();
        if conversation != Some(&self.last_conversation) {
            self.last_conversation.clear();
            self.last_conversation.extend_from_slice(conversation.unwrap_or_default());
        }
    }

    pub(super) fn is_last(&self, key: &[u8], conversation: Option<&[u8]>) -> bool {
        let last_conversation = self.last_has_conversation.then_some(&self.last_conversation[..]);
        self.has_last && self.last_key == key && last_conversation == conversation
    }

    /// Keeps the position of the last row for the next connection.
    pub(super) fn note(&mut self, plan: &QueryPlan) {
        if let (true, Some(key)) = (self.has_last, &plan.key) {
            let conversation = |column: &OrderColumn| {
                self.last_has_conversation.then(|| column.text(&self.last_conversation))
            };
            self.after = Some(Position {
                conversation: plan.conversation.as_ref().map(conversation),
                key: key.text(&self.last_key),
            });
        }
        self.has_last = false;
    }
}

/// A row as the server sends it.
pub(super) struct CopyRow<'a> {
    pub(super) plan: &'a QueryPlan,
    pub(super) bytes: &'a [u8],
    pub(super) fields: &'a Fields,
    pub(super) documents: &'a [Document],
}

impl<'a> CopyRow<'a> {
    pub(super) fn key(&self) -> Option<&'a [u8]> {
        self.plan.key.as_ref().and_then(|column| self.fields.get(self.bytes, column.field))
    }

    pub(super) fn conversation(&self) -> Option<&'a [u8]> {
        self.plan.conversation.as_ref().and_then(|column| self.fields.get(self.bytes, column.field))
    }
}

impl Row for CopyRow<'_> {
    fn cell(&self, column: usize) -> Cell<'_> {
        let cell = &self.plan.cells[column];
        let Some(bytes) = self.fields.get(self.bytes, cell.field) else { return Cell::Null };
        let format = self.plan.fields[cell.field].format;
        match cell.document {
            None => format.cell(bytes),
            Some(document) => {
                let text = format.document(bytes).unwrap_or_default();
                self.documents[document].cell(text, cell.pointer.as_deref())
            }
        }
    }

    fn position(&self, position: &mut String) {
        let key = self.plan.key.as_ref().zip(self.key()).map(|(column, bytes)| column.text(bytes));
        match (key, &self.plan.conversation) {
            // A position that no source begins after: without a key, the order of rows can change.
            (None, _) => write_position(&[(); 0], position),
            (Some(key), None) => write_position(&[key], position),
            (Some(key), Some(column)) => {
                let conversation = self.conversation().map(|bytes| column.text(bytes));
                write_position(&(conversation, key), position);
            }
        }
    }
}
