//! The texts of an input array, whatever its kind.

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, BinaryArray, BinaryViewArray, LargeBinaryArray, LargeStringArray, StringArray, StringViewArray,
};
use arrow_schema::DataType;

use crate::ExtractError;

/// A column of texts.
pub(crate) enum Texts<'a> {
    Utf8(&'a StringArray),
    LargeUtf8(&'a LargeStringArray),
    Utf8View(&'a StringViewArray),
    Binary(&'a BinaryArray),
    LargeBinary(&'a LargeBinaryArray),
    BinaryView(&'a BinaryViewArray),
    /// For each row its place among the values, unless the row is null.
    Dictionary(Vec<Option<usize>>, Box<Texts<'a>>),
    Null,
}

impl<'a> Texts<'a> {
    pub(crate) fn new(array: &'a dyn Array) -> Result<Self, ExtractError> {
        Ok(match array.data_type() {
            DataType::Utf8 => Self::Utf8(array.as_string()),
            DataType::LargeUtf8 => Self::LargeUtf8(array.as_string()),
            DataType::Utf8View => Self::Utf8View(array.as_string_view()),
            DataType::Binary => Self::Binary(array.as_binary()),
            DataType::LargeBinary => Self::LargeBinary(array.as_binary()),
            DataType::BinaryView => Self::BinaryView(array.as_binary_view()),
            DataType::Dictionary(_, value) if !matches!(**value, DataType::Dictionary(..)) => {
                let dictionary = array.as_any_dictionary();
                let values = Self::new(dictionary.values().as_ref())
                    .map_err(|_| ExtractError::UnsupportedInput(array.data_type().clone()))?;
                // Keys of null rows may be anything, and there may be no values at all.
                let keys = if dictionary.values().is_empty() {
                    vec![None; array.len()]
                } else {
                    let keys = dictionary.normalized_keys();
                    let is_valid = |row: usize| dictionary.keys().is_valid(row);
                    keys.into_iter().enumerate().map(|(row, key)| is_valid(row).then_some(key)).collect()
                };
                Self::Dictionary(keys, Box::new(values))
            }
            DataType::Null => Self::Null,
            other => return Err(ExtractError::UnsupportedInput(other.clone())),
        })
    }

    /// The text of a row, unless it is null.
    pub(crate) fn get(&self, row: usize) -> Option<&[u8]> {
        match self {
            Self::Utf8(array) => array.is_valid(row).then(|| array.value(row).as_bytes()),
            Self::LargeUtf8(array) => array.is_valid(row).then(|| array.value(row).as_bytes()),
            Self::Utf8View(array) => array.is_valid(row).then(|| array.value(row).as_bytes()),
            Self::Binary(array) => array.is_valid(row).then(|| array.value(row)),
            Self::LargeBinary(array) => array.is_valid(row).then(|| array.value(row)),
            Self::BinaryView(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Dictionary(keys, values) => values.get(keys[row]?),
            Self::Null => None,
        }
    }
}
