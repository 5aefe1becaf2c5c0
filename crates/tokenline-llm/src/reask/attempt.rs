//! One further request and its outcome.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use tokenline_core::adapter::{Digest, RejectedTexts};
use tokenline_core::{Code, Record, ToolCall};

use super::requests::{Item, Setup};
use crate::ResponseEvent;

/// The outcome of a further request.
pub(super) struct Attempt<T> {
    pub(super) result: Result<Found<T>, Failed>,
    pub(super) counts: Counts,
}

/// The tokens of a further request, and the digest of its response.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) input_tokens: u64,
    /// As the provider reports them; otherwise, the pieces of the response.
    pub(super) output_tokens: u64,
    /// The same for the same response.
    pub(super) digest: Digest,
}

/// The record or call that the model wrote when it was asked again.
pub(super) enum Found<T> {
    Record(Record<T>),
    Call(ToolCall),
}

/// The failure of a further request.
pub(super) struct Failed {
    pub(super) reason: String,
    pub(super) next: NextAsk,
}

/// The subject of the next request.
pub(super) enum NextAsk {
    /// The same item: nothing came in its place.
    Same,
    /// The reject that came in its place.
    Instead(Item),
    /// Another request is of no use.
    Nothing,
}

impl Failed {
    fn last(reason: &impl ToString) -> Self {
        Self { reason: reason.to_string(), next: NextAsk::Nothing }
    }

    fn same(reason: &impl ToString) -> Self {
        Self { reason: reason.to_string(), next: NextAsk::Same }
    }
}

/// Asks for an item again.
pub(super) async fn ask<T: DeserializeOwned>(setup: Arc<Setup>, item: Item) -> Attempt<T> {
    let mut counts = Counts::default();
    let result = read(&setup, item, &mut counts).await;
    Attempt { result, counts }
}

async fn read<T: DeserializeOwned>(
    setup: &Setup,
    item: Item,
    counts: &mut Counts,
) -> Result<Found<T>, Failed> {
    let texts = RejectedTexts::default();
    let options = setup.options.clone().note_rejects(&texts);
    let request = setup.client.stream(&setup.request(&item)).map_err(|error| Failed::last(&error))?;
    let request = request.typed::<T>().with_options(|_| options);
    let mut response = request.send().await.map_err(|error| Failed::last(&error))?;
    let (mut found, mut count, mut failed) = (None, 0, None);
    while let Some(event) = response.next().await {
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                failed.get_or_insert_with(|| Failed::last(&error));
                break;
            }
        };
        match event {
            ResponseEvent::TextDelta { choice: 0, text, .. } => counts.digest.add(text),
            ResponseEvent::Record { choice: 0, record, .. } if !item.is_call() => {
                (found, count) = (Some(Found::Record(record)), count + 1);
            }
            ResponseEvent::ToolCall { choice: 0, call, .. } if item.is_call() => {
                counts.digest.add([&call.name, call.parameters.as_str()].concat());
                (found, count) = (Some(Found::Call(call)), count + 1);
            }
            ResponseEvent::Rejected { diagnostic, .. } if diagnostic.code == Code::ProviderError => {
                failed = Some(Failed::last(&diagnostic.message));
            }
            ResponseEvent::Rejected { choice: Some(0), .. }
            | ResponseEvent::RejectedCall { choice: 0, .. } => {
                let next = Item::of(&event, &texts).filter(|next| next.is_call() == item.is_call());
                if let Some(next) = &next {
                    next.add_to(&mut counts.digest);
                }
                let reason = event.diagnostic().map_or_else(String::new, |why| why.for_model().to_string());
                let next = next.filter(Item::is_whole).map_or(NextAsk::Same, NextAsk::Instead);
                failed.get_or_insert(Failed { reason, next });
            }
            _ => {}
        }
    }
    let parser = response.parser();
    let usage = parser.usage();
    counts.input_tokens = usage.and_then(|usage| usage.input_tokens).unwrap_or_default();
    let reported = usage.and_then(|usage| usage.output_tokens);
    counts.output_tokens = reported.unwrap_or_else(|| parser.delta_count());
    let what = if item.is_call() { "tool call" } else { "record" };
    match (found, failed) {
        (Some(found), None) if count == 1 => Ok(found),
        (Some(_), None) => Err(Failed::same(&format!("the response had more than one {what}"))),
        (Some(_), Some(Failed { reason, .. })) => {
            Err(Failed::same(&format!("the response had a {what} beside a reject: {reason}")))
        }
        (None, Some(failed)) => Err(failed),
        (None, None) => Err(Failed::same(&format!("the response had no {what}"))),
    }
}
