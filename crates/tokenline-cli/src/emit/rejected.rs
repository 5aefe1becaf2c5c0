//! The texts of rejects, for `--show-values`.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use console::Term;
use tokenline::json::Parser;
use tokenline::schema::SchemaValidator;
use tokenline::{Diagnostic, Rejected, Validate as _};

use crate::excerpt::Excerpt;

/// The texts of the rejects that are not written yet. Clones share them.
#[derive(Clone)]
pub(crate) struct RejectedTexts {
    texts: Arc<Mutex<VecDeque<Rejected>>>,
    /// The schema of the records, to find the place of a violation.
    schema: Option<SchemaValidator>,
}

impl RejectedTexts {
    pub(crate) fn new(schema: Option<SchemaValidator>) -> Self {
        Self { texts: Arc::default(), schema }
    }

    /// The texts of other rejects, of the same rules.
    pub(crate) fn separate(&self) -> Self {
        Self::new(self.schema.clone())
    }

    /// A repair hook that keeps each text, and replaces none.
    pub(crate) fn hook(&self) -> impl FnMut(Rejected) -> Option<String> + Send + Sync + 'static {
        let texts = self.clone();
        move |rejected| {
            texts.push(rejected);
            None
        }
    }

    pub(crate) fn push(&self, rejected: Rejected) {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner).push_back(rejected);
    }

    /// Takes the text of a reject, and drops those before it.
    pub(super) fn take(&self, diagnostic: &Diagnostic) -> Option<String> {
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        let at = texts.iter().position(|rejected| rejected.diagnostic == *diagnostic)?;
        texts.drain(..=at).next_back().map(|rejected| rejected.text)
    }

    /// The place of the fault in the text of a reject, if messages go to a terminal.
    pub(super) fn excerpt(&self, text: &str) -> Option<Excerpt> {
        let term = Term::stderr();
        let at = term.is_term().then(|| self.fault(text)).flatten()?;
        Some(Excerpt::new(text.as_bytes(), at, &term))
    }

    /// The offset of the fault in the text of a rejected record.
    fn fault(&self, text: &str) -> Option<usize> {
        let mut parser = Parser::new();
        match parser.parse(text) {
            Err(error) => Some(error.offset),
            Ok(record) if record.as_object().is_none() => Some(0),
            Ok(record) => Some(self.schema.as_ref()?.validate(record).err()?.offset),
        }
    }
}
