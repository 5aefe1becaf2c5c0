//! Ctrl-C and SIGTERM.

use std::fs;
use std::future;
use std::io;
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tokio::runtime;
#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::failure::Failure;

/// The first Ctrl-C ends the command gracefully, the second one exits.
pub(crate) struct Interrupt(mpsc::Receiver<()>);

/// The exit code of a program that Ctrl-C ended, as shells report it.
const INTERRUPTED: i32 = 130;

impl Interrupt {
    /// Watches on its own thread: the main thread may block on a slow reader of its output.
    pub(crate) fn watch() -> io::Result<Self> {
        let (sender, receiver) = mpsc::channel(1);
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        // From here on, a signal no longer ends the program.
        let mut signals = {
            let _context = runtime.enter();
            Signals::new()?
        };
        thread::Builder::new().name("interrupt".to_owned()).spawn(move || {
            runtime.block_on(async {
                if signals.next().await.is_ok() {
                    let _ = sender.try_send(());
                }
                if signals.next().await.is_ok() {
                    exit();
                }
            });
        })?;
        Ok(Self(receiver))
    }

    /// Waits for Ctrl-C.
    pub(crate) async fn wait(&mut self) {
        if self.0.recv().await.is_none() {
            // The watching thread is gone.
            future::pending::<()>().await;
        }
    }
}

impl Interrupt {
    /// Blocks until Ctrl-C.
    pub(crate) fn wait_blocking(&mut self) {
        if self.0.blocking_recv().is_none() {
            loop {
                thread::park();
            }
        }
    }
}

/// A flag that Ctrl-C sets.
pub(crate) fn flag() -> Result<Arc<AtomicBool>, Failure> {
    let mut interrupt = Interrupt::watch().map_err(|error| Failure::io("cannot watch for Ctrl-C", &error))?;
    let flag = Arc::new(AtomicBool::new(false));
    let is_interrupted = Arc::clone(&flag);
    thread::spawn(move || {
        interrupt.wait_blocking();
        is_interrupted.store(true, Ordering::Release);
    });
    Ok(flag)
}

/// Makes Ctrl-C exit at once.
pub(crate) fn exit_when_interrupted() -> Result<(), Failure> {
    let mut interrupt = Interrupt::watch().map_err(|error| Failure::io("cannot watch for Ctrl-C", &error))?;
    thread::spawn(move || {
        interrupt.wait_blocking();
        exit();
    });
    Ok(())
}

/// Temporary files, to be removed when the program exits early.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Notes a temporary file.
pub(crate) fn add_unfinished(file: PathBuf) {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).push(file);
}

fn exit() -> ! {
    for file in UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        // A completed file has been renamed.
        let _ = fs::remove_file(file);
    }
    process::exit(INTERRUPTED);
}

/// Ctrl-C and SIGTERM.
#[cfg(unix)]
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) -> io::Result<()> {
        tokio::select! {
            _ = self.interrupt.recv() => Ok(()),
            _ = self.terminate.recv() => Ok(()),
        }
    }
}

/// Ctrl-C.
#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> io::Result<()> {
        tokio::signal::ctrl_c().await
    }
}
