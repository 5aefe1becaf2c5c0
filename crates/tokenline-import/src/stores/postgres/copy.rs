//! The binary format of `COPY`, as the [PostgreSQL manual](https://www.postgresql.org/docs/current/sql-copy.html)
//! defines it.

use bytes::Bytes;

const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0";
/// The signature, the flags and the length of the header's extension.
const HEADER: usize = SIGNATURE.len() + 8;
/// PostgreSQL's own limit for a value, and so for the length of a message.
const MAX_ROW: usize = 1 << 30;

/// Splits the chunks of a `COPY` into rows.
#[derive(Debug, Default)]
pub(super) struct CopyReader {
    chunk: Bytes,
    /// The number of bytes of the chunk read so far. PostgreSQL sends one row per chunk; the protocol allows any split.
    at: usize,
    /// The start of a row whose rest is in later chunks.
    partial: Vec<u8>,
    has_header: bool,
    is_complete: bool,
}

/// The fields of a row in its bytes.
#[derive(Debug, Default)]
pub(super) struct Fields(Vec<Field>);

#[derive(Clone, Copy, Debug)]
struct Field {
    start: u32,
    /// -1: null.
    len: i32,
}

/// The chunks are not those of a `COPY` with this many fields.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed;

enum Scan {
    Incomplete,
    Row(usize),
    End,
}

impl CopyReader {
    /// Adds the next chunk. All rows of the one before must have been read.
    pub(super) fn push(&mut self, chunk: Bytes) -> Result<(), Malformed> {
        self.at = 0;
        if self.has_header && self.partial.is_empty() {
            self.chunk = chunk;
            return Ok(());
        }
        self.partial.extend_from_slice(&chunk);
        if self.partial.len() > MAX_ROW {
            return Err(Malformed);
        }
        self.chunk = Bytes::new();
        if !self.has_header {
            if self.partial.len() < HEADER {
                return Ok(());
            }
            if !self.partial.starts_with(SIGNATURE) {
                return Err(Malformed);
            }
            let extension = int32(&self.partial[HEADER - 4..]).and_then(|len| usize::try_from(len).ok());
            let start = HEADER + extension.ok_or(Malformed)?;
            if self.partial.len() < start {
                return Ok(());
            }
            self.has_header = true;
            self.at = start;
        }
        self.chunk = std::mem::take(&mut self.partial).into();
        Ok(())
    }

    /// The bytes of the next row, which has this many fields. `None`: the next chunk is needed.
    pub(super) fn next(&mut self, count: usize, fields: &mut Fields) -> Result<Option<&[u8]>, Malformed> {
        let rest = &self.chunk[self.at..];
        if rest.is_empty() {
            return Ok(None);
        }
        if self.is_complete {
            return Err(Malformed);
        }
        match fields.scan(rest, count)? {
            Scan::Row(len) => {
                self.at += len;
                return Ok(Some(&self.chunk[self.at - len..self.at]));
            }
            Scan::Incomplete => {
                self.partial.extend_from_slice(rest);
                self.at = self.chunk.len();
            }
            Scan::End => {
                self.at += 2;
                self.is_complete = true;
                if self.at < self.chunk.len() {
                    return Err(Malformed);
                }
            }
        }
        Ok(None)
    }

    /// Whether the server has marked the end of the rows.
    pub(super) fn is_complete(&self) -> bool {
        self.is_complete && self.at == self.chunk.len()
    }
}

impl Fields {
    fn scan(&mut self, bytes: &[u8], count: usize) -> Result<Scan, Malformed> {
        let Some(found) = int16(bytes) else { return Ok(Scan::Incomplete) };
        if found == -1 {
            return Ok(Scan::End);
        }
        if usize::try_from(found) != Ok(count) {
            return Err(Malformed);
        }
        self.0.clear();
        let mut at = 2;
        for _ in 0..count {
            let Some(len) = int32(&bytes[at..]) else { return Ok(Scan::Incomplete) };
            at += 4;
            self.0.push(Field { start: at as u32, len });
            match len {
                -1 => {}
                ..-1 => return Err(Malformed),
                _ => at += len as usize,
            }
            if at > bytes.len() {
                return Ok(Scan::Incomplete);
            }
        }
        Ok(Scan::Row(at))
    }

    /// The bytes of a field; `None` if it is null.
    #[inline]
    pub(super) fn get<'a>(&self, row: &'a [u8], field: usize) -> Option<&'a [u8]> {
        let Field { start, len } = self.0[field];
        let len = usize::try_from(len).ok()?;
        Some(&row[start as usize..start as usize + len])
    }
}

fn int16(bytes: &[u8]) -> Option<i16> {
    bytes.first_chunk().map(|bytes| i16::from_be_bytes(*bytes))
}

fn int32(bytes: &[u8]) -> Option<i32> {
    bytes.first_chunk().map(|bytes| i32::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy() -> Vec<u8> {
        let mut bytes = SIGNATURE.to_vec();
        bytes.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3]);
        for row in [[Some("a"), None], [Some(""), Some("long text")]] {
            bytes.extend_from_slice(&2_i16.to_be_bytes());
            for field in row {
                bytes.extend_from_slice(&field.map_or(-1, |text| text.len() as i32).to_be_bytes());
                bytes.extend_from_slice(field.unwrap_or_default().as_bytes());
            }
        }
        bytes.extend_from_slice(&(-1_i16).to_be_bytes());
        bytes
    }

    type Rows = Vec<Vec<Option<String>>>;

    fn read(chunks: &[&[u8]], count: usize) -> Result<(Rows, bool), Malformed> {
        let (mut reader, mut fields, mut rows) = (CopyReader::default(), Fields::default(), Vec::new());
        for chunk in chunks {
            reader.push(Bytes::copy_from_slice(chunk))?;
            while let Some(row) = reader.next(count, &mut fields)? {
                let text = |at| fields.get(row, at).map(|bytes| String::from_utf8(bytes.to_vec()).unwrap());
                rows.push((0..count).map(text).collect());
            }
        }
        Ok((rows, reader.is_complete()))
    }

    #[test]
    fn rows_are_the_same_however_they_are_split() {
        let bytes = copy();
        let whole = read(&[&bytes], 2).unwrap();
        assert!(whole.1);
        assert_eq!(whole.0[1], [Some(String::new()), Some("long text".to_owned())]);
        for one in 0..bytes.len() {
            assert!(!read(&[&bytes[..one]], 2).unwrap().1, "a prefix of {one} bytes is not complete");
            for other in one..bytes.len() {
                let chunks = [&bytes[..one], &bytes[one..other], &bytes[other..]];
                assert_eq!(read(&chunks, 2).unwrap(), whole, "{one} {other}");
            }
        }
        let single: Vec<_> = bytes.chunks(1).collect();
        assert_eq!(read(&single, 2).unwrap(), whole);
    }

    #[test]
    fn other_bytes_are_malformed() {
        let bytes = copy();
        assert_eq!(read(&[&bytes], 3), Err(Malformed));
        assert_eq!(read(&[&bytes, b"more"], 2), Err(Malformed));
        assert_eq!(read(&[&[b'x'; 100]], 2), Err(Malformed));
        let mut negative = bytes.clone();
        negative[HEADER + 3 + 2..][..4].copy_from_slice(&(-2_i32).to_be_bytes());
        assert_eq!(read(&[&negative], 2), Err(Malformed));
    }
}
