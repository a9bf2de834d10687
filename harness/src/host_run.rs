//! A whole run against a host: plays the scenarios on each revision, judges the scenes and tells
//! reporters.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use crate::checks::Check;
use crate::checks::host::driven;
use crate::checks::host::view::View;
use crate::event::{Event, Remark, RemarkKind, Report, RunReport, TargetDescription, Tool};
use crate::exit::Exit;
use crate::judge::{self, Judged};
use crate::outcome::{self, Rules};
use crate::scenario::perform::{Company, Via};
use crate::scenario::script::Script;
use crate::spec::Spec;
use crate::target::{TargetError, TargetSpec};
use crate::verdict::{Side, Verdict};
use crate::wire::scene::Scene;
use crate::wire::{Revision, Transport};

/// How often an adapter may be lost before the run is given up.
const LOSSES: usize = 5;

/// Everything that a run against a host needs to know.
pub struct HostPlan {
    /// The adapter or the driver.
    pub target: TargetSpec,
    /// Which of them it is.
    pub via: Via,
    /// The same for reports, without secrets.
    pub description: TargetDescription,
    /// Revisions, in order.
    pub revisions: Vec<Revision>,
    /// What carries the messages between host and servers.
    pub transport: Transport,
    /// The path of this program, which hosts start to reach servers over stdio.
    pub program: String,
    /// How long the adapter may take for one call, or the driver for one scenario.
    pub timeout: Duration,
    /// How long the run may take in all.
    pub deadline: Duration,
    /// Scenarios, in order.
    pub scripts: Vec<Script>,
    /// Checks, in order.
    pub checks: Vec<&'static Check>,
    /// Verbs that have to be implemented.
    pub require: Vec<String>,
    /// Whether the outcome keeps the scenes.
    pub keep_scenes: bool,
    /// Whether to stop playing once a check has failed.
    pub fail_fast: bool,
    /// How judged checks become a report.
    pub rules: Rules,
}

/// What came of a run.
pub struct HostOutcome {
    /// The report.
    pub report: Report,
    /// How the process should exit.
    pub exit: Exit,
    /// Why the adapter could not be used, when it could not.
    pub unreachable: Option<TargetError>,
    /// The scenes, one list for each revision, where the plan keeps them.
    pub scenes: Vec<Vec<Scene>>,
}

/// Runs a plan; `emit` is told what happens as it happens.
pub async fn run(plan: &HostPlan, mut emit: impl FnMut(Event)) -> HostOutcome {
    let until = Instant::now() + plan.deadline;
    let mut runs = Vec::new();
    let mut kept = Vec::new();
    let mut skipped = BTreeMap::new();
    let mut unreachable = None;
    let mut exit = Exit::Conformant;
    for revision in &plan.revisions {
        let begun = Instant::now();
        let played = play_all(plan, *revision, until, &mut emit).await;
        let Played {
            scenes,
            hello,
            mut remarks,
            trouble,
        } = played;
        if let Some(error) = trouble {
            exit = exit.worst(Exit::Target);
            if scenes.is_empty() {
                emit(Event::RevisionSkipped {
                    protocol: revision.to_string(),
                    why: error.message.clone(),
                });
                skipped.insert(revision.to_string(), error.message.clone());
                unreachable = Some(error);
                continue;
            }
            remarks.push(Remark {
                kind: RemarkKind::TargetLost,
                text: error.message.clone(),
            });
            unreachable = Some(error);
        }
        let mut judged = judge::judge_scenes(
            *revision,
            plan.transport,
            &scenes,
            &plan.checks,
            Spec::get(),
        );
        let mut unimplemented = unimplemented(&scenes);
        let left = leave(&mut judged, &hello);
        remarks.extend(match plan.via {
            Via::Adapter => gaps(plan, &scenes, &unimplemented),
            Via::Argv => unseen(&judged).into_iter().collect(),
        });
        if !left.is_empty() {
            remarks.push(Remark {
                kind: RemarkKind::Unimplemented,
                text: format!("left to the caller, says the adapter: {}", left.join(", ")),
            });
        }
        unimplemented.extend(left);
        let report = RunReport {
            unimplemented,
            ..plan.rules.host_report(
                (*revision, plan.transport),
                &hello,
                judged,
                remarks,
                begun.elapsed(),
            )
        };
        exit = exit.worst(outcome::exit_of(&report));
        emit(Event::RunFinished(Box::new(report.clone())));
        runs.push(report);
        if plan.keep_scenes {
            kept.push(scenes);
        }
        if plan.fail_fast && exit == Exit::Failed {
            break;
        }
    }
    if !runs.iter().any(outcome::exercised) && !runs.is_empty() {
        exit = exit.worst(Exit::Nothing);
    }
    let stale = plan.rules.stale(&runs);
    if !stale.is_empty() {
        exit = exit.worst(Exit::Failed);
    }
    let mut summary = BTreeMap::new();
    for check in runs.iter().flat_map(|run| &run.checks) {
        *summary.entry(check.verdict).or_insert(0) += 1;
    }
    HostOutcome {
        report: Report {
            schema: "sep2640-conform/report/v1",
            tool: Tool::THIS,
            side: Side::Host,
            target: plan.description.clone(),
            seed: 0,
            exit: exit.code(),
            runs,
            skipped,
            stale,
            summary,
        },
        exit,
        unreachable,
        scenes: kept,
    }
}

/// What came of playing all scenarios on one revision.
struct Played {
    scenes: Vec<Scene>,
    hello: serde_json::Value,
    remarks: Vec<Remark>,
    /// Why not all of them could be played.
    trouble: Option<TargetError>,
}

async fn play_all(
    plan: &HostPlan,
    revision: Revision,
    until: Instant,
    emit: &mut impl FnMut(Event),
) -> Played {
    let mut played = Played {
        scenes: Vec::new(),
        hello: serde_json::Value::Null,
        remarks: Vec::new(),
        trouble: None,
    };
    let applies =
        |script: &&Script| script.revisions.is_empty() || script.revisions.contains(&revision);
    let scripts: Vec<&Script> = plan.scripts.iter().filter(applies).collect();
    emit(Event::RunStarted {
        protocol: revision.to_string(),
        transport: plan.transport.to_string(),
        scenarios: scripts.len(),
    });
    let company = Company::assemble(
        (plan.target.clone(), plan.via),
        revision,
        plan.transport,
        &plan.program,
        plan.timeout,
    );
    let mut company = match company.await {
        Ok(company) => company,
        Err(error) => {
            played.trouble = Some(TargetError::new(format!("cannot set the stage: {error}")));
            return played;
        }
    };
    for (index, script) in scripts.iter().enumerate() {
        emit(Event::ScenarioStarted {
            name: script.name.clone(),
            index: index + 1,
        });
        match tokio::time::timeout_at(until, company.play(script)).await {
            Ok(Ok(scene)) => played.scenes.push(scene),
            Ok(Err(error)) => {
                played.trouble = Some(error);
                break;
            }
            Err(_) => {
                played.remarks.push(Remark {
                    kind: RemarkKind::Deadline,
                    text: format!("the deadline was reached in {}", script.name),
                });
                break;
            }
        }
        if company.losses.len() > LOSSES {
            played.trouble = company.losses.last().cloned();
            break;
        }
        if plan.fail_fast && has_failed(plan, revision, &played.scenes) {
            break;
        }
    }
    company.leave().await;
    played.hello = std::mem::take(&mut company.hello);
    if let Some(first) = company.losses.first() {
        let text = match (plan.via, company.losses.len()) {
            (Via::Argv, 1) => format!("the driver was killed once ({})", first.message),
            (Via::Argv, count) => format!(
                "the driver was killed {count} times (first: {})",
                first.message
            ),
            (_, 1) => format!(
                "the adapter was lost once and started again ({})",
                first.message
            ),
            (_, count) => format!(
                "the adapter was lost {count} times and started again (first: {})",
                first.message
            ),
        };
        played.remarks.push(Remark {
            kind: RemarkKind::Restarted,
            text,
        });
    }
    played
}

fn has_failed(plan: &HostPlan, revision: Revision, scenes: &[Scene]) -> bool {
    let judged = judge::judge_scenes(revision, plan.transport, scenes, &plan.checks, Spec::get());
    judged.iter().any(|judged| judged.verdict == Verdict::Fail)
}

/// The verbs that scenarios asked for and the adapter does not have.
fn unimplemented(scenes: &[Scene]) -> Vec<String> {
    let views: Vec<View<'_>> = scenes.iter().map(View::new).collect();
    let forms: BTreeSet<&str> = views.iter().flat_map(View::unimplemented).collect();
    // Without the verb there are no forms of it.
    let lacks = |other: &str, form: &str| other != form && is_of(form, other);
    let told = |form: &&&str| !forms.iter().any(|other| lacks(other, form));
    forms
        .iter()
        .filter(told)
        .map(|form| (*form).to_owned())
        .collect()
}

/// What a library leaves to the program that uses it is no fault of the library: where its adapter
/// says so in `hello`, the checks of these duties are left open. Returns those that would have failed
/// or warned.
fn leave(judged: &mut [Judged], hello: &serde_json::Value) -> Vec<String> {
    let named = hello.get("leaves").and_then(serde_json::Value::as_array);
    let named: BTreeSet<&str> = named
        .into_iter()
        .flatten()
        .filter_map(serde_json::Value::as_str)
        .collect();
    let mut left = Vec::new();
    for check in judged.iter_mut().filter(|check| named.contains(check.id)) {
        if matches!(check.verdict, Verdict::Fail | Verdict::Warn | Verdict::Note) {
            check.verdict = Verdict::NotExercised;
            check.reason = Some("the adapter says that it is left to the caller".to_owned());
            check.findings.clear();
            left.push(check.id.to_owned());
        }
    }
    left
}

/// What a driver has left open of what a driver can show.
fn unseen(judged: &[Judged]) -> Option<Remark> {
    let open: Vec<&str> = judged
        .iter()
        .filter(|judged| driven::judge_of(judged.id).is_some())
        .filter(|judged| judged.verdict == Verdict::NotExercised)
        .map(|judged| judged.id)
        .collect();
    (!open.is_empty()).then(|| Remark {
        kind: RemarkKind::NoWitness,
        text: format!("the driver gave nothing to judge for {}", open.join(", ")),
    })
}

/// Whether what is not implemented is a verb or a form of it.
fn is_of(form: &str, verb: &str) -> bool {
    form.strip_prefix(verb)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// What a reader must know of what could not be seen.
fn gaps(plan: &HostPlan, scenes: &[Scene], unimplemented: &[String]) -> Vec<Remark> {
    let mut remarks = Vec::new();
    if !unimplemented.is_empty() {
        remarks.push(Remark {
            kind: RemarkKind::Unimplemented,
            text: format!(
                "the adapter does not implement {}",
                unimplemented.join(", ")
            ),
        });
    }
    let missing: Vec<&str> = plan
        .require
        .iter()
        .filter(|verb| unimplemented.iter().any(|form| is_of(form, verb)))
        .map(String::as_str)
        .collect();
    if !missing.is_empty() {
        remarks.push(Remark {
            kind: RemarkKind::Required,
            text: format!("required, but not implemented: {}", missing.join(", ")),
        });
    }
    if !scenes.iter().any(|scene| View::new(scene).witnessed()) {
        remarks.push(Remark {
            kind: RemarkKind::NoWitness,
            text: "the host loaded no skill in any scenario, so what it refuses means nothing"
                .to_owned(),
        });
    }
    remarks
}
