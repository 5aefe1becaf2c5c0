//! The streams and the consumer of a worker.

use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::consumer::{Consumer, pull};
use async_nats::jetstream::context::GetStreamByNameErrorKind;
use async_nats::jetstream::stream::{Config, ConsumerErrorKind, DiscardPolicy, RetentionPolicy, Stream};
use tokio::time::Instant;

use crate::shared::Backoff;
use crate::{Error, WorkerOptions};

/// How long to wait for a server that starts.
const PATIENCE: Duration = Duration::from_secs(10);

const CHUNKS: &str = "the chunks of a source until its end, because a restarted worker reads them again";
const LAST_OUTPUT: &str = "the last message of each subject, because a restarted worker goes on from there";

pub(crate) struct Streams {
    pub(crate) chunks: Stream<()>,
    pub(crate) records: Stream<()>,
    pub(crate) rejects: Stream<()>,
    /// The longest message of records and rejects.
    pub(crate) max_message: usize,
}

/// Finds the streams, and checks that they keep their messages.
pub(crate) async fn streams(context: &Context, options: &WorkerOptions) -> Result<Streams, Error> {
    let (chunks, config) = find(context, &options.chunks).await?;
    check(&config, CHUNKS, removal(&config).or_else(|| removal_by_subject(&config)))?;
    let chunks_age = config.max_age;
    let (records, of_records) = find(context, &options.records).await?;
    let (rejects, of_rejects) = find(context, &options.rejects).await?;
    let mut max_message = usize::MAX;
    for config in [&of_records, &of_rejects] {
        check(config, LAST_OUTPUT, removal(config).or_else(|| expiry(config, chunks_age)))?;
        if config.max_message_size > 0 {
            max_message = max_message.min(config.max_message_size as usize);
        }
    }
    Ok(Streams { chunks, records, rejects, max_message })
}

/// The error for a stream that is not there.
pub(crate) fn missing(prefix: &str) -> Error {
    let (name, subjects) = (prefix.replace('.', "-"), format!("{prefix}.>"));
    let create = format!("nats stream add {name} --subjects '{subjects}' --retention limits --defaults");
    Error::StreamMissing { subjects, create }
}

fn check(config: &Config, keeps: &'static str, advice: Option<String>) -> Result<(), Error> {
    match advice {
        Some(advice) => Err(Error::Retention { stream: config.name.clone(), keeps, advice }),
        None => Ok(()),
    }
}

/// How a stream removes messages on its own, and what to do about it.
fn removal(config: &Config) -> Option<String> {
    if config.retention != RetentionPolicy::Limits {
        return Some("give it the retention policy `limits`".to_owned());
    }
    let limits = [("max_msgs", config.max_messages), ("max_bytes", config.max_bytes)];
    let (name, limit) = limits.into_iter().find(|(_, limit)| *limit > 0)?;
    (config.discard == DiscardPolicy::Old).then(|| {
        format!("beyond `{name}` ({limit}) it removes its oldest messages: give it the discard policy `new`, or remove the limit")
    })
}

fn removal_by_subject(config: &Config) -> Option<String> {
    let limit = config.max_messages_per_subject;
    let refuses = config.discard == DiscardPolicy::New && config.discard_new_per_subject;
    (limit > 0 && !refuses).then(|| {
        format!("beyond `max_msgs_per_subject` ({limit}) it removes the oldest chunks of a source: remove the limit")
    })
}

/// Whether outputs expire before the chunks that they come from, which would then be stored again.
fn expiry(config: &Config, chunks_age: Duration) -> Option<String> {
    let age = config.max_age;
    let outlives = age.is_zero() || (!chunks_age.is_zero() && chunks_age <= age);
    (!outlives).then(|| {
        let chunks = if chunks_age.is_zero() {
            "never expire".to_owned()
        } else {
            format!("expire after {chunks_age:?}")
        };
        format!("its messages expire after {age:?} (`max_age`), but chunks {chunks}: let chunks expire first, or remove the limit")
    })
}

async fn find(context: &Context, prefix: &str) -> Result<(Stream<()>, Config), Error> {
    let subjects = format!("{prefix}.>");
    let (start, mut backoff) = (Instant::now(), Backoff::new());
    loop {
        let error: Box<dyn std::error::Error + Send + Sync> = match context.stream_by_subject(&subjects).await
        {
            Ok(name) => match context.get_stream(&name).await {
                Ok(stream) => {
                    let config = stream.cached_info().config.clone();
                    match context.get_stream_no_info(&name).await {
                        Ok(stream) => return Ok((stream, config)),
                        Err(error) => error.into(),
                    }
                }
                Err(error) => error.into(),
            },
            Err(error) if error.kind() == GetStreamByNameErrorKind::NotFound => {
                return Err(missing(prefix));
            }
            Err(error) => error.into(),
        };
        if start.elapsed() > PATIENCE {
            return Err(Error::Unavailable(error));
        }
        tracing::warn!(%error, "JetStream does not respond; trying again");
        tokio::time::sleep(backoff.next()).await;
    }
}

/// Creates the consumer, or changes it.
pub(crate) async fn consumer(
    chunks: &Stream<()>,
    config: pull::Config,
    options: &WorkerOptions,
) -> Result<Consumer<pull::Config>, Error> {
    let (start, mut backoff) = (Instant::now(), Backoff::new());
    loop {
        let error = match chunks.create_consumer(config.clone()).await {
            Ok(consumer) => return Ok(consumer),
            Err(error) if matches!(error.kind(), ConsumerErrorKind::JetStream(_)) => {
                return Err(Error::Consumer { consumer: options.consumer.clone(), source: error.into() });
            }
            Err(error) => error,
        };
        if start.elapsed() > PATIENCE {
            return Err(Error::Unavailable(error.into()));
        }
        tracing::warn!(%error, "JetStream does not respond; trying again");
        tokio::time::sleep(backoff.next()).await;
    }
}
