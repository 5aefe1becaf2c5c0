//! Checks rows.

use super::{Fault, READERS};
use crate::call_format::{CallSyntax, Reads};

/// The most markers of a syntax, which is also a user's file: each may be looked for at each position of a text. With
/// the most, a text takes about 2 times as long as with one.
const MAX_MARKERS: usize = 64;

impl CallSyntax {
    /// Checks what its type does not say.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let fault = |message: &str| Err(message.to_owned());
        if self.name.is_empty() {
            return fault("`name` is missing or empty");
        }
        if self.reads.is_empty() {
            let readers: Vec<&str> = READERS.iter().map(|(name, _)| *name).collect();
            return Err(format!(
                "`reads` is missing or empty: expected one or more of {}",
                readers.join(", ")
            ));
        }
        let needs_no_marker =
            |reads: &Reads| matches!(reads, Reads::PythonLine | Reads::NamedLine | Reads::ToolTag);
        if self.openers().next().is_none() && !self.reads.iter().all(needs_no_marker) {
            return fault("`block` or `call` must have an opening marker, by which calls are found");
        }
        let needs_call = |reads: &Reads| matches!(reads, Reads::Named | Reads::Elements);
        if self.reads.iter().any(needs_call) && self.call.is_empty() {
            return fault(
                "the readers `named` and `elements` need `call`: the name follows its opening marker",
            );
        }
        if self.parameter.as_ref().is_some_and(|it| it.tags.is_empty() || it.key_end.is_empty()) {
            return fault("`parameter` needs `tags` and `key_end`");
        }
        for (key, marker) in self.markers() {
            if marker.is_empty() {
                return Err(format!("`{key}` has an empty marker"));
            }
        }
        let count = 2 * (self.block.len() + self.call.len()) + self.markers().count();
        if count > MAX_MARKERS {
            return Err(format!("{count} markers are more than {MAX_MARKERS}, the limit"));
        }
        if let Some(token) =
            self.special_tokens.iter().find(|token| !self.openers().any(|opener| opener == *token))
        {
            return Err(format!("`special_tokens`: {token:?} is not an opening marker of `block` or `call`"));
        }
        let found_by = [("block", &self.block), ("call", &self.call)];
        let openers =
            found_by.iter().flat_map(|(key, pairs)| pairs.iter().map(move |(open, _)| (*key, open)));
        let markup = self.markup.iter().map(|marker| ("markup", marker));
        for (key, marker) in openers.chain(markup) {
            if marker.starts_with('\n') {
                return Err(format!("`{key}`: a marker must not begin with a newline, found {marker:?}"));
            }
        }
        Ok(())
    }

    /// The markers that must not be empty, by their keys.
    fn markers(&self) -> impl Iterator<Item = (&'static str, &String)> {
        let lists = [
            ("between", &self.between),
            ("name_end", &self.name_end),
            ("before", &self.before),
            ("after", &self.after),
            ("markup", &self.markup),
            ("special_tokens", &self.special_tokens),
        ];
        let lists = lists.into_iter().flat_map(|(key, list)| list.iter().map(move |marker| (key, marker)));
        let single = [("id", &self.id), ("quote", &self.quote)];
        let single = single.into_iter().filter_map(|(key, marker)| Some((key, marker.as_ref()?)));
        let of_parameters = self.parameter.iter().flat_map(|it| {
            let pairs = it.tags.iter().map(|pair| ("parameter.tags", pair));
            let pairs = pairs.chain(it.type_tags.iter().map(|pair| ("parameter.type_tags", pair)));
            let pairs = pairs.flat_map(|(key, (open, close))| [(key, open), (key, close)]);
            let key_end = it.key_end.iter().map(|marker| ("parameter.key_end", marker));
            let value = it.value.iter().map(|marker| ("parameter.value", marker));
            let attribute = it.type_attribute.iter().map(|name| ("parameter.type_attribute", name));
            pairs.chain(key_end).chain(value).chain(attribute)
        });
        lists.chain(single).chain(of_parameters)
    }
}
