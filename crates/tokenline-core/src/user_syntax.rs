//! Reads a call syntax that a user wrote, and its example with it.

use serde::de::{Deserialize, Deserializer, Error};

use crate::call_format::CallSyntax;
use crate::json::{Parser, Value};
use crate::{
    CallFormat, CheckedChunk, Diagnostic, Event, LentEvent, Options, RecordDecoder, ToolCall, ValidateCall,
    Violation,
};

impl<'de> Deserialize<'de> for CallSyntax {
    /// Reads a row, and its `example` with it: that must be a call.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let row = serde_json::Value::deserialize(deserializer)?;
        let row = row.to_string();
        let mut parser = Parser::new().unlimited_depth();
        let row = parser.parse(&row).map_err(D::Error::custom)?;
        let syntax = Self::from_row(row).map_err(D::Error::custom)?;
        syntax.check_example().map_err(D::Error::custom)?;
        Ok(syntax)
    }
}

impl CallSyntax {
    /// Reads the example with the row: it must have a call.
    fn check_example(&self) -> Result<(), String> {
        if self.example.is_empty() {
            return Ok(());
        }
        let options = Options::lenient().calls(CallFormat::from(self.clone()));
        let mut decoder = RecordDecoder::new(options).with_tools(AnyTool);
        let (mut has_call, mut rejected) = (false, None);
        let mut read = |event: LentEvent<'_>| match event {
            Event::Record(record) => {
                for call in ToolCall::all_from_record(&record, None) {
                    match call {
                        Ok(_) => has_call = true,
                        Err(call) => rejected = rejected.take().or(Some(call.diagnostic)),
                    }
                }
            }
            Event::Rejected(diagnostic) => rejected = rejected.take().or(Some(diagnostic)),
            _ => {}
        };
        let mut example = CheckedChunk::from(&*self.example);
        while let Some(event) = decoder.next_event(&mut example) {
            read(event);
        }
        while let Some(event) = decoder.finish() {
            read(event);
        }
        if has_call { Ok(()) } else { Err(self.without_call(rejected)) }
    }

    fn without_call(&self, rejected: Option<Diagnostic>) -> String {
        let found = match rejected {
            Some(diagnostic) => format!("a reject: {diagnostic}"),
            None => match self.openers().find(|opener| self.example.contains(opener)) {
                Some(opener) => format!("text: what follows the marker {opener:?} does not fit the row"),
                None => "text: it has no opening marker of `block` or `call`".to_owned(),
            },
        };
        format!("`example`: expected a call, found {found}")
    }
}

/// A tool of every name.
struct AnyTool;

impl ValidateCall for AnyTool {
    fn validate_call(&self, _: &str, _: Value<'_>) -> Result<(), Box<Violation>> {
        Ok(())
    }
}
