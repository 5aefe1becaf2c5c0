//! The machine of a document, with models that are made up.

use crate::common::{compact, pretty};
use proptest::prelude::*;
use tokenline_continuation::{
    ContinuationError, ContinuationFailure, ContinuationOptions, Decision, Document, DocumentContinuation,
    ResponseEnd,
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

/// The whole document, or why there is none.
fn run(model: &mut Model<'_>, options: ContinuationOptions) -> Result<String, ContinuationError> {
    let mut machine = DocumentContinuation::new("List the rows.", options);
    loop {
        let overlap = machine.next_request().unwrap().requested_overlap;
        let response = model.respond(machine.document().text(), overlap);
        match machine.receive(&response, ResponseEnd::Cut) {
            Decision::Continue(_) => {}
            Decision::Complete => return Ok(machine.into_document().into_text()),
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
        let options = ContinuationOptions::new()
            .overlap_bytes(overlap_bytes)
            .context_bytes(300)
            .max_failures(20)
            .max_requests(10_000);
        let document = run(&mut model, options).unwrap();
        prop_assert_eq!(compact(&document), compact(&answer));
    }
}

fn machine(options: ContinuationOptions) -> DocumentContinuation {
    DocumentContinuation::new("the prompt", options)
}

/// Gives it a response that a limit cut off.
fn receive(machine: &mut DocumentContinuation, response: &str) -> Decision {
    machine.receive(response, ResponseEnd::Cut)
}

fn complete_part(machine: &DocumentContinuation) -> Option<String> {
    machine.document().complete_part().map(Into::into)
}

const DIVERGED: Decision = Decision::Continue(Err(ContinuationFailure::Diverged));

#[test]
fn prompts() {
    let mut machine = DocumentContinuation::new("List the rows.", ContinuationOptions::new());
    let first = machine.next_request().unwrap();
    assert_eq!((first.number, &*first.prompt, first.requested_overlap), (1, "List the rows.", None));
    assert_eq!(machine.document().text(), "");

    let Decision::Continue(Ok(report)) = receive(&mut machine, r#"{"rows":[1,"#) else { panic!() };
    assert_eq!((report.join.as_str(), report.added), ("none_but_grammatical", 11));
    let next = machine.next_request().unwrap();
    assert_eq!((next.number, next.requested_overlap), (2, Some(11)));
    assert!(next.prompt.ends_with("continue directly after them:\n\n{\"rows\":[1,"));

    // A failure changes neither the document nor the next prompt.
    let prompt = next.prompt.into_owned();
    assert_eq!(receive(&mut machine, "no"), DIVERGED);
    assert_eq!(machine.next_request().unwrap().prompt, prompt);
    assert_eq!((machine.document().text(), machine.failures()), (r#"{"rows":[1,"#, 1));

    let Decision::Continue(Ok(report)) = receive(&mut machine, r#"{"rows":[1,2"#) else { panic!() };
    assert_eq!((report.added, machine.failures()), (1, 0));
    assert_eq!(machine.document().text(), r#"{"rows":[1,2"#);
    // Without the overlap it may be anything.
    let unproven = Decision::Continue(Err(ContinuationFailure::Unproven));
    assert_eq!(receive(&mut machine, "]}\n"), unproven);
    assert_eq!(receive(&mut machine, "{\"rows\":[1,2]}\n"), Decision::Complete);
    assert_eq!(machine.next_request(), None);
    assert_eq!(receive(&mut machine, "more"), Decision::Complete);
    assert_eq!(complete_part(&machine).unwrap(), r#"{"rows":[1,2]}"#);
    assert_eq!(machine.requests(), 5);
}

#[test]
fn overlap_is_always_asked_for() {
    let mut machine = machine(ContinuationOptions::new().overlap_bytes(0));
    let _ = receive(&mut machine, &format!("[{}", "1234567,".repeat(20)));
    let request = machine.next_request().unwrap();
    assert_eq!(request.requested_overlap, Some(32));
    assert!(request.prompt.ends_with(&format!("continue directly after them:\n\n{}", "1234567,".repeat(4))));
    // What is requested stands in the prompt once, and last.
    assert!(request.prompt.contains(&format!("\n\n[{}\n\n", "1234567,".repeat(16))));
}

#[test]
fn three_failures_in_a_row_end_it() {
    let mut machine = machine(ContinuationOptions::new());
    let _ = receive(&mut machine, r#"{"rows":[1,2"#);
    for _ in 0..2 {
        assert_eq!(receive(&mut machine, "no"), DIVERGED);
    }
    assert!(matches!(receive(&mut machine, "{\"rows\":[1,2,3"), Decision::Continue(Ok(_))));
    for _ in 0..2 {
        assert_eq!(receive(&mut machine, "no"), DIVERGED);
    }
    let error = ContinuationError::NoProgress { failures: 3, last: ContinuationFailure::Diverged };
    assert_eq!(receive(&mut machine, "no"), Decision::Failed(error));
    assert_eq!(complete_part(&machine).unwrap(), r#"{"rows":[1,2]}"#);
}

#[test]
fn nothing_is_complete() {
    let mut machine = machine(ContinuationOptions::new());
    for response in ["Sorry.", "tru"] {
        let no_json = Decision::Continue(Err(ContinuationFailure::NoJson));
        assert_eq!(receive(&mut machine, response), no_json);
        assert_eq!(machine.next_request().unwrap().prompt, "the prompt");
    }
    let Decision::Failed(error) = receive(&mut machine, r#"{"a":1,}"#) else { panic!() };
    let ContinuationError::NoProgress { failures: 3, last: ContinuationFailure::Malformed(fault) } = error
    else {
        panic!()
    };
    assert_eq!(fault.offset, 7);
    assert!(error.to_string().starts_with("3 responses in a row added nothing; the last: "), "{error}");
    assert_eq!((machine.next_request(), complete_part(&machine)), (None, None));
}

#[test]
fn a_model_that_repeats_itself_ends() {
    // It never gets on.
    let mut repeats = machine(ContinuationOptions::new());
    let mut decisions = Vec::new();
    while repeats.next_request().is_some() {
        decisions.push(receive(&mut repeats, r#"{"rows":[{"id":1},{"id":2},"#));
    }
    assert_eq!(decisions.len(), 4);
    let error = ContinuationError::NoProgress { failures: 3, last: ContinuationFailure::NothingNew };
    assert_eq!(decisions.last(), Some(&Decision::Failed(error)));
    assert_eq!(complete_part(&repeats).unwrap(), r#"{"rows":[{"id":1},{"id":2}]}"#);

    // White space is nothing new, and no part of the document then.
    let mut spaces = machine(ContinuationOptions::new());
    let _ = receive(&mut spaces, "[1,");
    for response in ["", "[1,\n  "] {
        let nothing_new = Decision::Continue(Err(ContinuationFailure::NothingNew));
        assert_eq!(receive(&mut spaces, response), nothing_new, "{response:?}");
        assert_eq!(spaces.document().text(), "[1,");
    }

    // It gets on for ever.
    let mut endless = machine(ContinuationOptions::new().max_requests(7));
    let mut id = 0;
    let last = loop {
        id += 1;
        let held = match endless.document().text() {
            "" => "[0".to_owned(),
            held => held.to_owned(),
        };
        match receive(&mut endless, &format!("{held},{id}")) {
            Decision::Continue(_) => {}
            last => break last,
        }
    };
    let error = ContinuationError::TooManyRequests { requests: 7 };
    assert_eq!((last, id), (Decision::Failed(error), 7));
    assert_eq!(complete_part(&endless).unwrap(), "[0,1,2,3,4,5,6]");
}

#[test]
fn a_document_of_another_process() {
    let mut first = machine(ContinuationOptions::new());
    let _ = receive(&mut first, "[1,2");
    let saved = Document::of(first.document().text());
    let mut resumed = DocumentContinuation::resume("", saved, ContinuationOptions::new());
    assert_eq!(resumed.next_request().unwrap().requested_overlap, Some(4));
    assert_eq!(receive(&mut resumed, "[1,2,3]"), Decision::Complete);
    let resumed = DocumentContinuation::resume("", Document::of("[1]"), ContinuationOptions::new());
    assert_eq!(resumed.next_request(), None);
}

#[test]
fn a_document_may_be_so_large() {
    let limited = |max_bytes| machine(ContinuationOptions::new().max_bytes(max_bytes));
    let mut twelve = limited(12);
    assert!(matches!(receive(&mut twelve, "[1,2,3"), Decision::Continue(Ok(_))));
    assert_eq!(twelve.free_bytes(), 6);
    let error = ContinuationError::TooLarge { limit: 12 };
    assert_eq!(receive(&mut twelve, "3,4,5,6"), Decision::Failed(error));
    assert_eq!(complete_part(&twelve).unwrap(), "[1,2]");
    assert!(twelve.next_request().is_none());

    let error = ContinuationError::TooLarge { limit: 5 };
    assert_eq!(receive(&mut limited(5), "[1,2,3"), Decision::Failed(error));
    assert_eq!(receive(&mut limited(5), "[1,2]"), Decision::Complete);
}

#[test]
fn tokens_and_disconnects_end_it() {
    let mut spent = machine(ContinuationOptions::new().max_output_tokens(100));
    for (response, tokens) in [("[1,", 60), ("[1,2,", 39)] {
        spent.count_output_tokens(tokens);
        assert!(matches!(receive(&mut spent, response), Decision::Continue(Ok(_))));
    }
    spent.count_output_tokens(1);
    let error = ContinuationError::TooManyTokens { tokens: 100 };
    assert_eq!(receive(&mut spent, "[1,2,3,"), Decision::Failed(error));
    assert_eq!(complete_part(&spent).unwrap(), "[1,2,3]");

    for (continues, expected) in [(true, None), (false, Some(ContinuationError::Disconnected))] {
        let mut broken = machine(ContinuationOptions::new().continue_after_disconnect(continues));
        let decision = broken.receive("[1,", ResponseEnd::Broken);
        match expected {
            Some(error) => assert_eq!(decision, Decision::Failed(error)),
            None => assert!(matches!(decision, Decision::Continue(Ok(_)))),
        }
        assert_eq!(complete_part(&broken).unwrap(), "[1]");
        // The document is complete all the same.
        let mut whole = machine(ContinuationOptions::new().continue_after_disconnect(continues));
        assert_eq!(whole.receive("[1]", ResponseEnd::Broken), Decision::Complete);
    }
}

#[test]
fn a_request_counts_when_it_is_sent() {
    let mut lost = machine(ContinuationOptions::new().max_requests(2));
    lost.begin();
    assert_eq!((lost.requests(), lost.next_request().unwrap().number), (1, 2));
    lost.give_up();
    assert_eq!(lost.requests(), 0);
    // Two that were sent, of which the responses are lost.
    lost.begin();
    lost.begin();
    let error = ContinuationError::TooManyRequests { requests: 2 };
    assert_eq!((lost.next_request(), lost.error()), (None, Some(error)));
    assert_eq!(receive(&mut lost, "[1,"), Decision::Failed(error));
    assert_eq!(lost.requests(), 2);

    for options in [ContinuationOptions::new().max_requests(0), ContinuationOptions::new().max_bytes(0)] {
        let none = machine(options);
        assert!(none.next_request().is_none() && none.error().is_some());
    }
}

#[test]
fn a_number_that_was_cut_off_is_not_the_document() {
    for end in [ResponseEnd::Cut, ResponseEnd::Broken] {
        let no_json = Decision::Continue(Err(ContinuationFailure::NoJson));
        assert_eq!(machine(ContinuationOptions::new()).receive("12", end), no_json);
    }
    assert_eq!(machine(ContinuationOptions::new()).receive("12", ResponseEnd::Clean), Decision::Complete);
    // More digits would follow at once.
    assert_eq!(machine(ContinuationOptions::new()).receive("12 ", ResponseEnd::Cut), Decision::Complete);
}

/// Models that are constrained to JSON may write white space up to their limit.
#[test]
fn long_white_space_is_not_the_overlap() {
    let mut endless = machine(ContinuationOptions::new());
    for space in ["\n".repeat(50_000), " ".repeat(200)] {
        assert!(matches!(
            receive(&mut endless, &format!("{{\"rows\":[{{\"id\":1}},{space}")),
            Decision::Continue(_)
        ));
        assert_eq!(endless.document().text(), "{\"rows\":[{\"id\":1},");
        assert!(endless.next_request().unwrap().prompt.len() < 1000);
    }
    assert_eq!(receive(&mut endless, "{\"rows\":[{\"id\":1},{\"id\":2}]}"), Decision::Complete);
}

/// It may be a text of megabytes in one string.
#[test]
fn a_long_string_takes_time_in_proportion() {
    let mut seconds = Vec::new();
    for kilobytes in [128, 1024] {
        let body = "<p class=\\\"a\\\">text</p>\\n".repeat(kilobytes * 1024 / 26);
        let whole = format!("{{\"text\":\"{body}\"}}");
        let mut long = machine(ContinuationOptions::new().max_requests(100_000));
        let started = std::time::Instant::now();
        while let Some(request) = long.next_request() {
            let overlap = request.requested_overlap.unwrap_or(0);
            let at = long.document().text().len();
            let _ = receive(&mut long, &whole[at - overlap..(at + 1024).min(whole.len())]);
        }
        seconds.push(started.elapsed().as_secs_f64());
        assert!(long.document().text() == whole);
    }
    // Eight times as long.
    assert!(seconds[1] < 24.0 * seconds[0].max(0.02), "{seconds:?}");
}
