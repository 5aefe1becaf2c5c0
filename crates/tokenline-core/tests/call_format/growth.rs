//! The open call while a text arrives.

use tokenline_core::{Event, RecordDecoder, ToolCall};

/// Reads a text in pieces, and checks that the open call only grows, up to the call that is delivered. Returns how
/// often an argument was seen before.
pub(crate) fn growth<'a>(
    decoder: &mut RecordDecoder,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Result<usize, String> {
    decoder.reset();
    let (mut seen, mut count) = ((u64::MAX, String::new(), String::new()), 0);
    for mut piece in pieces {
        loop {
            let decoded = decoder.decode(piece);
            piece = &piece[decoded.consumed..];
            let Some(event) = decoded.event else { break };
            if let Event::Record(record) = event
                && record.span.start == seen.0
            {
                for call in ToolCall::all_from_record(&record, None).flatten() {
                    if call.name != seen.1 || !call.parameters.as_str().starts_with(&seen.2) {
                        return Err(format!(
                            "{seen:?} became {:?} {:?}",
                            call.name,
                            call.parameters.as_str()
                        ));
                    }
                }
            }
        }
        if let Some(call) = decoder.open_call() {
            let now = (call.start, call.name.into_owned(), call.parameters.to_owned());
            if now.0 == seen.0 && !(now.1 == seen.1 && now.2.starts_with(&seen.2)) {
                return Err(format!("{seen:?} became {now:?}"));
            }
            count += usize::from(now.2.len() > 2);
            seen = now;
        }
    }
    Ok(count)
}
