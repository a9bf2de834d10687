//! From a trace to verdicts: runs every check of a side, joins levels from the specification,
//! and resolves which findings follow from others.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{iter, thread};

use crate::checks::evidence::Evidence;
use crate::checks::host::driven;
use crate::checks::host::view::View;
use crate::checks::{Check, Judge, Needs};
use crate::spec::{Level, Spec};
use crate::verdict::{Finding, Judgement, Severity, Verdict};
use crate::wire::scene::Scene;
use crate::wire::trace::Trace;
use crate::wire::{Revision, Transport};

/// One check, judged.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The check's id.
    pub id: &'static str,
    /// The strongest level of its requirement rows.
    pub level: Level,
    /// What a violation amounts to.
    pub severity: Severity,
    /// Section of the specification.
    pub section: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Why, for verdicts that need a reason.
    pub reason: Option<String>,
    /// How many things were examined.
    pub examined: usize,
    /// Violations that do not follow from the failure of another check, in order of place.
    pub findings: Vec<Finding>,
}

/// Judges the evidence with `checks`, in their order.
///
/// A finding whose cause is also the cause of a finding of a check named in `after` is not
/// counted: it follows from that one. A check left with such findings only is blocked.
pub fn judge(evidence: &Evidence<'_>, checks: &[&'static Check], spec: &Spec) -> Vec<Judged> {
    let specs = spec.checks();
    let trace = evidence.trace();
    let declared = trace.extension().is_some();
    let directory_read = trace.directory_read();
    let judge_one = |check: &'static Check| {
        let bound = specs
            .get(check.id)
            .and_then(|spec| spec.inapplicable(trace.revision, trace.transport))
            .or_else(|| match check.needs {
                Needs::Extension if !declared => Some("the extension is not declared".to_owned()),
                Needs::DirectoryRead if !declared => {
                    Some("the extension is not declared".to_owned())
                }
                Needs::DirectoryRead if !directory_read => {
                    Some("directoryRead is not declared".to_owned())
                }
                Needs::Root if !declared => Some("the extension is not declared".to_owned()),
                Needs::Identities if !declared => Some("the extension is not declared".to_owned()),
                Needs::Identities if !trace.identities => {
                    Some("no second identity was given with --as".to_owned())
                }
                Needs::Root if trace.disk.is_none() => Some("no --root was given".to_owned()),
                _ => None,
            });
        match bound {
            Some(why) => Judgement::not_applicable(why),
            None => match check.judge {
                Judge::Server(judge) => judge(evidence),
                Judge::Host(_) => Judgement::new(),
            },
        }
    };
    let judgements = side_by_side(checks, threads(trace), judge_one);
    grade(checks, &judgements, spec)
}
/// Judges scenes with a host; all of them count together.
pub fn judge_scenes(
    revision: Revision,
    transport: Transport,
    scenes: &[Scene],
    checks: &[&'static Check],
    spec: &Spec,
) -> Vec<Judged> {
    let specs = spec.checks();
    let views: Vec<View<'_>> = scenes.iter().map(View::new).collect();
    let mut judgements: HashMap<&str, Judgement> = HashMap::new();
    let driven = scenes.iter().any(|scene| scene.official.is_some());
    for check in checks {
        let bound = specs
            .get(check.id)
            .and_then(|spec| spec.inapplicable(revision, transport));
        let judgement = match (bound, check.judge) {
            (None, _) if driven => judge_driven(check.id, &views),
            (Some(why), _) => Judgement::not_applicable(why),
            (None, Judge::Host(judge)) => judge_views(check.id, judge, &views),
            (None, Judge::Server(_)) => Judgement::new(),
        };
        judgements.insert(check.id, judgement);
    }
    grade(checks, &judgements, spec)
}

fn judge_views(id: &str, judge: fn(&View<'_>, &mut Judgement), views: &[View<'_>]) -> Judgement {
    let mut all = Judgement::new();
    let mut unimplemented: BTreeSet<&str> = BTreeSet::new();
    let mut witnessed = false;
    for view in views {
        let mut judgement = Judgement::new();
        judge(view, &mut judgement);
        let scenario = &view.scene.scenario;
        all.examined += judgement.examined;
        all.findings
            .extend(judgement.findings.into_iter().map(|finding| Finding {
                cause: format!("{scenario} {}", finding.cause),
                scenario: Some(scenario.clone()),
                ..finding
            }));
        if view.scene.exercises.iter().any(|exercised| exercised == id) {
            unimplemented.extend(view.unimplemented());
            witnessed = witnessed || view.witnessed();
        }
    }
    if !unimplemented.is_empty() {
        let verbs: Vec<&str> = unimplemented.into_iter().collect();
        all.unexercised = Some(format!(
            "the adapter does not implement {}",
            verbs.join(", ")
        ));
    } else if !witnessed {
        all.unexercised =
            Some("the host loaded no skill, so what it refuses means nothing".to_owned());
    }
    all
}

/// The same for scenes with a host that a driver ran, which only the wire tells of.
fn judge_driven(id: &str, views: &[View<'_>]) -> Judgement {
    let Some(judge) = driven::judge_of(id) else {
        return Judgement {
            unexercised: Some(driven::BLIND.to_owned()),
            ..Judgement::new()
        };
    };
    let mut all = judge_views(id, judge, views);
    let mut why = None;
    for view in views {
        let mut judgement = Judgement::new();
        judge(view, &mut judgement);
        why = why.or(judgement.unexercised);
    }
    all.unexercised = why.or_else(|| Some("its scenario was not played".to_owned()));
    all
}

/// Joins levels from the specification, and resolves what follows from what.
fn grade(
    checks: &[&'static Check],
    judgements: &HashMap<&str, Judgement>,
    spec: &Spec,
) -> Vec<Judged> {
    let specs = spec.checks();
    checks
        .iter()
        .map(|check| {
            let judgement = &judgements[check.id];
            let blind = judgement.unexercised.as_deref() == Some(driven::BLIND);
            let causes = match blind {
                true => Vec::new(),
                false => causes(check, checks, judgements),
            };
            let spec = &specs.get(check.id);
            let severity = spec.map_or(Severity::Fail, |spec| spec.severity);
            let (verdict, reason, findings) = resolve(judgement, severity, &causes);
            Judged {
                id: check.id,
                level: spec.map_or(Level::Implied, |spec| spec.level),
                severity,
                section: spec.map_or_else(String::new, |spec| spec.section().to_owned()),
                verdict,
                reason,
                examined: judgement.examined,
                findings,
            }
        })
        .collect()
}

/// How many threads judge: on a small trace, one is quicker than starting others.
fn threads(trace: &Trace) -> usize {
    const FRAMES_EACH: usize = 2000;
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    cores.min(1 + trace.frames.len() / FRAMES_EACH)
}

/// Judges every check on one of so many threads. Each takes the next check that is left, so that
/// long ones do not pile up on one of them; which thread judges what makes no difference, since a
/// check sees nothing but the trace.
fn side_by_side(
    checks: &[&'static Check],
    threads: usize,
    judge: impl Fn(&'static Check) -> Judgement + Sync,
) -> HashMap<&'static str, Judgement> {
    let next = AtomicUsize::new(0);
    let work = || {
        let index = || next.fetch_add(1, Ordering::Relaxed);
        let rest = iter::from_fn(|| checks.get(index()));
        rest.map(|check| (check.id, judge(check)))
            .collect::<Vec<_>>()
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut judgements: HashMap<_, _> = work().into_iter().collect();
        for other in others {
            match other.join() {
                Ok(judged) => judgements.extend(judged),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        judgements
    })
}

/// The checks that come before this one, directly or not, and have findings of their own.
fn causes<'a>(
    check: &Check,
    checks: &[&'static Check],
    judgements: &'a HashMap<&str, Judgement>,
) -> Vec<(&'static str, &'a Judgement)> {
    let mut seen = HashSet::new();
    let mut open: Vec<&'static str> = check.after.to_vec();
    let mut causes = Vec::new();
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        if let Some(judgement) = judgements
            .get(id)
            .filter(|judgement| !judgement.findings.is_empty())
        {
            causes.push((id, judgement));
        }
        if let Some(before) = checks.iter().find(|check| check.id == id) {
            open.extend(before.after);
        }
    }
    causes.sort_by_key(|(id, _)| *id);
    causes
}

fn resolve(
    judgement: &Judgement,
    severity: Severity,
    causes: &[(&'static str, &Judgement)],
) -> (Verdict, Option<String>, Vec<Finding>) {
    if let Some(why) = &judgement.inapplicable {
        return (Verdict::NotApplicable, Some(why.clone()), Vec::new());
    }
    let cause_of = |finding: &Finding| {
        causes
            .iter()
            .find(|(_, cause)| {
                cause
                    .findings
                    .iter()
                    .any(|earlier| earlier.cause == finding.cause)
            })
            .map(|(id, _)| *id)
    };
    let mut blocking: Option<&'static str> = None;
    let mut findings = Vec::new();
    for finding in &judgement.findings {
        match cause_of(finding) {
            Some(id) => blocking = Some(id),
            None => findings.push(finding.clone()),
        }
    }
    findings.sort_by(|a, b| a.at.cmp(&b.at));
    if !findings.is_empty() {
        return (severity.into(), None, findings);
    }
    if let Some(id) = blocking {
        return (
            Verdict::Blocked,
            Some(format!("follows from {id}")),
            Vec::new(),
        );
    }
    if judgement.examined > 0 {
        return (Verdict::Pass, None, Vec::new());
    }
    if let Some((id, _)) = causes.first() {
        return (
            Verdict::Blocked,
            Some(format!("nothing to judge after {id} failed")),
            Vec::new(),
        );
    }
    let why = judgement
        .unexercised
        .clone()
        .unwrap_or_else(|| "nothing in the trace to judge".to_owned());
    (Verdict::NotExercised, Some(why), Vec::new())
}
