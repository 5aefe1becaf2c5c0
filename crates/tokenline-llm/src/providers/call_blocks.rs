//! The blocks of calls that have no number of their own.

use std::collections::VecDeque;

/// Numbers calls in their order. A call that comes again, with its id and its name, has its block again.
#[derive(Debug, Default)]
pub(super) struct CallBlocks {
    /// The number of the latest block; 0 before the first one.
    count: u64,
    known: VecDeque<Known>,
}

#[derive(Debug)]
struct Known {
    id: String,
    name: String,
    block: u64,
}

/// Limits a server that invents calls: the oldest are forgotten. The assembler remembers as many.
const MAX_KNOWN: usize = 256;

impl CallBlocks {
    /// The block of a call that begins.
    pub(super) fn begin(&mut self, id: Option<&str>, name: Option<&str>) -> u64 {
        let (id, name) = (id.unwrap_or_default(), name.unwrap_or_default());
        let known = self.known.iter().find(|known| !id.is_empty() && known.id == id && known.name == name);
        if let Some(known) = known {
            return known.block;
        }
        self.count += 1;
        if !id.is_empty() {
            if self.known.len() == MAX_KNOWN {
                self.known.pop_front();
            }
            self.known.push_back(Known { id: id.into(), name: name.into(), block: self.count });
        }
        self.count
    }
}
