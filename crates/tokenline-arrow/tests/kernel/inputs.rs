//! Every kind of input array gives the same rows.

use std::sync::Arc;

use arrow_array::types::{Int8Type, Int64Type, UInt16Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, DictionaryArray, Int64Array, LargeBinaryArray,
    LargeStringArray, NullArray, PrimitiveArray, StringArray, StringViewArray,
};
use tokenline_arrow::{ExtractError, ExtractOptions, Extractor};

use crate::rows::rows;

const LONG: &str =
    "Certainly, here are the cities:\n{\"city\":\"Oslo\"}\n{\"city\":\"Reykjavík\"}\n{\"city\":";
const TEXTS: [Option<&str>; 5] = [Some("{\"a\":1}\n"), None, Some(LONG), Some(""), Some("{\"a\":1}\n")];

fn kernel() -> Extractor {
    Extractor::new(ExtractOptions::new()).expect("the options are consistent")
}

#[test]
fn all_kinds_and_their_slices() {
    let bytes = TEXTS.map(|text| text.map(str::as_bytes)).to_vec();
    let values: ArrayRef =
        Arc::new(LargeStringArray::from(vec![Some(LONG), Some("{\"a\":1}\n"), Some(""), None]));
    let keys = [Some(1), Some(3), Some(0), Some(2), Some(1)];
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(TEXTS.to_vec())),
        Arc::new(LargeStringArray::from(TEXTS.to_vec())),
        Arc::new(StringViewArray::from(TEXTS.to_vec())),
        Arc::new(BinaryArray::from(bytes.clone())),
        Arc::new(LargeBinaryArray::from(bytes.clone())),
        Arc::new(BinaryViewArray::from(bytes)),
        Arc::new(TEXTS.into_iter().collect::<DictionaryArray<Int8Type>>()),
        Arc::new(TEXTS.into_iter().collect::<DictionaryArray<UInt16Type>>()),
        // The value of a key is null.
        Arc::new(DictionaryArray::new(PrimitiveArray::<Int64Type>::from_iter(keys), values)),
    ];
    let expected = rows(&kernel().extract(&arrays[0]).expect("a batch"));
    assert!(expected[1].is_none());
    assert_eq!(expected[2].as_ref().map(|row| (row.records.len(), row.rejects.len())), Some((2, 1)));
    for array in arrays {
        let kind = array.data_type();
        assert_eq!(rows(&kernel().extract(&array).expect("a batch")), expected, "{kind}");
        let slice = array.slice(1, 3);
        assert_eq!(rows(&kernel().extract(&slice).expect("a batch")), expected[1..4], "a slice of {kind}");
        let empty = array.slice(0, 0);
        assert_eq!(kernel().extract(&empty).expect("a batch").len(), 0, "{kind}");
    }
}

#[test]
fn only_nulls() {
    let keys = PrimitiveArray::<Int8Type>::from(vec![None, None]);
    let values = Arc::new(StringArray::from(Vec::<&str>::new()));
    let arrays: [ArrayRef; 2] = [Arc::new(NullArray::new(2)), Arc::new(DictionaryArray::new(keys, values))];
    for array in arrays {
        let output = kernel().extract(&array).expect("a batch");
        assert_eq!(rows(&output), [None, None], "{}", array.data_type());
        assert_eq!(output.data_type(), kernel().data_type());
    }
}

#[test]
fn other_arrays_are_an_error() {
    let numbers = Arc::new(Int64Array::from(vec![1]));
    let of_numbers = DictionaryArray::new(PrimitiveArray::<Int8Type>::from(vec![0]), numbers.clone());
    let arrays: [ArrayRef; 2] = [numbers, Arc::new(of_numbers)];
    for array in arrays {
        let error = kernel().extract(&array).expect_err("no text");
        assert_eq!(error, ExtractError::UnsupportedInput(array.data_type().clone()));
        assert!(error.to_string().contains("it must be utf8"), "{error}");
    }
}
