//! The relevant members of events and of items.

use std::borrow::Cow;

use tokenline_core::CallDelta;
use tokenline_core::json::Value;

use crate::delta::Delta;
use crate::providers::api::Sink;
use crate::providers::values::{as_u64, is_error, text_of};

/// The members of an event.
#[derive(Default)]
pub(super) struct Members<'a> {
    pub(super) item_index: Option<u64>,
    pub(super) number: Option<u64>,
    /// The next piece of a text, or all of it.
    pub(super) text: Option<Value<'a>>,
    pub(super) item: Option<Value<'a>>,
    pub(super) part: Option<Value<'a>>,
    pub(super) response: Option<Value<'a>>,
    pub(super) error: Option<Value<'a>>,
}

impl<'a> Members<'a> {
    pub(super) fn read(event: Value<'a>, sink: &mut Sink<'_>) -> Self {
        let mut members = Self::default();
        for (name, value) in event.as_object().into_iter().flatten() {
            match name {
                "output_index" => members.item_index = as_u64(value),
                "content_index" | "summary_index" => members.number = as_u64(value),
                "delta" | "text" | "refusal" | "arguments" | "input" => members.text = Some(value),
                "item" => members.item = Some(value),
                "part" => members.part = Some(value),
                "response" => members.response = Some(value),
                "error" => members.error = Some(value).filter(|error| is_error(*error)),
                "type" | "sequence_number" | "item_id" | "obfuscation" | "logprobs" => {}
                // Of the tool, also in the item; of an error without an object around it.
                "name" | "message" | "code" | "param" => {}
                "copilot_usage" | "timings" => {}
                _ => sink(Delta::Unknown { parent: "", name: name.into() }),
            }
        }
        members
    }
}

/// The members of an item.
#[derive(Default)]
pub(super) struct Item<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) call_id: Option<Cow<'a, str>>,
    pub(super) name: Option<Cow<'a, str>>,
    pub(super) arguments: Option<Cow<'a, str>>,
    pub(super) input: Option<Cow<'a, str>>,
    pub(super) status: Option<Cow<'a, str>>,
    pub(super) summary: Option<Value<'a>>,
    pub(super) content: Option<Value<'a>>,
}

impl<'a> Item<'a> {
    pub(super) fn read(item: Value<'a>, sink: &mut Sink<'_>) -> Self {
        let mut members = Self::default();
        for (name, value) in item.as_object().into_iter().flatten() {
            match name {
                "id" => members.id = value.as_str(),
                "call_id" => members.call_id = text_of(value).filter(|id| !id.is_empty()),
                "name" => members.name = value.as_str(),
                "arguments" => members.arguments = text_of(value),
                "input" => members.input = text_of(value),
                "status" => members.status = value.as_str().filter(|status| !status.is_empty()),
                "summary" => members.summary = Some(value),
                "content" => members.content = Some(value),
                "type" | "role" | "phase" | "encrypted_content" => {}
                "namespace" | "caller" | "created_by" => {}
                _ => sink(Delta::Unknown { parent: "item", name: name.into() }),
            }
        }
        members
    }

    pub(super) fn header(&self, index: u64) -> CallDelta<'_> {
        let id = self.call_id.as_deref().or(self.id.as_deref());
        CallDelta { index: Some(index), id, name: self.name.as_deref(), ..CallDelta::default() }
    }

    /// Whether its status is `completed`.
    pub(super) fn is_completed(&self) -> bool {
        self.status.as_deref() == Some("completed")
    }

    /// Whether the finished item is complete; `None` if unknown, as for calls made by one of the model's programs.
    pub(super) fn is_whole(&self) -> Option<bool> {
        match self.status.as_deref() {
            None | Some("completed") => Some(true),
            Some("incomplete" | "failed" | "cancelled") => Some(false),
            Some(_) => None,
        }
    }
}
