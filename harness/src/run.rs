//! A whole run: opens the target on each revision, plays the scenarios, judges the traces and
//! tells reporters.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::checks::Check;
use crate::checks::evidence::Evidence;
use crate::event::{Event, Remark, RemarkKind, Report, TargetDescription, Tool};
use crate::exit::Exit;
use crate::judge;
use crate::outcome::{self, Rules};
use crate::scenario::file::Scenario;
use crate::scenario::play::{self, Bounds, Facts, Player, Stop};
use crate::spec::Spec;
use crate::target::handshake::Refusal;
use crate::target::session::Session;
use crate::target::{Identity, Limits, TargetError, TargetSpec};
use crate::verdict::{Side, Verdict};
use crate::wire::Revision;
use crate::wire::disk::Disk;
use crate::wire::trace::{Trace, shorten};

/// How many files that could not be read get a remark each.
const UNREAD: usize = 5;
/// Why something was not done under `--fail-fast`.
const STOPPED: &str = "a check had failed before (--fail-fast)";

/// Which revisions to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocols {
    /// Each revision that the target speaks.
    Auto,
    /// Both; a target that does not speak one of them is an error.
    All,
    /// This one.
    One(Revision),
}

/// Everything that a run needs to know.
pub struct Plan {
    /// What is tested.
    pub target: TargetSpec,
    /// The same for reports, without secrets.
    pub description: TargetDescription,
    /// Revisions.
    pub protocols: Protocols,
    /// Bounds of each session.
    pub limits: Limits,
    /// Bounds of the player.
    pub bounds: Bounds,
    /// How long the run may take in all.
    pub deadline: Duration,
    /// Scenarios, in order.
    pub scenarios: Vec<&'static Scenario>,
    /// Checks, in order.
    pub checks: Vec<&'static Check>,
    /// Whether undeclared methods are probed.
    pub probe_undeclared: bool,
    /// URIs of skills that the user named.
    pub named_skills: Vec<String>,
    /// The directory that the target serves, if the user named it.
    pub disk: Option<Arc<Disk>>,
    /// Further identities as which an HTTP endpoint is asked.
    pub identities: Vec<Identity>,
    /// Whether the outcome keeps the traces; a large catalog's take hundreds of megabytes.
    pub keep_traces: bool,
    /// Whether to stop playing once a check has failed.
    pub fail_fast: bool,
    /// How judged checks become a report.
    pub rules: Rules,
}

/// What came of a run.
pub struct Outcome {
    /// The report; absent when no revision could be run.
    pub report: Report,
    /// How the process should exit.
    pub exit: Exit,
    /// Why the target could not be reached, when it could not.
    pub unreachable: Option<TargetError>,
    /// The traces, one for each run, where the plan keeps them.
    pub traces: Vec<Trace>,
}

/// Runs a plan; `emit` is told what happens as it happens.
pub async fn run(plan: &Plan, mut emit: impl FnMut(Event)) -> Outcome {
    let until = Instant::now() + plan.deadline;
    let revisions: Vec<Revision> = match plan.protocols {
        Protocols::Auto | Protocols::All => Revision::ALL.to_vec(),
        Protocols::One(revision) => vec![revision],
    };
    let mut runs = Vec::new();
    let mut traces = Vec::new();
    let mut skipped = BTreeMap::new();
    let mut unreachable = None;
    let mut exit = Exit::Conformant;
    let mut left = Vec::new();
    for revision in revisions {
        if plan.fail_fast && exit == Exit::Failed {
            left.push(revision);
            continue;
        }
        let begun = Instant::now();
        let opened =
            tokio::time::timeout_at(until, Session::open(&plan.target, revision, plan.limits))
                .await;
        let session = match opened {
            Ok(Ok(session)) => session,
            Ok(Err(Refusal::NotSpoken(why))) => {
                emit(Event::RevisionSkipped {
                    protocol: revision.to_string(),
                    why: why.clone(),
                });
                skipped.insert(revision.to_string(), why);
                continue;
            }
            Ok(Err(Refusal::Unreachable(error))) => {
                emit(Event::RevisionSkipped {
                    protocol: revision.to_string(),
                    why: error.message.clone(),
                });
                skipped.insert(revision.to_string(), error.message.clone());
                unreachable = Some(error);
                continue;
            }
            Err(_) => {
                skipped.insert(
                    revision.to_string(),
                    "the deadline was reached (see --deadline)".to_owned(),
                );
                exit = exit.worst(Exit::Target);
                continue;
            }
        };
        let (trace, remarks) = play_all(plan, session, until, &mut emit).await;
        let evidence = Evidence::new(&trace);
        let mut judged = judge::judge(&evidence, &plan.checks, Spec::get());
        if remarks
            .iter()
            .any(|remark| remark.kind == RemarkKind::Stopped)
        {
            for check in &mut judged {
                if check.verdict == Verdict::NotExercised {
                    check.reason = Some(STOPPED.to_owned());
                }
            }
        }
        let report = plan
            .rules
            .report(&evidence, judged, remarks, begun.elapsed());
        drop(evidence);
        exit = exit.worst(outcome::exit_of(&report));
        emit(Event::RunFinished(Box::new(report.clone())));
        runs.push(report);
        if plan.keep_traces {
            traces.push(trace);
        } else {
            // To take apart a large one takes a while, which nobody need wait for.
            std::thread::spawn(move || drop(trace));
        }
    }
    let missed = match plan.protocols {
        // A target that speaks one revision is judged on that one.
        Protocols::Auto => runs.is_empty(),
        Protocols::All | Protocols::One(_) => !skipped.is_empty(),
    };
    if missed {
        exit = exit.worst(Exit::Target);
    } else {
        unreachable = None;
        if !runs.iter().any(outcome::exercised) {
            exit = exit.worst(Exit::Nothing);
        }
    }
    for revision in left {
        skipped.insert(revision.to_string(), STOPPED.to_owned());
    }
    let stale = plan.rules.stale(&runs);
    if !stale.is_empty() {
        exit = exit.worst(Exit::Failed);
    }
    let mut summary = BTreeMap::new();
    for check in runs.iter().flat_map(|run| &run.checks) {
        *summary.entry(check.verdict).or_insert(0) += 1;
    }
    let report = Report {
        schema: "sep2640-conform/report/v1",
        tool: Tool::THIS,
        side: Side::Server,
        target: plan.description.clone(),
        seed: plan.bounds.seed,
        exit: exit.code(),
        runs,
        skipped,
        stale,
        summary,
    };
    Outcome {
        report,
        exit,
        unreachable,
        traces,
    }
}

async fn play_all(
    plan: &Plan,
    mut session: Session,
    until: Instant,
    emit: &mut impl FnMut(Event),
) -> (Trace, Vec<Remark>) {
    let facts = facts(plan, &session);
    let scenarios: Vec<&Scenario> = match facts {
        None => Vec::new(),
        Some(facts) => {
            let applies = |scenario: &&&Scenario| play::applies(scenario, &session, &facts);
            plan.scenarios.iter().filter(applies).copied().collect()
        }
    };
    emit(Event::RunStarted {
        protocol: session.revision().to_string(),
        transport: session.transport().to_string(),
        scenarios: scenarios.len(),
    });
    let mut player = Player::new(plan.bounds, &plan.named_skills)
        .with_disk(plan.disk.clone())
        .with_identities(&plan.identities);
    let mut remarks = Vec::new();
    let mut remark = |kind, text: String| remarks.push(Remark { kind, text });
    if facts.is_none() {
        remark(
            RemarkKind::ExtensionAbsent,
            "the server does not declare the extension".to_owned(),
        );
    }
    let mut failed = false;
    let mut left = 0;
    for (index, scenario) in scenarios.iter().enumerate() {
        // Verdicts lean on a second look, so that one is taken all the same.
        if failed && !scenario.confirms {
            left += 1;
            continue;
        }
        emit(Event::ScenarioStarted {
            name: scenario.name.to_string(),
            index: index + 1,
        });
        match tokio::time::timeout_at(until, player.play(scenario, &mut session)).await {
            Ok(Ok(())) => {}
            Ok(Err(Stop::Lost(why))) => {
                let mut text = format!("{}: {why}", scenario.name);
                if let Some(words) = session.obituaries().last() {
                    text.push_str(&format!("; before that: {words}"));
                }
                remark(RemarkKind::TargetLost, text);
                break;
            }
            Err(_) => {
                remark(
                    RemarkKind::Deadline,
                    format!("the deadline was reached in {}", scenario.name),
                );
                break;
            }
        }
        let (sent, answered) = session.progress();
        emit(Event::Progress { answered, sent });
        failed = failed || plan.fail_fast && has_failed(plan, &session);
    }
    if left > 0 {
        remark(
            RemarkKind::Stopped,
            format!(
                "stopped at the first failure (--fail-fast): {left} of {} scenarios were not played",
                scenarios.len()
            ),
        );
    }
    if let Some(words) = session.obituaries().first() {
        let text = match session.obituaries().len() {
            1 => format!("the target was lost once and started again ({words})"),
            count => {
                format!("the target was lost {count} times and started again (first: {words})")
            }
        };
        remark(RemarkKind::Restarted, text);
    }
    let sampled = player.sampled;
    for cut in player.cuts {
        remark(
            RemarkKind::Bounded,
            format!("not everything was looked at: {cut}"),
        );
    }
    for (path, why) in plan.disk.iter().flat_map(|disk| &disk.unread).take(UNREAD) {
        remark(
            RemarkKind::Bounded,
            format!("not everything was looked at: {path} in the directory of --root: {why}"),
        );
    }
    let mut trace = session.close().await;
    let refusals: Vec<_> = trace
        .exchanges
        .iter()
        .filter_map(|exchange| trace.base_refusal(exchange))
        .collect();
    if let Some(first) = refusals.first() {
        let text = format!(
            "the base protocol kept {} of the requests from reaching the extension, first with error {} \"{}\"",
            refusals.len(),
            first.code.unwrap_or_default(),
            shorten(first.message.unwrap_or_default(), 200),
        );
        remarks.push(Remark {
            kind: RemarkKind::BaseProtocol,
            text,
        });
    }
    trace.disk.clone_from(&plan.disk);
    trace.identities = !plan.identities.is_empty();
    trace.sampled = sampled;
    (trace, remarks)
}

fn has_failed(plan: &Plan, session: &Session) -> bool {
    let mut trace = session.recorder().snapshot(session.revision());
    trace.disk.clone_from(&plan.disk);
    trace.identities = !plan.identities.is_empty();
    let judged = judge::judge(&Evidence::new(&trace), &plan.checks, Spec::get());
    judged.iter().any(|judged| judged.verdict == Verdict::Fail)
}

/// What the server declares; `None` when it does not declare the extension.
fn facts(plan: &Plan, session: &Session) -> Option<Facts> {
    let trace = session.recorder().snapshot(session.revision());
    trace.extension()?;
    Some(Facts {
        directory_read: trace.directory_read(),
        probe_undeclared: plan.probe_undeclared,
        named_skills: !plan.named_skills.is_empty(),
        root: plan.disk.is_some(),
        identities: !plan.identities.is_empty(),
    })
}
