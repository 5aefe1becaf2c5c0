//! Random lines in random chunks, compared with the reference.

use proptest::prelude::*;
use tokenline_core::Limits;
use tokenline_core::sse::SseDecoder;

use crate::reference::reference;
use crate::{decode, limits};

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn any_chunking_of_any_lines_reads_as_the_standard_says(
        pieces in prop::collection::vec(piece(), 0..60),
        sizes in prop::collection::vec(0_usize..12, 1..40),
        limits in prop_oneof![
            2 => Just(Limits::default()),
            1 => (0_usize..24, 0_usize..24).prop_map(|(line, event)| limits(line, event)),
        ],
    ) {
        let input = pieces.concat();
        let mut rest = &input[..];
        let mut chunks = Vec::new();
        for size in sizes.into_iter().cycle().take(4 * input.len() + 40) {
            let (chunk, tail) = rest.split_at(size.min(rest.len()));
            chunks.push(chunk);
            rest = tail;
        }
        chunks.push(rest);

        let decoded = decode(&mut SseDecoder::new(limits), chunks);
        prop_assert_eq!(&decoded, &reference(&input, limits));
        prop_assert_eq!(decode(&mut SseDecoder::new(limits), [&input[..]]), decoded);
    }
}

fn piece() -> impl Strategy<Value = Vec<u8>> {
    const PIECES: &[&[u8]] = &[
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"\r\n\r\n",
        b":",
        b" ",
        b": ",
        b"\0",
        b"\t",
        b"\xEF\xBB\xBF",
        b"data",
        b"data:",
        b"data: ",
        b"\ndata: {}\n\n",
        b"dat",
        b"event",
        b"event: ",
        b"id",
        b"id:",
        b"retry: ",
        b"\nretry: 70\n",
        b"12",
        b"99999999999999999999",
        b"x",
        b"{\"a\":1}",
        b"[DONE]",
        b"\nfoo: bar\n",
        b"\n: keep-alive\n",
        "\u{e9}\u{20ac}\u{1F600}".as_bytes(),
        b"\xE2",
        b"\x82",
        b"\xAC",
        b"\xF0\x9F",
        b"\xFF",
        b"\xC0\xAF",
        b"\xED\xA0\x80",
    ];
    prop::sample::select(PIECES).prop_map(<[u8]>::to_vec)
}
