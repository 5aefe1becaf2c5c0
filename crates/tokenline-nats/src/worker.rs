//! The worker: takes chunks from the consumer, and passes each to its source.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::consumer::pull::MessagesErrorKind;
use async_nats::jetstream::consumer::{AckPolicy, Consumer, DeliverPolicy, pull};
use async_nats::jetstream::context::ContextBuilder;
use async_nats::jetstream::{Context, Message};
use futures_util::StreamExt as _;
use tokio::sync::{Mutex, mpsc};
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

use crate::continuity::Continuity;
use crate::holder::{Delivery, Holder};
use crate::setup;
use crate::shared::{Backoff, Counters, Shared};
use crate::source::Source;
use crate::{Error, WorkerOptions};

/// How long a confirmation of the server may take. After that, the worker looks at what is stored.
const ACK_TIMEOUT: Duration = Duration::from_secs(3);
/// Messages without confirmation, of all sources together.
const MAX_IN_FLIGHT: usize = 8_192;
/// Time for the sources to store what is decoded after the worker is asked to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval of the server's heartbeats while there are no chunks.
const HEARTBEAT: Duration = Duration::from_secs(2);

/// Counts of the work that a worker has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Chunks acknowledged.
    pub chunks: u64,
    /// Messages stored on the subjects of records: records, and ends of sources.
    pub records: u64,
    /// Rejects stored.
    pub rejects: u64,
    /// Sources read to their end, also if another worker stored their outputs.
    pub ended: u64,
    /// Sources set aside; see [`on_source_failed`](WorkerOptions::on_source_failed).
    pub failed: u64,
}

/// Reads chunks of responses from JetStream, and stores their records and rejects in it; see the [crate](crate).
pub struct Worker {
    shared: Arc<Shared>,
    consumer: Consumer<pull::Config>,
    failed: mpsc::UnboundedReceiver<Error>,
}

impl Worker {
    /// Looks for the streams, and creates the consumer or adapts it to the options.
    ///
    /// # Errors
    ///
    /// If an option is invalid, a stream is missing or does not keep its messages, the server refuses the consumer, or
    /// JetStream does not respond for 10 seconds.
    pub async fn new(client: Client, options: WorkerOptions) -> Result<Self, Error> {
        options.check()?;
        let context = ContextBuilder::new()
            .ack_timeout(ACK_TIMEOUT)
            .max_ack_inflight(MAX_IN_FLIGHT)
            .backpressure_on_inflight(true)
            .build(client.clone());
        Self::with_context(&client, context, options).await
    }

    async fn with_context(client: &Client, context: Context, options: WorkerOptions) -> Result<Self, Error> {
        let streams = setup::streams(&context, &options).await?;
        let config = pull::Config {
            durable_name: Some(options.consumer.clone()),
            description: Some("tokenline worker".to_owned()),
            deliver_policy: DeliverPolicy::All,
            ack_policy: AckPolicy::Explicit,
            ack_wait: options.ack_wait,
            max_deliver: -1,
            filter_subject: format!("{}.>", options.chunks),
            max_ack_pending: options.max_ack_pending.into(),
            ..pull::Config::default()
        };
        let consumer = setup::consumer(&streams.chunks, config, &options).await?;
        let max_message = streams.max_message.min(client.server_info().max_payload);
        let (failed_sender, failed) = mpsc::unbounded_channel();
        let shared = Shared {
            options,
            context,
            chunks: streams.chunks,
            records: streams.records,
            rejects: streams.rejects,
            max_message,
            sending: Mutex::new(()),
            counters: Counters::default(),
            failed: failed_sender,
        };
        Ok(Self { shared: Arc::new(shared), consumer, failed })
    }

    /// Works until there is an error that needs a person.
    ///
    /// # Errors
    ///
    /// See [`Error`]. Lost connections, restarts of servers and full streams are not errors.
    pub async fn run(self) -> Result<Counts, Error> {
        self.run_until(std::future::pending()).await
    }

    /// Works until `stop` is ready; then stores what was decoded, within 5 seconds. Dropping the future instead does no
    /// harm: the chunks without acknowledgment are delivered again after [`ack_wait`](WorkerOptions::ack_wait).
    ///
    /// # Errors
    ///
    /// As for [`run`](Self::run).
    pub async fn run_until(mut self, stop: impl Future<Output = ()>) -> Result<Counts, Error> {
        let mut router = Router {
            shared: Arc::clone(&self.shared),
            sources: HashMap::new(),
            tasks: JoinSet::new(),
            continuity: Continuity::new(connects(&self.shared.context)),
            clock: 0,
        };
        let end = tokio::select! {
            () = stop => Ok(()),
            Some(error) = self.failed.recv() => Err(error),
            error = router.run(&self.consumer) => Err(error),
        };
        router.sources.clear();
        let has_stopped = end.is_ok();
        let drain = async {
            while has_stopped && let Some(ended) = router.tasks.join_next().await {
                pass_on_panic(ended);
            }
            // Without a connection it waits for one.
            _ = self.shared.context.client().flush().await;
        };
        if tokio::time::timeout(STOP_TIMEOUT, drain).await.is_err() && has_stopped {
            tracing::warn!("some sources are not stored yet; their chunks are delivered again");
        }
        // A source may have failed meanwhile.
        end?;
        self.failed.try_recv().map_or_else(|_| Ok(self.shared.counters.read()), Err)
    }
}

/// Panics if a source did: its chunks would come again, and so would the panic.
fn pass_on_panic(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        std::panic::resume_unwind(error.into_panic());
    }
}

/// How often the connection was made.
fn connects(context: &Context) -> u64 {
    context.client().statistics().connects.load(Ordering::Relaxed)
}

/// Passes chunks to their sources.
struct Router {
    shared: Arc<Shared>,
    sources: HashMap<String, Inbox>,
    tasks: JoinSet<()>,
    continuity: Continuity,
    /// Counts chunks, to find the source that was silent longest.
    clock: u64,
}

struct Inbox {
    sender: mpsc::UnboundedSender<Delivery>,
    last_used: u64,
}

impl Router {
    /// Works until the consumer cannot be read any more.
    async fn run(&mut self, consumer: &Consumer<pull::Config>) -> Error {
        let options = self.shared.options.clone();
        // All of them at once would leave nothing for other workers.
        let batch = (options.max_ack_pending as usize / 2).clamp(1, 500);
        let mut backoff = Backoff::new();
        loop {
            self.continuity.interrupted();
            let stream = consumer.stream().max_messages_per_batch(batch).heartbeat(HEARTBEAT);
            match stream.messages().await {
                Ok(mut messages) => {
                    while let Some(message) = messages.next().await {
                        match message {
                            Ok(message) => {
                                backoff = Backoff::new();
                                self.route(message);
                            }
                            Err(error) if error.kind() == MessagesErrorKind::ConsumerDeleted => {
                                return Error::Consumer { consumer: options.consumer, source: error.into() };
                            }
                            Err(error) => {
                                tracing::warn!(%error, "no chunks from the server; trying again");
                                break;
                            }
                        }
                        while let Some(ended) = self.tasks.try_join_next() {
                            pass_on_panic(ended);
                        }
                    }
                }
                Err(error) => tracing::warn!(%error, "cannot ask for chunks; trying again"),
            }
            tokio::time::sleep(backoff.next()).await;
        }
    }

    fn route(&mut self, message: Message) {
        let connects = connects(&self.shared.context);
        let info = match message.info() {
            Ok(info) => info,
            Err(error) => {
                tracing::warn!(%error, "a message that is not of a stream is ignored");
                return;
            }
        };
        let epoch = self.continuity.epoch_of(info.consumer_sequence, connects, Instant::now());
        let (sequence, epoch) = (info.stream_sequence, (info.delivered == 1).then_some(epoch));
        let prefix = self.shared.options.chunks.len() + 1;
        let name = message.subject.as_str().get(prefix..).unwrap_or_default().to_owned();
        self.clock += 1;
        let clock = self.clock;
        let delivery = Delivery { message, sequence, epoch };
        let inbox = match self.sources.get_mut(&name) {
            Some(inbox) if !inbox.sender.is_closed() => inbox,
            _ => self.open(name),
        };
        inbox.last_used = clock;
        // The source ended only if it failed in a way that ends the worker.
        _ = inbox.sender.send(delivery);
    }

    fn open(&mut self, name: String) -> &mut Inbox {
        if self.sources.len() >= self.shared.options.max_sources {
            let oldest = self.sources.iter().min_by_key(|(_, inbox)| inbox.last_used);
            if let Some(name) = oldest.map(|(name, _)| name.clone()) {
                tracing::debug!(source = name, "too many sources: forgotten until its next chunk");
                // Its task stores what it has, and ends.
                self.sources.remove(&name);
            }
        }
        let (sender, inbox) = mpsc::unbounded_channel();
        let holder = Holder::new(inbox, self.shared.options.ack_wait);
        self.tasks.spawn(Source::new(Arc::clone(&self.shared), name.clone(), holder).run());
        self.sources.entry(name).insert_entry(Inbox { sender, last_used: 0 }).into_mut()
    }
}
