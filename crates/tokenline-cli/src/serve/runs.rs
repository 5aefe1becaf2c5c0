//! The runs that a page may come back to.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::model::Model;
use super::run::{Reader, Run};

/// How long a run waits for its page.
const PATIENCE: Duration = Duration::from_secs(10);
/// The runs at one time, each with up to 1 MiB of events. Limits a program that starts runs in a loop.
const MAX_RUNS: usize = 4096;

#[derive(Default)]
pub(super) struct Runs(Mutex<HashMap<String, Arc<Run>>>);

/// There are too many runs.
pub(super) struct TooManyRuns;

impl Runs {
    /// Starts a run, and returns its first reader.
    pub(super) fn start(self: &Arc<Self>, model: Model) -> Result<Reader, TooManyRuns> {
        let mut runs = self.runs();
        if runs.len() >= MAX_RUNS {
            // Those that only wait for a page to come back make room.
            runs.retain(|_, run| !run.is_over());
        }
        if runs.len() >= MAX_RUNS {
            return Err(TooManyRuns);
        }
        let run = Run::new(random_id(), model);
        runs.insert(run.id().to_owned(), Arc::clone(&run));
        Ok(run.read_after(0, self))
    }

    /// Takes a run over, from the event after `last_id`.
    pub(super) fn resume(self: &Arc<Self>, id: &str, last_id: u64) -> Option<Reader> {
        Some(self.runs().get(id)?.read_after(last_id, self))
    }

    /// Stops a run. Returns whether there is one.
    pub(super) fn stop(&self, id: &str) -> bool {
        let run = self.runs().get(id).cloned();
        run.map(|run| run.stop()).is_some()
    }

    /// Waits for another reader after `reader` has left, then drops the run, which closes the model's connection.
    pub(super) fn abandon(self: &Arc<Self>, run: &Arc<Run>, reader: u64) {
        let (runs, run) = (Arc::downgrade(self), Arc::downgrade(run));
        // Without a runtime, the program ends.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            tokio::time::sleep(PATIENCE).await;
            if let (Some(runs), Some(run)) = (runs.upgrade(), run.upgrade()) {
                let mut runs = runs.runs();
                if run.abandoned_by() == Some(reader) {
                    runs.remove(run.id());
                }
            }
        });
    }

    fn runs(&self) -> MutexGuard<'_, HashMap<String, Arc<Run>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// 128 random bits: whoever knows the id of a run can read it.
fn random_id() -> String {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the system has random bytes");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
