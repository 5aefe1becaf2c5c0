//! One further request, and what came of it.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use tokenline_core::{Code, Record, ToolCall};

use super::rejected_texts::RejectedTexts;
use super::requests::{Item, Setup};
use crate::ResponseEvent;

/// What came of a further request.
pub(super) struct Attempt<T> {
    pub(super) result: Result<Found<T>, Failed>,
    pub(super) output_tokens: u64,
}

/// What the model wrote when it was asked again.
pub(super) enum Found<T> {
    Record(Record<T>),
    Call(ToolCall),
}

/// Why a further request gave nothing.
pub(super) struct Failed {
    pub(super) reason: String,
    pub(super) next: NextAsk,
}

/// What to ask for in the next request.
pub(super) enum NextAsk {
    /// The same: nothing came in its place.
    Same,
    /// What came in its place, and was rejected, too.
    Instead(Item),
    /// Another request is of no use.
    Nothing,
}

impl Failed {
    fn last(reason: impl ToString) -> Self {
        Self { reason: reason.to_string(), next: NextAsk::Nothing }
    }

    fn same(reason: impl ToString) -> Self {
        Self { reason: reason.to_string(), next: NextAsk::Same }
    }
}

/// Asks for an item again.
pub(super) async fn ask<T: DeserializeOwned>(setup: Arc<Setup>, item: Item) -> Attempt<T> {
    let mut output_tokens = 0;
    let result = read(&setup, item, &mut output_tokens).await;
    Attempt { result, output_tokens }
}

async fn read<T: DeserializeOwned>(
    setup: &Setup,
    item: Item,
    output_tokens: &mut u64,
) -> Result<Found<T>, Failed> {
    let texts = RejectedTexts::default();
    let noted = texts.clone();
    let options = setup.options.clone().note_rejects(move |rejected| noted.push(rejected));
    let request = setup.client.stream(&setup.request(&item)).map_err(Failed::last)?;
    let request = request.typed::<T>().with_options(|_| options);
    let mut response = request.send().await.map_err(Failed::last)?;
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
            ResponseEvent::Record { record, .. } if !item.is_call() => {
                (found, count) = (Some(Found::Record(record)), count + 1);
            }
            ResponseEvent::ToolCall { call, .. } if item.is_call() => {
                (found, count) = (Some(Found::Call(call)), count + 1);
            }
            ResponseEvent::Rejected { diagnostic, .. } if diagnostic.code == Code::ProviderError => {
                failed = Some(Failed::last(&diagnostic.message));
            }
            ResponseEvent::Rejected { .. } | ResponseEvent::RejectedCall { .. } if failed.is_none() => {
                let reason = event.diagnostic().map_or_else(String::new, |why| why.to_string());
                let next = Item::of(&event, &texts).filter(|next| next.is_call() == item.is_call());
                failed = Some(Failed { reason, next: next.map_or(NextAsk::Same, NextAsk::Instead) });
            }
            _ => {}
        }
    }
    let usage = response.parser().usage();
    *output_tokens = usage.and_then(|usage| usage.output_tokens).unwrap_or_default();
    let what = if item.is_call() { "tool call" } else { "record" };
    match (found, failed) {
        (Some(found), _) if count == 1 => Ok(found),
        (Some(_), _) => Err(Failed::same(format!("the response had more than one {what}"))),
        (None, Some(failed)) => Err(failed),
        (None, None) => Err(Failed::same(format!("the response had no {what}"))),
    }
}
