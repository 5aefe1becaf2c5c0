//! Where lines go.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Seek as _, SeekFrom, Write};

/// Where lines are written: any writer, or a file that a checkpoint can shorten to what is complete.
pub struct Output<'o> {
    target: Target<'o>,
    /// The bytes written so far.
    len: u64,
}

enum Target<'o> {
    Writer(Box<dyn Write + Send + 'o>),
    File(BufWriter<File>),
}

impl<'o> Output<'o> {
    /// A writer. It should be buffered.
    pub fn writer(writer: impl Write + Send + 'o) -> Self {
        Self { target: Target::Writer(Box::new(writer)), len: 0 }
    }

    /// A file, open for writing. What it holds is replaced.
    #[must_use]
    pub fn file(file: File) -> Self {
        Self { target: Target::File(BufWriter::with_capacity(1 << 16, file)), len: 0 }
    }

    pub(crate) fn is_file(&self) -> bool {
        matches!(self.target, Target::File(_))
    }

    /// Continues a file after its first bytes.
    pub(crate) fn start(&mut self, len: u64) -> io::Result<()> {
        if let Target::File(file) = &mut self.target {
            let file = file.get_mut();
            if file.metadata()?.is_file() {
                if file.metadata()?.len() < len {
                    return Err(io::Error::other("the file is shorter than its checkpoint"));
                }
                file.set_len(len)?;
                file.seek(SeekFrom::Start(len))?;
            }
        }
        self.len = len;
        Ok(())
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.len += bytes.len() as u64;
        match &mut self.target {
            Target::Writer(writer) => writer.write_all(bytes),
            Target::File(file) => file.write_all(bytes),
        }
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            Target::Writer(writer) => writer.flush(),
            Target::File(file) => file.flush(),
        }
    }

    /// Makes what was written survive a crash of the machine.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        match &mut self.target {
            Target::Writer(_) => Ok(()),
            Target::File(file) => file.get_ref().sync_data(),
        }
    }
}

impl fmt::Debug for Output<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output").field("len", &self.len).finish_non_exhaustive()
    }
}
