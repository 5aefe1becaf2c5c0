//! Random documents, valid and nearly valid.

use proptest::prelude::*;

use crate::check;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn agrees_on_soup(text in soup()) {
        let _ = check(&text);
    }

    #[test]
    fn agrees_on_valid_documents_and_their_mutations(
        value in json_value(),
        pretty in any::<bool>(),
        at in any::<prop::sample::Index>(),
        byte in 0x20_u8..0x7f,
    ) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        let text = text.unwrap();
        prop_assert!(check(&text).is_ok());
        let mut bytes = text.into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(mutated) = String::from_utf8(bytes) {
            let _ = check(&mutated);
        }
    }
}

/// Nearly valid JSON: the tokens of the grammar in random order.
fn soup() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"",
        "\\",
        "\"a\"",
        "\"b\":",
        "1",
        "-",
        "0",
        ".5",
        "e",
        "E+",
        "true",
        "fal",
        "null",
        " ",
        "\n",
        "\\u00e9",
        "\\ud83d",
        "\\ude00",
        "é",
        "\t",
        "\"\\n\"",
        "{\"a\":1}",
        "[1,2]",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn json_value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<u64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        ".{0,40}".prop_map(Into::into),
    ];
    leaf.prop_recursive(5, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Into::into),
            prop::collection::btree_map("[a-c\\\\\"é]{0,3}", inner, 0..8)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}
