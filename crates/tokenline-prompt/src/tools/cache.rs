//! Caches of a bounded number of entries, which count how often they helped.

use std::hash::Hash;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;

/// How many entries the caches of a [`ToolPrompter`](super::ToolPrompter) hold at most; the one that was
/// not used for longest goes first. With 0 nothing is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSizes {
    /// Compiled templates.
    pub templates: usize,
    /// Compiled sets of tool definitions.
    pub tool_sets: usize,
    /// What clients can do.
    pub support: usize,
    /// Parsed responses, of at most 64 KiB each.
    pub responses: usize,
}

impl Default for CacheSizes {
    /// 16 templates, 64 sets of tools, 256 clients, 64 responses.
    fn default() -> Self {
        Self { templates: 16, tool_sets: 64, support: 256, responses: 64 }
    }
}

/// How often a cache had what was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCount {
    /// Times it was there.
    pub hits: u64,
    /// Times it was not.
    pub misses: u64,
    /// Entries held now.
    pub entries: usize,
}

/// What the caches of a [`ToolPrompter`](super::ToolPrompter) have done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Compiled templates.
    pub templates: CacheCount,
    /// Compiled sets of tool definitions.
    pub tool_sets: CacheCount,
    /// What clients can do.
    pub support: CacheCount,
    /// Parsed responses.
    pub responses: CacheCount,
}

/// A cache of shared values. What is missing is made outside of the lock, so two threads may make the
/// same at once; one of them is kept.
#[derive(Debug)]
pub(super) struct Cache<K: Hash + Eq, V> {
    entries: Option<Mutex<LruCache<K, V>>>,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl<K: Hash + Eq, V: Clone> Cache<K, V> {
    pub(super) fn new(size: usize) -> Self {
        let entries = NonZeroUsize::new(size).map(|size| Mutex::new(LruCache::new(size)));
        Self { entries, hits: AtomicU64::new(0), misses: AtomicU64::new(0) }
    }

    /// What is there for the key, or else what is made; that is kept, unless there was an error.
    pub(super) fn try_get<E>(&self, key: K, make: impl FnOnce(&K) -> Result<V, E>) -> Result<V, E> {
        if let Some(value) = self.lock().and_then(|mut entries| entries.get(&key).cloned()) {
            self.hits.fetch_add(1, Ordering::Relaxed);
            return Ok(value);
        }
        self.misses.fetch_add(1, Ordering::Relaxed);
        let value = make(&key)?;
        if let Some(mut entries) = self.lock() {
            entries.put(key, value.clone());
        }
        Ok(value)
    }

    pub(super) fn count(&self) -> CacheCount {
        CacheCount {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            entries: self.lock().map_or(0, |entries| entries.len()),
        }
    }

    pub(super) fn clear(&self) {
        if let Some(mut entries) = self.lock() {
            entries.clear();
        }
    }

    /// A panic elsewhere leaves the entries as good as they were.
    fn lock(&self) -> Option<MutexGuard<'_, LruCache<K, V>>> {
        self.entries.as_ref().map(|entries| entries.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_goes_first() {
        let cache = Cache::<u8, u8>::new(2);
        let get = |key| cache.try_get(key, |key| Ok::<_, ()>(*key)).unwrap();
        for key in [1, 2, 1, 3, 1, 2] {
            assert_eq!(get(key), key);
        }
        assert_eq!(cache.count(), CacheCount { hits: 2, misses: 4, entries: 2 });
        cache.clear();
        assert_eq!(cache.count().entries, 0);
    }

    #[test]
    fn neither_errors_nor_anything_in_a_cache_of_size_0_is_kept() {
        let cache = Cache::<u8, u8>::new(2);
        assert_eq!(cache.try_get(1, |_| Err("no")), Err("no"));
        assert_eq!(cache.try_get(1, |_| Ok::<_, ()>(7)), Ok(7));
        let none = Cache::<u8, u8>::new(0);
        for value in [1, 2] {
            assert_eq!(none.try_get(1, |_| Ok::<_, ()>(value)), Ok(value));
        }
        assert_eq!(none.count(), CacheCount { hits: 0, misses: 2, entries: 0 });
    }
}
