//! The iteration, with models that are made up.

use crate::common::{compact, pretty};
use proptest::prelude::*;
use tokenline_continuation::{
    ContextOptions, Decision, Document, Finish, Finished, Iteration, IterationError, IterationOptions,
    MergeFailure, Progress, StepFailure,
};

fn rows(count: usize) -> String {
    let rows: Vec<String> = (0..count)
        .map(|id| format!(r#"{{"id":{id},"name":"row \"{id}\" é🎉","flags":[true,null,{id}.50]}}"#))
        .collect();
    format!(r#"{{"title":"rows","rows":[{}],"count":{count}}}"#, rows.join(","))
}

/// A model that writes `limit` bytes at a time.
struct Model<'a> {
    answer: &'a str,
    limit: usize,
    /// Chooses how the model behaves each time.
    random: u64,
}

impl Model<'_> {
    fn next(&mut self, below: usize) -> usize {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) as usize % below
    }

    /// Continues after `written`.
    fn respond(&mut self, written: &str, overlap: Option<usize>) -> String {
        let Some(overlap) = overlap else { return self.piece(0, self.limit) };
        let at = written.len();
        assert!(self.answer.starts_with(written), "what was merged is the answer: {written}");
        let from = at - overlap;
        match self.next(10) {
            0 => format!("```json\n{}\n```", self.piece(from, at + self.limit)),
            1 => format!("Here is the rest:\n{}", self.piece(from, at + self.limit)),
            2 => self.piece(0, at + self.limit),
            3 => format!("```json\n{}\n```", self.piece(0, at + self.limit)),
            // Of no use.
            4 => "I am sorry, I cannot go on with that.".to_owned(),
            5 => self.piece(from, at),
            _ => self.piece(from, at + self.limit),
        }
    }

    fn piece(&self, from: usize, to: usize) -> String {
        let mut to = to.min(self.answer.len());
        while !self.answer.is_char_boundary(to) {
            to += 1;
        }
        self.answer[from..to].to_owned()
    }
}

fn run(model: &mut Model<'_>, options: IterationOptions) -> Result<Finished, IterationError> {
    let mut iteration = Iteration::new("List the rows.", options);
    loop {
        let overlap = iteration.next_request().unwrap().requested_overlap;
        let response = model.respond(iteration.document().text(), overlap);
        match iteration.receive(&response) {
            Decision::Continue(_) => {}
            Decision::Finished(finished) => return Ok(finished),
            Decision::Failed(error) => return Err(error),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_model_with_a_token_limit_finishes(
        random in any::<u64>(),
        limit in 40_usize..400,
        count in 1_usize..40,
        is_pretty in any::<bool>(),
        overlap_bytes in 20_usize..80,
    ) {
        let answer = if is_pretty { pretty(&rows(count)) } else { rows(count) };
        let mut model = Model { answer: &answer, limit, random };
        let options = IterationOptions {
            contexts: ContextOptions { overlap_bytes, prompt_budget_bytes: 300 },
            max_failures: 20,
            max_requests: 10_000,
            ..IterationOptions::default()
        };
        let finished = run(&mut model, options).unwrap();
        prop_assert_eq!(finished.finish, Finish::Complete);
        prop_assert_eq!(compact(&finished.document), compact(&answer));
    }
}

#[test]
fn prompts() {
    let mut iteration = Iteration::new("List the rows.", IterationOptions::default());
    let first = iteration.next_request().unwrap();
    assert_eq!((first.number, &*first.prompt, first.requested_overlap), (1, "List the rows.", None));
    assert_eq!(iteration.last_raw_response(), None);

    assert_eq!(iteration.receive(r#"{"rows":[1,"#), Decision::Continue(Progress::Began));
    let next = iteration.next_request().unwrap();
    assert_eq!((next.number, next.requested_overlap), (2, Some(11)));
    assert!(next.prompt.ends_with("continue directly after them:\n\n{\"rows\":[1,"));

    // A failure changes neither the document nor the next prompt.
    let prompt = next.prompt.into_owned();
    let failed = iteration.receive("no");
    assert_eq!(failed, Decision::Continue(Progress::Retry(StepFailure::Merge(MergeFailure::NoSeam))));
    assert_eq!(iteration.next_request().unwrap().prompt, prompt);
    assert_eq!((iteration.last_raw_response(), iteration.failures()), (Some(r#"{"rows":[1,"#), 1));

    let Decision::Continue(Progress::Merged(report)) = iteration.receive(r#"{"rows":[1,2"#) else { panic!() };
    assert_eq!((report.added, iteration.failures()), (1, 0));
    assert_eq!(iteration.last_raw_response(), Some(r#"{"rows":[1,2"#));
    let expected = Finished { document: r#"{"rows":[1,2]}"#.to_owned(), finish: Finish::Complete };
    // Without the overlap it may be anything.
    let unproven = Decision::Continue(Progress::Retry(StepFailure::Merge(MergeFailure::Unproven)));
    assert_eq!(iteration.receive("]}\n"), unproven);
    assert_eq!(iteration.receive("{\"rows\":[1,2]}\n"), Decision::Finished(expected.clone()));
    assert_eq!(iteration.next_request(), None);
    assert_eq!(iteration.receive("more"), Decision::Finished(expected));
    assert_eq!(iteration.requests(), 5);
}

#[test]
fn overlap_is_always_asked_for() {
    let contexts = ContextOptions { overlap_bytes: 0, ..ContextOptions::default() };
    let mut iteration = Iteration::new("", IterationOptions { contexts, ..IterationOptions::default() });
    let _ = iteration.receive(&format!("[{}", "1234567,".repeat(20)));
    let request = iteration.next_request().unwrap();
    assert_eq!(request.requested_overlap, Some(32));
    assert!(request.prompt.ends_with(&format!("continue directly after them:\n\n{}", "1234567,".repeat(4))));
    // What is requested stands in the prompt once, and last.
    assert!(request.prompt.contains(&format!("\n\n[{}\n\n", "1234567,".repeat(16))));
}

#[test]
fn three_failures_in_a_row_fall_back() {
    let failure = StepFailure::Merge(MergeFailure::NoSeam);
    let mut iteration = Iteration::new("", IterationOptions::default());
    let _ = iteration.receive(r#"{"rows":[1,2"#);
    for _ in 0..2 {
        assert_eq!(iteration.receive("no"), Decision::Continue(Progress::Retry(failure)));
    }
    assert!(matches!(iteration.receive("{\"rows\":[1,2,3"), Decision::Continue(Progress::Merged(_))));
    for _ in 0..2 {
        assert_eq!(iteration.receive("no"), Decision::Continue(Progress::Retry(failure)));
    }
    let finished =
        Finished { document: r#"{"rows":[1,2]}"#.to_owned(), finish: Finish::AfterFailures(failure) };
    assert_eq!(iteration.receive("no"), Decision::Finished(finished));
}

#[test]
fn nothing_to_fall_back_to() {
    let mut iteration = Iteration::new("the prompt", IterationOptions::default());
    for _ in 0..2 {
        assert_eq!(iteration.receive("Sorry."), Decision::Continue(Progress::Retry(StepFailure::NoJson)));
        assert_eq!(iteration.next_request().unwrap().prompt, "the prompt");
    }
    let Decision::Failed(error) = iteration.receive(r#"{"a":1,}"#) else { panic!() };
    let IterationError::Failures(StepFailure::Malformed(fault)) = error else { panic!() };
    assert_eq!(fault.offset, 7);
    assert_eq!(iteration.next_request(), None);
}

#[test]
fn a_model_that_repeats_itself_ends() {
    // It never gets on.
    let mut iteration = Iteration::new("", IterationOptions::default());
    let mut decisions = Vec::new();
    while iteration.next_request().is_some() {
        decisions.push(iteration.receive(r#"{"rows":[{"id":1},{"id":2},"#));
    }
    assert_eq!(decisions.len(), 4);
    let last = Finished {
        document: r#"{"rows":[{"id":1},{"id":2}]}"#.to_owned(),
        finish: Finish::AfterFailures(StepFailure::NoProgress),
    };
    assert_eq!(decisions.last(), Some(&Decision::Finished(last)));

    // White space is nothing new, and no part of the document then.
    let mut iteration = Iteration::new("", IterationOptions::default());
    let _ = iteration.receive("[1,");
    let retry = Decision::Continue(Progress::Retry(StepFailure::NoProgress));
    for response in ["", "[1,\n  "] {
        assert_eq!(iteration.receive(response), retry, "{response:?}");
        assert_eq!(iteration.last_raw_response(), Some("[1,"));
    }

    // It gets on for ever.
    let mut iteration = Iteration::new("", IterationOptions { max_requests: 7, ..Default::default() });
    let mut id = 0;
    let last = loop {
        id += 1;
        let held = iteration.last_raw_response().unwrap_or("[0").to_owned();
        match iteration.receive(&format!("{held},{id}")) {
            Decision::Continue(_) => {}
            last => break last,
        }
    };
    let expected = Finished { document: "[0,1,2,3,4,5,6]".to_owned(), finish: Finish::AfterTooManyRequests };
    assert_eq!((last, id), (Decision::Finished(expected), 7));
}

#[test]
fn a_document_of_another_process() {
    let mut iteration = Iteration::new("", IterationOptions::default());
    let _ = iteration.receive("[1,2");
    let saved = iteration.last_raw_response().unwrap().to_owned();
    let mut iteration = Iteration::of("", Document::of(&saved), IterationOptions::default());
    assert_eq!(iteration.next_request().unwrap().requested_overlap, Some(4));
    assert!(matches!(iteration.receive("[1,2,3]"), Decision::Finished(_)));
}

#[test]
fn a_document_may_be_so_large() {
    let options = |max_bytes| IterationOptions { max_bytes, ..IterationOptions::default() };
    let mut iteration = Iteration::new("List.", options(12));
    assert!(matches!(iteration.receive("[1,2,3"), Decision::Continue(_)));
    let Decision::Finished(finished) = iteration.receive("3,4,5,6") else { panic!("too large") };
    assert_eq!(finished, Finished { document: "[1,2]".to_owned(), finish: Finish::TooLarge });
    assert!(iteration.next_request().is_none());

    let mut iteration = Iteration::new("List.", options(5));
    assert_eq!(iteration.receive("[1,2,3"), Decision::Failed(IterationError::TooLarge));
    let mut iteration = Iteration::new("List.", options(5));
    assert!(matches!(
        iteration.receive("[1,2]"),
        Decision::Finished(Finished { finish: Finish::Complete, .. })
    ));
}
