//! Fuzzing of servers: requests of which it is known what has to come back, each followed by a
//! request that shows that the server still answers.

mod answer;
mod connection;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::candidates::{Candidates, Kind};
use super::finding::severity;
use super::saved::{Saved, escaped, quoted};
use super::{Bounds, Finding, Numbers, Outcome, Progress};
use crate::generate::request::{Awaited, Known, Message, Request, RequestPlan};
use crate::generate::seed;
use crate::target::{TargetError, TargetSpec};

use answer::Wrong;
use connection::Connection;

/// Requests after which the connection is a fresh one, so that what is recorded stays small.
const FRESH: usize = 4_096;
/// Times that a server may be lost before a job gives up.
const LOST: usize = 16;
/// Longest URI over HTTP, in bytes: a header repeats it, which servers need not take at any length.
const HEADER: usize = 2_048;
/// Requests under way at once.
pub(super) const UNDER_WAY: usize = 32;

/// Plays requests against a server.
pub async fn run(spec: &TargetSpec, bounds: &Bounds, progress: &Progress) -> Outcome {
    let numbers = Numbers::new(bounds);
    let found = Candidates::default();
    // On one thread: to wake another one for an answer takes longer than what there is to do for it.
    let jobs = (0..bounds.jobs.max(1)).map(|_| job(spec, bounds, &numbers, progress, &found));
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
    for (rule, number) in chosen.cases {
        match shrink(spec, bounds, number, &rule).await {
            Ok(Some(finding)) => {
                apart.entry(finding.fingerprint()).or_insert(finding);
            }
            Ok(None) => outcome.gone += 1,
            Err(error) => outcome.lost = Some(error),
        }
        progress.large.fetch_sub(1, Ordering::Relaxed);
    }
    outcome.findings = apart.into_values().collect();
    outcome
}

async fn job(
    spec: &TargetSpec,
    bounds: &Bounds,
    numbers: &Numbers,
    progress: &Progress,
    found: &Candidates,
) -> Result<(), TargetError> {
    let mut connection = Connection::open(spec, bounds.timeout).await?;
    let known = connection.catalog().await?;
    let (mut played, mut lost) = (0, 0);
    loop {
        let block = numbers.block();
        if block.is_empty() {
            connection.close().await;
            return Ok(());
        }
        let mut requests: Vec<(u64, Request)> = block
            .iter()
            .map(|number| (*number, plan(bounds.seed, *number).build(&known)))
            .collect();
        if matches!(spec, TargetSpec::Url { .. }) {
            requests.retain(|(_, request)| request.uri().len() <= HEADER);
            (requests.len()..block.len()).for_each(|_| progress.count(false));
        }
        let mut answers = connection.play(&requests).await;
        played += requests.len();
        if connection.is_lost() {
            // Which of those under way it was is seen by sending each alone.
            answers.clear();
            for request in &requests {
                if connection.is_lost() {
                    lost += 1;
                    connection.close().await;
                    connection = Connection::open(spec, bounds.timeout).await?;
                }
                answers.extend(connection.play(std::slice::from_ref(request)).await);
            }
            if lost >= LOST {
                record(found, progress, answers, &requests);
                return Ok(());
            }
        }
        record(found, progress, answers, &requests);
        if played >= FRESH || connection.is_lost() {
            connection.close().await;
            connection = Connection::open(spec, bounds.timeout).await?;
            played = 0;
        }
    }
}

/// The request with this number.
fn plan(seed: u64, number: u64) -> RequestPlan {
    seed::plan(seed, number)
}

fn record(
    found: &Candidates,
    progress: &Progress,
    answers: Vec<(u64, Option<Wrong>)>,
    requests: &[(u64, Request)],
) {
    for (number, wrong) in answers {
        progress.count(true);
        let Some(wrong) = wrong else { continue };
        progress.wrong.fetch_add(1, Ordering::Relaxed);
        let request = requests.iter().find(|(known, _)| *known == number);
        let kind = Kind {
            rule: wrong.rule.to_owned(),
            about: request.map_or_else(String::new, |(_, request)| request.about.clone()),
        };
        found.add(kind, number, 1);
    }
}

/// Plays one request on a connection of its own.
async fn alone(
    spec: &TargetSpec,
    bounds: &Bounds,
    plan: &RequestPlan,
) -> Result<(Request, Option<Wrong>), TargetError> {
    let mut connection = Connection::open(spec, bounds.timeout).await?;
    let known = connection.catalog().await?;
    let request = plan.build(&known);
    let answers = connection.play(&[(0, request.clone())]).await;
    connection.close().await;
    Ok((request, answers.into_iter().find_map(|(_, wrong)| wrong)))
}

async fn shrink(
    spec: &TargetSpec,
    bounds: &Bounds,
    number: u64,
    rule: &str,
) -> Result<Option<Finding>, TargetError> {
    let mut small = plan(bounds.seed, number);
    let (mut request, wrong) = alone(spec, bounds, &small).await?;
    let Some(mut wrong) = wrong.filter(|wrong| wrong.rule == rule) else {
        return Ok(None);
    };
    'smaller: loop {
        for other in small.simpler() {
            let (candidate, again) = alone(spec, bounds, &other).await?;
            if let Some(again) = again
                && again.rule == wrong.rule
                && candidate.about == request.about
            {
                (small, request, wrong) = (other, candidate, again);
                continue 'smaller;
            }
        }
        break;
    }
    let check = answer::check(wrong.rule, request.check);
    let mut finding = Finding {
        rule: wrong.rule.to_owned(),
        check: check.to_owned(),
        severity: severity(check),
        sentence: answer::sentence(wrong.rule).to_owned(),
        about: request.about.clone(),
        expected: request.awaited.name().to_owned(),
        actual: wrong.actual,
        number,
        scenario: String::new(),
    };
    finding.scenario = scenario(&request, &finding);
    Ok(Some(finding))
}

/// The request as a scenario of a server, with what has to come back.
fn scenario(request: &Request, finding: &Finding) -> String {
    let mut text = String::new();
    let about = format!("{} ({})", finding.sentence, finding.about);
    let _ = writeln!(text, "scenario: server/{}", finding.fingerprint());
    let _ = writeln!(text, "about: {}", quoted(&about));
    let _ = writeln!(text, "expect: {}", request.awaited.name());
    let _ = writeln!(text, "exercises: {}", finding.exercises());
    text.push_str("steps:\n");
    match &request.message {
        Message::Call { method, params } => {
            let _ = writeln!(text, "  - call: {method}");
            if let Some(params) = params {
                let _ = writeln!(text, "    params: {}", escaped(&params.to_string()));
            }
        }
        Message::Notify { method } => {
            let _ = writeln!(text, "  - notify: {method}");
        }
        Message::Raw(bytes) => {
            let _ = writeln!(text, "  - raw_base64: {}", quoted(&BASE64.encode(bytes)));
        }
    }
    text
}

/// Plays a saved request again; what came if that is wrong.
///
/// # Errors
///
/// The server cannot be reached, or the file has no step that can be played.
pub async fn replay(
    spec: &TargetSpec,
    saved: &Saved,
    timeout: std::time::Duration,
) -> Result<Option<String>, TargetError> {
    let unreadable = || TargetError::new("expected one step with `call`, `notify` or `raw_base64`");
    let step = saved
        .rest
        .get("steps")
        .and_then(|steps| steps.get(0))
        .ok_or_else(unreadable)?;
    let step: serde_json::Value = serde_yaml::from_value(step.clone()).map_err(|_| unreadable())?;
    let mut connection = Connection::open(spec, timeout).await?;
    let known = connection.catalog().await?;
    let request = again(&step, &saved.expect, &known).ok_or_else(unreadable)?;
    let answers = connection.play(&[(0, request)]).await;
    connection.close().await;
    Ok(answers
        .into_iter()
        .find_map(|(_, wrong)| wrong)
        .map(|wrong| wrong.actual))
}

const METHODS: [&str; 3] = ["skills/get", "resources/read", "skills/list"];

fn again(step: &serde_json::Value, expect: &str, known: &Known) -> Option<Request> {
    let method = |key: &str| METHODS.into_iter().find(|known| step[key] == *known);
    let message = if let Some(method) = method("call") {
        Message::Call {
            method,
            params: step.get("params").cloned(),
        }
    } else if let Some(method) = method("notify") {
        Message::Notify { method }
    } else {
        Message::Raw(BASE64.decode(step["raw_base64"].as_str()?).ok()?)
    };
    let uri = step["params"]["uri"].as_str().unwrap_or_default();
    let entry = || {
        known
            .entries
            .iter()
            .find(|(known, _)| known == uri)
            .map(|(_, entry)| entry.clone())
    };
    let item = || {
        let entries = known.entries.iter();
        let mut items = entries
            .filter_map(|(_, entry)| entry["resources"].as_array())
            .flatten();
        items.find(|item| item["uri"] == uri)
    };
    let awaited = match expect {
        "entry" => Awaited::Entry(entry()?),
        "content" => Awaited::Content {
            digest: item()?["digest"].as_str()?.to_owned(),
            size: item()?["size"].as_u64()?,
        },
        "page" => Awaited::Page,
        "invalid-params" => Awaited::InvalidParams,
        "invalid-request" => Awaited::InvalidRequest,
        "silence" => Awaited::Silence,
        _ => Awaited::Anything,
    };
    Some(Request {
        message,
        awaited,
        about: String::new(),
        check: "",
    })
}
