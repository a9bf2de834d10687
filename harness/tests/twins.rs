//! The proof that the checks work: the honest reference passes all of them, and with a fault
//! exactly the fault's check fails. Asserted as equality of sets, for every fault, over both
//! transports, on each revision that the fault applies to.

mod common;

use std::collections::BTreeSet;

use common::{Lab, broken};
use sep2640_conform::verdict::Verdict;
use sep2640_conform::wire::{Revision, Transport};
use sep2640_reference::{Channel, Fault, faults};

const TRANSPORTS: [Transport; 2] = [Transport::Stdio, Transport::Http];

#[test]
fn the_honest_twin_passes_everything() {
    let lab = Lab::new();
    let mut wrong = Vec::new();
    for transport in TRANSPORTS {
        for revision in Revision::ALL {
            let report = lab.judge(None, &[], transport, revision);
            for check in &report.checks {
                let applicable = check.verdict != Verdict::NotApplicable;
                if applicable && check.verdict != Verdict::Pass {
                    wrong.push(format!(
                        "{transport} {revision}: {} {}",
                        check.id,
                        check.verdict.key()
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_honest_twin_passes_everything_against_the_disk() {
    // A directory has neither unlisted skills nor content that is made on demand.
    const OTHER: [&str; 1] = ["sep-2640-skills-get-answers-unlisted"];
    let lab = Lab::new();
    let mut wrong = Vec::new();
    for transport in TRANSPORTS {
        for revision in Revision::ALL {
            let report = lab.judge(None, &["root"], transport, revision);
            for check in &report.checks {
                let applicable = check.verdict != Verdict::NotApplicable;
                let judged = check.id.starts_with("sep-2640-root-") || applicable;
                if judged && check.verdict != Verdict::Pass && !OTHER.contains(&check.id) {
                    wrong.push(format!(
                        "{transport} {revision}: {} {} {:?} {:?}",
                        check.id,
                        check.verdict.key(),
                        check.reason,
                        check.findings
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_honest_twin_passes_everything_to_two_identities() {
    let lab = Lab::new();
    for revision in Revision::ALL {
        let report = lab.judge(None, &["identities"], Transport::Http, revision);
        assert_eq!(broken(&report), BTreeSet::new(), "{revision}");
        let of_identities = report
            .checks
            .iter()
            .filter(|check| check.id.starts_with("sep-2640-identity-"));
        for check in of_identities {
            // Nothing is marked as public, so that there is nothing to hold against that.
            let wanted = match (check.id, revision) {
                ("sep-2640-identity-public-scope", Revision::Modern) => Verdict::NotExercised,
                ("sep-2640-identity-public-scope", Revision::Legacy) => Verdict::NotApplicable,
                _ => Verdict::Pass,
            };
            assert_eq!(check.verdict, wanted, "{} {revision}", check.id);
        }
    }
}

/// Where a fault acts.
fn occasions(fault: &'static Fault) -> Vec<(&'static Fault, Transport, Revision)> {
    let mut occasions = Vec::new();
    for transport in TRANSPORTS {
        let channel = match transport {
            Transport::Stdio => Channel::Stdio,
            Transport::Http => Channel::Http,
        };
        if fault.transport.is_some_and(|only| only != channel) {
            continue;
        }
        for revision in Revision::ALL {
            if fault.revisions.is_empty() || fault.revisions.contains(&revision.name()) {
                occasions.push((fault, transport, revision));
            }
        }
    }
    occasions
}

/// `SEP2640_FAULTS=WORD,WORD` picks the faults whose id contains one of the words, while you work on
/// them.
fn chosen(id: &str) -> bool {
    match std::env::var("SEP2640_FAULTS") {
        Ok(words) => words.split(',').any(|word| id.contains(word)),
        Err(_) => true,
    }
}

#[test]
fn each_fault_breaks_exactly_its_check() {
    let lab = Lab::new();
    let jobs = faults()
        .iter()
        .filter(|fault| chosen(fault.id))
        .flat_map(occasions)
        .collect();
    let wrong = lab.in_parallel(jobs, |lab, (fault, transport, revision)| {
        let report = lab.judge(Some(fault.id), fault.needs, transport, revision);
        let found = broken(&report);
        let wanted = BTreeSet::from([fault.check]);
        let occasion = (fault, transport, revision);
        if found == wanted && occasion == occasions(fault)[0] {
            // As the line under a finding has it: with the one check, and what is played for it.
            let again = broken(&lab.replay(fault, transport, revision));
            let words = || format!("{}: cannot be seen again with --filter", fault.id);
            return (again != wanted).then(words);
        }
        (found != wanted).then(|| {
            let found: Vec<_> = found.into_iter().collect();
            format!(
                "{:60} {transport:5} {revision}: {}",
                fault.id,
                found.join(", ")
            )
        })
    });
    assert!(
        wrong.is_empty(),
        "{} of the faults' runs differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
