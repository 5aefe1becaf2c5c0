//! The statements that read the rows.

use tokio_postgres::Column;
use tokio_postgres::types::Type;

use super::value::{Conversion, Format};
use crate::stores::sql::{Document, Located, conversation_column, identifier, locate, subquery};
use crate::{Cell, ImportError};

/// The columns of the query that are read.
#[derive(Debug)]
pub(super) struct QueryPlan {
    pub(super) fields: Vec<FieldPlan>,
    /// Where each column of the mapping is.
    pub(super) cells: Vec<CellPlan>,
    /// The fields with JSON.
    pub(super) documents: Vec<usize>,
    pub(super) key: Option<OrderColumn>,
    pub(super) conversation: Option<OrderColumn>,
}

#[derive(Debug)]
pub(super) struct FieldPlan {
    expression: String,
    pub(super) format: Format,
}

#[derive(Debug)]
pub(super) struct CellPlan {
    pub(super) field: usize,
    pub(super) pointer: Option<String>,
    /// The number of the document if the field has JSON.
    pub(super) document: Option<usize>,
}

/// A column that orders the rows.
#[derive(Debug)]
pub(super) struct OrderColumn {
    column: String,
    /// The name of its type.
    type_name: String,
    pub(super) field: usize,
    format: Format,
}

/// After which row to read on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Position {
    /// The conversation, which can be null, if the rows are ordered by it.
    pub(super) conversation: Option<Option<String>>,
    pub(super) key: String,
}

/// A statement of which all rows are read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) sql: String,
    /// Whether its only rows are some that have no key.
    pub(super) finds_null_keys: bool,
}

/// The input of a plan.
pub(super) struct Wanted<'a> {
    pub(super) source: &'a str,
    pub(super) columns: &'a [String],
    pub(super) conversation: Option<usize>,
    pub(super) key: Option<&'a str>,
    pub(super) is_ordered_by_conversation: bool,
    /// Whether a collation may take different texts for equal.
    pub(super) has_inexact_collations: bool,
}

impl QueryPlan {
    /// Plans to read a query with these columns. `type_names` are those of their types.
    pub(super) fn new(
        wanted: &Wanted<'_>,
        known: &[Column],
        type_names: &[String],
    ) -> Result<Self, ImportError> {
        let names: Vec<_> = known.iter().map(Column::name).collect();
        let located = locate(wanted.source, wanted.columns, &names)?;
        let mut plan = Self {
            fields: Vec::new(),
            cells: Vec::new(),
            documents: Vec::new(),
            key: None,
            conversation: None,
        };
        for (Located { column, pointer }, name) in located.iter().zip(wanted.columns) {
            let (format, conversion) = Format::of(known[*column].type_());
            if pointer.is_some() && !format.is_json() {
                return Err(ImportError::mapping(format!(
                    "the column `{name}` points into `{}` of {}, which is not JSON but {}",
                    names[*column], wanted.source, type_names[*column]
                )));
            }
            let field = plan.field(names[*column], format, conversion);
            let document = format.is_json().then(|| {
                let at = plan.documents.iter().position(|known| *known == field);
                at.unwrap_or_else(|| {
                    plan.documents.push(field);
                    plan.documents.len() - 1
                })
            });
            plan.cells.push(CellPlan { field, pointer: pointer.clone(), document });
        }
        if let Some(key) = wanted.key {
            let key = locate(wanted.source, &[key.to_owned()], &names)?;
            let [Located { column, pointer: None }] = key[..] else {
                return Err(ImportError::mapping(format!("the key of {} is not a column", wanted.source)));
            };
            plan.key =
                Some(plan.order_column(&known[column], &type_names[column], wanted.has_inexact_collations));
        }
        if wanted.is_ordered_by_conversation {
            let column = conversation_column(wanted.source, wanted.conversation, &located)?;
            plan.conversation =
                Some(plan.order_column(&known[column], &type_names[column], wanted.has_inexact_collations));
        }
        Ok(plan)
    }

    fn field(&mut self, column: &str, format: Format, conversion: Conversion) -> usize {
        let column = format!("q.{}", identifier(column));
        let expression = match conversion {
            Conversion::None => column,
            Conversion::ToText => format!("{column}::text"),
            Conversion::ToJson => format!("to_jsonb({column})"),
        };
        let known = self.fields.iter().position(|field| field.expression == expression);
        known.unwrap_or_else(|| {
            self.fields.push(FieldPlan { expression, format });
            self.fields.len() - 1
        })
    }

    fn order_column(&mut self, column: &Column, type_name: &str, by_bytes: bool) -> OrderColumn {
        let (format, conversion) = match Format::of(column.type_()) {
            (format, Conversion::None) if format.is_exact_as_text() => (format, Conversion::None),
            _ => (Format::Text, Conversion::ToText),
        };
        let field = self.field(column.name(), format, conversion);
        let column_name = format!("q.{}", identifier(column.name()));
        // Texts that the server takes for equal are different keys and conversations.
        let is_text = [Type::TEXT, Type::VARCHAR, Type::BPCHAR].contains(column.type_());
        let is_citext = type_name.rsplit('.').next() == Some("citext");
        let (column, type_name) = if is_citext || (is_text && by_bytes) {
            (format!("{column_name}::text COLLATE \"C\""), "text".to_owned())
        } else {
            (column_name, type_name.to_owned())
        };
        OrderColumn { field, column, type_name, format }
    }

    /// One parser per JSON column.
    pub(super) fn new_documents(&self) -> Vec<Document> {
        self.documents.iter().map(|_| Document::new()).collect()
    }

    /// The `SELECT` statements, one after the other, for the rows after a position.
    pub(super) fn parts(&self, query: &str, after: Option<&Position>) -> Vec<Part> {
        let expressions: Vec<_> = self.fields.iter().map(|field| field.expression.as_str()).collect();
        let select = format!("SELECT {} FROM (\n{}\n) AS q", expressions.join(", "), subquery(query));
        let part = |rest: String| Part { sql: format!("{select}{rest}"), finds_null_keys: false };
        let null_keys = |rest: String| Part { sql: format!("{select}{rest} LIMIT 1"), finds_null_keys: true };
        // Nulls are last, and no comparison finds them.
        match (&self.conversation, &self.key, after) {
            (None, None, _) => vec![part(String::new())],
            (Some(OrderColumn { column, .. }), None, _) => vec![part(format!(" ORDER BY {column}"))],
            (None, Some(OrderColumn { column, .. }), None) => vec![part(format!(" ORDER BY {column}"))],
            (None, Some(key), Some(after)) => {
                let (column, last) = (&key.column, key.literal(&after.key));
                vec![
                    null_keys(format!(" WHERE {column} IS NULL")),
                    part(format!(" WHERE {column} > {last} ORDER BY {column}")),
                ]
            }
            (Some(conversation), Some(key), None) => {
                vec![part(format!(" ORDER BY {}, {}", conversation.column, key.column))]
            }
            (Some(conversation), Some(key), Some(after)) => {
                let last_key = key.literal(&after.key);
                let (conversation_column, key_column) = (&conversation.column, &key.column);
                match after.conversation.as_ref().and_then(Option::as_ref) {
                    Some(last) => {
                        let last = conversation.literal(last);
                        vec![
                            null_keys(format!(
                                " WHERE {conversation_column} = {last} AND {key_column} IS NULL"
                            )),
                            part(format!(
                                " WHERE ({conversation_column}, {key_column}) > ({last}, {last_key}) \
                                 ORDER BY {conversation_column}, {key_column}"
                            )),
                            part(format!(" WHERE {conversation_column} IS NULL ORDER BY {key_column}")),
                        ]
                    }
                    None => vec![
                        null_keys(format!(" WHERE {conversation_column} IS NULL AND {key_column} IS NULL")),
                        part(format!(
                            " WHERE {conversation_column} IS NULL AND {key_column} > {last_key} ORDER BY {key_column}"
                        )),
                    ],
                }
            }
        }
    }
}

impl OrderColumn {
    /// A value of the column as text, of which [`literal`](Self::literal) makes the same value.
    pub(super) fn text(&self, bytes: &[u8]) -> String {
        match self.format.cell(bytes) {
            Cell::Integer(number) => number.to_string(),
            Cell::Text(text) => text.into_owned(),
            _ => String::new(),
        }
    }

    fn literal(&self, text: &str) -> String {
        // Whatever `standard_conforming_strings` is.
        let quoted = text.replace('\'', "''").replace('\\', "\\\\");
        format!("E'{quoted}'::{}", self.type_name)
    }
}
