//! What a response holds, whichever shape it has.

use tokenline_core::json::Value;
use tokenline_core::{Code, Completion};

use super::call::{NativeCall, Seal};

/// The parts of a response that are the answer.
#[derive(Default)]
pub(super) struct Answer<'a> {
    pub(super) choices: Vec<Choice<'a>>,
    pub(super) findings: Vec<Finding<'a>>,
}

/// Something to be told of the response itself.
pub(super) struct Finding<'a> {
    pub(super) code: Code,
    pub(super) at: Value<'a>,
    pub(super) message: String,
}

/// One of the answers that a response may have.
#[derive(Default)]
pub(super) struct Choice<'a> {
    pub(super) calls: Vec<NativeCall<'a>>,
    pub(super) text: String,
    pub(super) is_cut: bool,
}

/// How a choice ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// By itself, which proves that all of it is whole.
    Clean,
    /// Nothing is said of it; what is there as a whole is taken to be so.
    Untold,
    /// At a limit, in a filter, or for a reason that is not known: what came last may be cut.
    Cut,
}

impl Ending {
    /// By the provider's reason, of which these mean a clean end.
    pub(super) fn of(reason: Option<Value<'_>>, clean: &[&str]) -> Self {
        match reason.and_then(Value::as_str).as_deref() {
            None | Some("") => Self::Untold,
            Some(reason) if clean.contains(&reason) => Self::Clean,
            Some(_) => Self::Cut,
        }
    }
}

impl<'a> Choice<'a> {
    pub(super) fn call(&mut self, element: Value<'a>, seal: Seal) {
        self.calls.push(NativeCall::new(element, seal));
    }

    /// Something follows the calls so far, which are whole therefore.
    pub(super) fn seal_calls(&mut self, completion: Completion) {
        let open = self.calls.iter_mut().filter(|call| call.seal == Seal::Undecided);
        open.for_each(|call| call.seal = Seal::Whole(completion));
    }

    /// Decides on the calls that are left. Of a choice that was cut that is the last one, where nothing
    /// follows it.
    pub(super) fn end(&mut self, ending: Ending) {
        self.is_cut = ending == Ending::Cut;
        match ending {
            Ending::Clean => self.seal_calls(Completion::FinishReason),
            Ending::Untold => self.seal_calls(Completion::EndOfInput),
            Ending::Cut => {
                if let Some(last) = self.calls.last_mut().filter(|call| call.seal == Seal::Undecided) {
                    last.seal = Seal::Cut;
                }
                self.seal_calls(Completion::NextItem);
            }
        }
    }

    /// Adds more of a text: a string, or the texts among the parts of a list.
    pub(super) fn text(&mut self, content: Option<Value<'a>>) {
        let Some(content) = content else { return };
        if let Some(text) = content.as_str() {
            self.text.push_str(&text);
        }
        for part in content.as_array().into_iter().flatten() {
            let kind = part.get("type").and_then(Value::as_str);
            if matches!(kind.as_deref(), None | Some("text" | "output_text"))
                && part.get("thought").and_then(Value::as_bool) != Some(true)
            {
                self.text(part.get("text").filter(|text| text.as_str().is_some()));
            }
        }
    }

    /// Says that a text of its own follows, which begins on a line.
    pub(super) fn end_text(&mut self) {
        if !(self.text.is_empty() || self.text.ends_with('\n')) {
            self.text.push('\n');
        }
    }
}

impl<'a> Answer<'a> {
    /// The choice that counts: the first with calls, else the first that says anything. Servers there are
    /// that put the text into one choice and the calls into the next.
    pub(super) fn choice(&self) -> Option<&Choice<'a>> {
        let first = |is_it: fn(&&Choice<'_>) -> bool| self.choices.iter().find(is_it);
        first(|choice| !choice.calls.is_empty()).or_else(|| first(|choice| !choice.text.trim().is_empty()))
    }

    pub(super) fn find(&mut self, code: Code, at: Value<'a>, message: impl Into<String>) {
        self.findings.push(Finding { code, at, message: message.into() });
    }

    /// What the provider says went wrong, if it does.
    pub(super) fn error(&mut self, object: Value<'a>) {
        let is_said =
            |value: &Value<'_>| !value.is_null() && value.as_str().is_none_or(|text| !text.is_empty());
        // vLLM's errors are told by `object`.
        let is_error = object.get("object").and_then(Value::as_str).as_deref() == Some("error");
        let error = object.get("error").filter(is_said).or_else(|| is_error.then_some(object));
        if let Some(error) = error {
            let member = |name| error.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
            let said = error.as_str().or_else(|| ["message", "type", "code"].into_iter().find_map(member));
            let said = said.as_deref().unwrap_or("no message");
            let shown = said.chars().take(MAX_MESSAGE).map(|char| if char.is_control() { ' ' } else { char });
            self.find(Code::ProviderError, error, shown.collect::<String>());
        }
    }
}

/// Characters of a provider's message that are shown.
const MAX_MESSAGE: usize = 500;
