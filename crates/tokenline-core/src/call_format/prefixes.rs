//! Finds where one of several texts may begin.

/// The first bytes of several texts, which are searched for together. Texts with the same first two bytes are a group. For each
/// byte at each place, there is a bit for each group with a text that has it there.
#[derive(Clone, Debug)]
pub(super) struct Prefixes([[u32; 256]; PLACES]);

/// How many first bytes are compared. In prose, ` to ` is frequent, and ` to=` is not.
const PLACES: usize = 4;
/// The last group has the texts with all other beginnings.
const GROUPS: usize = 32;

impl Prefixes {
    pub(super) fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let (mut beginnings, mut places) = (Vec::new(), [[0; 256]; PLACES]);
        for text in texts.into_iter().filter(|text| !text.is_empty()) {
            let beginning = &text.as_bytes()[..text.len().min(2)];
            let rank = beginnings.iter().position(|other| *other == beginning).unwrap_or(beginnings.len());
            if rank == beginnings.len() {
                beginnings.push(beginning);
            }
            let group = 1 << rank.min(GROUPS - 1);
            for (at, place) in places.iter_mut().enumerate() {
                match text.as_bytes().get(at) {
                    Some(byte) => place[usize::from(*byte)] |= group,
                    // Anything follows a shorter text.
                    None => place.iter_mut().for_each(|groups| *groups |= group),
                }
            }
        }
        Self(places)
    }

    /// Where one of the texts may begin: also if the bytes end in the beginning of one.
    pub(super) fn find(&self, bytes: &[u8]) -> Option<usize> {
        let may_begin = |bytes: &[u8]| {
            let pairs = self.0.iter().zip(bytes);
            pairs.fold(u32::MAX, |groups, (place, byte)| groups & place[usize::from(*byte)]) != 0
        };
        let whole = bytes.windows(PLACES).position(may_begin);
        whole.or_else(|| {
            let rest = bytes.len().saturating_sub(PLACES - 1);
            (rest..bytes.len()).find(|at| may_begin(&bytes[*at..]))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_beginning_is_passed() {
        let texts = ["<tool_call>", "<function=", "functions.", "[TOOL", "{", "\n", "a", "<|", "to"];
        let prefixes = Prefixes::of(texts);
        let mut seed = 7_u64;
        for _ in 0..20_000 {
            let text: String = (0..12)
                .map(|_| {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    ["<", "t", "o", "f", "u", "n", "[", "T", "a", "|", " ", "é"][(seed >> 33) as usize % 12]
                })
                .collect();
            let begins = |at: usize| {
                let rest = &text.as_bytes()[at..];
                texts
                    .iter()
                    .any(|text| rest.starts_with(text.as_bytes()) || text.as_bytes().starts_with(rest))
            };
            let found = prefixes.find(text.as_bytes()).unwrap_or(text.len());
            assert!(!(0..found).any(begins), "{text:?} {found}");
        }
        // Of texts with the same first byte, each place may be of another one.
        assert_eq!(prefixes.find(b"<function=a>"), Some(0));
        assert_eq!(prefixes.find(b"fun < x, <b> [TOP, fu"), Some(19));
    }
}
