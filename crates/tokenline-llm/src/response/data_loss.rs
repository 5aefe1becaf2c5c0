//! Data loss: reasons why a response is incomplete although its source ended.

use std::error::Error;
use std::fmt;

use tokenline_core::{Code, Diagnostic, Origin, Report};

/// Why a response is incomplete although its source ended without an error.
///
/// It is judged by the rejects and warnings of the stream:
///
/// | code | data loss |
/// |---|---|
/// | [`ProviderError`](Code::ProviderError), [`StreamIncomplete`](Code::StreamIncomplete) | [`Failed`](Self::Failed) |
/// | any other of [`Origin::Wire`]: an event of the provider that cannot be read | [`Failed`](Self::Failed) |
/// | [`Truncated`](Code::Truncated), [`Unsealed`](Code::Unsealed), [`TokenLimit`](Code::TokenLimit), [`Repetition`](Code::Repetition) | [`Truncated`](Self::Truncated) |
/// | [`StrayLines`](Code::StrayLines): lines of the provider outside its events | none |
/// | any other: an invalid record, a bad line in the body of a request | none |
///
/// An event of the provider that is itself truncated does not count: if it was needed, the reject
/// `StreamIncomplete` follows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DataLoss {
    /// The response was cut off. With the first such reject, if the report kept it.
    Truncated(Option<Box<Diagnostic>>),
    /// The provider failed, or a part of the response is missing. With the first such reject, if the report kept it.
    Failed(Option<Box<Diagnostic>>),
}

/// The worse is the greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Truncated,
    Failed,
}

impl Kind {
    fn of(code: Code, origin: Origin) -> Option<Self> {
        match (code, origin) {
            (Code::ProviderError | Code::StreamIncomplete, _) => Some(Self::Failed),
            (Code::Truncated | Code::StrayLines, Origin::Wire) => None,
            (_, Origin::Wire) => Some(Self::Failed),
            (Code::Truncated | Code::Unsealed | Code::TokenLimit | Code::Repetition, _) => {
                Some(Self::Truncated)
            }
            _ => None,
        }
    }

    fn with(self, diagnostic: Option<Diagnostic>) -> DataLoss {
        let diagnostic = diagnostic.map(Box::new);
        match self {
            Self::Truncated => DataLoss::Truncated(diagnostic),
            Self::Failed => DataLoss::Failed(diagnostic),
        }
    }
}

impl DataLoss {
    /// The data loss that a reject stands for.
    #[must_use]
    pub fn of(diagnostic: &Diagnostic) -> Option<Self> {
        Kind::of(diagnostic.code, diagnostic.origin).map(|kind| kind.with(Some(diagnostic.clone())))
    }

    /// Whether a reject means that the response failed.
    #[must_use]
    pub fn is_failure(diagnostic: &Diagnostic) -> bool {
        Kind::of(diagnostic.code, diagnostic.origin) == Some(Kind::Failed)
    }

    /// The worst data loss that the diagnostics of a complete stream stand for.
    #[must_use]
    pub fn in_report(report: &Report) -> Option<Self> {
        let kinds = report.by_code().iter().map(|(&code, &count)| {
            let on_wire = report.wire_by_code().get(&code).copied().unwrap_or_default();
            let wire = Kind::of(code, Origin::Wire).filter(|_| on_wire > 0);
            wire.max(Kind::of(code, Origin::Text).filter(|_| count > on_wire))
        });
        let kind = kinds.max().flatten()?;
        let is_such = |diagnostic: &&Diagnostic| Kind::of(diagnostic.code, diagnostic.origin) == Some(kind);
        Some(kind.with(report.diagnostics().iter().find(is_such).cloned()))
    }

    /// The worse of two; the first, if both are the same.
    #[must_use]
    pub fn worse(first: Option<Self>, second: Option<Self>) -> Option<Self> {
        match (&first, &second) {
            (None, _) | (Some(Self::Truncated(_)), Some(Self::Failed(_))) => second,
            _ => first,
        }
    }
}

impl fmt::Display for DataLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, diagnostic) = match self {
            Self::Truncated(diagnostic) => ("the response was cut off", diagnostic),
            Self::Failed(diagnostic) => match diagnostic.as_deref().map(|diagnostic| diagnostic.code) {
                Some(Code::ProviderError) => ("the provider failed", diagnostic),
                Some(Code::StreamIncomplete) => ("the response is incomplete", diagnostic),
                _ => ("a part of the response cannot be read", diagnostic),
            },
        };
        f.write_str(what)?;
        diagnostic.as_ref().map_or(Ok(()), |diagnostic| write!(f, ": {}", diagnostic.message))
    }
}

impl Error for DataLoss {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let (Self::Truncated(diagnostic) | Self::Failed(diagnostic)) = self;
        diagnostic.as_deref().map(|diagnostic| diagnostic as _)
    }
}

#[cfg(test)]
mod tests {
    use tokenline_core::{Limits, Span};

    use super::*;

    fn reject(code: Code, origin: Origin) -> Diagnostic {
        Diagnostic::new(code, 1, Span::new(0, 1), 1, "so").with_origin(origin)
    }

    /// With and without room for the diagnostics: what is not kept counts as well.
    #[test]
    fn the_report_and_its_rejects_agree() {
        let codes = [Code::MalformedJson, Code::Truncated, Code::Unsealed, Code::ProviderError];
        let one = codes.iter().flat_map(|&code| {
            [Origin::Text, Origin::Arguments, Origin::Wire].map(|origin| reject(code, origin))
        });
        let one: Vec<Diagnostic> = one.collect();
        for first in &one {
            for second in &one {
                let expected = DataLoss::worse(DataLoss::of(first), DataLoss::of(second));
                for room in [0, 2] {
                    let mut report = Report::new(&Limits { diagnostics: room, ..Limits::default() });
                    report.add(first.clone());
                    report.add(second.clone());
                    let seen = DataLoss::in_report(&report);
                    match room {
                        0 => assert_eq!(
                            seen.as_ref().map(std::mem::discriminant),
                            expected.as_ref().map(std::mem::discriminant)
                        ),
                        _ => assert_eq!(seen, expected),
                    }
                }
            }
        }
        assert_eq!(DataLoss::in_report(&Report::default()), None);
    }
}
