//! Byte scanning, sixteen at a time.

use wide::u8x16;

/// The index at or after `at` of the first byte that ends a plain run inside a string: a quote, a
/// backslash or a control character. The length of `bytes` if there is none.
#[inline(always)]
pub(crate) fn string_run(bytes: &[u8], mut at: usize) -> usize {
    while let Some(block) = bytes.get(at..at + 16) {
        let Ok(block) = <[u8; 16]>::try_from(block) else {
            break;
        };
        let block = u8x16::new(block);
        // A control character is what stays below 0x20: max(b, 0x1F) == 0x1F.
        let stop = block.simd_eq(u8x16::splat(b'"'))
            | block.simd_eq(u8x16::splat(b'\\'))
            | block.max(u8x16::splat(0x1F)).simd_eq(u8x16::splat(0x1F));
        let mask = stop.to_bitmask();
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
