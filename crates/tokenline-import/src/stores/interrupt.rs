//! Waits that the flag of the importer ends.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::{ImportError, Importer};

/// The flag that interrupts the import.
pub(super) struct Interrupt(Option<Arc<AtomicBool>>);

/// How often the flag is read during a wait.
pub(super) const TICK: Duration = Duration::from_millis(200);

impl Interrupt {
    pub(super) fn of(importer: &Importer<'_>) -> Self {
        Self(importer.interrupt_flag())
    }

    pub(super) fn check(&self) -> Result<(), ImportError> {
        match &self.0 {
            Some(flag) if flag.load(Ordering::Relaxed) => Err(ImportError::interrupted()),
            _ => Ok(()),
        }
    }

    /// Waits for something, unless the import is interrupted first.
    pub(super) async fn race<T>(&self, work: impl Future<Output = T>) -> Result<T, ImportError> {
        let mut work = pin!(work);
        loop {
            if let Ok(result) = tokio::time::timeout(TICK, work.as_mut()).await {
                return Ok(result);
            }
            self.check()?;
        }
    }
}
