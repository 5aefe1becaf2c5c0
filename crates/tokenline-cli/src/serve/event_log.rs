//! The latest events of a run, for a page that comes back.

use std::collections::VecDeque;

use bytes::Bytes;

/// The events kept, in bytes.
const KEPT_BYTES: usize = 1 << 20;

/// Events as bytes of an event stream, without gaps.
#[derive(Default)]
pub(super) struct EventLog {
    bytes: VecDeque<u8>,
    /// Where each event ends, in bytes since the start of the run.
    ends: VecDeque<u64>,
    /// The events and bytes dropped from the front.
    dropped: (u64, u64),
}

impl EventLog {
    /// The id of the first event kept. Ids begin with 1.
    pub(super) fn first_id(&self) -> u64 {
        self.dropped.0 + 1
    }

    /// The id that the next event gets.
    pub(super) fn next_id(&self) -> u64 {
        self.first_id() + self.ends.len() as u64
    }

    /// Appends events. `ends` says where each ends in `events`.
    pub(super) fn append(&mut self, events: &[u8], ends: &[usize]) {
        let start = self.dropped.1 + self.bytes.len() as u64;
        self.bytes.extend(events);
        self.ends.extend(ends.iter().map(|end| start + *end as u64));
    }

    /// The events from `id` to the last; `None` if there are none. Then drops what exceeds the limit: the caller sends
    /// the events.
    pub(super) fn send_from(&mut self, id: u64) -> Option<Bytes> {
        let skipped = usize::try_from(id.checked_sub(self.first_id())?).ok()?;
        if skipped >= self.ends.len() {
            return None;
        }
        let start = skipped.checked_sub(1).map_or(self.dropped.1, |before| self.ends[before]);
        let start = (start - self.dropped.1) as usize;
        let (first, second) = self.bytes.as_slices();
        let events = match start.checked_sub(first.len()) {
            Some(start) => Bytes::copy_from_slice(&second[start..]),
            None => [&first[start..], second].concat().into(),
        };
        self.drop_excess();
        Some(events)
    }

    fn drop_excess(&mut self) {
        while self.bytes.len() > KEPT_BYTES
            && let Some(end) = self.ends.pop_front()
        {
            self.bytes.drain(..(end - self.dropped.1) as usize);
            self.dropped = (self.dropped.0 + 1, end);
        }
        // One large event must not pin memory.
        if self.bytes.capacity() > 4 * KEPT_BYTES {
            self.bytes.shrink_to(2 * KEPT_BYTES);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_from_any_id_until_they_are_dropped() {
        let mut log = EventLog::default();
        assert_eq!((log.next_id(), log.send_from(1)), (1, None));
        let event = |id: u64| format!("{id:05}").repeat(if id == 700 { 500_000 } else { 200 });
        for id in (1..=3000).step_by(3) {
            let events: Vec<String> = (id..id + 3).map(event).collect();
            let mut end = 0;
            let ends: Vec<usize> = events
                .iter()
                .map(|event| {
                    end += event.len();
                    end
                })
                .collect();
            log.append(events.concat().as_bytes(), &ends);
            assert_eq!(log.next_id(), id + 3);
            assert_eq!(log.send_from(id).map(|sent| sent == events.concat()), Some(true));
            assert!(log.bytes.len() <= KEPT_BYTES && log.bytes.capacity() <= 4 * KEPT_BYTES);
            for from in [log.first_id(), log.first_id() + 1, id + 1, id + 2] {
                let kept: String = (from..id + 3).map(event).collect();
                let expected = (!kept.is_empty()).then_some(kept);
                assert_eq!(
                    log.send_from(from).map(|sent| sent.to_vec()),
                    expected.map(String::into_bytes),
                    "{from}"
                );
            }
            assert_eq!(log.send_from(id + 3), None);
            assert_eq!(log.send_from(u64::MAX), None);
        }
        assert_eq!((log.send_from(log.first_id() - 1), log.next_id() - log.first_id()), (None, 1048));
    }
}
