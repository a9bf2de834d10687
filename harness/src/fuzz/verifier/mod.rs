//! Fuzzing of verifiers: JSON lines in, verdicts out.

mod bulk;
mod line;
mod probe;
mod write;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::{StreamExt, stream};

use super::candidates::Candidates;
use super::{Bounds, Finding, Numbers, Outcome, Progress};
use crate::generate::case::{Case, CasePlan, Expected, Kind};
use crate::generate::shrink::simpler;
use crate::generate::{Rule, seed};
use crate::target::{TargetError, TargetSpec};

pub use line::{Observed, read as read_answer};
pub use probe::probe;

/// The rule by which an answer is wrong that is no verdict.
pub const ANSWER: &str = "verifier-answer";

/// Plays cases against a verifier.
pub async fn run(spec: &TargetSpec, bounds: &Bounds, progress: &Arc<Progress>) -> Outcome {
    let numbers = Arc::new(Numbers::new(bounds));
    let candidates = Arc::new(Candidates::default());
    let jobs = (0..bounds.jobs.max(1)).map(|_| {
        let job = bulk::Job {
            spec: spec.clone(),
            seed: bounds.seed,
            timeout: bounds.timeout,
            numbers: Arc::clone(&numbers),
            candidates: Arc::clone(&candidates),
            progress: Arc::clone(progress),
        };
        tokio::spawn(job.run())
    });
    let mut lost: Option<TargetError> = None;
    for job in jobs.collect::<Vec<_>>() {
        if let Ok(Err(error)) = job.await {
            lost = Some(error);
        }
    }
    if lost.is_some() {
        return Outcome {
            findings: Vec::new(),
            lost,
        };
    }
    let found = stream::iter(candidates.take())
        .map(|(_, number)| shrink(spec, bounds, number))
        .buffer_unordered(bounds.jobs.max(1))
        .filter_map(|finding| async { finding })
        .collect::<Vec<Finding>>()
        .await;
    let mut apart: BTreeMap<(String, String), Finding> = BTreeMap::new();
    for finding in found {
        let key = (finding.rule.clone(), finding.fingerprint());
        match apart.get(&key) {
            Some(known) if known.number <= finding.number => {}
            _ => drop(apart.insert(key, finding)),
        }
    }
    Outcome {
        findings: apart.into_values().collect(),
        lost,
    }
}

/// The kind of a wrong answer, by which cases are sorted before they are made small, and how many
/// of the kind are worth it.
fn kind(plan: &CasePlan, case: &Case, observed: &Observed) -> (String, usize) {
    match (observed, &plan.kind) {
        (Observed::Accept | Observed::Reject(_), Kind::One(_))
            if case.expected == Expected::Reject =>
        {
            (format!("{} {}", case.rule(), case.about), 1)
        }
        (Observed::Accept | Observed::Reject(_), _) => (case.rule().id().to_owned(), 12),
        (other, _) => (format!("{ANSWER} {}", other.word()), 4),
    }
}

/// Makes a case small by playing smaller ones, and says what is wrong with the answer to it.
/// Nothing when the wrong answer does not come again.
async fn shrink(spec: &TargetSpec, bounds: &Bounds, number: u64) -> Option<Finding> {
    let mut plan: CasePlan = seed::plan(bounds.seed, number);
    let mut case = plan.build();
    let mut observed: Option<Observed> = None;
    let mut candidates = vec![plan.clone()];
    let rules = case.rules.clone();
    while !candidates.is_empty() {
        let built: Vec<Case> = candidates.iter().map(CasePlan::build).collect();
        let lines: Vec<String> = built.iter().map(line_of).collect();
        let answers = probe(spec, &lines, bounds.timeout).await.ok()?;
        let wrong = (0..built.len()).find(|at| {
            answers.get(*at).is_some_and(|answer| {
                let alike = observed
                    .as_ref()
                    .is_none_or(|known| is_alike(known, answer));
                alike && is_wrong(&built[*at], answer)
            })
        });
        let Some(at) = wrong else { break };
        plan = candidates.swap_remove(at);
        case = built[at].clone();
        observed = Some(answers[at].clone());
        let keeps = |other: &CasePlan| {
            let built = other.build();
            built.expected == case.expected
                && (built.rules.is_empty() == rules.is_empty())
                && built.rules.iter().all(|rule| rules.contains(rule))
        };
        candidates = simpler(&plan).into_iter().filter(keeps).collect();
    }
    Some(finding(&plan, &case, &observed?, number))
}

fn is_alike(one: &Observed, other: &Observed) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other)
}

fn is_wrong(case: &Case, observed: &Observed) -> bool {
    match observed {
        Observed::Accept => !case.agrees(true),
        Observed::Reject(_) => !case.agrees(false),
        Observed::Unknown => false,
        _ => true,
    }
}

fn line_of(case: &Case) -> String {
    let mut line = String::new();
    case.write(0, &mut line);
    line
}

fn finding(plan: &CasePlan, case: &Case, observed: &Observed, number: u64) -> Finding {
    let verdict = matches!(observed, Observed::Accept | Observed::Reject(_));
    let rule = case.rule();
    let about = match case.expected {
        Expected::Accept => plan.features(),
        _ => case.about.clone(),
    };
    let (id, sentence) = if verdict {
        (rule.id(), rule.words())
    } else {
        (ANSWER, "Every case is answered, in one line, with its id.")
    };
    let mut finding = Finding {
        rule: id.to_owned(),
        check: if verdict {
            rule.check()
        } else {
            Rule::Entry.check()
        }
        .to_owned(),
        sentence: sentence.to_owned(),
        about,
        expected: if verdict {
            case.expected.name()
        } else {
            "an answer"
        }
        .to_owned(),
        actual: observed.to_string(),
        number,
        scenario: String::new(),
    };
    finding.scenario = write::scenario(case, &finding);
    finding
}
