//! A lock that threads of Python share.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};

/// How long a thread waits before it looks for an interrupt from the keyboard.
const SLICE: Duration = Duration::from_millis(50);

/// State behind a mutex. Other threads wait without the GIL; the thread that already holds it gets an error, as a
/// generator gives one: building objects may run code of the user's, which may use the same parser.
///
/// It is locked and unlocked only by threads that hold the GIL: it does not change while garbage is collected.
pub(crate) struct Shared<T> {
    state: Mutex<T>,
    /// The thread that holds the lock; 0 if none does.
    owner: AtomicUsize,
    /// How many threads wait for `released`.
    waiting: AtomicUsize,
    gate: Mutex<()>,
    released: Condvar,
}

pub(crate) struct Guard<'a, T> {
    /// `None` only while it is dropped.
    state: Option<MutexGuard<'a, T>>,
    shared: &'a Shared<T>,
}

/// An owner of references to Python objects, for the garbage collector.
pub(crate) trait Traverse {
    fn traverse(&self, _: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        Ok(())
    }

    /// Drops those references that may be part of a cycle whose other objects cannot drop theirs.
    fn clear(&mut self) {}
}

/// Identifies the thread: the address of a variable of its own.
fn thread() -> usize {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| std::ptr::from_ref(here) as usize)
}

impl<T: Send> Shared<T> {
    pub(crate) fn new(state: T) -> Self {
        Self {
            state: Mutex::new(state),
            owner: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            gate: Mutex::new(()),
            released: Condvar::new(),
        }
    }

    pub(crate) fn lock(&self, py: Python<'_>) -> PyResult<Guard<'_, T>> {
        // Only this thread stores its own number, so that the order of other threads' stores does not matter.
        if self.owner.load(Ordering::Relaxed) == thread() {
            return Err(PyRuntimeError::new_err("already in use by this thread, further up its call stack"));
        }
        loop {
            if let Some(guard) = self.try_lock() {
                return Ok(guard);
            }
            self.waiting.fetch_add(1, Ordering::SeqCst);
            py.detach(|| self.wait());
            self.waiting.fetch_sub(1, Ordering::SeqCst);
            py.check_signals()?;
        }
    }

    fn try_lock(&self) -> Option<Guard<'_, T>> {
        let state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        self.owner.store(thread(), Ordering::SeqCst);
        Some(Guard { state: Some(state), shared: self })
    }

    /// Waits until the lock is released, or for a slice of time.
    fn wait(&self) {
        let gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        if self.owner.load(Ordering::SeqCst) != 0 {
            let _ = self.released.wait_timeout(gate, SLICE);
        }
    }
}

impl<T: Send + Traverse> Shared<T> {
    /// Visits the references, unless a thread is using them: then they count as reachable.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.try_lock().map_or(Ok(()), |state| state.traverse(visit))
    }

    pub(crate) fn clear(&self) {
        if let Some(mut state) = self.try_lock() {
            state.clear();
        }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        let Shared { owner, waiting, gate, released, .. } = self.shared;
        owner.store(0, Ordering::SeqCst);
        self.state = None;
        if waiting.load(Ordering::SeqCst) > 0 {
            drop(gate.lock());
            released.notify_one();
        }
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.state.as_ref().expect("locked until dropped")
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.state.as_mut().expect("locked until dropped")
    }
}
