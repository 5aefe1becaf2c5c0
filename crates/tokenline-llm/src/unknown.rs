//! Unknown events and members of a stream.

use std::fmt;

/// Counts of unknown events and members in a stream, by name.
///
/// They are never an error: providers extend their streams at any time. Known members that carry no content (ids,
/// timings, filter results) are not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unknown(
    /// Boxed: most streams have none.
    Option<Box<Counts>>,
);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Counts {
    counts: Vec<(&'static str, Box<str>, u64)>,
    /// Indices into `counts`, in the order of parent and name.
    sorted: Vec<usize>,
    others: u64,
}

/// Names counted separately. A server that invents names must not fill the memory.
const MAX_NAMES: usize = 64;
/// Characters kept of a name.
const MAX_NAME: usize = 64;

impl Counts {
    fn add(&mut self, parent: &'static str, name: &str) {
        let end = name.char_indices().nth(MAX_NAME).map_or(name.len(), |(at, _)| at);
        let name = &name[..end];
        let key = |at: &usize| {
            let (parent, name, _) = &self.counts[*at];
            (*parent, &**name)
        };
        match self.sorted.binary_search_by(|at| key(at).cmp(&(parent, name))) {
            Ok(at) => self.counts[self.sorted[at]].2 += 1,
            Err(at) if self.counts.len() < MAX_NAMES => {
                self.sorted.insert(at, self.counts.len());
                self.counts.push((parent, name.into(), 1));
            }
            Err(_) => self.others += 1,
        }
    }
}

impl Unknown {
    pub(crate) fn add(&mut self, parent: &'static str, name: &str) {
        self.0.get_or_insert_default().add(parent, name);
    }

    /// The names with their counts, in order of appearance: `choices[].delta.audio` is a member, `event: ping` the name
    /// of an event, `data: array` an event whose data is not an object. At most 64 names; [`others`](Self::others)
    /// counts the rest.
    pub fn iter(&self) -> impl Iterator<Item = (String, u64)> {
        self.0.iter().flat_map(|unknown| &unknown.counts).map(|(parent, name, count)| {
            let name = match *parent {
                "" => name.to_string(),
                "event" | "data" => format!("{parent}: {name}"),
                _ => format!("{parent}.{name}"),
            };
            (name, *count)
        })
    }

    /// The number of occurrences whose name was not kept.
    #[must_use]
    pub fn others(&self) -> u64 {
        self.0.as_ref().map_or(0, |unknown| unknown.others)
    }

    /// Whether everything was known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (name, count)) in self.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{name} ({count})")?;
        }
        match self.others() {
            0 => Ok(()),
            others => write!(f, ", and others ({others})"),
        }
    }
}
