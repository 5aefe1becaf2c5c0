//! Order by numbers, with one sort for items of all types.

/// The items in the order of their keys; those with the same key in the order given.
pub(crate) fn in_order<T>(items: &[T], key: impl Fn(&T) -> usize) -> Vec<&T> {
    let keys = items.iter().map(key).zip(0..).collect();
    sorted(keys).into_iter().map(|(_, at)| &items[at]).collect()
}

/// Pairs in their order.
#[cfg(feature = "jsonschema")]
pub(crate) fn sorted(mut keys: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    keys.sort_unstable();
    keys
}

/// The same in fewer bytes of WebAssembly: merges runs that are in order, each time twice as long ones.
#[cfg(not(feature = "jsonschema"))]
pub(crate) fn sorted(mut keys: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    let mut length = 1;
    while length < keys.len() {
        let mut merged = Vec::with_capacity(keys.len());
        for runs in keys.chunks(2 * length) {
            let (mut one, mut other) = runs.split_at(length.min(runs.len()));
            while let ([first, rest @ ..], [second, others @ ..]) = (one, other) {
                if first <= second {
                    merged.push(*first);
                    one = rest;
                } else {
                    merged.push(*second);
                    other = others;
                }
            }
            merged.extend_from_slice(one);
            merged.extend_from_slice(other);
        }
        keys = merged;
        length *= 2;
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_of_one_key_keep_their_order() {
        for length in 0..70 {
            let items: Vec<_> = (0..length).map(|at| (at * 7919 % 13, at)).collect();
            let mut expected: Vec<_> = items.iter().collect();
            expected.sort_by_key(|(key, _)| *key);
            assert_eq!(in_order(&items, |(key, _)| *key), expected);
        }
    }
}
