//! Where lines go.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write};

use tokenline_core::adapter::Digest;

use crate::ImportError;

/// Where lines are written: any writer, or a file that a checkpoint can shorten to what is complete.
pub struct Output<'o> {
    target: Target<'o>,
    /// The bytes written so far.
    len: u64,
    /// The last of them, by which a checkpoint knows the file.
    end: Vec<u8>,
    /// The name of the output in messages.
    what: &'static str,
}

enum Target<'o> {
    Writer(Box<dyn Write + Send + 'o>),
    File(BufWriter<File>),
}

impl<'o> Output<'o> {
    /// A writer. It should be buffered.
    pub fn writer(writer: impl Write + Send + 'o) -> Self {
        Self { target: Target::Writer(Box::new(writer)), len: 0, end: Vec::new(), what: "the output" }
    }

    /// A file, open for writing. What it holds is replaced.
    #[must_use]
    pub fn file(file: File) -> Self {
        Self {
            target: Target::File(BufWriter::with_capacity(1 << 16, file)),
            len: 0,
            end: Vec::new(),
            what: "the output",
        }
    }

    pub(crate) fn is_file(&self) -> bool {
        matches!(self.target, Target::File(_))
    }

    /// Sets what it is in messages.
    pub(crate) fn of(self, what: &'static str) -> Self {
        Self { what, ..self }
    }

    /// Continues a file after its first bytes, which have this fingerprint.
    pub(crate) fn start(&mut self, len: u64, fingerprint: u64) -> Result<(), ImportError> {
        self.len = len;
        let started = match &mut self.target {
            Target::Writer(_) => Ok(()),
            Target::File(file) => cut_off(file.get_mut(), len, fingerprint).map(|end| self.end = end),
        };
        self.checked(started)
    }

    /// The fingerprint of what was written.
    pub(crate) fn fingerprint(&self) -> u64 {
        Digest::of(&self.end).hash()
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), ImportError> {
        self.len += bytes.len() as u64;
        let written = match &mut self.target {
            Target::Writer(writer) => writer.write_all(bytes),
            Target::File(file) => {
                let kept = bytes.len().min(END);
                self.end.drain(..(self.end.len() + kept).saturating_sub(END));
                self.end.extend_from_slice(&bytes[bytes.len() - kept..]);
                file.write_all(bytes)
            }
        };
        self.checked(written)
    }

    pub(crate) fn flush(&mut self) -> Result<(), ImportError> {
        let flushed = match &mut self.target {
            Target::Writer(writer) => writer.flush(),
            Target::File(file) => file.flush(),
        };
        self.checked(flushed)
    }

    /// Makes what was written survive a crash of the machine.
    pub(crate) fn sync(&mut self) -> Result<(), ImportError> {
        self.flush()?;
        let synced = match &mut self.target {
            Target::Writer(_) => Ok(()),
            Target::File(file) => file.get_ref().sync_data(),
        };
        self.checked(synced)
    }

    fn checked(&self, result: io::Result<()>) -> Result<(), ImportError> {
        result.map_err(|error| ImportError::output(self.what, error))
    }
}

/// The bytes at the end by which a file is known.
const END: usize = 64;

/// Removes what a file has after its first bytes. Returns the last of them, if the file can be read. Fails if another
/// file took its place.
fn cut_off(file: &mut File, len: u64, expected: u64) -> io::Result<Vec<u8>> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(Vec::new());
    }
    if metadata.len() < len {
        return Err(io::Error::other("the file is shorter than its checkpoint"));
    }
    let mut end = vec![0; len.min(END as u64) as usize];
    file.seek(SeekFrom::Start(len - end.len() as u64))?;
    let is_readable = file.read_exact(&mut end).is_ok();
    if is_readable && len > 0 && Digest::of(&end).hash() != expected {
        return Err(io::Error::other("the file is not the one of the checkpoint"));
    }
    file.set_len(len)?;
    file.seek(SeekFrom::Start(len)).map(|_| end)
}

impl fmt::Debug for Output<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output").field("len", &self.len).finish_non_exhaustive()
    }
}
