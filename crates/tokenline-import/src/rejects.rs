//! Collects rejects.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{ImportCode, ImportError, ImportReject, Output};

pub(crate) type OnReject<'o> = Box<dyn FnMut(&ImportReject) + Send + 'o>;

/// Counts, lists and writes rejects.
pub(crate) struct Rejects<'o> {
    pub(crate) max_listed: usize,
    pub(crate) with_content: bool,
    pub(crate) output: Option<Output<'o>>,
    pub(crate) on_reject: Option<OnReject<'o>>,
    pub(crate) counts: RejectCounts,
}

/// The counts of rejects in a checkpoint.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct RejectCounts {
    pub(crate) rows: u64,
    pub(crate) by_code: BTreeMap<ImportCode, u64>,
    pub(crate) listed: Vec<ImportReject>,
}

impl Rejects<'_> {
    pub(crate) fn new() -> Self {
        Self {
            max_listed: 100,
            with_content: false,
            output: None,
            on_reject: None,
            counts: RejectCounts::default(),
        }
    }

    pub(crate) fn add(&mut self, reject: ImportReject) -> Result<(), ImportError> {
        *self.counts.by_code.entry(reject.code).or_default() += 1;
        if let Some(on_reject) = &mut self.on_reject {
            on_reject(&reject);
        }
        if let Some(output) = &mut self.output {
            let mut line = serde_json::to_vec(&reject).expect("a reject is JSON");
            line.push(b'\n');
            output.write(&line)?;
        }
        if self.counts.listed.len() < self.max_listed {
            self.counts.listed.push(reject);
        }
        Ok(())
    }

    pub(crate) fn total(&self) -> u64 {
        self.counts.by_code.values().sum()
    }
}

impl fmt::Debug for Rejects<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rejects").field("counts", &self.counts.by_code).finish_non_exhaustive()
    }
}
