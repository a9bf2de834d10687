//! A target that goes away: what was under way with it is not blamed.

mod common;

use common::{Lab, PROGRAM};
use sep2640_conform::event::{RemarkKind, RunReport};
use sep2640_conform::run::Protocols;
use sep2640_conform::target::TargetSpec;
use sep2640_conform::verdict::Verdict;
use sep2640_conform::wire::Revision;

/// The reference server behind a filter that ends it when a line matches the shell pattern.
fn dies_on(pattern: &str) -> RunReport {
    let script = format!(
        r#"while IFS= read -r line; do case "$line" in {pattern}) exit 9;; esac; printf '%s\n' "$line"; done | "{PROGRAM}" reference server"#
    );
    let target = TargetSpec::Command {
        argv: ["sh", "-c", &script].map(str::to_owned).to_vec(),
        cwd: None,
        env: Vec::new(),
    };
    let mut outcome = Lab::new().run_target(target, Protocols::One(Revision::Modern));
    assert!(outcome.unreachable.is_none(), "{:?}", outcome.unreachable);
    outcome.report.runs.remove(0)
}

#[test]
fn only_the_request_that_kills_the_server_counts() {
    let report = dies_on(r#"*'"skills/get"'*merge-helper/SKILL.md*"#);
    let failed: Vec<_> = report
        .checks
        .iter()
        .filter(|check| check.verdict == Verdict::Fail)
        .collect();
    let ids: Vec<_> = failed.iter().map(|check| check.id).collect();
    assert_eq!(ids, ["sep-2640-skills-get-answers-listed"]);
    let subjects: Vec<_> = failed[0]
        .findings
        .iter()
        .map(|finding| finding.subject.as_str())
        .collect();
    assert_eq!(
        subjects,
        ["skills/get skill://pdf-processing/merge-helper/SKILL.md"]
    );
    let kinds: Vec<_> = report.remarks.iter().map(|remark| remark.kind).collect();
    assert_eq!(kinds, [RemarkKind::Restarted], "{:?}", report.remarks);
}

#[test]
fn a_server_that_dies_on_everything_is_lost_and_said_to_be() {
    let report = dies_on(r#"*'"resources/read"'*"#);
    // Each of them asked for a read, alone.
    let of_reads = [
        "sep-2640-skillmd-required",
        "sep-2640-resources-readable",
        "sep-2640-read-unknown-file-invalid-params",
        "sep-2640-alive-after-malformed",
    ];
    for check in &report.checks {
        if check.verdict == Verdict::Fail {
            assert!(of_reads.contains(&check.id), "{}", check.id);
        }
    }
    assert!(
        report
            .remarks
            .iter()
            .any(|remark| remark.kind == RemarkKind::Bounded)
    );
}
