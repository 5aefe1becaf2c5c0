//! Inputs that fuzzing found: rows as a user may write them, and texts in which readers went wrong.

use tokenline_core::CallFormat;

use crate::driver::{Seen, at_every_split};

#[test]
fn an_unknown_tag_after_a_message() {
    let format = CallFormat::from_name("harmony").expect("a row");
    let text = "<|channel|>commentary to=functions.weather<|message|>{\"city\":\"Paris\"}<br> and more";
    let seen = at_every_split(&format.detector(), text);
    let [Seen::Call { written, is_confirmed: true, .. }] = &seen[..] else { panic!("{seen:?}") };
    assert!(written.ends_with("\"Paris\"}"), "{written}");
}
