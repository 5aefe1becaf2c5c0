//! Other places at which a closer may be missing or surplus.
//!
//! Both searches read the text once and keep, for each open container, the places where an edit in front would still make
//! JSON. Such a text differs from the given one in its open containers only: the edit has removed some of them, or has
//! kept one too long. It goes on as long as each comma and each closer meets a container of the kind that it meets
//! without the edit.

use super::EditKind;
use super::MAX_MISSING_CLOSERS;
use super::MAX_PLACES;
use super::apply::Splice;
use super::walk::skip_space;
use super::walk::string_end;

/// The edits at other places that may make the text JSON, if `splices` add or drop closers. `None` if they are too many
/// to try.
pub(super) fn find_rivals(text: &str, splices: &[Splice]) -> Option<Vec<Vec<Splice>>> {
    match splices {
        [splice @ Splice { kind: EditKind::MissingCloser, .. }] => find_missing(text.as_bytes(), splice),
        [splice @ Splice { kind: EditKind::SurplusCloser, .. }] => find_surplus(text.as_bytes(), splice),
        _ => Some(Vec::new()),
    }
}

/// At most [`MAX_PLACES`] items. More count as too many.
#[derive(Clone, Debug)]
struct Places<T> {
    items: Vec<T>,
    are_too_many: bool,
}

impl<T> Default for Places<T> {
    fn default() -> Self {
        Self { items: Vec::new(), are_too_many: false }
    }
}

impl<T> Places<T> {
    fn push(&mut self, item: T) {
        if self.items.len() < MAX_PLACES {
            self.items.push(item);
        } else {
            self.are_too_many = true;
        }
    }

    /// Moves all items here. The longer list is kept, so that the work is that of the shorter one.
    fn append(&mut self, mut other: Self) {
        if other.items.len() > self.items.len() {
            std::mem::swap(self, &mut other);
        }
        self.are_too_many |= other.are_too_many;
        for item in other.items {
            self.push(item);
        }
    }

    fn is_empty(&self) -> bool {
        self.items.is_empty() && !self.are_too_many
    }
}

/// Closers that may be missing before a comma.
#[derive(Clone, Copy, Debug)]
struct Missing {
    comma: usize,
    count: usize,
    /// Whether each closes an object, from bit 0 for the outermost container.
    kinds: u64,
}

/// An open container in the search for missing closers.
struct Open {
    is_object: bool,
    /// Whether this container and those around it are objects, from bit 0.
    kinds: u64,
    /// The places where the addition of 1, 2, ... closers has closed this container and those around it, as many.
    places: [Places<Missing>; MAX_MISSING_CLOSERS],
}

impl Open {
    /// Whether the container that is open if `count` containers are closed here is of the same kind.
    fn can_go_on(&self, depth: usize, count: usize) -> bool {
        count < depth && ((self.kinds >> count) & 1 == 1) == self.is_object
    }
}

fn find_missing(bytes: &[u8], splice: &Splice) -> Option<Vec<Vec<Splice>>> {
    let most = splice.replacement.len();
    let mut open: Vec<Open> = Vec::new();
    for (at, byte) in Structure::of(bytes) {
        let depth = open.len();
        match byte {
            b'{' | b'[' => {
                let is_object = byte == b'{';
                let kinds = open.last().map_or(0, |parent| parent.kinds << 1) | u64::from(is_object);
                open.push(Open { is_object, kinds, places: Default::default() });
            }
            b',' => {
                let container = open.last_mut()?;
                for count in 1..=most {
                    if container.can_go_on(depth, count) {
                        let kinds = container.kinds & ((1 << count) - 1);
                        container.places[count - 1].push(Missing { comma: at, count, kinds });
                    } else {
                        container.places[count - 1] = Places::default();
                    }
                }
            }
            _ => {
                let mut closed = open.pop()?;
                let parent = open.last_mut()?;
                for count in 1..=most {
                    if !closed.places[count - 1].is_empty() && closed.can_go_on(depth, count) {
                        parent.places[count - 1].append(std::mem::take(&mut closed.places[count - 1]));
                    }
                }
            }
        }
    }
    let mut found = Places::default();
    for container in &mut open {
        for places in &mut container.places {
            found.append(std::mem::take(places));
        }
    }
    (!found.are_too_many).then(|| {
        let rivals = found.items.into_iter();
        rivals.filter_map(|missing| add_closers(bytes, splice, missing)).collect()
    })
}

/// The edits that add some of the closers of `splice` before a comma.
fn add_closers(bytes: &[u8], splice: &Splice, missing: Missing) -> Option<Vec<Splice>> {
    let Missing { comma, count, kinds } = missing;
    let closer = |is_object: bool| if is_object { '}' } else { ']' };
    let early: String = (0..count).map(|index| closer((kinds >> index) & 1 == 1)).collect();
    let mut late = Vec::new();
    for (_, byte) in Structure::of(&bytes[..comma]) {
        apply_to_stack(&mut late, byte)?;
    }
    late.truncate(late.len().checked_sub(count)?);
    for (_, byte) in Structure::of(&bytes[comma..]) {
        apply_to_stack(&mut late, byte)?;
    }
    let late: String = late.iter().rev().copied().map(char::from).collect();
    let mut splices = vec![Splice::new(EditKind::MissingCloser, comma..comma, early)];
    if !late.is_empty() {
        splices.push(Splice::new(EditKind::MissingCloser, splice.range.clone(), late));
    }
    Some(splices)
}

fn apply_to_stack(closers: &mut Vec<u8>, byte: u8) -> Option<()> {
    match byte {
        b'{' => closers.push(b'}'),
        b'[' => closers.push(b']'),
        b',' => {}
        _ => drop(closers.pop()?),
    }
    Some(())
}

/// An open container in the search for surplus closers.
#[derive(Default)]
struct Kept {
    is_object: bool,
    /// The closers that may be surplus. Without them, a container of this one's kind is open in this one.
    places: Places<usize>,
    /// The same since the last comma, with a container of the kind that was closed last.
    fresh: Places<usize>,
    was_object: bool,
    /// The closer before. It may be surplus if a comma follows; if a closer follows, that one may be surplus as well.
    last: Option<usize>,
}

fn find_surplus(bytes: &[u8], splice: &Splice) -> Option<Vec<Vec<Splice>>> {
    let dropped: Vec<(usize, u8)> = Structure::of(&bytes[splice.range.clone()]).collect();
    let mut open = vec![Kept::default()];
    // Whether each of the adjacent closers before closes an object.
    let mut run: Vec<bool> = Vec::new();
    for (at, byte) in Structure::of(&bytes[..splice.range.start]) {
        match byte {
            b'{' | b'[' => open.push(Kept { is_object: byte == b'{', ..Kept::default() }),
            b',' => {
                let container = open.last_mut()?;
                // Several surplus closers may stand elsewhere, too. That is not followed further.
                let most = run.len().min(dropped.len());
                if (2..=most).any(|count| run[run.len() - count] == container.is_object) {
                    return None;
                }
                let mut fresh = std::mem::take(&mut container.fresh);
                if let Some(last) = container.last.take() {
                    fresh.push(last);
                }
                if container.was_object == container.is_object {
                    container.places.append(fresh);
                }
            }
            _ => {
                let mut closed = open.pop()?;
                if closed.was_object == closed.is_object {
                    closed.places.append(closed.fresh);
                }
                let parent = open.last_mut()?;
                parent.fresh = closed.places;
                (parent.was_object, parent.last) = (closed.is_object, Some(at));
            }
        }
        match byte {
            b'}' | b']' => run.push(byte == b'}'),
            _ => run.clear(),
        }
    }
    // The container that is still open without the other closer takes the first that fits of those at the end.
    let root = open.pop()?;
    let Some(kept) = dropped.iter().position(|(_, byte)| (*byte == b'}') == root.was_object) else {
        return Some(Vec::new());
    };
    let kept = splice.range.start + dropped[kept].0;
    (!root.fresh.are_too_many).then(|| {
        let drop_at = |from: usize, to: usize| Splice::new(EditKind::SurplusCloser, from..to, "");
        let rivals = root.fresh.items.iter().map(|&at| {
            let ends = [(splice.range.start, kept), (kept + 1, splice.range.end)];
            let ends = ends.into_iter().filter(|(from, to)| from < to).map(|(from, to)| drop_at(from, to));
            [drop_at(at, at + 1)].into_iter().chain(ends).collect()
        });
        rivals.collect()
    })
}

/// The brackets and commas outside strings, with their offsets.
struct Structure<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Structure<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }
}

impl Iterator for Structure<'_> {
    type Item = (usize, u8);

    fn next(&mut self) -> Option<(usize, u8)> {
        loop {
            let at = skip_space(self.bytes, self.at);
            let byte = *self.bytes.get(at)?;
            self.at = at + 1;
            match byte {
                b'"' => self.at = string_end(self.bytes, at).unwrap_or(self.bytes.len()),
                b'{' | b'[' | b'}' | b']' | b',' => return Some((at, byte)),
                _ => {}
            }
        }
    }
}
