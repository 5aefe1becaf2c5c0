//! Compressed inputs: gzip, Zstandard and xz, recognized by their first bytes.
//!
//! Each decoder has a memory limit.

use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::thread;

use lzma_rust2::XzReader;
use zstd::stream::read::Decoder as ZstdDecoder;

use crate::read_ahead::ReadAhead;

/// The compression of an input.
#[derive(Clone, Copy)]
enum Compression {
    Gzip,
    Zstd,
    Xz,
}

/// The length of the longest signature in bytes.
const LONGEST_SIGNATURE: usize = 6;

/// The maximum window of a decoder: the limit of `zstd` itself, and twice what the highest xz preset needs. Without it, a
/// few bytes of input could claim gigabytes.
const MAX_WINDOW: u32 = 1 << MAX_WINDOW_LOG;
const MAX_WINDOW_LOG: u32 = 27;

const ZSTD_WINDOW_TOO_LARGE: &str = "Frame requires too much memory for decoding";

const READ_BUFFER: usize = 64 * 1024;

impl Compression {
    /// Whether compressed input can begin with these bytes. False if there are none.
    fn may_begin_with(head: &[u8]) -> bool {
        if head.is_empty() {
            return false;
        }
        let is_prefix_of = |signature: &[u8]| signature.starts_with(head) || head.starts_with(signature);
        let is_skippable_zstd = match head {
            [0x50..=0x5f, rest @ ..] => [0x2a, 0x4d, 0x18].starts_with(&rest[..rest.len().min(3)]),
            _ => false,
        };
        let signatures = [&[0x1f, 0x8b][..], &[0x28, 0xb5, 0x2f, 0xfd], b"\xfd7zXZ\0"];
        is_skippable_zstd || signatures.into_iter().any(is_prefix_of)
    }

    fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            // A frame, or a skippable frame as written by pzstd.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Self::Zstd),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Self::Xz),
            _ => None,
        }
    }
}

/// Whether an input is compressed. Consumes its first bytes.
pub(crate) fn is_compressed(source: &mut impl Read) -> io::Result<bool> {
    let mut head = Vec::with_capacity(LONGEST_SIGNATURE);
    source.take(LONGEST_SIGNATURE as u64).read_to_end(&mut head)?;
    Ok(Compression::of(&head).is_some())
}

/// The content of an input, decompressed if its first bytes are a known signature.
pub(crate) fn decompressed(source: impl Read + Send + 'static) -> Box<dyn Read + Send> {
    Box::new(Content::Unknown(Some(Box::new(source))))
}

/// An input whose compression is detected at the first read. Uncompressed input goes straight into the reader's buffer,
/// in chunks as it arrives.
enum Content {
    /// Present until the first read.
    Unknown(Option<Box<dyn Read + Send>>),
    Known(Box<dyn Read + Send>),
}

impl Read for Content {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let source = match self {
            Self::Known(content) => return content.read(buffer),
            Self::Unknown(_) if buffer.is_empty() => return Ok(0),
            Self::Unknown(source) => source,
        };
        let Some(mut source) = source.take() else { return Ok(0) };
        let read = match source.read(buffer) {
            Ok(read) => read,
            Err(error) => {
                *self = Self::Unknown(Some(source));
                return Err(error);
            }
        };
        if !Compression::may_begin_with(&buffer[..read]) {
            *self = Self::Known(source);
            return Ok(read);
        }
        let mut head = buffer[..read].to_vec();
        while head.len() < LONGEST_SIGNATURE && Compression::may_begin_with(&head) {
            if source.by_ref().take(1).read_to_end(&mut head)? == 0 {
                break;
            }
        }
        let compression = Compression::of(&head);
        let source = BufReader::with_capacity(READ_BUFFER, Cursor::new(head).chain(source));
        let mut content: Box<dyn Read + Send> = match compression {
            Some(Compression::Gzip) => on_thread(flate2::read::MultiGzDecoder::new(source)),
            Some(Compression::Zstd) => {
                let mut decoder = ZstdDecoder::with_buffer(source)?;
                decoder.window_log_max(MAX_WINDOW_LOG)?;
                on_thread(ZstdSource(decoder))
            }
            Some(Compression::Xz) => {
                on_thread(XzSource(XzReader::new_mem_limit(source, true, MAX_WINDOW / 1024)))
            }
            None => Box::new(source),
        };
        let read = content.read(buffer);
        *self = Self::Known(content);
        read
    }
}

/// Decompresses on another thread, if there is a second processor: decompressing takes about as long as parsing.
fn on_thread(decoder: impl Read + Send + 'static) -> Box<dyn Read + Send> {
    match thread::available_parallelism() {
        Ok(processors) if processors.get() > 1 => Box::new(ReadAhead::new(|| Ok(decoder))),
        _ => Box::new(decoder),
    }
}

fn window_too_large() -> io::Error {
    let message = format!("decompression needs more than {} MiB of memory, the limit", MAX_WINDOW >> 20);
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// Decompresses xz streams, one after the other.
struct XzSource<R: Read>(XzReader<R>);

impl<R: Read> Read for XzSource<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::OutOfMemory => window_too_large(),
            _ => error,
        })
    }
}

/// Decompresses Zstandard frames, one after the other, and verifies their checksums.
struct ZstdSource<R: BufRead>(ZstdDecoder<'static, R>);

impl<R: BufRead> Read for ZstdSource<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.kind() {
            // It has no code, only a text.
            io::ErrorKind::Other if error.to_string() == ZSTD_WINDOW_TOO_LARGE => window_too_large(),
            _ => error,
        })
    }
}
