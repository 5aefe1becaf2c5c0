//! `tokenline extract --continue`: an answer that may take several requests.

use futures_util::StreamExt as _;
use tokenline::Event;
use tokenline::json::Raw;
use tokenline::llm::client::{ContinuedError, ContinuedEvents};
use tokenline::llm::request::ChatRequest;
use tokenline::llm::{ContinuationOptions, ResponseError};

use crate::args::ExtractArgs;
use crate::emit::{Emitter, EventOrigin};
use crate::failure::{Failure, Verdict};
use crate::interrupt::Interrupt;
use crate::model;
use crate::output_file::OutputFile;
use crate::parse::{Rules, conclude};
use crate::progress::Progress;

/// Asks a model, and for the rest of its answer at most so many times.
pub(super) async fn run(
    args: &ExtractArgs,
    rules: &Rules,
    request: &ChatRequest,
    most: u32,
    (report_file, reject_file): (Option<OutputFile>, Option<OutputFile>),
) -> Result<Verdict, Failure> {
    let continuation = ContinuationOptions::new().max_requests(most.saturating_add(1));
    let request = model::client(&args.model)?
        .continued(request, continuation)
        .map_err(|error| model::failure(&error))?
        .with_options(rules.options.clone());
    let mut events = match &rules.schema {
        Some(schema) => request.with_validator(schema.clone()).events(),
        None => request.events(),
    };
    let interrupt = Interrupt::watch().map_err(|error| Failure::io("cannot watch for Ctrl-C", &error))?;
    let progress = Progress::start(&args.model.model);
    let mut emitter = Emitter::new(rules.what, &*args.model.model)
        .with_progress(progress.clone())
        .with_quota(&args.reading)
        .with_reject_file(reject_file);
    super::remark_unsent_schema(args, &emitter);
    let outcome = ask(&mut events, interrupt, &progress, &mut emitter).await;
    progress.finish();
    let requests = events.report().requests();
    if requests > 1 {
        emitter.remark(&format!("the answer was cut off, and took {requests} requests"));
    }
    conclude(outcome, &mut emitter, report_file, args.reading.deny)
}

async fn ask(
    events: &mut ContinuedEvents<Raw>,
    mut interrupt: Interrupt,
    progress: &Progress,
    emitter: &mut Emitter,
) -> Result<(), Failure> {
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            () = interrupt.wait() => {
                return Err(Failure::Source("interrupted: the answer is incomplete".to_owned()));
            }
        };
        let of = EventOrigin::Response(events.report().requests());
        match event {
            Some(Ok(Event::Record(record))) => emitter.owned_record(of, &record)?,
            Some(Ok(Event::Rejected(diagnostic) | Event::Note(diagnostic))) => {
                emitter.finding(of, &diagnostic)?;
            }
            Some(Ok(other)) => unreachable!("an event that was not asked for: {other:?}"),
            Some(Err(error)) => return Err(failure(error)),
            None => break,
        }
        if emitter.is_done() {
            // With the stream its connection goes.
            return Ok(());
        }
        // What is complete is out before more is waited for.
        emitter.flush()?;
        progress.update_continued(events.report());
    }
    Ok(())
}

fn failure(error: ContinuedError) -> Failure {
    match error {
        ContinuedError::Client(error) => model::failure(&error),
        ContinuedError::Answer(error) => match *error {
            ResponseError::Source(error) => model::failure(&error),
            error => Failure::Source(error.to_string()),
        },
        error => Failure::Source(error.to_string()),
    }
}
