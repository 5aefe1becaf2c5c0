//! Writes Amazon event streams as the servers do.

/// A message of an event.
pub fn event(name: &str, payload: &str) -> Vec<u8> {
    let headers = [(":event-type", name), (":content-type", "application/json"), (":message-type", "event")];
    message(&strings(&headers), payload.as_bytes())
}

/// A message of an exception.
pub fn exception(name: &str, payload: &str) -> Vec<u8> {
    let headers =
        [(":exception-type", name), (":content-type", "application/json"), (":message-type", "exception")];
    message(&strings(&headers), payload.as_bytes())
}

/// String headers.
pub fn strings(headers: &[(&str, &str)]) -> Vec<u8> {
    headers.iter().flat_map(|(name, value)| header(name, 7, &counted(value.as_bytes()))).collect()
}

/// A header of this type.
pub fn header(name: &str, kind: u8, value: &[u8]) -> Vec<u8> {
    let len = u8::try_from(name.len()).expect("a short name");
    [&[len], name.as_bytes(), &[kind], value].concat()
}

/// Bytes prefixed with their length.
pub fn counted(value: &[u8]) -> Vec<u8> {
    let len = u16::try_from(value.len()).expect("a short value");
    [&len.to_be_bytes(), value].concat()
}

/// A message with these headers.
pub fn message(headers: &[u8], payload: &[u8]) -> Vec<u8> {
    let len = |bytes: usize| u32::try_from(bytes).expect("a short message").to_be_bytes();
    let lengths = [len(16 + headers.len() + payload.len()), len(headers.len())].concat();
    let crc = crc32(&lengths).to_be_bytes();
    let mut message = [&lengths, &crc[..], headers, payload].concat();
    message.extend(crc32(&message).to_be_bytes());
    message
}

/// The checksum of gzip, bit by bit.
pub fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

/// The stream described by these lines:
///
/// - `event NAME PAYLOAD` and `exception NAME PAYLOAD`, with an optional payload;
/// - `error CODE TEXT`;
/// - prefixed by `corrupt` (wrong checksum), `lost` (wrong checksum of the lengths), or `cut N` (without the last N
///   bytes).
pub fn stream(lines: &str) -> Vec<u8> {
    lines.lines().flat_map(line).collect()
}

fn line(line: &str) -> Vec<u8> {
    let (kind, rest) = line.split_once(' ').expect("a kind and a name");
    let (name, payload) = rest.split_once(' ').unwrap_or((rest, ""));
    match kind {
        "event" => event(name, payload),
        "exception" => exception(name, payload),
        "error" => {
            let headers = [(":error-code", name), (":error-message", payload), (":message-type", "error")];
            message(&strings(&headers), b"")
        }
        "corrupt" => flipped(self::line(rest), |len| len - 1),
        "lost" => flipped(self::line(rest), |_| 11),
        "cut" => {
            let mut message = self::line(payload);
            message.truncate(message.len() - name.parse::<usize>().expect("a number"));
            message
        }
        other => panic!("{other}?"),
    }
}

/// Changes one byte of a message.
fn flipped(mut message: Vec<u8>, place: fn(usize) -> usize) -> Vec<u8> {
    let at = place(message.len());
    message[at] ^= 1;
    message
}
