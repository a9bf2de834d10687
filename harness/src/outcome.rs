//! From judged checks to the report of a run: strictness, baseline, redaction, exit code.

use std::collections::HashSet;
use std::time::Duration;

use crate::baseline::Baseline;
use crate::catalog;
use crate::checks::evidence::Evidence;
use crate::event::{CheckReport, FindingReport, Remark, RemarkKind, RunReport};
use crate::exit::Exit;
use crate::judge::Judged;
use crate::verdict::{Finding, Verdict};
use crate::wire::Revision;

/// Writes the command line that shows the verdict of one check on one revision again.
pub type Replay = Box<dyn Fn(Revision, &str) -> String + Send + Sync>;

/// How judged checks become a report.
pub struct Rules {
    /// Whether a broken SHOULD fails.
    pub strict: bool,
    /// What is expected to fail.
    pub baseline: Baseline,
    /// How to show a verdict again.
    pub replay: Replay,
    /// Values that must not appear in any output.
    pub secrets: Vec<String>,
}

impl Rules {
    /// The report of one run.
    pub fn report(
        &self,
        evidence: &Evidence<'_>,
        judged: Vec<Judged>,
        remarks: Vec<Remark>,
        took: Duration,
    ) -> RunReport {
        let trace = evidence.trace();
        let redact = |text: &str| redact(&self.secrets, text);
        let remarks = remarks.into_iter().map(|remark| Remark {
            text: redact(&remark.text),
            ..remark
        });
        let mut server_info = catalog::server_info(trace);
        if !self.secrets.is_empty() {
            server_info =
                serde_json::from_str(&redact(&server_info.to_string())).unwrap_or_default();
        }
        RunReport {
            protocol: trace.revision.to_string(),
            transport: trace.transport.to_string(),
            server_info,
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            catalog: catalog::of(evidence),
            remarks: remarks.collect(),
            checks: judged
                .into_iter()
                .map(|judged| self.check(trace.revision, judged))
                .collect(),
        }
    }

    fn check(&self, revision: Revision, judged: Judged) -> CheckReport {
        let redact = |text: &str| redact(&self.secrets, text);
        let findings = merge(judged.findings)
            .into_iter()
            .map(|finding| FindingReport {
                fingerprint: finding.fingerprint(judged.id),
                replay: (self.replay)(revision, judged.id),
                at: finding.at,
                subject: redact(&finding.subject),
                expected: redact(&finding.expected),
                actual: redact(&finding.actual),
            });
        CheckReport {
            id: judged.id,
            level: judged.level.to_string(),
            severity: judged.severity,
            section: judged.section,
            examined: judged.examined,
            verdict: self.verdict(judged.id, judged.verdict),
            reason: judged.reason.as_deref().map(redact),
            findings: findings.collect(),
        }
    }

    fn verdict(&self, id: &str, verdict: Verdict) -> Verdict {
        match verdict {
            Verdict::Fail | Verdict::Warn if self.baseline.covers(id) => Verdict::Expected,
            Verdict::Warn if self.strict => Verdict::Fail,
            verdict => verdict,
        }
    }

    /// Baseline entries that expect what did not happen in any of the runs.
    pub fn stale(&self, runs: &[RunReport]) -> Vec<String> {
        let verdicts = runs
            .iter()
            .flat_map(|run| &run.checks)
            .map(|check| (check.id, check.verdict));
        self.baseline.stale(verdicts)
    }
}

/// `text` with every secret value taken out.
pub fn redact(secrets: &[String], text: &str) -> String {
    let mut text = text.to_owned();
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        text = text.replace(secret.as_str(), "(redacted)");
    }
    text
}

/// The same fact seen at several places (in two walks, in list and get) is one finding, shown at
/// the first of them.
fn merge(findings: Vec<Finding>) -> Vec<Finding> {
    let mut seen = HashSet::new();
    let mut fact = |finding: &Finding| {
        seen.insert((
            finding.subject.clone(),
            finding.expected.clone(),
            finding.actual.clone(),
        ))
    };
    findings
        .into_iter()
        .filter(|finding| fact(finding))
        .collect()
}

/// Whether anything was judged in a run.
pub fn exercised(run: &RunReport) -> bool {
    let judged = |verdict| {
        matches!(
            verdict,
            Verdict::Pass | Verdict::Fail | Verdict::Warn | Verdict::Note | Verdict::Expected
        )
    };
    run.checks.iter().any(|check| judged(check.verdict))
}

/// How a run counts for the exit code.
pub fn exit_of(run: &RunReport) -> Exit {
    let mut exit = Exit::Conformant;
    if run
        .checks
        .iter()
        .any(|check| check.verdict == Verdict::Fail)
    {
        exit = exit.worst(Exit::Failed);
    }
    let ended = |remark: &Remark| {
        matches!(
            remark.kind,
            RemarkKind::TargetLost | RemarkKind::Deadline | RemarkKind::BaseProtocol
        )
    };
    if run.remarks.iter().any(ended) {
        exit = exit.worst(Exit::Target);
    }
    exit
}
