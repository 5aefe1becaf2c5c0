//! References inside one document.

use serde_json::Value as Schema;

use crate::draft::Draft;
use crate::messages;
use crate::place::{Document, find_anchor, identifier};
use crate::pointer;
use crate::tree::children;

/// The references of a document.
pub(crate) struct References<'d>(&'d Document);

impl<'d> References<'d> {
    pub(crate) fn new(document: &'d Document) -> Option<Self> {
        Some(Self(document))
    }

    /// The scope of the document's root.
    pub(crate) fn scope(&self) -> Option<Scope<'d>> {
        Some(Scope { document: self.0, is_inner: false })
    }
}

/// The place of a schema: in the document's own resource, or in one inside it, whose references are not followed.
#[derive(Clone)]
pub(crate) struct Scope<'d> {
    document: &'d Document,
    is_inner: bool,
}

impl<'d> Scope<'d> {
    /// The target of a reference in this scope, and its scope.
    pub(crate) fn find(&self, reference: &str) -> Option<(&'d Schema, Self)> {
        let (root, draft) = (&self.document.schema, self.document.draft);
        let fragment = pointer::from_fragment(own_fragment(self.document, reference)?)?;
        let path = if fragment.is_empty() || fragment.starts_with('/') {
            fragment
        } else {
            find_anchor(root, draft, &fragment)?
        };
        let (mut here, mut is_inner) = (root, self.is_inner);
        for token in path.split('/').skip(1) {
            is_inner |= !std::ptr::eq(here, root) && begins_resource(here, draft);
            here = pointer::step(here, token)?;
        }
        Some((here, Self { is_inner, ..*self }))
    }

    /// Whether a reference means the same in both.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.is_inner == other.is_inner
    }
}

/// Why a reference leads nowhere; `None` if it may lead to another resource.
pub(super) fn leads_nowhere(document: &Document, reference: &str) -> Option<String> {
    let scope = Scope { document, is_inner: false };
    if reference.is_empty() || scope.find(reference).is_some() {
        return None;
    }
    match own_fragment(document, reference) {
        Some(pointer) if pointer.starts_with('/') => Some(messages::no_target(pointer)),
        Some(anchor) => Some(messages::no_anchor(anchor)),
        None if has_resources(document) => None,
        None => Some(messages::outside(reference.split('#').next().unwrap_or_default(), false)),
    }
}

/// The fragment of a reference into the document itself.
fn own_fragment<'r>(document: &Document, reference: &'r str) -> Option<&'r str> {
    let (uri, fragment) = reference.rsplit_once('#').unwrap_or((reference, ""));
    let id =
        identifier(&document.schema, document.draft).map(|id| id.trim_end_matches('#')).unwrap_or_default();
    // An empty reference means the document where it stands alone.
    let is_own = uri == id && !uri.is_empty() || uri.is_empty() && !reference.is_empty();
    is_own.then_some(fragment)
}

/// Whether there are other resources, beside the document or in it.
fn has_resources(document: &Document) -> bool {
    let mut open: Vec<&Schema> = children(&document.schema);
    while let Some(value) = open.pop() {
        if begins_resource(value, document.draft) {
            return true;
        }
        open.extend(children(value));
    }
    !document.resources.is_empty()
}

fn begins_resource(schema: &Schema, draft: Draft) -> bool {
    identifier(schema, draft).is_some_and(|id| draft > Draft::Draft7 || !id.starts_with('#'))
}
