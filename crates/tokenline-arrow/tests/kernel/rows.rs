//! The output as plain data.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, StructArray};

/// A row of the output; each entry of a list as its values in order, joined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) status: String,
    pub(crate) records: Vec<String>,
    pub(crate) calls: Vec<String>,
    pub(crate) rejects: Vec<String>,
}

/// The rows; `None` where the row is null.
pub(crate) fn rows(output: &StructArray) -> Vec<Option<Row>> {
    let column = |name: &str| output.column_by_name(name);
    (0..output.len())
        .map(|at| {
            let is_null = output.is_null(at);
            assert!(
                output.columns().iter().all(|column| !is_null || column.is_null(at)),
                "row {at} is null in all columns"
            );
            let entries = |name| column(name).map(|list| entries(list, at)).unwrap_or_default();
            (!is_null).then(|| Row {
                status: column("status").expect("a status").as_string::<i32>().value(at).to_owned(),
                records: entries("records"),
                calls: entries("tool_calls"),
                rejects: entries("rejects"),
            })
        })
        .collect()
}

fn entries(list: &ArrayRef, at: usize) -> Vec<String> {
    let entries = list.as_list::<i32>().value(at);
    let entries = entries.as_struct();
    let entry = |at| entries.columns().iter().map(|column| cell(column, at)).collect::<Vec<_>>().join(" | ");
    (0..entries.len()).map(entry).collect()
}

/// A value as text.
pub(crate) fn cell(column: &ArrayRef, at: usize) -> String {
    if column.is_null(at) {
        return "null".to_owned();
    }
    if let Some(texts) = column.as_string_opt::<i32>() {
        return texts.value(at).to_owned();
    }
    if let Some(numbers) = column.as_primitive_opt::<Int64Type>() {
        return numbers.value(at).to_string();
    }
    panic!("a column of {}", column.data_type())
}

/// The only row of the output.
pub(crate) fn only(output: &StructArray) -> Row {
    let rows = rows(output);
    let [Some(row)] = &rows[..] else { panic!("not one row: {rows:?}") };
    row.clone()
}
