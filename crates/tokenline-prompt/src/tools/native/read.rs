//! Reading a whole response.

use std::sync::Arc;

use tokenline_core::json::{Parser, Value};
use tokenline_core::{
    CallDelta, CallFormat, Code, Diagnostic, Options, Origin, RejectedCall, Span, ToolCall, ToolCallAssembler,
};
use tokenline_schema::ToolSet;

use super::NativeShape;
use super::answer::{Answer, Choice};
use super::call::{NativeCall, Seal};
use super::shapes;
use crate::tools::parsed::Collector;
use crate::tools::parser::text_options;
use crate::tools::text::{self, Data, End};

/// Reads the native calls of a response; if there are none, the calls in its text; if it is no response,
/// those in what it is.
pub(in crate::tools) fn read(
    response: &str,
    shape: Option<NativeShape>,
    tools: Option<&Arc<ToolSet>>,
    end: End,
    into: &mut Collector,
) {
    let mut json = Parser::new().with_limits(into.limits());
    let mut answer = Answer::default();
    let is_response = json.parse(response).is_ok_and(|value| {
        // A call may have an error as well.
        if !ToolCall::is_in(value, None) {
            answer.error(value);
        }
        let shape = shape.or_else(|| NativeShape::find(value));
        shape.is_some_and(|shape| shapes::read(shape, value, &mut answer)) || !answer.findings.is_empty()
    });
    if !is_response {
        return read_text(response, tools, end, into);
    }
    for finding in &answer.findings {
        let received = if finding.code == Code::ProviderError { "" } else { finding.at.raw() };
        into.reject(diagnose(finding.at, finding.code, &finding.message), received);
    }
    match answer.choice() {
        Some(choice) if choice.calls.is_empty() => {
            let end = if choice.is_cut { End::Cut } else { End::Clean };
            read_text(&choice.text, tools, end, into);
        }
        Some(choice) => read_calls(choice, tools, into),
        None => {}
    }
}

fn read_text(text: &str, tools: Option<&Arc<ToolSet>>, end: End, into: &mut Collector) {
    let options = text_options(CallFormat::Auto, into.limits());
    text::read(text, options, tools, (end, Data::Text), into);
}

/// The same machine that puts streamed calls together reads whole ones: ids are minted, and empty arguments
/// taken, in the same way.
fn read_calls(choice: &Choice<'_>, tools: Option<&Arc<ToolSet>>, into: &mut Collector) {
    let mut assembler = ToolCallAssembler::new(Options::default().limits(*into.limits()));
    if let Some(tools) = tools {
        assembler = assembler.with_tools(Arc::clone(tools) as _);
    }
    for (index, call) in (1..).zip(&choice.calls) {
        assembler.push(CallDelta {
            index: Some(index),
            id: call.id.as_deref(),
            name: call.name.as_deref(),
            arguments: &call.arguments,
            is_whole: true,
            lossy: false,
        });
        match call.seal {
            Seal::Whole(completion) => assembler.seal(completion),
            Seal::Cut | Seal::Undecided => assembler.cut(),
        }
        match assembler.next_event() {
            Some(Ok(mut read)) => {
                read.error.clone_from(&call.error);
                into.add(Ok(read));
            }
            Some(Err(rejected)) => into.add(Err(rejected)),
            None => into.add(Err(Box::new(blank(call)))),
        }
    }
}

/// What says nothing at all.
#[cold]
fn blank(call: &NativeCall<'_>) -> RejectedCall {
    let element = call.element;
    let diagnostic = match element.as_object() {
        Some(_) => diagnose(element, Code::MissingField, "a tool call needs a `name`"),
        None => {
            let message = format!("a tool call must be an object, found {}", element.kind().as_str());
            diagnose(element, Code::NotAnObject, &message)
        }
    };
    RejectedCall::new(diagnostic, element.raw())
}

/// A finding about a value of the response, in the places of that.
fn diagnose(at: Value<'_>, code: Code, message: &str) -> Diagnostic {
    let range = at.range();
    let before = &at.document()[..range.start];
    let line = 1 + before.matches('\n').count();
    let column = 1 + before.len() - before.rfind('\n').map_or(0, |at| at + 1);
    let span = Span::new(range.start as u64, range.end as u64);
    Diagnostic::new(code, line as u64, span, column as u64, message).with_origin(Origin::Wire)
}
