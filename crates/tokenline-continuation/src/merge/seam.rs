//! A place where a fragment may continue the base.

/// Where the fragment goes on, and what speaks for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seam {
    /// The first byte of the fragment that is new.
    pub(super) start: usize,
    /// How many bytes of the base are repeated before that.
    pub(super) overlap: usize,
    pub(super) how: How,
    /// Whether a comma must be put between: the fragment opened the container again.
    pub(super) comma: bool,
    /// How many bytes of the fragment speak for it: what it repeats, white space apart, with the containers that
    /// it opens again.
    pub(super) evidence: usize,
    pub(super) chance: Chance,
    /// Whether what is before it in the fragment leads to the cut: it is the whole base, or containers
    /// that are not just what comes next.
    pub(super) starts_over: bool,
}

/// Whether what is repeated may be so by chance: where rows are equal, going on looks like repeating.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chance {
    None,
    /// Some of it: with a row less it is a seam as well.
    Row,
    /// All of it.
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    Plain,
    WhitespaceDiffers,
    Restarted,
    /// Containers that are open were opened again.
    Reopened,
}

/// The lengths `k`, longest first, of which `fragment` begins as `base` ends: `k` bytes. With them the
/// smallest period of those bytes.
///
/// The prefix function of Knuth, Morris and Pratt: linear, whatever the texts.
pub(super) fn borders(fragment: &[u8], base: &[u8]) -> Vec<(usize, usize)> {
    let n = fragment.len().min(base.len());
    let (pattern, text) = (&fragment[..n], &base[base.len() - n..]);
    // The length of the longest proper border of each prefix.
    let mut prefix = vec![0_u32; n];
    let mut len = 0;
    for at in 1..n {
        while len > 0 && pattern[at] != pattern[len] {
            len = prefix[len - 1] as usize;
        }
        len += usize::from(pattern[at] == pattern[len]);
        prefix[at] = len as u32;
    }
    let mut matched = 0;
    for &byte in text {
        while matched > 0 && (matched == n || byte != pattern[matched]) {
            matched = prefix[matched - 1] as usize;
        }
        matched += usize::from(matched < n && byte == pattern[matched]);
    }
    let mut found = Vec::new();
    while matched > 0 {
        let border = prefix[matched - 1] as usize;
        found.push((matched, matched - border));
        matched = border;
    }
    found
}

/// Whether the `k` bytes of this smallest period that are repeated may be so by chance. With what is before them in
/// the base and behind them in the fragment there are two equal parts then: of `k` bytes, or of the period.
pub(super) fn chance(fragment: &[u8], base: &[u8], k: usize, period: usize) -> Chance {
    let same = |(a, b): &(&u8, &u8)| a == b;
    let is_twice = |part: usize| {
        let missing = (2 * part).saturating_sub(k);
        let ending = base[..base.len() - k + part].iter().rev();
        let before = base[..base.len() - k].iter().rev().zip(ending).take(missing).take_while(same).count();
        let beginning = &fragment[k - part..];
        let behind = fragment[k..].iter().zip(beginning).take(missing).take_while(same).count();
        before + behind >= missing
    };
    match () {
        () if 2 * period <= k || is_twice(k) => Chance::All,
        () if is_twice(period) => Chance::Row,
        () => Chance::None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Chance, borders, chance};

    #[test]
    fn borders_are_all_and_only_those() {
        let texts = ["", "a", "aa", "ab", "aab", "abab", "ababa", "aabaa", "baab", "aaaa", "abcab"];
        for fragment in texts {
            for base in texts {
                let found: Vec<usize> =
                    borders(fragment.as_bytes(), base.as_bytes()).iter().map(|b| b.0).collect();
                let naive: Vec<usize> = (1..=4.max(fragment.len()))
                    .rev()
                    .filter(|&k| k <= fragment.len() && base.ends_with(&fragment[..k]))
                    .collect();
                assert_eq!(found, naive, "{fragment} {base}");
            }
        }
    }

    #[test]
    fn periods() {
        assert_eq!(borders(b",1,1]", b"[1,1,1,1"), [(4, 2), (2, 2)]);
        assert_eq!(chance(b",1,1]", b"[1,1,1,1", 4, 2), Chance::All);
        assert_eq!(chance(b",1,1]", b"[1,1,1,1", 2, 2), Chance::All);
        assert_eq!(chance(b",3,4]", b"[1,2,3", 2, 2), Chance::None);
        // A row and a half, and as much again.
        assert_eq!(chance(b"b},{ab},{ab}]", b"[{ab},{a", 5, 5), Chance::All);
        assert_eq!(chance(b"b},{acd}]", b"[{ab},{a", 5, 5), Chance::None);
        // A row and the beginning of the next, where the rows before or behind are the same.
        assert_eq!(chance(b"b},{ab},{ab}]", b"[{ab},{ab", 6, 5), Chance::Row);
        assert_eq!(chance(b"{ab},{acd}]", b"[{ab},{ab},{a", 7, 5), Chance::Row);
        assert_eq!(chance(b"{ab},{acd}]", b"[{cd},{ab},{a", 7, 5), Chance::None);
    }
}
