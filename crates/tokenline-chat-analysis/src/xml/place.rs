//! Positions in a stored response.

/// The line and column of an offset in a text, both counted from 1; the column in bytes.
pub(super) fn line_and_column(text: &str, offset: usize) -> (u64, u64) {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let line_start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
    (1 + memchr::memchr_iter(b'\n', before).count() as u64, 1 + (before.len() - line_start) as u64)
}

/// The offsets of the elements, by JSON Pointer to their content.
#[derive(Debug, Default)]
pub(super) struct Places(Vec<(String, usize)>);

impl Places {
    pub(super) fn insert(&mut self, path: impl Into<String>, offset: usize) {
        self.0.push((path.into(), offset));
    }

    /// The offset of the element that contains the value at a path: that with the longest matching path.
    pub(super) fn of(&self, path: &str) -> usize {
        let leads_to = |element: &str| {
            path.strip_prefix(element).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let places = self.0.iter().filter(|(element, _)| leads_to(element));
        places.max_by_key(|(element, _)| element.len()).map_or(0, |(_, offset)| *offset)
    }
}
