//! Ctrl-C and SIGTERM.

use std::fs;
use std::future;
use std::io;
use std::path::PathBuf;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tokio::runtime;
use tokio::signal;
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
        thread::Builder::new().name("interrupt".to_owned()).spawn(move || {
            runtime.block_on(async {
                if signaled().await.is_ok() {
                    let _ = sender.try_send(());
                }
                if signaled().await.is_ok() {
                    process::exit(INTERRUPTED);
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

/// Makes Ctrl-C exit at once, after removing these unfinished files.
pub(crate) fn remove_when_interrupted(files: Vec<PathBuf>) -> Result<(), Failure> {
    if files.is_empty() {
        return Ok(());
    }
    let mut interrupt = Interrupt::watch().map_err(|error| Failure::io("cannot watch for Ctrl-C", &error))?;
    thread::spawn(move || {
        interrupt.wait_blocking();
        for file in files {
            // A completed file has been renamed.
            let _ = fs::remove_file(file);
        }
        process::exit(INTERRUPTED);
    });
    Ok(())
}

/// Waits for Ctrl-C or SIGTERM.
async fn signaled() -> io::Result<()> {
    #[cfg(unix)]
    {
        let mut terminate = signal::unix::signal(signal::unix::SignalKind::terminate())?;
        tokio::select! {
            result = signal::ctrl_c() => result,
            _ = terminate.recv() => Ok(()),
        }
    }
    #[cfg(not(unix))]
    signal::ctrl_c().await
}
