//! A report made by hand, for the tests of the reporters.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::event::{
    Catalog, CheckReport, FindingReport, Remark, RemarkKind, Report, RunReport, TargetDescription,
    Tool,
};
use crate::spec::Spec;
use crate::verdict::{Severity, Side, Verdict};
use crate::wire::trace::Place;

/// Rows for some of the checks of [`report`].
pub fn spec() -> &'static Spec {
    let text = "\
sep: 2640
spec_url: https://example.org/
requirements:
  - {check: sep-2640-digest, level: MUST, actor: server, section: '#resources', text: The digest is that of the bytes.}
  - {check: sep-2640-digest, level: MUST, actor: server, section: '#resources', text: Second row.}
  - {check: sep-2640-sorted, level: SHOULD, actor: server, section: '#listing', text: The listing is in order.}
";
    Box::leak(Box::new(Spec::parse(text).unwrap()))
}

fn check(id: &'static str, verdict: Verdict, reason: Option<&str>) -> CheckReport {
    CheckReport {
        id,
        level: "MUST".into(),
        severity: Severity::Fail,
        section: "#resources".into(),
        examined: 1,
        verdict,
        reason: reason.map(str::to_owned),
        findings: Vec::new(),
    }
}

fn finding(number: usize, actual: &str) -> FindingReport {
    FindingReport {
        at: Place {
            frame: 8 + number,
            pointer: "/result/contents/0".into(),
        },
        scenario: None,
        subject: format!("skill://refunds/{number}.md"),
        expected: "sha256:aa".into(),
        actual: actual.into(),
        fingerprint: "c7f2a1".into(),
        replay:
            "sep2640-conform server --protocol 2026-07-28 --filter sep-2640-digest -- ./my-server"
                .into(),
    }
}

fn run(protocol: &str, server_info: Value, checks: Vec<CheckReport>) -> RunReport {
    RunReport {
        protocol: protocol.into(),
        transport: "stdio".into(),
        server_info,
        host_info: Value::Null,
        unimplemented: Vec::new(),
        duration_ms: 41,
        catalog: Catalog {
            skills: 12,
            files: 40,
            bytes: 91_231,
            sampled: false,
        },
        remarks: Vec::new(),
        checks,
    }
}

/// One revision with each verdict, one on which the extension is missing, one not run.
pub fn report() -> Report {
    let mut digest = check("sep-2640-digest", Verdict::Fail, None);
    digest.examined = 40;
    digest.findings = vec![
        finding(1, "sha256:bb"),
        finding(2, "evil\u{202e}\u{1b}[2J\nbytes"),
        finding(3, "none"),
        finding(4, "none"),
    ];
    let mut sorted = check("sep-2640-sorted", Verdict::Warn, None);
    sorted.level = "SHOULD".into();
    sorted.severity = Severity::Warn;
    sorted.section = "#listing".into();
    sorted.findings = vec![finding(1, "b before a")];
    let nothing = Some("nothing in the trace to judge");
    let first = run(
        "2026-07-28",
        json!({"name": "my\u{200b}server", "version": "1.2.0"}),
        vec![
            check("sep-2640-good", Verdict::Pass, None),
            digest,
            sorted,
            check("sep-2640-a", Verdict::NotExercised, nothing),
            check(
                "sep-2640-b",
                Verdict::NotExercised,
                Some("the listing has one page"),
            ),
            check("sep-2640-c", Verdict::NotExercised, nothing),
            check(
                "sep-2640-d",
                Verdict::Blocked,
                Some("follows from sep-2640-digest"),
            ),
            check("sep-2640-e", Verdict::Expected, None),
        ],
    );
    let absent = Some("the extension is not declared");
    let mut second = run(
        "2025-11-25",
        Value::Null,
        vec![
            check("sep-2640-good", Verdict::NotApplicable, absent),
            check("sep-2640-digest", Verdict::NotApplicable, absent),
        ],
    );
    second.catalog = Catalog::default();
    second.remarks = vec![Remark {
        kind: RemarkKind::ExtensionAbsent,
        text: "the server does not declare the extension".into(),
    }];
    let mut summary = BTreeMap::new();
    for check in [&first, &second].into_iter().flat_map(|run| &run.checks) {
        *summary.entry(check.verdict).or_default() += 1;
    }
    Report {
        schema: "sep2640-conform/report/v1",
        tool: Tool::THIS,
        side: Side::Server,
        target: TargetDescription {
            command: Some(vec!["./my-server".into(), "a b".into()]),
            url: None,
        },
        seed: 7,
        exit: 1,
        runs: vec![first, second],
        skipped: BTreeMap::from([("2024-11-05".into(), "the target\ndoes not speak it".into())]),
        stale: Vec::new(),
        summary,
    }
}
