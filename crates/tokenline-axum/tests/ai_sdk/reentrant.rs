//! Code of the application that uses its chat while the chat calls it. A lock that is held would deadlock.

use std::sync::mpsc;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use futures_util::{FutureExt as _, Stream as _, StreamExt as _};
use serde::{Serialize, Serializer};
use serde_json::json;
use tokenline::Options;
use tokenline::json::Raw;
use tokenline::llm::TextMode;
use tokenline::{Provider, ResponseParser, ResponseStream};
use tokenline_axum::ai_sdk::{Chat, ChatStream, ChunkWriter, DataPart, chat_options};

use crate::lines;

type Slot = Arc<OnceLock<Chat>>;

/// Writes without waiting until it is read.
fn write(chat: &Slot) {
    if let Some(chat) = chat.get() {
        let _ = chat.send(DataPart::new("late", Raw::from(json!(1)))).now_or_never();
    }
}

/// Runs a test on a thread of its own, and fails if it hangs.
fn in_time(test: impl FnOnce() + Send + 'static) {
    let (sender, done) = mpsc::channel();
    std::thread::spawn(move || {
        test();
        sender.send(()).expect("somebody waits");
    });
    done.recv_timeout(Duration::from_secs(20)).expect("it neither hangs nor panics");
}

#[test]
fn the_text_of_an_error_may_write() {
    in_time(|| {
        let slot = Slot::default();
        let chat = slot.clone();
        let writer = ChunkWriter::new().with_error_text(move |error| {
            write(&chat);
            error.to_string()
        });
        let stream = ChatStream::with_writer(writer, |chat| {
            assert!(slot.set(chat).is_ok());
            async { Err("it failed".into()) }
        });
        let chunks: Vec<_> = stream.collect().now_or_never().expect("it does not wait");
        assert_eq!(lines(&chunks), ["start", "data-late 1", "error it failed", "finish error"]);
    });
}

/// A value that writes while it is serialized, and fails.
#[derive(serde::Deserialize)]
struct Writes;

static WRITES: OnceLock<Slot> = OnceLock::new();

impl Serialize for Writes {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        write(WRITES.get().expect("set by the test"));
        Err(serde::ser::Error::custom("no such number"))
    }
}

#[test]
fn a_record_may_write() {
    in_time(|| {
        let slot = WRITES.get_or_init(Slot::default);
        let body = "data: {\"choices\":[{\"delta\":{\"content\":\"{}\\n\"},\"finish_reason\":\"stop\"}]}\n\n";
        let parser =
            ResponseParser::<Unit>::new(Provider::OpenAiChat, chat_options(Options::lenient().into()));
        let body = futures_util::stream::iter([Ok::<_, std::io::Error>(body)]);
        let response =
            ResponseStream::new(body, parser.with_options(|options| options.text_as(TextMode::Records)));
        let writer = ChunkWriter::new().with_error_text(ToString::to_string);
        let stream = ChatStream::with_writer(writer, |chat| {
            assert!(slot.set(chat.clone()).is_ok());
            async move {
                let mut step = chat.step(response);
                while step.next_call().await?.is_some() {}
                Ok(())
            }
        });
        let lines = lines(&stream.collect::<Vec<_>>().now_or_never().expect("it does not wait"));
        assert!(lines.contains(&"data-late 1".to_owned()), "{lines:?}");
        assert!(lines.contains(&"error no such number".to_owned()), "{lines:?}");
    });
}

/// `{}` as a record.
#[derive(serde::Deserialize)]
struct Unit {
    #[serde(skip, default = "writes")]
    value: Option<Writes>,
}

fn writes() -> Option<Writes> {
    Some(Writes)
}

impl Serialize for Unit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

struct WritingWaker(Slot);

impl Wake for WritingWaker {
    fn wake(self: Arc<Self>) {
        write(&self.0);
    }
}

#[test]
fn a_waker_may_write() {
    in_time(|| {
        let slot = Slot::default();
        let mut stream = Box::pin(ChatStream::new(|chat| {
            assert!(slot.set(chat).is_ok());
            std::future::pending()
        }));
        let waker = Waker::from(Arc::new(WritingWaker(slot.clone())));
        let cx = &mut Context::from_waker(&waker);
        let chat = slot.get().expect("set at once");
        // The reader waits, and is woken by what is written.
        assert!(stream.as_mut().poll_next(cx).is_pending());
        let mut sent = Box::pin(chat.send(DataPart::new("n", Raw::from(json!(1)))));
        assert!(sent.poll_unpin(cx).is_pending());
        // The writer waits, and is woken by what is read.
        for _ in 0..4 {
            assert!(matches!(stream.as_mut().poll_next(cx), Poll::Ready(Some(_))));
        }
        // The writer waits, and is woken when the reader leaves.
        let mut sent = Box::pin(chat.send(DataPart::new("n", Raw::from(json!(2)))));
        assert!(sent.poll_unpin(cx).is_pending());
        drop(stream);
        assert!(sent.poll_unpin(cx).is_ready());
    });
}
