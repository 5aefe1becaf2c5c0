//! Chunks of text that a parser takes.

use bytes::Bytes;

/// A chunk of text for [`JsonlParser::push`](crate::JsonlParser::push).
///
/// Owned buffers (`String`, `Vec<u8>`, `Box<[u8]>`, [`Bytes`]) are taken without a copy, and so is `&Bytes`,
/// which is cloned. Borrowed text and bytes are copied.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a chunk of text",
    note = "a chunk is `&str`, `&[u8]`, `String`, `Vec<u8>` or `Bytes`, or a reference to one of them"
)]
pub trait Chunk {
    /// The chunk as owned bytes.
    fn into_bytes(self) -> Bytes;
}

macro_rules! owned {
    ($($owned:ty),*) => {$(
        impl Chunk for $owned {
            #[inline]
            fn into_bytes(self) -> Bytes {
                self.into()
            }
        }
    )*};
}

macro_rules! copied {
    ($($borrowed:ty),*) => {$(
        impl Chunk for &$borrowed {
            #[inline]
            fn into_bytes(self) -> Bytes {
                Bytes::copy_from_slice(self.as_ref())
            }
        }
    )*};
}

owned!(Bytes, String, Vec<u8>, Box<[u8]>);
copied!(str, String, [u8], Vec<u8>);

impl<const N: usize> Chunk for &[u8; N] {
    #[inline]
    fn into_bytes(self) -> Bytes {
        Bytes::copy_from_slice(self)
    }
}

impl Chunk for &Bytes {
    #[inline]
    fn into_bytes(self) -> Bytes {
        self.clone()
    }
}
