//! Byte scanning, sixteen or sixty-four bytes at a time.

/// The index at or after `at` of the first byte that ends a plain run inside a string: a quote, a backslash
/// or a control character. `bytes.len()` if there is none.
#[inline(always)]
pub(crate) fn string_run(bytes: &[u8], mut at: usize) -> usize {
    while let Some(mask) = run_ends::<16>(bytes, at) {
        if mask != 0 {
            return at + mask.trailing_zeros() as usize;
        }
        at += 16;
    }
    while let Some(&byte) = bytes.get(at) {
        if byte == b'"' || byte == b'\\' || byte < 0x20 {
            break;
        }
        at += 1;
    }
    at
}

/// Repeated [`string_run`] from left to right over the same bytes: each block is scanned once for all its
/// strings and escapes.
pub(crate) struct StringRuns {
    /// The start of the last scanned block.
    block: usize,
    /// Its bytes that end a run, the first one lowest.
    ends: u64,
}

impl StringRuns {
    const BLOCK: usize = 64;

    #[inline(always)]
    pub(crate) fn new() -> Self {
        // A block that ends where the bytes begin.
        Self { block: 0_usize.wrapping_sub(Self::BLOCK), ends: 0 }
    }

    /// Like [`string_run`], with the same bytes in every call.
    #[inline(always)]
    pub(crate) fn end(&mut self, bytes: &[u8], at: usize) -> usize {
        let within = at.wrapping_sub(self.block);
        let mut at = at;
        if within < Self::BLOCK {
            let ends = self.ends >> within;
            if ends != 0 {
                return at + ends.trailing_zeros() as usize;
            }
            at = self.block + Self::BLOCK;
        }
        while let Some(ends) = run_ends::<{ Self::BLOCK }>(bytes, at) {
            if ends != 0 {
                (self.block, self.ends) = (at, ends);
                return at + ends.trailing_zeros() as usize;
            }
            at += Self::BLOCK;
        }
        string_run(bytes, at)
    }
}

/// A bit for each of the `N` bytes at `at` that ends a run, if there are as many.
#[inline(always)]
fn run_ends<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let block = bytes.get(at..at + N)?;
    let mut ends = 0;
    for (place, part) in block.as_chunks::<16>().0.iter().enumerate() {
        ends |= u64::from(run_ends_of_16(part)) << (16 * place);
    }
    Some(ends)
}

/// The length of the run at the start of sixteen bytes; 16 if nothing ends it.
#[inline(always)]
pub(crate) fn run_of_16(part: &[u8; 16]) -> usize {
    run_ends_of_16(part).trailing_zeros() as usize
}

// Which of sixteen bytes end a run, in two versions. Flipping bit 1 turns a quote into 0x20 and keeps control
// characters below 0x20: the bytes that end a run are those with max(b ^ 0x02, 0x20) == 0x20.

#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
#[inline(always)]
fn run_ends_of_16(part: &[u8; 16]) -> u16 {
    use safe_arch::{
        bitor_m128i, bitxor_m128i, cmp_eq_mask_i8_m128i, m128i, max_u8_m128i, move_mask_i8_m128i,
        set_splat_i8_m128i,
    };
    let part = m128i::from(*part);
    let splat = |byte: u8| set_splat_i8_m128i(byte.cast_signed());
    let flipped = bitxor_m128i(part, splat(0x02));
    let quote_or_control = cmp_eq_mask_i8_m128i(max_u8_m128i(flipped, splat(0x20)), splat(0x20));
    let backslash = cmp_eq_mask_i8_m128i(part, splat(b'\\'));
    move_mask_i8_m128i(bitor_m128i(quote_or_control, backslash)) as u16
}

// `wide` has vectors for every target, but compiling it takes as long as the rest of this crate.
#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
#[inline(always)]
fn run_ends_of_16(part: &[u8; 16]) -> u16 {
    use wide::u8x16;
    let part = u8x16::new(*part);
    let quote_or_control = (part ^ u8x16::splat(0x02)).max(u8x16::splat(0x20)).simd_eq(u8x16::splat(0x20));
    let end = quote_or_control | part.simd_eq(u8x16::splat(b'\\'));
    end.to_bitmask() as u16
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{StringRuns, string_run};

    fn by_hand(bytes: &[u8], at: usize) -> usize {
        let ends = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
        bytes[at..].iter().position(ends).map_or(bytes.len(), |run| at + run)
    }

    #[test]
    fn every_byte_ends_a_run_or_does_not() {
        for byte in 0..=u8::MAX {
            for place in [0, 15, 16, 63, 64, 70] {
                let mut bytes = [b'a'; 80];
                bytes[place] = byte;
                assert_eq!(string_run(&bytes, 0), by_hand(&bytes, 0), "{byte:#x} at {place}");
                assert_eq!(StringRuns::new().end(&bytes, 0), by_hand(&bytes, 0), "{byte:#x} at {place}");
            }
        }
    }

    proptest! {
        #[test]
        fn runs_from_left_to_right_end_where_each_alone_does(
            bytes in proptest::collection::vec(prop_oneof![12 => Just(b'a'), 1 => any::<u8>()], 0..400),
            steps in proptest::collection::vec(0_usize..90, 0..60),
        ) {
            let (mut runs, mut at) = (StringRuns::new(), 0);
            for step in steps {
                at = (at + step).min(bytes.len());
                let end = runs.end(&bytes, at);
                prop_assert_eq!(end, by_hand(&bytes, at));
                prop_assert_eq!(end, string_run(&bytes, at));
                at = end;
            }
        }
    }
}
