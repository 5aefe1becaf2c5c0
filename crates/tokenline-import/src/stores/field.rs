//! Columns as fields of documents.

/// The field of a column: a JSON Pointer is a path.
pub(super) fn field_of(column: &str) -> String {
    match column.strip_prefix('/') {
        Some(pointer) => pointer.split('/').map(unescaped).collect::<Vec<_>>().join("."),
        None => column.to_owned(),
    }
}

/// A name in a JSON Pointer.
pub(super) fn unescaped(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}
