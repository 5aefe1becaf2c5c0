//! The contexts of a text do not depend on its chunks; its complete part is JSON; a document that is cut off anywhere and
//! continued with the requested overlap is restored; and a failed merge leaves its base unchanged.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tokenline_continuation::{Confidence, ContextOptions, Document, Join, MergeOptions, Status};
use tokenline_core::json::Parser;

fn boundary(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fuzz_target!(|data: &[u8]| {
    let [settings, cut, overlap, budget, input @ ..] = data else { return };
    let Ok(text) = std::str::from_utf8(input) else { return };
    let options =
        ContextOptions { overlap_bytes: usize::from(*overlap), prompt_budget_bytes: usize::from(*budget) };

    let document = Document::of(text);
    let contexts = document.contexts(&options);
    let prompt = &contexts.hierarchy_context_for_prompt;
    assert!(prompt.len() <= options.prompt_budget_bytes);
    assert!(contexts.overlap_context.len() <= options.overlap_bytes);
    if contexts.json_parsing_success {
        assert!(Parser::new().parse(&contexts.complete_part).is_ok());
    }

    let size = usize::from(settings >> 4) + 1;
    let mut growing = Document::new();
    let mut at = 0;
    while at < text.len() {
        let mut end = boundary(text, at + size);
        if end == at {
            end = boundary(text, at + 4);
        }
        growing.push(&text[at..end]);
        at = end;
    }
    assert_eq!(growing.status(), document.status());
    assert_eq!(growing.contexts(&options), contexts);

    // As a document, if it is one.
    let at = boundary(text, usize::from(*cut));
    let (base, rest) = text.split_at(at);
    let mut merged = Document::of(base);
    let requested = merged.overlap(options.overlap_bytes).to_owned();
    let is_document = Parser::new().parse(text).is_ok() && !text.starts_with([' ', '\t', '\r', '\n']);
    if is_document && !requested.is_empty() {
        let merge = MergeOptions { requested_overlap: Some(requested.len()), ..MergeOptions::default() };
        let report = merged.merge(&(requested + rest), &merge);
        assert_eq!((report.join, report.confidence), (Join::Exact, Confidence::Certain));
        assert_eq!(merged.text(), text);
    }

    // As any two texts.
    let mut merged = Document::of(base);
    let before = (merged.text().to_owned(), merged.status());
    let requested_overlap = (settings & 1 != 0).then_some(options.overlap_bytes);
    let merge = MergeOptions { requested_overlap, ..MergeOptions::default() };
    let report = merged.merge(rest, &merge);
    if let Join::Failed(_) = report.join {
        assert_eq!((merged.text(), merged.status()), (before.0.as_str(), before.1));
    } else {
        assert!(merged.text().starts_with(&before.0));
        assert!(!matches!(merged.status(), Status::Malformed(_)));
        if before.1 == Status::Open {
            // The resumed parser agrees with a new one.
            assert_eq!(merged.contexts(&options), Document::of(merged.text()).contexts(&options));
            assert_eq!(merged.text().len(), before.0.len() + report.added);
        }
    }
});
