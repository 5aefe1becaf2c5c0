//! A page of hits.

use tokenline_core::Limits;
use tokenline_core::Violation;
use tokenline_core::json::{Array, Kind, Parser, Value};

use crate::files::json::Hit;
use crate::{Cell, Columns, ImportError, Importer, Place, Row};

use super::position::Position;

/// A response with hits, parsed.
pub(super) struct Page {
    text: String,
    parser: Parser,
    /// Whether a document may be malformed, so that each is parsed on its own.
    is_irregular: bool,
}

/// The line that is written has the metadata one level deeper.
const DOCUMENT_DEPTH: usize = Limits::DEFAULT.depth - 1;
/// `{"hits":{"hits":[{"_source":`
const LEVELS_ABOVE: usize = 4;

/// A page that is not complete.
pub(super) enum Fault {
    /// The point in time is gone on a shard.
    LostContext,
    /// Shards failed, or the search timed out.
    Partial,
    NotAPage,
}

impl Page {
    pub(super) fn parse(text: String) -> Result<Self, Fault> {
        let depth = DOCUMENT_DEPTH + LEVELS_ABOVE;
        let mut parser = Parser::new().with_limits(&Limits { depth, ..Limits::DEFAULT });
        let mut is_irregular = match parser.parse(&text) {
            Ok(page) => page.repeated_name().is_some(),
            Err(_) => true,
        };
        if is_irregular {
            parser = Parser::new().with_limits(&Limits { depth: Limits::MAX_DEPTH, ..Limits::DEFAULT });
            if parser.parse_lossy(&text).is_err() {
                return Err(Fault::NotAPage);
            }
            is_irregular = true;
        }
        let page = Self { text, parser, is_irregular };
        let value = page.value();
        if value.get("hits").and_then(|hits| hits.get("hits")).and_then(Value::as_array).is_none() {
            return Err(Fault::NotAPage);
        }
        let failed = value.pointer("/_shards/failed").is_some_and(|failed| failed.raw() != "0");
        if failed
            && value
                .pointer("/_shards/failures")
                .is_some_and(|all| all.raw().contains("search_context_missing"))
        {
            return Err(Fault::LostContext);
        }
        if failed || value.get("timed_out").and_then(Value::as_bool) == Some(true) {
            return Err(Fault::Partial);
        }
        Ok(page)
    }

    fn value(&self) -> Value<'_> {
        self.parser.value(&self.text)
    }

    fn hits(&self) -> Array<'_> {
        let hits = self.value().get("hits").and_then(|hits| hits.get("hits"));
        hits.and_then(Value::as_array).expect("`parse` found them")
    }

    pub(super) fn len(&self) -> usize {
        self.hits().len()
    }

    /// The id of the point in time for the next request.
    pub(super) fn pit_id(&self) -> Option<String> {
        self.value().get("pit_id").and_then(Value::as_str).map(std::borrow::Cow::into_owned)
    }

    pub(super) fn total(&self) -> Option<u64> {
        self.value().pointer("/hits/total/value")?.as_number()?.as_u64()
    }

    /// The sort values of the last hit, as a JSON array.
    pub(super) fn last_sort(&self) -> Option<&str> {
        Some(self.hits().iter().last()?.get("sort")?.raw())
    }

    /// Gives the hits to the importer.
    pub(super) fn import(
        &self,
        importer: &mut Importer<'_>,
        columns: &Columns,
        position: &mut Position,
    ) -> Result<(), ImportError> {
        let depth = DOCUMENT_DEPTH + 1;
        let mut parser = Parser::new().with_limits(&Limits { depth, ..Limits::DEFAULT });
        let mut tie = String::new();
        for hit in self.hits() {
            position.advance(hit.get("sort"))?;
            let place = Place { row: position.rows, line: 0 };
            tie.clear();
            for name in ["_id", "_index"] {
                tie.push_str(&hit.get(name).and_then(Value::as_str).unwrap_or_default());
                tie.push('\0');
            }
            let position = &*position;
            if !self.is_irregular {
                importer.row(place, &SearchRow { hit: Hit::new(hit, columns), tie: &tie, position })?;
                continue;
            }
            let row = |hit| SearchRow { hit: Hit::new(hit, columns), tie: &tie, position };
            match parser.parse(hit.raw()) {
                Ok(hit) if Violation::duplicate_key(hit).is_some() => {
                    importer.malformed_row(place, "the document has a duplicate member", &row(hit))?;
                }
                Ok(hit) => importer.row(place, &row(hit))?,
                Err(error) => {
                    importer.malformed_row(
                        place,
                        &format!("the document cannot be read: {error}"),
                        &row(hit),
                    )?;
                }
            }
        }
        Ok(())
    }
}

struct SearchRow<'a> {
    hit: Hit<'a>,
    /// The id and the index.
    tie: &'a str,
    position: &'a Position,
}

impl Row for SearchRow<'_> {
    fn cell(&self, column: usize) -> Cell<'_> {
        self.hit.cell(column)
    }

    fn position(&self, position: &mut String) {
        self.position.write(position);
    }

    fn tie(&self) -> &str {
        self.tie
    }
}

/// The first `keys` of the sort values of a hit, as a JSON array.
pub(super) fn write_keys(sort: Value<'_>, keys: usize, out: &mut String) {
    out.clear();
    out.push('[');
    for (at, value) in sort.as_array().into_iter().flatten().take(keys).enumerate() {
        if at > 0 {
            out.push(',');
        }
        // A lone surrogate cannot be parsed again, but the server can read it.
        out.push_str(value.raw());
    }
    out.push(']');
}

/// Whether a sort value is missing.
pub(super) fn is_missing(sort: Value<'_>, at: usize) -> bool {
    sort.as_array().and_then(|values| values.iter().nth(at)).is_none_or(|value| value.kind() == Kind::Null)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ImportCode, Mapping, Output};

    fn page(documents: &[&str]) -> String {
        let hits = documents.iter().enumerate().map(|(at, document)| {
            format!(
                r#"{{"_index":"i","_id":"id{at}","_score":null,"_source":{document},"sort":["k{at}",{at}]}}"#
            )
        });
        let hits = hits.collect::<Vec<_>>().join(",");
        format!(
            r#"{{"took":1,"timed_out":false,"_shards":{{"total":1,"failed":0}},"hits":{{"hits":[{hits}]}},"pit_id":"p"}}"#
        )
    }

    fn import(text: String) -> (Vec<(u64, ImportCode)>, String, String) {
        let column = |name: &str| Some(name.to_owned());
        let mapping = Mapping {
            conversation_id: column("_id"),
            role: column("role"),
            content: vec!["text".to_owned()],
            metadata: [("more".to_owned(), "more".to_owned())].into(),
            default_user_id: column("u"),
            default_timestamp: column("2026-02-10T12:34:56Z"),
            ..Mapping::default()
        };
        let mut output = Vec::new();
        let mut importer = Importer::new(&mapping, Output::writer(&mut output)).unwrap();
        importer.begin("source", "opensearch").unwrap();
        let columns = importer.columns().clone();
        let page = Page::parse(text).ok().unwrap();
        let mut position = Position::start(2, 1);
        page.import(&mut importer, &columns, &mut position).unwrap();
        let report = importer.finish().unwrap();
        let rejects = report.errors.iter().map(|reject| (reject.row, reject.code)).collect();
        let mut written = String::new();
        position.write(&mut written);
        (rejects, String::from_utf8(output).unwrap(), written)
    }

    #[test]
    fn a_malformed_document_harms_only_itself() {
        let nested = |depth: usize| {
            let inner = depth - 1;
            format!(r#"{{"role":"user","text":"d","more":{}{}}}"#, "[".repeat(inner), "]".repeat(inner))
        };
        let (deepest, too_deep) = (nested(DOCUMENT_DEPTH), nested(DOCUMENT_DEPTH + 1));
        let good = r#"{"role":"user","text":"a"}"#;
        let (rejects, output, position) = import(page(&[good, &deepest, good]));
        assert_eq!((rejects.len(), output.lines().count()), (0, 3));
        assert_eq!(position, r#"{"after":[["k2"],null],"turn":0,"taken":3,"rows":3}"#);
        let bad =
            [&too_deep, r#"{"role":"user","text":"a","text":"b"}"#, r#"{"role":"user","text":"\ud83d"}"#];
        for bad in bad {
            let (rejects, output, position) = import(page(&[good, bad, good, bad]));
            assert_eq!(rejects, [(2, ImportCode::MalformedRow), (4, ImportCode::MalformedRow)], "{bad}");
            assert_eq!(output.lines().count(), 2);
            assert_eq!(position, r#"{"after":[["k3"],null],"turn":0,"taken":4,"rows":4}"#);
        }
    }

    #[test]
    fn what_is_not_complete_is_not_a_page() {
        for (text, is_lost, is_partial) in [
            (page(&["{}"]).replace(r#""failed":0"#, r#""failed":1"#), false, true),
            (page(&["{}"]).replace(r#""timed_out":false"#, r#""timed_out":true"#), false, true),
            (
                page(&["{}"]).replace(
                    r#""failed":0"#,
                    r#""failed":1,"failures":[{"reason":{"type":"search_context_missing_exception"}}]"#,
                ),
                true,
                false,
            ),
            ("{}".to_owned(), false, false),
            ("<html>".to_owned(), false, false),
        ] {
            let fault = Page::parse(text).err().unwrap();
            assert_eq!(matches!(fault, Fault::LostContext), is_lost);
            assert_eq!(matches!(fault, Fault::Partial), is_partial);
        }
    }
}
