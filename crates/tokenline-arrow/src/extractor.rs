//! The kernel.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{Array, StructArray};
use arrow_schema::{DataType, Fields};

use crate::ExtractError;
use crate::input::Texts;
use crate::options::{Columns, ExtractOptions, Rules};
use crate::output::{Output, Progress, output_fields};
use crate::reader::RowReader;
use crate::type_text;
use crate::typed::TypedColumn;

/// How much text is read before `extract_while` asks whether to go on.
const ASK_BYTES: usize = 1 << 20;

/// After so many rows, the size of the output is estimated.
const SAMPLE_ROWS: usize = 128;

/// Extracts records and tool calls from columns of language model output.
///
/// Cheap to clone, and usable from several threads at once: each call of [`extract`](Self::extract) has its own
/// machines, which are kept for the next.
#[derive(Clone, Debug)]
pub struct Extractor(Arc<Shared>);

struct Shared {
    rules: Rules,
    /// The type of a record, unless it is written as JSON.
    record_type: Option<TypedColumn>,
    data_type: DataType,
    fields: Fields,
    /// Readers that no call is using.
    idle: Mutex<Vec<RowReader>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { rules, data_type, .. } = self;
        f.debug_struct("Shared").field("rules", rules).field("data_type", data_type).finish_non_exhaustive()
    }
}

impl Extractor {
    /// Checks the options, and derives the output's type.
    ///
    /// # Errors
    ///
    /// If the options contradict each other, the pointer to the items is not a JSON Pointer, or a declared column has a type
    /// that values of JSON are not read as.
    pub fn new(options: ExtractOptions) -> Result<Self, ExtractError> {
        let rules = Rules::new(options)?;
        let record_type = match &rules.columns {
            Columns::Json => None,
            Columns::Typed => rules.schema.as_ref().map(|schema| TypedColumn::of_schema(schema.schema())),
            Columns::Fields(fields) => Some(TypedColumn::of_fields(fields)?),
        };
        let fields = output_fields(&rules, record_type.as_ref());
        let data_type = DataType::Struct(fields.clone());
        let idle = Mutex::new(Vec::new());
        Ok(Self(Arc::new(Shared { rules, record_type, data_type, fields, idle })))
    }

    /// The type of every output.
    #[must_use]
    pub fn data_type(&self) -> &DataType {
        &self.0.data_type
    }

    /// The output's columns as Spark's DDL, such as `` `status` STRING, `records` ARRAY<STRUCT<...>>, ... ``.
    ///
    /// # Errors
    ///
    /// [`ExtractError::NotInEngine`] if a declared column has a type that Spark does not have.
    pub fn spark_ddl(&self) -> Result<String, ExtractError> {
        type_text::spark(&self.0.fields)
    }

    /// The output's type in the words of DuckDB: `STRUCT("status" VARCHAR, "records" STRUCT(...)[], ...)`.
    ///
    /// # Errors
    ///
    /// [`ExtractError::NotInEngine`] if a declared column has a type that DuckDB does not have.
    pub fn duckdb_type(&self) -> Result<String, ExtractError> {
        type_text::duckdb(&self.0.fields)
    }

    /// Reads a column. The output has one row for each row of the input; a null row stays null.
    ///
    /// Memory is proportional to the batch: the output, and one open record.
    ///
    /// # Errors
    ///
    /// If the array does not hold text, or an output column takes more than
    /// [its limit](ExtractOptions::column_bytes). A panic is an error as well. Faults in the text are rejects.
    pub fn extract(&self, array: &dyn Array) -> Result<StructArray, ExtractError> {
        self.extract_while(array, || true)
    }

    /// Like [`extract`](Self::extract), for long batches in programs that can be interrupted: asks after each
    /// mebibyte of text whether to go on.
    ///
    /// # Errors
    ///
    /// Those of `extract`, and [`ExtractError::Interrupted`] if the answer was no.
    pub fn extract_while(
        &self,
        array: &dyn Array,
        mut goes_on: impl FnMut() -> bool,
    ) -> Result<StructArray, ExtractError> {
        let shared = &*self.0;
        let row = AtomicUsize::new(0);
        guard(&row, || {
            let texts = Texts::new(array)?;
            let idle = shared.idle().pop();
            let mut reader = idle.unwrap_or_else(|| RowReader::new(&shared.rules));
            let mut output = Output::new(&shared.rules, shared.record_type.as_ref(), array.len());
            let mut unasked = 0;
            for at in 0..array.len() {
                row.store(at, Ordering::Relaxed);
                if at == SAMPLE_ROWS {
                    output.reserve(Progress { done: at, total: array.len() });
                }
                let text = texts.get(at);
                let status = text.map(|text| reader.read(text, &mut output)).transpose();
                status.and_then(|status| output.end_row(status)).map_err(|full| full.at(at))?;
                unasked += text.map_or(0, <[u8]>::len);
                if unasked >= ASK_BYTES {
                    unasked = 0;
                    if !goes_on() {
                        return Err(ExtractError::Interrupted);
                    }
                }
            }
            shared.idle().push(reader);
            Ok(output.finish(&shared.fields))
        })
    }
}

impl Shared {
    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<RowReader>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Turns a panic into an error. What the closure held is dropped, so no half-written state is left.
fn guard<T>(row: &AtomicUsize, work: impl FnOnce() -> Result<T, ExtractError>) -> Result<T, ExtractError> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(ExtractError::Panicked { row: row.load(Ordering::Relaxed) }))
}

#[cfg(test)]
mod tests {
    use arrow_schema::Field;

    use super::*;

    #[test]
    fn a_panic_is_an_error_with_its_row() {
        let row = AtomicUsize::new(0);
        let result: Result<(), _> = guard(&row, || {
            row.store(7, Ordering::Relaxed);
            panic!("on purpose");
        });
        assert_eq!(result, Err(ExtractError::Panicked { row: 7 }));
    }

    #[test]
    fn room_for_the_rows_to_come_changes_nothing() {
        let schema =
            r#"{"properties":{"s":{"type":"string"},"l":{"type":"array","items":{"type":"integer"}}}}"#;
        let row = |number: usize| match number % 7 {
            0 => None,
            1 => Some(format!("{{\"s\":\"{}\"}}", "x".repeat(9 * (1000 - number)))),
            _ => Some(format!("{{\"l\":[1,{number}]}}\n{{\"s\":1}}")),
        };
        let texts: arrow_array::StringArray = (0..1000).map(row).collect();
        let list = |item| DataType::LargeList(Arc::new(Field::new("item", item, true)));
        let fields = [
            Field::new("s", DataType::Utf8View, true),
            Field::new("l", list(DataType::Decimal256(40, 2)), true),
        ];
        for columns in [Columns::Json, Columns::Typed, Columns::Fields(fields.into_iter().collect())] {
            let options = ExtractOptions::new().schema(schema.parse().unwrap()).columns(columns);
            let extractor = Extractor::new(options).unwrap();
            let whole = extractor.extract(&texts).unwrap();
            for start in (0..texts.len()).step_by(SAMPLE_ROWS) {
                let rows = SAMPLE_ROWS.min(texts.len() - start);
                assert_eq!(whole.slice(start, rows), extractor.extract(&texts.slice(start, rows)).unwrap());
            }
        }
    }

    #[test]
    fn an_extractor_is_shared_between_threads() {
        fn check<T: Send + Sync + Clone>() {}
        check::<Extractor>();
    }
}
