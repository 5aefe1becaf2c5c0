//! Ctrl-C and SIGTERM: one rule for all commands.
//!
//! The first signal ends the input: what was read is written, with reports and other files, and the program exits with 130
//! or 143. Commands that have nothing to write, and the second signal, exit at once. No temporary file stays.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use tokio::runtime;
#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;

use crate::failure::Failure;
use crate::log::log_failure;

/// The exit codes of programs that these signals ended, as shells report them: 128 and the number of the signal.
const INTERRUPTED: u8 = 130;
const TERMINATED: u8 = 143;

/// The message of a command that a signal ended.
pub(crate) const INCOMPLETE: &str = "interrupted: the output is incomplete";

/// The exit code for the first signal, or 0.
static CODE: AtomicU8 = AtomicU8::new(0);
/// Whether the command ends on its own after the first signal.
static IS_GRACEFUL: AtomicBool = AtomicBool::new(false);
static NOTIFY: Notify = Notify::const_new();
static FLAG: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Watches for signals, on a thread of its own: the main thread may block on a slow reader of its output.
pub(crate) fn watch() -> Result<(), Failure> {
    let started = start();
    started.map_err(|error| Failure::io("cannot watch for Ctrl-C", &error))
}

fn start() -> io::Result<()> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    // From here on, a signal no longer ends the program.
    let mut signals = {
        let _context = runtime.enter();
        Signals::new()?
    };
    thread::Builder::new().name("interrupt".to_owned()).spawn(move || {
        runtime.block_on(async {
            while let Ok(code) = signals.next().await {
                let is_first = CODE.compare_exchange(0, code, Ordering::AcqRel, Ordering::Acquire).is_ok();
                if !is_first {
                    exit(code);
                }
                if !IS_GRACEFUL.load(Ordering::Acquire) {
                    report();
                    exit(code);
                }
                FLAG.store(true, Ordering::Release);
                NOTIFY.notify_one();
            }
        });
    })?;
    Ok(())
}

/// Waits for the first signal, which then no longer ends the program.
pub(crate) struct Interrupt(());

impl Interrupt {
    pub(crate) fn new() -> Self {
        IS_GRACEFUL.store(true, Ordering::Release);
        Self(())
    }

    pub(crate) async fn wait(&mut self) {
        NOTIFY.notified().await;
    }
}

/// A flag that the first signal sets, which then no longer ends the program.
pub(crate) fn flag() -> Arc<AtomicBool> {
    IS_GRACEFUL.store(true, Ordering::Release);
    Arc::clone(&FLAG)
}

/// Whether there was a signal.
pub(crate) fn is_interrupted() -> bool {
    FLAG.load(Ordering::Acquire)
}

/// The exit code of a command that a signal ended.
pub(crate) fn exit_code() -> u8 {
    CODE.load(Ordering::Acquire).max(INTERRUPTED)
}

/// Temporary files, to be removed when the program exits early.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Notes a temporary file.
pub(crate) fn add_unfinished(file: PathBuf) {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).push(file);
}

/// How long a reader of standard error may take.
const REPORT_TIMEOUT: Duration = Duration::from_millis(500);

/// Says that a command ends at once. The main thread may hold standard error, and block on its reader.
fn report() {
    let (sender, reported) = mpsc::channel();
    thread::spawn(move || {
        log_failure(INCOMPLETE);
        sender.send(())
    });
    let _ = reported.recv_timeout(REPORT_TIMEOUT);
}

fn exit(code: u8) -> ! {
    for file in UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        // A completed file has been renamed.
        let _ = fs::remove_file(file);
    }
    process::exit(code.into());
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

    /// The exit code for the next signal.
    async fn next(&mut self) -> io::Result<u8> {
        tokio::select! {
            _ = self.interrupt.recv() => Ok(INTERRUPTED),
            _ = self.terminate.recv() => Ok(TERMINATED),
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

    async fn next(&mut self) -> io::Result<u8> {
        tokio::signal::ctrl_c().await.map(|()| INTERRUPTED)
    }
}
