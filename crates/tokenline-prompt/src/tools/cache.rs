//! Caches of bounded size, with counters.

use std::hash::Hash;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;

/// The maximum number of entries in the caches of a [`ToolPrompter`](super::ToolPrompter). The least recently used
/// entry is evicted first; 0 disables a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSizes {
    /// Compiled templates.
    pub templates: usize,
    /// Compiled sets of tool definitions.
    pub tool_sets: usize,
    /// Whether clients support function calling.
    pub support: usize,
}

impl Default for CacheSizes {
    /// 16 templates, 64 sets of tools and 256 clients.
    fn default() -> Self {
        Self { templates: 16, tool_sets: 64, support: 256 }
    }
}

/// Counters of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCount {
    /// Lookups that found an entry.
    pub hits: u64,
    /// Lookups that did not.
    pub misses: u64,
    /// Current number of entries.
    pub entries: usize,
}

/// Counters of the caches of a [`ToolPrompter`](super::ToolPrompter).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Compiled templates.
    pub templates: CacheCount,
    /// Compiled sets of tool definitions.
    pub tool_sets: CacheCount,
    /// Whether clients support function calling.
    pub support: CacheCount,
}

/// A cache of shared values. Missing values are made outside the lock, so two threads may make the same value; one of
/// them is kept.
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

    /// The cached value, or the one that `make` returns, which is then cached unless it is an error.
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

    /// A panic elsewhere leaves the entries intact.
    fn lock(&self) -> Option<MutexGuard<'_, LruCache<K, V>>> {
        self.entries.as_ref().map(|entries| entries.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_entry_is_evicted_first() {
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
    fn errors_are_not_cached_and_size_0_disables_a_cache() {
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
