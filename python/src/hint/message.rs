//! The hints, and how they are worded.

use pyo3::intern;
use pyo3::prelude::*;
use tokenline_llm::Provider;

/// What the source seems to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hint {
    Binary(Binary),
    /// A provider's stream, which is read as text.
    Stream(Option<Provider>),
    /// The stream of another provider.
    Other(Provider),
    /// No response of a provider.
    NoResponse(Provider),
    /// Objects that are no events of a provider.
    NoEvents(Provider),
    /// A complete response, which is read as text.
    Body(Provider),
    ErrorBody,
    /// The provider reported an error, and delivered nothing.
    ProviderError,
    Html,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Compressed(&'static str),
    Utf16,
}

impl Hint {
    fn message(self) -> String {
        match self {
            Self::Binary(Binary::Compressed(with)) => format!(
                "`stream` is compressed with {with}, and nothing in it can be read: decompress it first, or take the \
                 decoded body of an HTTP response"
            ),
            Self::Binary(Binary::Utf16) => "`stream` is UTF-16, and UTF-8 is read: decode it first, as with \
                                            open(path, encoding='utf-16')"
                .to_owned(),
            Self::Stream(Some(provider)) => {
                let name = provider.as_str();
                format!(
                    "`stream` looks like a response of {name}, and is read as text: pass provider='{name}'"
                )
            }
            Self::Stream(None) => {
                "`stream` looks like a provider's event stream, and is read as text: pass its \
                                   `provider`, such as provider='openai-chat'"
                    .to_owned()
            }
            Self::Other(provider) => {
                format!("`stream` looks like a response of {0}: pass provider='{0}'", provider.as_str())
            }
            Self::NoResponse(provider) => format!(
                "`stream` is not a response of {}, and nothing in it was read: leave out `provider` to read a text",
                provider.as_str()
            ),
            Self::NoEvents(provider) => format!(
                "`stream` has no events of {}, and nothing in it was read: pass the `provider` whose events they are",
                provider.as_str()
            ),
            Self::Body(provider) => {
                let name = provider.as_str();
                format!(
                    "`stream` looks like a complete response of {name}, and is read as text: pass provider='{name}'"
                )
            }
            Self::ErrorBody => {
                "`stream` looks like the error of a provider, not like a model's response: check the \
                 status of the HTTP response"
                    .to_owned()
            }
            Self::ProviderError => {
                "the provider reported an error, and nothing was delivered: `report.rejects` of \
                 the stream has it"
                    .to_owned()
            }
            Self::Html => {
                "`stream` is an HTML page, such as the error page of a proxy: check the status and the \
                 address of the HTTP response"
                    .to_owned()
            }
        }
    }

    /// Warns the caller of the package. With warnings as errors, this raises.
    pub(crate) fn warn(self, py: Python<'_>) -> PyResult<()> {
        let module = py.import(intern!(py, "tokenline._warnings"))?;
        module.call_method1(intern!(py, "warn"), (self.message(),)).map(|_| ())
    }
}
