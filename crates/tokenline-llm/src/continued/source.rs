//! Who reads the text of a response.

use tokenline_core::Options;

use super::fingerprint::Fingerprint;
use super::progress::{Form, Progress};
use super::reader::{FirstMember, Reader};

/// Who reads the text.
#[derive(Debug)]
pub(super) enum Source {
    /// It is not known yet how it begins.
    Unknown {
        head: FirstMember,
        wrapper: Option<Fingerprint>,
        options: Options,
    },
    /// It is read already, and how it begins is still to be learned.
    Learning(Reader, FirstMember),
    Known(Reader),
}

/// The options for what is no beginning of an answer: the place of the records in it is known by then.
fn plain(options: &Options) -> Options {
    options.clone().items("").unwrap_or_else(|_| options.clone())
}

/// For a text that begins behind a record.
pub(super) fn reader(options: &Options, form: Form) -> Reader {
    Reader::among(plain(options), form, options.looks_for_items())
}

impl Source {
    /// For the response in which the answer begins.
    pub(super) fn first(options: &Options, has_wrapper: bool) -> Self {
        let reader = Reader::new(options.clone());
        match has_wrapper {
            true => Self::Learning(reader, FirstMember::default()),
            false => Self::Known(reader),
        }
    }

    /// For one that goes on with it.
    pub(super) fn further(progress: &Progress, options: &Options, has_wrapper: bool) -> Self {
        // With nothing of it there the answer is asked for from its beginning.
        let wrapper = progress.wrapper.filter(|_| progress.records > 0 || !progress.open.is_empty());
        match (has_wrapper, wrapper, progress.records) {
            (true, None, 0) => Self::Learning(Reader::new(options.clone()), FirstMember::default()),
            (true, Some(wrapper), _) => Self::Unknown {
                head: FirstMember::default(),
                wrapper: Some(wrapper),
                options: options.clone(),
            },
            _ => Self::Known(reader(options, progress.form)),
        }
    }

    pub(super) fn push(&mut self, text: &str, progress: &mut Progress) {
        match self {
            Self::Known(reader) => reader.push(text),
            Self::Learning(reader, member) => {
                reader.push(text);
                if let Some(name) = member.push(text) {
                    progress.wrapper = name;
                    self.settle(false, progress.form);
                }
            }
            Self::Unknown { head, wrapper, .. } => {
                if let Some(name) = head.push(text) {
                    let begins_again = name.is_some() && name == *wrapper;
                    self.settle(begins_again, progress.form);
                }
            }
        }
    }

    /// Takes the reader that the bytes so far call for.
    pub(super) fn settle(&mut self, begins_again: bool, form: Form) {
        let empty = Self::Known(Reader::new(Options::lenient()));
        *self = Self::Known(match std::mem::replace(self, empty) {
            Self::Unknown { head, options, .. } => {
                let mut chosen = match begins_again {
                    true => Reader::new(options),
                    false => reader(&options, form),
                };
                chosen.push(&head.into_text());
                chosen
            }
            Self::Learning(reader, _) | Self::Known(reader) => reader,
        });
    }

    /// `None` if it is not known yet which one it is.
    pub(super) fn reader(&self) -> Option<&Reader> {
        match self {
            Self::Known(reader) | Self::Learning(reader, _) => Some(reader),
            Self::Unknown { .. } => None,
        }
    }

    pub(super) fn reader_mut(&mut self) -> Option<&mut Reader> {
        match self {
            Self::Known(reader) | Self::Learning(reader, _) => Some(reader),
            Self::Unknown { .. } => None,
        }
    }
}
