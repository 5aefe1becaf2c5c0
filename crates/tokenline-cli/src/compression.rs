//! Compressed inputs: gzip, Zstandard and xz, recognized by their first bytes.
//!
//! The decoders are in Rust, so that the program builds without a C compiler. Each has a bound on memory.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use lzma_rust2::XzReader;
use ruzstd::decoding::FrameDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};

/// How an input is compressed.
#[derive(Clone, Copy)]
enum Compression {
    Gzip,
    Zstd,
    Xz,
}

/// Bytes of the longest signature.
const LONGEST_SIGNATURE: usize = 6;

/// Memory that the window of a decoder may take: as much as `zstd` itself accepts, twice what the highest preset of xz
/// needs. A few bytes of input could ask for gigabytes.
const MAX_WINDOW: u32 = 128 << 20;

const READ_BUFFER: usize = 64 * 1024;

impl Compression {
    fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            // A frame, or a skippable frame: pzstd begins with one.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Self::Zstd),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Self::Xz),
            _ => None,
        }
    }
}

fn head(source: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(LONGEST_SIGNATURE);
    source.take(LONGEST_SIGNATURE as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// Whether an input is compressed. Reads its first bytes.
pub(crate) fn is_compressed(source: &mut impl Read) -> io::Result<bool> {
    Ok(Compression::of(&head(source)?).is_some())
}

/// The content of an input, decompressed if it is compressed.
pub(crate) fn decompressed(mut source: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let head = head(&mut source)?;
    let compression = Compression::of(&head);
    let source = Cursor::new(head).chain(source);
    let buffered = |source| BufReader::with_capacity(READ_BUFFER, source);
    Ok(match compression {
        Some(Compression::Gzip) => Box::new(flate2::read::MultiGzDecoder::new(buffered(source))),
        Some(Compression::Zstd) => Box::new(ZstdReader::new(buffered(source))),
        Some(Compression::Xz) => {
            Box::new(XzSource(XzReader::new_mem_limit(buffered(source), true, MAX_WINDOW / 1024)))
        }
        None => Box::new(source),
    })
}

fn window_too_large() -> io::Error {
    invalid(format!("decompressing it takes more than {} MiB of memory", MAX_WINDOW >> 20))
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
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
struct ZstdReader<R> {
    source: R,
    frame: FrameDecoder,
    is_in_frame: bool,
}

impl<R: BufRead> ZstdReader<R> {
    fn new(source: R) -> Self {
        let mut frame = FrameDecoder::new();
        frame.set_max_window_size(MAX_WINDOW.into());
        Self { source, frame, is_in_frame: false }
    }

    /// Reads the header of the next frame. False if there is none.
    fn next_frame(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.frame.init(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => self.skip(length.into())?,
                Err(FrameDecoderError::WindowSizeTooBig { .. }) => return Err(window_too_large()),
                Err(error) => return Err(invalid(error)),
            }
        }
        Ok(false)
    }

    fn skip(&mut self, length: u64) -> io::Result<()> {
        let skipped = io::copy(&mut self.source.by_ref().take(length), &mut io::sink())?;
        if skipped < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    fn verify_checksum(&self) -> io::Result<()> {
        let expected = self.frame.get_checksum_from_data();
        if expected.is_some() && expected != self.frame.get_calculated_checksum() {
            return Err(invalid("the checksum of a Zstandard frame is wrong"));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for ZstdReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        use ruzstd::decoding::BlockDecodingStrategy::UptoBlocks;

        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.is_in_frame {
                self.is_in_frame = self.next_frame()?;
                if !self.is_in_frame {
                    return Ok(0);
                }
            }
            while self.frame.can_collect() == 0 && !self.frame.is_finished() {
                self.frame.decode_blocks(&mut self.source, UptoBlocks(1)).map_err(invalid)?;
            }
            let read = self.frame.read(buffer)?;
            if read > 0 {
                return Ok(read);
            }
            self.verify_checksum()?;
            self.is_in_frame = false;
        }
    }
}
