//! The checksum of Amazon's event streams.

/// The CRC-32 of IEEE 802.3. On WebAssembly without the tables of `crc32fast`, which are 16 KiB to download.
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    if cfg!(target_family = "wasm") { by_nibbles(bytes) } else { crc32fast::hash(bytes) }
}

fn by_nibbles(bytes: &[u8]) -> u32 {
    let nibbles = bytes.iter().flat_map(|byte| [u32::from(byte & 15), u32::from(byte >> 4)]);
    !nibbles.fold(!0, |crc, nibble| NIBBLES[(crc & 15 ^ nibble) as usize] ^ crc >> 4)
}

/// The checksum of each nibble.
const NIBBLES: [u32; 16] = {
    let (mut table, mut nibble) = ([0; 16], 0);
    while nibble < 16 {
        let (mut crc, mut bit) = (nibble as u32, 0);
        while bit < 4 {
            crc = if crc & 1 == 1 { 0xEDB8_8320 ^ crc >> 1 } else { crc >> 1 };
            bit += 1;
        }
        table[nibble] = crc;
        nibble += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_agree() {
        let bytes: Vec<u8> = (0..1000_u32).map(|number| ((number * number) >> 3) as u8).collect();
        for len in [0, 1, 8, 16, 999, 1000] {
            assert_eq!(by_nibbles(&bytes[..len]), crc32fast::hash(&bytes[..len]), "{len} bytes");
        }
    }
}
