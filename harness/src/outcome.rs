//! From judged checks to the report of a run: strictness, baseline, redaction, exit code.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::Value;

use crate::baseline::Baseline;
use crate::catalog;
use crate::checks::evidence::Evidence;
use crate::event::{Catalog, CheckReport, FindingReport, Remark, RemarkKind, RunReport};
use crate::exit::Exit;
use crate::judge::Judged;
use crate::verdict::{Finding, Verdict};
use crate::wire::{Revision, Transport};

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
    /// The report of one run with a server.
    pub fn report(
        &self,
        evidence: &Evidence<'_>,
        judged: Vec<Judged>,
        remarks: Vec<Remark>,
        took: Duration,
    ) -> RunReport {
        let trace = evidence.trace();
        RunReport {
            server_info: self.redacted(catalog::server_info(trace)),
            catalog: catalog::of(evidence),
            ..self.run(trace.revision, trace.transport, judged, remarks, took)
        }
    }

    /// The report of one run with a host.
    pub fn host_report(
        &self,
        (revision, transport): (Revision, Transport),
        hello: &Value,
        judged: Vec<Judged>,
        remarks: Vec<Remark>,
        took: Duration,
    ) -> RunReport {
        let info = |name: &str| {
            (
                name.to_owned(),
                hello.get(name).cloned().unwrap_or_default(),
            )
        };
        RunReport {
            host_info: self.redacted(Value::from_iter([info("name"), info("version")])),
            ..self.run(revision, transport, judged, remarks, took)
        }
    }

    fn run(
        &self,
        revision: Revision,
        transport: Transport,
        judged: Vec<Judged>,
        remarks: Vec<Remark>,
        took: Duration,
    ) -> RunReport {
        let remarks = remarks.into_iter().map(|remark| Remark {
            text: redact(&self.secrets, &remark.text),
            ..remark
        });
        RunReport {
            protocol: revision.to_string(),
            transport: transport.to_string(),
            server_info: Value::Null,
            host_info: Value::Null,
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            catalog: Catalog::default(),
            unimplemented: Vec::new(),
            remarks: remarks.collect(),
            checks: judged
                .into_iter()
                .map(|judged| self.check(revision, judged))
                .collect(),
        }
    }

    fn redacted(&self, value: Value) -> Value {
        if self.secrets.is_empty() {
            return value;
        }
        serde_json::from_str(&redact(&self.secrets, &value.to_string())).unwrap_or_default()
    }

    fn check(&self, revision: Revision, judged: Judged) -> CheckReport {
        let redact = |text: &str| redact(&self.secrets, text);
        let findings = merge(judged.findings)
            .into_iter()
            .map(|finding| FindingReport {
                fingerprint: finding.fingerprint(judged.id),
                replay: (self.replay)(revision, judged.id),
                at: finding.at,
                scenario: finding.scenario,
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
    let has = |kind| run.remarks.iter().any(|remark| remark.kind == kind);
    if has(RemarkKind::Required) {
        exit = exit.worst(Exit::Failed);
    }
    if has(RemarkKind::NoWitness) {
        exit = exit.worst(Exit::Nothing);
    }
    if run.remarks.iter().any(ended) {
        exit = exit.worst(Exit::Target);
    }
    exit
}
