//! The attributes of fields, and what a delta costs.

use serde::Deserialize;
use tokenline::json::Parser;
use tokenline::{FieldState, Partial, PartialBuilder};

use crate::recipe::{Level, Recipe};

#[derive(Deserialize, Partial)]
struct Form {
    #[partial(state)]
    name: String,
    #[partial(state, when_complete)]
    email: String,
    #[partial(state)]
    hobbies: Vec<String>,
    #[partial(skip)]
    secret: Option<String>,
}

#[test]
fn a_field_knows_whether_it_is_complete() {
    let text = r#"{"name":"Ada","email":"a@b","hobbies":["x"],"secret":"s"}"#;
    let mut states = Vec::new();
    let (mut parser, mut builder) = (Parser::new(), PartialBuilder::<Form>::new());
    for end in 0..=text.len() {
        let _ = parser.resume(&text[..end]);
        let mut has_changed = false;
        while let Some(delta) = parser.next_delta(&text[..end]) {
            has_changed |= builder.apply(delta);
        }
        if let Some(form) = builder.partial() {
            let state = (form.name.as_str(), form.email.as_str(), form.hobbies.as_str());
            if states.last() != Some(&state) {
                assert!(has_changed, "a change was not told: {state:?}");
                states.push(state);
            }
        }
    }
    assert_eq!(
        states,
        [
            ("pending", "pending", "pending"),
            ("growing", "pending", "pending"),
            ("complete", "pending", "pending"),
            ("complete", "complete", "pending"),
            ("complete", "complete", "growing"),
            ("complete", "complete", "complete"),
        ]
    );
    let form = builder.partial().unwrap();
    assert_eq!((form.name.value().unwrap().as_str(), form.hobbies.is_complete()), ("Ada", true));
    assert_eq!(form.email, FieldState::Complete("a@b".to_owned()));
}

#[derive(Deserialize, Partial)]
struct Reply {
    #[partial(required)]
    kind: Level,
    text: String,
}

#[test]
fn there_is_no_snapshot_before_what_is_required() {
    let text = r#"{"text":"abc","kind":"easy"}"#;
    let (mut parser, mut builder) = (Parser::new(), PartialBuilder::<Reply>::new());
    for end in 0..=text.len() {
        let _ = parser.resume(&text[..end]);
        let mut has_changed = false;
        while let Some(delta) = parser.next_delta(&text[..end]) {
            has_changed |= builder.apply(delta);
        }
        let is_there = end >= text.len() - 1;
        assert_eq!(builder.partial().is_some(), is_there, "{}", &text[..end]);
        assert!(is_there || !has_changed);
    }
    assert_eq!(builder.partial().unwrap().text.as_deref(), Some("abc"));
}

/// To look the name up with every delta would take time proportional to its length.
#[test]
fn an_entry_with_a_long_name_is_there_once_it_is_complete() {
    let name = "n".repeat(100_000);
    let mut text = format!("{{\"notes\":{{\"{name}\":\"");
    let start = text.len();
    text.push_str(&"ab".repeat(50_000));
    text.push_str("\"}}");
    let (mut parser, mut builder) = (Parser::new(), PartialBuilder::<Recipe>::new());
    for end in (start..=text.len()).step_by(2).chain([text.len()]) {
        let _ = parser.resume(&text[..end]);
        while let Some(delta) = parser.next_delta(&text[..end]) {
            builder.apply(delta);
        }
        if end < text.len() - 2 {
            assert_eq!(builder.partial().unwrap().notes.as_ref().unwrap().len(), 0);
        }
    }
    let notes = builder.partial().unwrap().notes.as_ref().unwrap();
    assert_eq!(notes[&name].len(), 100_000);
}
