//! The report of a stream: counts, and the first diagnostics.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::kept_diagnostics::KeptDiagnostics;
use crate::syntax_repair::{EditKind, RepairedSyntax};
use crate::{Code, Diagnostic, Limits, Origin, Recovered, Severity};

/// Counts of what was delivered and rejected, with the first diagnostics.
///
/// Keeps at most [`Limits::diagnostics`] of them; the rest are counted. Rejects and warnings displace notes, such as prose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    records: u64,
    tool_calls: u64,
    /// Boxed: most streams have none.
    found: Option<Box<Found>>,
    capacity: usize,
    complete: bool,
    ended_by: Option<EarlyEnd>,
}

/// Counts of further requests, in which a model was asked again for what was rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reasks {
    /// Records and tool calls that were asked for again.
    pub asked: u64,
    /// Those of them that were delivered then.
    pub delivered: u64,
    /// Further requests.
    pub requests: u64,
    /// Input tokens of these requests, as far as the provider reports them.
    pub input_tokens: u64,
    /// Output tokens of these requests: those that the provider reports, or else the pieces of the response.
    pub output_tokens: u64,
}

impl AddAssign for Reasks {
    fn add_assign(&mut self, other: Self) {
        self.asked += other.asked;
        self.delivered += other.delivered;
        self.requests += other.requests;
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
    }
}

impl Serialize for Reasks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { asked, delivered, requests, input_tokens, output_tokens } = *self;
        let mut map = serializer.serialize_map(Some(5))?;
        map.serialize_entry("asked", &asked)?;
        map.serialize_entry("delivered", &delivered)?;
        map.serialize_entry("requests", &requests)?;
        map.serialize_entry("input_tokens", &input_tokens)?;
        map.serialize_entry("output_tokens", &output_tokens)?;
        map.end()
    }
}

/// The diagnostics of a stream, and what was repaired.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Found {
    repaired: u64,
    reasks: Reasks,
    by_edit: BTreeMap<EditKind, u64>,
    rejected: u64,
    warnings: u64,
    notes: u64,
    by_code: BTreeMap<Code, u64>,
    wire_by_code: BTreeMap<Code, u64>,
    diagnostics: KeptDiagnostics,
}

static NOTHING: Found = Found {
    repaired: 0,
    reasks: Reasks { asked: 0, delivered: 0, requests: 0, input_tokens: 0, output_tokens: 0 },
    by_edit: BTreeMap::new(),
    rejected: 0,
    warnings: 0,
    notes: 0,
    by_code: BTreeMap::new(),
    wire_by_code: BTreeMap::new(),
    diagnostics: KeptDiagnostics::NONE,
};

/// The members of a [`Report`], to save it and to restore it.
///
/// For authors of adapters that move reports between processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportParts {
    /// Records delivered.
    pub records: u64,
    /// Tool calls delivered.
    pub tool_calls: u64,
    /// Records and tool calls delivered after a repair.
    pub repaired: u64,
    /// Further requests for rejects.
    pub reasks: Reasks,
    /// Repaired records and tool calls by the kind of edit.
    pub by_edit: BTreeMap<EditKind, u64>,
    /// Diagnostics by code.
    pub by_code: BTreeMap<Code, u64>,
    /// Those of them that concern the wire format.
    pub wire_by_code: BTreeMap<Code, u64>,
    /// The kept diagnostics, in the order of the input.
    pub diagnostics: Vec<Diagnostic>,
    /// The number of diagnostics that were not kept.
    pub dropped: u64,
    /// The most diagnostics that are kept.
    pub capacity: usize,
    /// Whether the source was read to its end.
    pub complete: bool,
    /// Why the stream ended before its source.
    pub ended_by: Option<EarlyEnd>,
}

impl From<Report> for ReportParts {
    fn from(report: Report) -> Self {
        let Report { records, tool_calls, found, capacity, complete, ended_by } = report;
        let Found { repaired, reasks, by_edit, by_code, wire_by_code, diagnostics, .. } =
            found.map_or_else(Found::default, |found| *found);
        let dropped = diagnostics.dropped();
        let diagnostics = diagnostics.into_vec();
        Self {
            records,
            tool_calls,
            repaired,
            reasks,
            by_edit,
            by_code,
            wire_by_code,
            diagnostics,
            dropped,
            capacity,
            complete,
            ended_by,
        }
    }
}

/// The counts by severity are those of the codes.
impl From<ReportParts> for Report {
    fn from(parts: ReportParts) -> Self {
        let ReportParts { records, tool_calls, capacity, complete, ended_by, .. } = parts;
        let of = |severity| -> u64 {
            let counts = parts.by_code.iter().filter(|(code, _)| code.severity() == severity);
            counts.map(|(_, count)| *count).fold(0, u64::saturating_add)
        };
        let (rejected, warnings, notes) = (of(Severity::Error), of(Severity::Warning), of(Severity::Info));
        let ReportParts { repaired, reasks, by_edit, by_code, wire_by_code, diagnostics, dropped, .. } =
            parts;
        let found = Found {
            repaired,
            reasks,
            by_edit,
            rejected,
            warnings,
            notes,
            by_code,
            wire_by_code,
            diagnostics: KeptDiagnostics::from_parts(diagnostics, dropped),
        };
        let found = (found != NOTHING).then(|| Box::new(found));
        Self { records, tool_calls, found, capacity, complete, ended_by }
    }
}

impl Report {
    /// An empty report that keeps as many diagnostics as the limits allow.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self { capacity: limits.diagnostics, ..Self::default() }
    }

    /// Counts a delivered record.
    pub fn count_record(&mut self) {
        self.records += 1;
    }

    /// Counts a delivered tool call.
    pub fn count_tool_call(&mut self) {
        self.tool_calls += 1;
    }

    /// Counts the last delivered item, which was recovered so, as repaired.
    pub fn count_repaired(&mut self, recovered: Recovered) {
        let found = self.found.get_or_insert_default();
        found.repaired += 1;
        for (kind, _) in recovered.syntax().into_iter().flat_map(RepairedSyntax::kinds) {
            *found.by_edit.entry(kind).or_default() += 1;
        }
    }

    /// Counts further requests for rejects.
    pub fn count_reasks(&mut self, reasks: Reasks) {
        self.found.get_or_insert_default().reasks += reasks;
    }

    /// Counts a diagnostic, and keeps it while there is room. Rejects and warnings displace notes.
    pub fn add(&mut self, diagnostic: Diagnostic) {
        let capacity = self.capacity;
        self.count(&diagnostic).add(diagnostic.severity(), capacity, || diagnostic);
    }

    /// Like [`add`](Self::add), for a diagnostic that is also an event: clones only what is kept.
    pub(crate) fn note(&mut self, diagnostic: &Diagnostic) {
        let capacity = self.capacity;
        self.count(diagnostic).add(diagnostic.severity(), capacity, || diagnostic.clone());
    }

    /// Counts a diagnostic. Returns where to keep it.
    fn count(&mut self, diagnostic: &Diagnostic) -> &mut KeptDiagnostics {
        let found = self.found.get_or_insert_default();
        match diagnostic.severity() {
            Severity::Info => found.notes += 1,
            Severity::Warning => found.warnings += 1,
            Severity::Error => found.rejected += 1,
        }
        *found.by_code.entry(diagnostic.code).or_default() += 1;
        if diagnostic.origin == Origin::Wire {
            *found.wire_by_code.entry(diagnostic.code).or_default() += 1;
        }
        &mut found.diagnostics
    }

    fn found(&self) -> &Found {
        self.found.as_deref().unwrap_or(&NOTHING)
    }

    /// Marks the source as read to its end.
    pub fn set_complete(&mut self) {
        self.complete = true;
    }

    /// Notes why the stream ended before its source.
    pub fn set_ended_by(&mut self, ended_by: EarlyEnd) {
        self.ended_by = Some(ended_by);
    }

    /// Records delivered.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Tool calls delivered.
    #[must_use]
    pub fn tool_calls(&self) -> u64 {
        self.tool_calls
    }

    /// Records and tool calls that were rejected first, then delivered because a repair hook replaced them, or because
    /// their [syntax was repaired](crate::Options::repair_syntax). They do not count as rejected.
    #[must_use]
    pub fn repaired(&self) -> u64 {
        self.found().repaired
    }

    /// The further requests for rejects, and what came of them. What the model wrote rightly when asked again counts as
    /// delivered, not as rejected.
    #[must_use]
    pub fn reasks(&self) -> Reasks {
        self.found().reasks
    }

    /// How many records and tool calls were repaired by each kind of edit of their syntax. One with edits of two kinds
    /// counts for both.
    #[must_use]
    pub fn by_edit(&self) -> &BTreeMap<EditKind, u64> {
        &self.found().by_edit
    }

    /// Rejects; prose is not one.
    #[must_use]
    pub fn rejected(&self) -> u64 {
        self.found().rejected
    }

    /// Diagnostics that warn of something that may be missing, though nothing was rejected.
    #[must_use]
    pub fn warnings(&self) -> u64 {
        self.found().warnings
    }

    /// Diagnostics that are information.
    #[must_use]
    pub fn notes(&self) -> u64 {
        self.found().notes
    }

    /// How many diagnostics there were of each code.
    #[must_use]
    pub fn by_code(&self) -> &BTreeMap<Code, u64> {
        &self.found().by_code
    }

    /// How many diagnostics of each code concern the wire format: those of [`Origin::Wire`].
    #[must_use]
    pub fn wire_by_code(&self) -> &BTreeMap<Code, u64> {
        &self.found().wire_by_code
    }

    /// The rejects among the kept diagnostics, in the order in which they were found; with further requests, decided.
    pub fn rejects(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics().iter().filter(|diagnostic| diagnostic.severity() == Severity::Error)
    }

    /// The kept diagnostics, rejects, warnings and information, in the order of the input.
    #[must_use]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        self.found().diagnostics.as_slice()
    }

    /// Diagnostics counted but not kept.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.found().diagnostics.dropped()
    }

    /// Whether the source was read to its own end. False while it is being read, after an error, and if the
    /// stream [ended early](Self::ended_by).
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.complete && self.ended_by.is_none()
    }

    /// Why the stream ended before its source: it had delivered as much as was asked for or repeated itself, which are not
    /// errors, or rejected more than allowed, which is one. What else the source held is unknown.
    #[must_use]
    pub fn ended_by(&self) -> Option<EarlyEnd> {
        self.ended_by
    }
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let by_code: BTreeMap<&str, u64> =
            self.by_code().iter().map(|(code, count)| (code.as_str(), *count)).collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("complete", &self.is_complete())?;
        if let Some(ended_by) = self.ended_by {
            map.serialize_entry("ended_by", ended_by.as_str())?;
        }
        map.serialize_entry("records", &self.records)?;
        map.serialize_entry("tool_calls", &self.tool_calls)?;
        if self.repaired() > 0 {
            map.serialize_entry("repaired", &self.repaired())?;
        }
        if !self.by_edit().is_empty() {
            let by_edit: BTreeMap<&str, u64> =
                self.by_edit().iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
            map.serialize_entry("repaired_by_edit", &by_edit)?;
        }
        if self.reasks() != Reasks::default() {
            map.serialize_entry("reasked", &self.reasks())?;
        }
        map.serialize_entry("rejected", &self.rejected())?;
        if self.warnings() > 0 {
            map.serialize_entry("warnings", &self.warnings())?;
        }
        map.serialize_entry("notes", &self.notes())?;
        map.serialize_entry("by_code", &by_code)?;
        map.serialize_entry("diagnostics", self.diagnostics())?;
        map.serialize_entry("dropped_diagnostics", &self.dropped())?;
        map.end()
    }
}

/// Why a stream ended before its source did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EarlyEnd {
    /// It delivered as many records or tool calls as were asked for.
    MaxRecords,
    /// It rejected more than its error budget allows.
    ErrorBudget,
    /// It repeated itself.
    Repetition,
}

impl EarlyEnd {
    /// All variants.
    pub const ALL: &'static [Self] = &[Self::MaxRecords, Self::ErrorBudget, Self::Repetition];

    /// The name used in reports: `max_records`, `error_budget` or `repetition`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MaxRecords => "max_records",
            Self::ErrorBudget => "error_budget",
            Self::Repetition => "repetition",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;

    #[test]
    fn a_report_is_its_parts() {
        let limits = Limits { diagnostics: 2, ..Limits::DEFAULT };
        let mut report = Report::new(&limits);
        assert_eq!(Report::from(ReportParts::from(report.clone())), report);
        report.count_record();
        report.set_ended_by(EarlyEnd::Repetition);
        let reasks = Reasks { asked: 2, delivered: 1, requests: 3, input_tokens: 4, output_tokens: 5 };
        report.count_reasks(reasks);
        let codes = [Code::Prose, Code::MalformedJson, Code::TokenLimit, Code::SchemaViolation, Code::Prose];
        for (line, code) in (1..).zip(codes) {
            let diagnostic = Diagnostic::new(code, line, Span::new(line, line + 1), 1, "wrong");
            report.add(diagnostic.with_origin(if line == 2 { Origin::Wire } else { Origin::Text }));
        }
        let mut again = Report::from(ReportParts::from(report.clone()));
        assert_eq!(again, report);
        assert_eq!((again.rejected(), again.warnings(), again.notes(), again.dropped()), (2, 1, 2, 3));
        // It counts on as the original does.
        for report in [&mut report, &mut again] {
            report.add(Diagnostic::new(Code::Truncated, 9, Span::default(), 1, "cut"));
        }
        assert_eq!(again, report);
    }
}
