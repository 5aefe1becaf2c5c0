//! A lock that threads of Python share without deadlocks.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;

/// State behind a mutex. Other threads wait without the GIL; the thread that already holds it gets an error, as a
/// generator gives one: building objects may run code of the user's, which may use the same parser.
pub(crate) struct Shared<T> {
    state: Mutex<T>,
    /// The thread that holds the lock; 0 if none does.
    owner: AtomicUsize,
}

pub(crate) struct Guard<'a, T> {
    state: MutexGuard<'a, T>,
    owner: &'a AtomicUsize,
}

/// Identifies the thread: the address of a variable of its own.
fn thread() -> usize {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| std::ptr::from_ref(here) as usize)
}

impl<T: Send> Shared<T> {
    pub(crate) fn new(state: T) -> Self {
        Self { state: Mutex::new(state), owner: AtomicUsize::new(0) }
    }

    pub(crate) fn lock(&self, py: Python<'_>) -> PyResult<Guard<'_, T>> {
        let thread = thread();
        // Only this thread stores its own number, so that the order of other threads' stores does not matter.
        if self.owner.load(Ordering::Relaxed) == thread {
            return Err(PyRuntimeError::new_err("already in use by this thread, further up its call stack"));
        }
        let state = self.state.lock_py_attached(py).unwrap_or_else(std::sync::PoisonError::into_inner);
        self.owner.store(thread, Ordering::Relaxed);
        Ok(Guard { state, owner: &self.owner })
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        self.owner.store(0, Ordering::Relaxed);
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.state
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.state
    }
}
