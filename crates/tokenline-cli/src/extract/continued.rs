//! `tokenline extract --continue`: a response that may take several requests.

use tokenline::Event;
use tokenline::json::Raw;
use tokenline::llm::ContinuationOptions;
use tokenline::llm::client::ContinuedEvents;
use tokenline::llm::request::ChatRequest;

use super::ExtractArgs;
use crate::emit::{Emitter, EventOrigin};
use crate::failure::{Failure, Verdict};
use crate::interrupt::Interrupt;
use crate::model;
use crate::output_file::OutputFile;
use crate::parse::{Demands, Rules, conclude};
use crate::progress::Progress;

/// Sends the request, and continues a cut-off response at most `max_continuations` times.
pub(super) async fn run(
    args: &ExtractArgs,
    rules: &Rules,
    request: &ChatRequest,
    max_continuations: u32,
    (report_file, reject_file): (Option<OutputFile>, Option<OutputFile>),
) -> Result<Verdict, Failure> {
    let continuation = ContinuationOptions::new().max_requests(max_continuations.saturating_add(1));
    let request = model::client(&args.model)?
        .continued(request, continuation)
        .map_err(|error| model::failure(&error))?
        .with_options(rules.options.clone());
    let request = match &rules.rejected_texts {
        Some(texts) => request.with_repair(texts.hook()),
        None => request,
    };
    let request = request.stop_on_repetition(rules.repetition).reask(super::reask_options(args));
    let mut events = match &rules.schema {
        Some(schema) => request.with_validator(schema.clone()).events(),
        None => request.events(),
    };
    let interrupt = Interrupt::new();
    let progress = Progress::start(&args.model.model);
    let mut emitter = Emitter::new(rules.emit, &*args.model.model)
        .with_progress(progress.bar())
        .with_quota(&args.reading)
        .with_reject_file(reject_file)
        .with_rejected_texts(rules.rejected_texts.clone());
    super::warn_unsent_schema(args, &emitter);
    let outcome = write_events(&mut events, interrupt, &progress, &mut emitter).await;
    progress.finish();
    emitter.count_reasks(events.report().report().reasks());
    let requests = events.report().requests();
    if requests > 1 {
        emitter.remark(&format!("the response was cut off and took {requests} requests"));
    }
    conclude(outcome, &mut emitter, report_file, Demands::of(&args.reading))
}

async fn write_events(
    events: &mut ContinuedEvents<Raw>,
    mut interrupt: Interrupt,
    progress: &Progress,
    emitter: &mut Emitter,
) -> Result<(), Failure> {
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            () = interrupt.wait() => {
                return Err(Failure::Interrupted("interrupted: the response is incomplete".to_owned()));
            }
        };
        let origin = EventOrigin::Response(events.report().requests());
        match event {
            Some(Ok(Event::Record(record))) => emitter.owned_record(origin, &record)?,
            Some(Ok(Event::Rejected(diagnostic) | Event::Note(diagnostic))) => {
                emitter.diagnostic(origin, &diagnostic)?;
            }
            Some(Ok(other)) => unreachable!("unexpected event: {other:?}"),
            Some(Err(error)) => return Err(model::continued_failure(error)),
            None => break,
        }
        if emitter.is_done() {
            // Dropping the stream closes the connection.
            return Ok(());
        }
        // Complete records reach the reader before the next wait.
        emitter.flush()?;
        progress.update_continued(events.report());
    }
    Ok(())
}
