//! Continuations of documents that a real model wrote; see `fixtures/recordings`.

use serde_json::Value;
use tokenline_continuation::{ContinuationOptions, Decision, Document, DocumentContinuation, ResponseEnd};

#[test]
fn only_what_proves_its_place_is_used() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/recordings/document.jsonl");
    let recordings = std::fs::read_to_string(path).expect("the recordings");
    let (mut count, mut used, mut wrong) = (0, 0, 0);
    for line in recordings.lines() {
        let recording: Value = serde_json::from_str(line).expect("JSON");
        let text = |name: &str| recording[name].as_str().expect("a text");
        let (base, response) = (text("base"), text("response"));
        let mut machine = DocumentContinuation::resume("", Document::of(base), ContinuationOptions::new());
        let requested = machine.next_request().expect("it is open").requested_overlap.expect("an overlap");
        let overlap = &base[base.len() - requested..];
        let is_used = match machine.receive(response, ResponseEnd::Cut) {
            Decision::Continue(taken) => taken.is_ok(),
            Decision::Complete => true,
            Decision::Failed(_) => false,
        };
        let bare = |text: &str| text.split_ascii_whitespace().collect::<String>();
        // It begins with the overlap, or with all of the base.
        let is_proven = bare(response).contains(&bare(overlap)) || bare(response).contains(&bare(base));
        count += 1;
        used += usize::from(is_used);
        wrong += usize::from(is_used && !is_proven);
        if is_used && !is_proven {
            println!("{}: ...{overlap:?} {response:?}", text("task"));
        }
    }
    println!("{count} recordings, {used} used, {} refused, {wrong} used without proof", count - used);
    assert!(count >= 80 && used >= 4);
    assert_eq!(wrong, 0);
}
