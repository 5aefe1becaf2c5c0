//! The order of BSON values, across types.

use bson::{Bson, Document, doc};

/// The types in the order in which MongoDB sorts them, with the names that `$type` has. Numbers are one type.
const TYPES: [&str; 14] = [
    "minKey",
    "null",
    "number",
    "string",
    "object",
    "array",
    "binData",
    "objectId",
    "bool",
    "date",
    "timestamp",
    "regex",
    "javascript",
    "maxKey",
];

fn rank(value: &Bson) -> usize {
    match value {
        Bson::MinKey => 0,
        Bson::Null | Bson::Undefined => 1,
        Bson::Double(_) | Bson::Int32(_) | Bson::Int64(_) | Bson::Decimal128(_) => 2,
        Bson::String(_) | Bson::Symbol(_) => 3,
        Bson::Document(_) => 4,
        Bson::Array(_) => 5,
        Bson::Binary(_) => 6,
        Bson::ObjectId(_) => 7,
        Bson::Boolean(_) => 8,
        Bson::DateTime(_) => 9,
        Bson::Timestamp(_) => 10,
        Bson::RegularExpression(_) => 11,
        Bson::JavaScriptCode(_) | Bson::JavaScriptCodeWithScope(_) | Bson::DbPointer(_) => 12,
        Bson::MaxKey => 13,
    }
}

/// Whether documents can be continued after this value. Others are sorted in ways that a filter cannot express.
pub(super) fn is_ordered(value: &Bson) -> bool {
    !matches!(rank(value), 0 | 5 | 11..)
}

/// A filter for the documents whose field comes after the value. `$gt` alone finds values of the same type only.
pub(super) fn after(field: &str, value: &Bson) -> Document {
    let later = TYPES[rank(value) + 1..].iter().map(|name| {
        // A value of one of several types is found by an index, once for each.
        doc! { field: { "$type": *name } }
    });
    let same = match value {
        Bson::Null | Bson::Undefined => None,
        Bson::Double(number) if number.is_nan() => {
            // It comes before all numbers, but compares with none.
            Some(doc! { "$and": [{ field: { "$type": "number" } }, { field: { "$ne": number } }] })
        }
        value => Some(doc! { field: { "$gt": value.clone() } }),
    };
    doc! { "$or": same.into_iter().chain(later).map(Bson::Document).collect::<Vec<_>>() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_later_types_follow() {
        let filter = after("_id", &Bson::ObjectId(bson::oid::ObjectId::from_bytes([7; 12])));
        let filters = filter.get_array("$or").unwrap();
        assert_eq!(filters.len(), 1 + 6);
        assert_eq!(filters[0].as_document().unwrap().keys().collect::<Vec<_>>(), ["_id"]);
        let later = |value: &Bson| after("_id", value).get_array("$or").unwrap().len();
        assert_eq!(later(&Bson::Null), 12);
        assert_eq!(later(&Bson::MaxKey), 1);
        let nan = after("_id", &Bson::Double(f64::NAN)).to_string();
        assert!(nan.contains("\"$ne\": NaN"), "{nan}");
    }
}
