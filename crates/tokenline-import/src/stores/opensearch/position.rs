//! Where an import of several slices continues.

use tokenline_core::json::{Kind, Parser, Value};

use super::page;
use crate::ImportError;

/// Where the import continues: after these keys of each slice. The slices take turns with their pages.
pub(super) struct Position {
    pub(super) after: Vec<Option<String>>,
    /// The slice whose page is read, and the hits of the page that were taken.
    pub(super) turn: usize,
    pub(super) taken: usize,
    /// The hits read so far.
    pub(super) rows: u64,
    pub(super) key_count: usize,
    /// The keys of the hit at hand.
    pub(super) keys: String,
}

impl Position {
    pub(super) fn start(slices: usize, key_count: usize) -> Self {
        Self { after: vec![None; slices], turn: 0, taken: 0, rows: 0, key_count, keys: String::new() }
    }

    pub(super) fn parse(text: &str, key_count: usize, page_size: usize) -> Result<Self, ImportError> {
        let parsed = || {
            let mut parser = Parser::new();
            let position = parser.parse_lossy(text).ok()?;
            let number = |name| position.get(name)?.as_number()?.as_u64();
            let after: Vec<_> = position
                .get("after")?
                .as_array()?
                .iter()
                .map(|keys| (keys.kind() == Kind::Array).then(|| keys.raw().to_owned()))
                .collect();
            let (turn, taken) = (number("turn")? as usize, number("taken")? as usize);
            let mut position =
                Self { after, turn, taken, rows: number("rows")?, key_count, keys: String::new() };
            if position.turn >= position.after.len() {
                return None;
            }
            if position.taken >= page_size {
                position.next_slice();
            }
            Some(position)
        };
        parsed().ok_or_else(|| ImportError::mapping("the checkpoint has no position of a search"))
    }

    pub(super) fn write(&self, out: &mut String) {
        use std::fmt::Write as _;

        out.clear();
        if self.key_count == 0 {
            out.push_str("none");
            return;
        }
        out.push_str("{\"after\":[");
        for (slice, keys) in self.after.iter().enumerate() {
            if slice > 0 {
                out.push(',');
            }
            out.push_str(keys.as_deref().unwrap_or("null"));
        }
        let _ = write!(out, "],\"turn\":{},\"taken\":{},\"rows\":{}}}", self.turn, self.taken, self.rows);
    }

    /// Moves to the hit with these sort values, the first of which are keys.
    pub(super) fn advance(&mut self, sort: Option<Value<'_>>) -> Result<(), ImportError> {
        self.taken += 1;
        self.rows += 1;
        let keys = self.key_count;
        if keys == 0 {
            return Ok(());
        }
        let Some(sort) = sort.filter(|sort| !page::is_missing(*sort, keys - 1)) else {
            return Err(ImportError::mapping("a document does not have the key: set a field that all have"));
        };
        page::write_keys(sort, keys, &mut self.keys);
        let after = self.after[self.turn].get_or_insert_default();
        if *after == self.keys {
            return Err(ImportError::mapping(
                "the key is not unique: several documents have the same, or none",
            ));
        }
        std::mem::swap(after, &mut self.keys);
        Ok(())
    }

    pub(super) fn next_slice(&mut self) {
        self.turn = (self.turn + 1) % self.after.len();
        self.taken = 0;
    }
}
