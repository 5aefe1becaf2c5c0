//! Ctrl-C, and being asked to end.

use std::fs;
use std::future;
use std::io;
use std::path::PathBuf;
use std::process;
use std::thread;

use tokio::runtime;
use tokio::signal;
use tokio::sync::mpsc;

use crate::failure::Failure;

/// The first Ctrl-C ends the work in good order, the second one the program.
pub(crate) struct Interrupt(mpsc::Receiver<()>);

/// What a shell makes of a program that Ctrl-C has ended.
const INTERRUPTED: i32 = 130;

impl Interrupt {
    /// Watches from a thread of its own: the program may be held up by a reader of its output who
    /// does not read.
    pub(crate) fn watch() -> io::Result<Self> {
        let (sender, receiver) = mpsc::channel(1);
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        thread::Builder::new().name("interrupt".to_owned()).spawn(move || {
            runtime.block_on(async {
                if asked().await.is_ok() {
                    let _ = sender.try_send(());
                }
                if asked().await.is_ok() {
                    process::exit(INTERRUPTED);
                }
            });
        })?;
        Ok(Self(receiver))
    }

    /// Waits for Ctrl-C.
    pub(crate) async fn wait(&mut self) {
        if self.0.recv().await.is_none() {
            // It cannot be watched for.
            future::pending::<()>().await;
        }
    }
}

impl Interrupt {
    /// Waits for Ctrl-C, where nothing else is waited for.
    pub(crate) fn wait_blocking(&mut self) {
        if self.0.blocking_recv().is_none() {
            loop {
                thread::park();
            }
        }
    }
}

/// Has Ctrl-C end the program at once, but leave no half of a file behind.
pub(crate) fn remove_when_interrupted(files: Vec<PathBuf>) -> Result<(), Failure> {
    if files.is_empty() {
        return Ok(());
    }
    let mut interrupt = Interrupt::watch().map_err(|error| Failure::io("cannot watch for Ctrl-C", &error))?;
    thread::spawn(move || {
        interrupt.wait_blocking();
        for file in files {
            // What is complete has its name by now.
            let _ = fs::remove_file(file);
        }
        process::exit(INTERRUPTED);
    });
    Ok(())
}

/// Ctrl-C, or SIGTERM.
async fn asked() -> io::Result<()> {
    #[cfg(unix)]
    {
        let mut terminate = signal::unix::signal(signal::unix::SignalKind::terminate())?;
        tokio::select! {
            asked = signal::ctrl_c() => asked,
            _ = terminate.recv() => Ok(()),
        }
    }
    #[cfg(not(unix))]
    signal::ctrl_c().await
}
