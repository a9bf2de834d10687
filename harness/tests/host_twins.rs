//! The proof that the host checks work: the honest reference host passes all of them, and with a
//! fault exactly the fault's check fails. Asserted as equality of sets: over all scenarios on one
//! revision, and over those that exercise the check on both revisions and both transports.

mod common;

use std::collections::BTreeSet;

use common::host::{broken, run};
use common::in_parallel;
use sep2640_conform::event::RunReport;
use sep2640_conform::exit::Exit;
use sep2640_conform::scenario::script::Script;
use sep2640_conform::verdict::Verdict;
use sep2640_conform::wire::{Revision, Transport};
use sep2640_reference::{Fault, host_faults};

const TRANSPORTS: [Transport; 2] = [Transport::Stdio, Transport::Http];

fn report(
    fault: Option<&str>,
    transport: Transport,
    revision: Revision,
    wanted: impl Fn(&Script) -> bool,
) -> RunReport {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let outcome = runtime.block_on(run(fault, transport, revision, wanted));
    assert!(
        outcome.unreachable.is_none(),
        "{fault:?}: {:?}",
        outcome.unreachable
    );
    outcome.report.runs.into_iter().next().unwrap()
}

#[test]
fn the_honest_host_passes_everything() {
    let jobs = TRANSPORTS
        .into_iter()
        .flat_map(|transport| Revision::ALL.map(|revision| (transport, revision)))
        .collect();
    let wrong = in_parallel(jobs, |(transport, revision)| {
        let report = report(None, transport, revision, |_| true);
        let odd: Vec<String> = report
            .checks
            .iter()
            .filter(|check| !matches!(check.verdict, Verdict::Pass | Verdict::NotApplicable))
            .map(|check| format!("{} {}: {:?}", check.id, check.verdict.key(), check.findings))
            .chain(report.remarks.iter().map(|remark| remark.text.clone()))
            .collect();
        (!odd.is_empty()).then(|| format!("{transport} {revision}: {}", odd.join("\n")))
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The revisions on which a fault shows.
fn revisions(fault: &Fault) -> Vec<Revision> {
    Revision::ALL
        .into_iter()
        .filter(|revision| fault.revisions.is_empty() || fault.revisions.contains(&revision.name()))
        .collect()
}

fn exercises(script: &Script, fault: &Fault) -> bool {
    script.exercises.iter().any(|id| id == fault.check)
}

/// A scenario that waits longer than all others together, for the sake of the check that it exercises.
fn is_slow(script: &Script) -> bool {
    script.name == "host/left-alone"
}

fn differs(fault: &'static Fault, found: &RunReport, place: &str) -> Option<String> {
    let found = broken(found);
    let wanted = BTreeSet::from([fault.check]);
    (found != wanted).then(|| {
        let found: Vec<_> = found.into_iter().collect();
        format!("{:60} {place}: {}", fault.id, found.join(", "))
    })
}

#[test]
fn each_fault_breaks_exactly_its_check() {
    let jobs = host_faults().iter().collect();
    let wrong = in_parallel(jobs, |fault: &'static Fault| {
        let revision = revisions(fault)[0];
        let wanted = |script: &Script| exercises(script, fault) || !is_slow(script);
        let report = report(Some(fault.id), Transport::Http, revision, wanted);
        differs(fault, &report, revision.name())
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_fault_shows_on_every_revision_and_transport() {
    let mut jobs = Vec::new();
    for fault in host_faults() {
        for revision in revisions(fault) {
            jobs.extend(TRANSPORTS.map(|transport| (fault, transport, revision)));
        }
    }
    let wrong = in_parallel(jobs, |(fault, transport, revision)| {
        let wanted = |script: &Script| exercises(script, fault);
        let report = report(Some(fault.id), transport, revision, wanted);
        differs(fault, &report, &format!("{transport} {revision}"))
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_host_without_a_witness_is_not_conformant() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    // Without any scenario nothing was loaded.
    let outcome = runtime.block_on(run(None, Transport::Http, Revision::Modern, |_| false));
    assert_eq!(outcome.exit, Exit::Nothing);
}
