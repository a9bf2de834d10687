//! Fuzzing of verifiers: JSON lines in, verdicts out.

mod bulk;
mod line;
mod probe;
mod shrink;
mod write;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::{StreamExt, stream};
use tokio::task::JoinSet;

use super::candidates::{self, Candidates};
use super::{Bounds, Finding, Numbers, Outcome, Progress};
use crate::generate::case::{Case, CasePlan, Expected, Kind};
use crate::generate::seed;
use crate::target::TargetSpec;
use crate::verdict::Severity;

pub use line::{Observed, read as read_answer};
pub use probe::observe;
pub use shrink::{Small, smallest};

/// The rule by which an answer is wrong that is no verdict.
pub const ANSWER: &str = "verifier-answer";

/// Plays cases against a verifier.
pub async fn run(spec: &TargetSpec, bounds: &Bounds, progress: &Arc<Progress>) -> Outcome {
    let numbers = Arc::new(Numbers::new(bounds));
    let candidates = Arc::new(Candidates::default());
    // Ends the jobs, and the processes with them, when nobody waits for it any more.
    let mut jobs = JoinSet::new();
    for _ in 0..bounds.jobs.max(1) {
        let job = bulk::Job {
            spec: spec.clone(),
            seed: bounds.seed,
            timeout: bounds.timeout,
            numbers: Arc::clone(&numbers),
            candidates: Arc::clone(&candidates),
            progress: Arc::clone(progress),
        };
        jobs.spawn(job.run());
    }
    let mut outcome = Outcome::default();
    while let Some(job) = jobs.join_next().await {
        if let Ok(Err(error)) = job {
            outcome.lost = Some(error);
        }
    }
    if outcome.lost.is_some() {
        return outcome;
    }
    // What was played behind the last case of the run is left out: who plays how far depends on
    // how quick the jobs were.
    let chosen = candidates.choose(|number| numbers.has(number));
    let large = chosen.cases.len() as u64;
    progress.large.store(large, Ordering::Relaxed);
    let small = stream::iter(chosen.cases)
        .map(|(_, number)| shrink(spec, bounds, number))
        .buffer_unordered(bounds.jobs.max(1))
        .inspect(|_| {
            progress.large.fetch_sub(1, Ordering::Relaxed);
        })
        .collect::<Vec<Option<Finding>>>()
        .await;
    outcome.last = numbers.stopped_at();
    outcome.left = chosen.left;
    let mut apart: BTreeMap<(String, String), Finding> = BTreeMap::new();
    for finding in small {
        let Some(finding) = finding else {
            outcome.gone += 1;
            continue;
        };
        let key = (finding.rule.clone(), finding.fingerprint());
        match apart.get(&key) {
            Some(known) if known.number <= finding.number => {}
            _ => drop(apart.insert(key, finding)),
        }
    }
    outcome.findings = apart.into_values().collect();
    outcome
}

/// The kind of a wrong answer, by which cases are sorted before they are made small, and how many
/// of the kind are worth it.
fn kind(plan: &CasePlan, case: &Case, observed: &Observed) -> (candidates::Kind, usize) {
    let kind = |rule: &str, about: &str| candidates::Kind {
        rule: rule.to_owned(),
        about: about.to_owned(),
    };
    match (observed, &plan.kind) {
        (Observed::Accept | Observed::Reject(_), Kind::One(_))
            if case.expected == Expected::Reject =>
        {
            (kind(case.rule().id(), &case.about), 1)
        }
        (Observed::Accept | Observed::Reject(_), _) => (kind(case.rule().id(), ""), 12),
        (Observed::Hang, _) => (kind(ANSWER, observed.word()), 1),
        (other, _) => (kind(ANSWER, other.word()), 4),
    }
}

/// Whether that is a wrong answer to a case of which this is expected.
fn is_wrong(expected: Expected, observed: &Observed) -> bool {
    match observed {
        Observed::Accept => expected == Expected::Reject,
        Observed::Reject(_) => expected == Expected::Accept,
        Observed::Unknown => false,
        _ => true,
    }
}

/// Makes a case small, and says what is wrong with the answer to it. Nothing when the wrong answer
/// does not come again.
async fn shrink(spec: &TargetSpec, bounds: &Bounds, number: u64) -> Option<Finding> {
    let plan = seed::plan(bounds.seed, number);
    let ask = async |lines: &[String]| observe(spec, lines, bounds.timeout).await.ok();
    Some(finding(&smallest(plan, ask).await?, number))
}

fn finding(small: &Small, number: u64) -> Finding {
    let Small {
        plan,
        case,
        observed,
    } = small;
    let verdict = matches!(observed, Observed::Accept | Observed::Reject(_));
    let rule = case.rule();
    let about = match case.expected {
        Expected::Accept | Expected::Either => plan.features(),
        _ => case.about.clone(),
    };
    let (id, sentence) = if verdict {
        (rule.id(), rule.words())
    } else {
        (ANSWER, "Every case is answered, in one line, with its id.")
    };
    let mut finding = Finding {
        rule: id.to_owned(),
        check: if verdict { rule.check() } else { "" }.to_owned(),
        severity: Severity::Fail,
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
