//! Fuzzing of hosts: servers that serve one generated skill each, through an adapter.
//!
//! What must be loaded and used has to be, or refusing everything would do; what breaks a rule must
//! be refused where it is loaded or where the file is read.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::Ordering;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

use super::candidates::{Candidates, Kind};
use super::finding::severity;
use super::saved::{Saved, escaped, quoted};
use super::{Bounds, Finding, Numbers, Outcome, Progress};
use crate::generate::case::{self, Case, CasePlan, Expected};
use crate::generate::shrink::simpler;
use crate::generate::{Rule, seed};
use crate::scenario::perform::{Company, Via};
use crate::scenario::script::Script;
use crate::target::{TargetError, TargetSpec};
use crate::wire::scene::{Ask, Reply};
use crate::wire::{Revision, Transport};

/// The label of the server.
const LABEL: &str = "fuzz";

/// What a host made of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Made {
    /// It was loaded and every file read.
    Accepted,
    /// Something was refused, for this reason.
    Refused(String),
    /// Nothing that could be judged came of it.
    Unknown(String),
}

/// Plays generated skills to a host. `program` is what hosts start to reach servers over stdio.
pub async fn run(
    spec: &TargetSpec,
    program: &str,
    bounds: &Bounds,
    progress: &Progress,
) -> Outcome {
    let numbers = Numbers::new(bounds);
    let found = Candidates::default();
    let jobs =
        (0..bounds.jobs.max(1)).map(|_| job(spec, program, bounds, &numbers, progress, &found));
    let mut outcome = Outcome::default();
    for ended in futures::future::join_all(jobs).await {
        if let Err(error) = ended {
            outcome.lost = Some(error);
        }
    }
    let chosen = found.choose(|_| true);
    let large = chosen.cases.len() as u64;
    progress.large.store(large, Ordering::Relaxed);
    outcome.left = chosen.left;
    let mut apart: BTreeMap<String, Finding> = BTreeMap::new();
    if !chosen.cases.is_empty() {
        match assemble(spec, program, bounds.timeout).await {
            Ok(mut company) => {
                for (_, number) in chosen.cases {
                    match shrink(&mut company, bounds.seed, number).await {
                        Some(finding) => {
                            apart.entry(finding.fingerprint()).or_insert(finding);
                        }
                        None => outcome.gone += 1,
                    }
                    progress.large.fetch_sub(1, Ordering::Relaxed);
                }
                company.leave().await;
            }
            Err(error) => outcome.lost = Some(error),
        }
    }
    outcome.findings = apart.into_values().collect();
    outcome
}

async fn assemble(
    spec: &TargetSpec,
    program: &str,
    timeout: Duration,
) -> Result<Company, TargetError> {
    let target = (spec.clone(), Via::Adapter);
    Company::assemble(target, Revision::Modern, Transport::Http, program, timeout)
        .await
        .map_err(|error| TargetError::new(format!("cannot set the stage: {error}")))
}

async fn job(
    spec: &TargetSpec,
    program: &str,
    bounds: &Bounds,
    numbers: &Numbers,
    progress: &Progress,
    found: &Candidates,
) -> Result<(), TargetError> {
    let mut company = assemble(spec, program, bounds.timeout).await?;
    loop {
        let block = numbers.block();
        if block.is_empty() {
            company.leave().await;
            return Ok(());
        }
        for number in block {
            let plan = plan(bounds.seed, number);
            let case = plan.build();
            if numbers.is_over() {
                break;
            }
            let made = play(&mut company, &case).await?;
            let open = matches!(made, Made::Unknown(_)) || is_left(&company.hello, &case);
            progress.count(case.expected != Expected::Either && !open);
            if open || !is_wrong(&case, &made) {
                continue;
            }
            progress.wrong.fetch_add(1, Ordering::Relaxed);
            let about = match (&plan.kind, case.expected) {
                (case::Kind::One(_), Expected::Reject) => case.about.clone(),
                _ => plan.features(),
            };
            let kind = Kind {
                rule: case.rule().id().to_owned(),
                about,
            };
            found.add(kind, number, 1);
        }
    }
}

/// Whether the adapter says that its host leaves to others some of what is wrong with the case.
fn is_left(hello: &Value, case: &Case) -> bool {
    let left = hello.get("leaves").and_then(Value::as_array);
    let is_left = |rule: &Rule| left.is_some_and(|left| left.iter().any(|id| id == rule.check()));
    case.rules.iter().any(is_left)
}

/// The plan of a case whose files are all there: a host may fetch what it is not asked for.
fn plan(seed: u64, number: u64) -> CasePlan {
    let mut plan: CasePlan = seed::plan(seed, number);
    if plan.kind == case::Kind::AtTheLimit {
        plan.kind = case::Kind::Valid;
    }
    for file in &mut plan.skill.files {
        file.unread = false;
    }
    plan
}

fn is_wrong(case: &Case, made: &Made) -> bool {
    match made {
        Made::Accepted => !case.agrees(true),
        Made::Refused(_) => !case.agrees(false),
        Made::Unknown(_) => false,
    }
}

async fn play(company: &mut Company, case: &Case) -> Result<Made, TargetError> {
    let text = steps(case);
    let script = Script::parse(
        "generated",
        &format!("scenario: host/fuzz\nabout: x\n{text}"),
    );
    let script = script.map_err(|error| TargetError::new(format!("{error}\n{text}")))?;
    made(company, &script).await
}

async fn made(company: &mut Company, script: &Script) -> Result<Made, TargetError> {
    let scene = company.play(script).await?;
    let asks = scene
        .asks
        .iter()
        .filter(|ask| matches!(ask.verb.as_str(), "load" | "read"));
    let mut made = Made::Unknown("nothing was asked".into());
    for ask in asks {
        match outcome(ask) {
            Made::Accepted => made = Made::Accepted,
            other => return Ok(other),
        }
    }
    Ok(made)
}

fn outcome(ask: &Ask) -> Made {
    match &ask.reply {
        Reply::Result(result) if result["outcome"] == "ok" => Made::Accepted,
        Reply::Result(result) if result["outcome"] == "refused" => {
            let reason = result["reason"].as_str().unwrap_or_default();
            Made::Refused(format!("{} refused: {reason}", ask.verb))
        }
        other => Made::Unknown(format!("{other:?}")),
    }
}

/// The case as the servers and steps of a host scenario.
fn steps(case: &Case) -> String {
    let root = root(case);
    let mut text = String::new();
    let _ = writeln!(text, "serve:\n  {LABEL}:\n    skills:\n      skill:");
    let _ = writeln!(text, "        root: {}", quoted(&root));
    let entry = escaped(&case.entry.to_value().to_string());
    let _ = writeln!(
        text,
        "        given:\n          entry: {entry}\n          files:"
    );
    for (uri, bytes) in &case.files {
        let _ = writeln!(
            text,
            "            {}: {}",
            quoted(uri),
            quoted(&BASE64.encode(bytes))
        );
    }
    let skill = format!("{root}/SKILL.md");
    let _ = writeln!(text, "steps:\n  - connect: {LABEL}\n  - list");
    let load = json!({"server": LABEL, "uri": skill});
    let _ = writeln!(text, "  - load: {}", escaped(&load.to_string()));
    for (uri, _) in case.files.iter().filter(|(uri, _)| *uri != skill) {
        let read =
            json!({"server": LABEL, "uri": uri, "acting_on": {"server": LABEL, "uri": skill}});
        let _ = writeln!(text, "  - read: {}", escaped(&read.to_string()));
    }
    text
}

/// The directory of the skill, also where the entry does not say so.
fn root(case: &Case) -> String {
    let uri = case.entry.uri.as_ref().and_then(Value::as_str);
    let listed = case.files.iter().map(|(uri, _)| uri.as_str());
    let mut skills = uri
        .into_iter()
        .chain(listed)
        .filter_map(|uri| uri.strip_suffix("/SKILL.md"));
    // A nested skill's SKILL.md is further down than its own.
    let first = skills.next().unwrap_or_default();
    let shortest = skills
        .filter(|root| first.starts_with(root))
        .min_by_key(|root| root.len());
    if uri.is_some() {
        first.to_owned()
    } else {
        shortest.unwrap_or(first).to_owned()
    }
}

async fn shrink(company: &mut Company, seed: u64, number: u64) -> Option<Finding> {
    let mut plan = plan(seed, number);
    let mut case = plan.build();
    let mut made = play(company, &case)
        .await
        .ok()
        .filter(|made| is_wrong(&case, made))?;
    'smaller: loop {
        for other in simpler(&plan) {
            let candidate = other.build();
            let alike = candidate.expected == case.expected
                && candidate.rules.iter().all(|rule| case.rules.contains(rule))
                && !is_left(&company.hello, &candidate);
            if !alike {
                continue;
            }
            if let Ok(again) = play(company, &candidate).await
                && is_wrong(&candidate, &again)
            {
                (plan, case, made) = (other, candidate, again);
                continue 'smaller;
            }
        }
        break;
    }
    let rule = case.rule();
    let mut finding = Finding {
        rule: rule.id().replacen("verifier-", "host-", 1),
        check: rule.check().to_owned(),
        severity: severity(rule.check()),
        sentence: rule.words().to_owned(),
        about: if case.expected == Expected::Accept {
            plan.features()
        } else {
            case.about.clone()
        },
        expected: case.expected.name().to_owned(),
        actual: match made {
            Made::Accepted => "loaded, and every file read".to_owned(),
            Made::Refused(reason) | Made::Unknown(reason) => reason,
        },
        number,
        scenario: String::new(),
    };
    let about = quoted(&format!("{} ({})", finding.sentence, finding.about));
    finding.scenario = format!(
        "scenario: host/{}\nabout: {about}\nexpect: {}\nexercises: {}\n{}",
        finding.fingerprint(),
        finding.expected,
        finding.exercises(),
        steps(&case)
    );
    Some(finding)
}

/// Plays a saved case again: whether what came is right, and what it was.
///
/// # Errors
///
/// The adapter cannot be started, or the file cannot be played.
pub async fn replay(
    spec: &TargetSpec,
    program: &str,
    saved: &Saved,
    timeout: Duration,
) -> Result<(bool, String), TargetError> {
    let rest =
        serde_yaml::to_string(&saved.rest).map_err(|error| TargetError::new(error.to_string()))?;
    let text = format!("scenario: host/saved\nabout: x\n{rest}");
    let script =
        Script::parse(&saved.name, &text).map_err(|error| TargetError::new(error.to_string()))?;
    let mut company = assemble(spec, program, timeout).await?;
    let made = made(&mut company, &script).await;
    company.leave().await;
    Ok(match made? {
        Made::Accepted => (
            saved.expect != "reject",
            "loaded, and every file read".to_owned(),
        ),
        Made::Refused(reason) => (saved.expect != "accept", reason),
        Made::Unknown(reason) => (false, reason),
    })
}
