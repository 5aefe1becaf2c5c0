//! A repair hook that returns a future.

use std::fmt;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use tokenline_core::Rejected;

/// A repair hook that returns a future. For the streams of this workspace.
pub struct AsyncRepair {
    hook: Box<dyn FnMut(Rejected) -> Pin<Box<Replacement>> + Send + Sync>,
    /// In a mutex that is never locked, so that the stream is `Sync` although few futures are: a borrow of
    /// the stream may then be held across an `await`.
    pending: Option<Mutex<Pin<Box<Replacement>>>>,
}

/// The future of a replacement.
type Replacement = dyn Future<Output = Option<String>> + Send;

impl AsyncRepair {
    /// Asks this closure.
    pub fn new<F>(mut hook: impl FnMut(Rejected) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Option<String>> + Send + 'static,
    {
        Self { hook: Box::new(move |rejected| Box::pin(hook(rejected))), pending: None }
    }

    /// Asks for a replacement.
    pub fn ask(&mut self, rejected: Rejected) {
        self.pending = Some(Mutex::new((self.hook)(rejected)));
    }

    /// The replacement that was asked for, once it is known; `None` if there is no question.
    pub fn poll_replacement(&mut self, cx: &mut Context<'_>) -> Poll<Option<Option<String>>> {
        let Some(pending) = &mut self.pending else { return Poll::Ready(None) };
        let pending = pending.get_mut().unwrap_or_else(PoisonError::into_inner);
        let replacement = ready!(pending.as_mut().poll(cx));
        self.pending = None;
        Poll::Ready(Some(replacement))
    }
}

impl fmt::Debug for AsyncRepair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncRepair").field("is_asked", &self.pending.is_some()).finish_non_exhaustive()
    }
}
