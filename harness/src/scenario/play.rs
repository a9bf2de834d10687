//! Plays scenarios in a session.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::expr::{Expression, Template, Variables};
use super::file::{Condition, Follow, Scenario, Send, Step};
use crate::target::handshake::Refusal;
use crate::target::session::{Call, Session};
use crate::wire::disk::Disk;
use crate::wire::trace::Page;

/// Bounds that keep a run from growing without end, whatever the target does.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Pages of one walk.
    pub pages: usize,
    /// Items captured by one `save`.
    pub items: usize,
    /// Directories visited by one `follow`.
    pub directories: usize,
    /// URIs that are tried for what a listing lacks of the served directory.
    pub guesses: usize,
    /// How often a target that was lost is started again in one run.
    pub restarts: usize,
    /// Most rounds of a loop that may be sampled.
    pub reads: usize,
    /// Which sample is taken.
    pub seed: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            pages: 10_000,
            items: 100_000,
            directories: 20_000,
            guesses: 5_000,
            restarts: 20,
            reads: usize::MAX,
            seed: 0,
        }
    }
}

/// What the player knows besides the session.
#[derive(Debug, Default)]
pub struct Player {
    /// Values captured so far.
    pub variables: Variables,
    /// Bounds.
    pub bounds: Bounds,
    /// Bounds that were hit, in words.
    pub cuts: Vec<String>,
    /// Whether a loop was sampled.
    pub sampled: bool,
    disk: Option<Arc<Disk>>,
    walks: usize,
    restarts: usize,
}

/// Why a scenario was not played to its end.
#[derive(Debug)]
pub enum Stop {
    /// The target was lost and did not come back.
    Lost(String),
}

/// Whether a scenario applies to what the server declares and the user asked for.
pub fn applies(scenario: &Scenario, session: &Session, facts: &Facts) -> bool {
    let revision =
        scenario.revisions.is_empty() || scenario.revisions.contains(&session.revision());
    let condition = match scenario.when {
        None => true,
        Some(Condition::DirectoryRead) => facts.directory_read,
        Some(Condition::ProbeUndeclared) => facts.probe_undeclared && !facts.directory_read,
        Some(Condition::NamedSkills) => facts.named_skills,
        Some(Condition::Root) => facts.root,
    };
    revision && condition
}

/// What conditions of scenarios look at.
#[derive(Debug, Clone, Copy, Default)]
pub struct Facts {
    /// The server declares `directoryRead: true`.
    pub directory_read: bool,
    /// The user asked to probe undeclared methods.
    pub probe_undeclared: bool,
    /// The user named skills.
    pub named_skills: bool,
    /// The directory that is served is known.
    pub root: bool,
}

impl Player {
    /// A player with nothing captured yet but `$named`, the URIs of the skills that the user named.
    pub fn new(bounds: Bounds, named: &[String]) -> Self {
        let named = named.iter().map(|uri| Value::from(uri.as_str())).collect();
        Self {
            bounds,
            variables: Variables::from([("named".to_owned(), Value::Array(named))]),
            ..Self::default()
        }
    }

    /// The same with the directory that is served.
    pub fn with_disk(mut self, disk: Option<Arc<Disk>>) -> Self {
        self.disk = disk;
        self
    }

    /// Plays one scenario.
    ///
    /// # Errors
    ///
    /// The target was lost, and starting it again failed or did not help.
    pub async fn play(&mut self, scenario: &Scenario, session: &mut Session) -> Result<(), Stop> {
        if scenario.fresh {
            reopen(session).await?;
        }
        if scenario.when == Some(Condition::Root) {
            self.compare_with_disk();
        }
        for step in &scenario.steps {
            self.revive(session).await?;
            for _ in 0..step.times {
                self.step(scenario, step, session).await?;
            }
        }
        Ok(())
    }

    /// Fills the variables of [`Condition::Root`].
    fn compare_with_disk(&mut self) {
        let Some(disk) = &self.disk else { return };
        let listed = self.variables.get("skills").and_then(Value::as_array);
        let mapping = disk.mapping(
            listed
                .into_iter()
                .flatten()
                .filter_map(|entry| entry.get("uri")?.as_str()),
        );
        let missing = disk.skills.keys().filter(|path| !mapping.has(path));
        let skills: Vec<String> = missing
            .flat_map(|directory| mapping.candidates(directory))
            .collect();
        for (name, mut uris) in [("root_skills", skills), ("root_escapes", mapping.escapes())] {
            if uris.len() > self.bounds.guesses {
                uris.truncate(self.bounds.guesses);
                self.cuts.push(format!(
                    "--root: more than {} URIs to try",
                    self.bounds.guesses
                ));
            }
            self.variables.insert(name.to_owned(), Value::from(uris));
        }
    }

    async fn step(
        &mut self,
        scenario: &Scenario,
        step: &Step,
        session: &mut Session,
    ) -> Result<(), Stop> {
        let rounds = self.rounds(step);
        let serial = step.probe || !matches!(step.send, Send::Call(_));
        let mut saved: Vec<Vec<(String, Value)>> = Vec::with_capacity(rounds.len());
        if serial {
            for params in rounds {
                self.revive(session).await?;
                let call = self.prepare(scenario, step, params);
                match &step.send {
                    Send::Call(_) => {
                        let reply = session.call(&call).await;
                        let alive = session.alive(&scenario.name).await;
                        session.mark_alive(reply.exchange, alive);
                    }
                    Send::Notify(_) => session.probe(&call, None).await,
                    Send::Raw(bytes) => {
                        session
                            .probe(&call, Some(Bytes::copy_from_slice(bytes)))
                            .await
                    }
                }
            }
        } else {
            let calls: Vec<Call> = rounds
                .into_iter()
                .map(|params| self.prepare(scenario, step, params))
                .collect();
            let first_walk = self.walks;
            self.walks += calls.len();
            let jobs = FuturesUnordered::new();
            for (index, call) in calls.into_iter().enumerate() {
                let job = Job {
                    step,
                    session,
                    bounds: self.bounds,
                    walk: first_walk + index,
                };
                jobs.push(async move { (index, job.run(call).await) });
            }
            let mut done: Vec<(usize, Outcome)> = jobs.collect().await;
            done.sort_by_key(|(index, _)| *index);
            for (_, outcome) in done {
                saved.push(outcome.saved);
                self.cuts.extend(outcome.cut);
            }
        }
        self.save(step, saved);
        Ok(())
    }

    /// The parameters of each round of a step; values of a loop count once.
    fn rounds(&mut self, step: &Step) -> Vec<Option<Value>> {
        let fill = |template: &Option<Template>, variables: &Variables| match template {
            None => Some(None),
            Some(template) => template.fill(variables).map(Some),
        };
        let Some((name, expressions)) = &step.each else {
            return fill(&step.params, &self.variables).into_iter().collect();
        };
        let mut seen = HashSet::new();
        let values: Vec<Value> = expressions
            .iter()
            .flat_map(|expression: &Expression| expression.values(&self.variables))
            .filter(|value| seen.insert(value.to_string()))
            .collect();
        let values = if step.sample {
            self.sample(values)
        } else {
            values
        };
        let outer = self.variables.remove(name);
        let mut rounds = Vec::with_capacity(values.len());
        for value in values {
            self.variables.insert(name.clone(), value);
            rounds.extend(fill(&step.params, &self.variables));
        }
        self.variables.remove(name);
        if let Some(outer) = outer {
            self.variables.insert(name.clone(), outer);
        }
        rounds
    }

    /// At most as many values as the bounds allow, in their order: those that come first when all
    /// are ranked by a hash of the seed and the value.
    fn sample(&mut self, values: Vec<Value>) -> Vec<Value> {
        if values.len() <= self.bounds.reads {
            return values;
        }
        self.cuts.push(format!(
            "a sample of {} out of {} files was read",
            self.bounds.reads,
            values.len()
        ));
        self.sampled = true;
        let rank = |value: &Value| {
            let mut hash = Sha256::new();
            hash.update(self.bounds.seed.to_le_bytes());
            hash.update(value.to_string());
            hash.finalize()
        };
        let mut ranked: Vec<(usize, Value)> = values.into_iter().enumerate().collect();
        ranked.sort_by_cached_key(|(_, value)| rank(value));
        ranked.truncate(self.bounds.reads);
        ranked.sort_by_key(|(index, _)| *index);
        ranked.into_iter().map(|(_, value)| value).collect()
    }

    fn prepare(&self, scenario: &Scenario, step: &Step, params: Option<Value>) -> Call {
        let method = match &step.send {
            Send::Call(method) | Send::Notify(method) => method.clone(),
            Send::Raw(_) => String::new(),
        };
        Call {
            name: step.name.clone(),
            declares_extension: step.declare,
            ..Call::new(&scenario.name, &method, params)
        }
    }

    fn save(&mut self, step: &Step, rounds: Vec<Vec<(String, Value)>>) {
        for name in step.save.keys() {
            let mut found: Vec<Value> = Vec::new();
            for (_, value) in rounds.iter().flatten().filter(|(saved, _)| saved == name) {
                found.push(value.clone());
            }
            let joined = step.all_pages || step.each.is_some();
            let value = if joined {
                let items = found.into_iter().flat_map(|value| match value {
                    Value::Array(items) => items,
                    other => vec![other],
                });
                Value::Array(items.take(self.bounds.items).collect())
            } else {
                match found.into_iter().next() {
                    Some(value) => value,
                    None => continue,
                }
            };
            self.variables.insert(name.clone(), value);
        }
    }

    async fn revive(&mut self, session: &mut Session) -> Result<(), Stop> {
        if !session.is_lost() {
            return Ok(());
        }
        if self.restarts >= self.bounds.restarts {
            return Err(Stop::Lost(format!(
                "the target was lost {} times",
                self.restarts + 1
            )));
        }
        self.restarts += 1;
        reopen(session).await
    }
}

async fn reopen(session: &mut Session) -> Result<(), Stop> {
    session.reopen().await.map_err(|refusal| match refusal {
        Refusal::NotSpoken(why) => Stop::Lost(why),
        Refusal::Unreachable(error) => Stop::Lost(error.message),
    })
}

/// One round of a step that may run beside others.
struct Job<'a> {
    step: &'a Step,
    session: &'a Session,
    bounds: Bounds,
    walk: usize,
}

#[derive(Default)]
struct Outcome {
    saved: Vec<(String, Value)>,
    cut: Option<String>,
}

impl Job<'_> {
    async fn run(&self, call: Call) -> Outcome {
        let mut outcome = Outcome::default();
        let Some(follow) = &self.step.follow else {
            self.pages(call, &mut outcome).await;
            return outcome;
        };
        let mut visited: HashSet<String> = call.params.iter().filter_map(uri_of).collect();
        let mut queue = VecDeque::from([call.clone()]);
        while let Some(next) = queue.pop_front() {
            for answer in self.pages(next, &mut outcome).await {
                for uri in found(follow, &answer) {
                    if visited.len() >= self.bounds.directories {
                        outcome.cut =
                            Some(format!("more than {} directories", self.bounds.directories));
                        return outcome;
                    }
                    if visited.insert(uri.clone()) {
                        let mut params =
                            call.params.clone().unwrap_or_else(|| serde_json::json!({}));
                        params["uri"] = Value::from(uri);
                        queue.push_back(Call {
                            params: Some(params),
                            ..call.clone()
                        });
                    }
                }
            }
        }
        outcome
    }

    /// Makes the call, follows its pages if the step says so, and captures values. Returns the
    /// answers if `follow` needs them.
    async fn pages(&self, mut call: Call, outcome: &mut Outcome) -> Vec<Value> {
        let mut answers = Vec::new();
        let mut cursors = HashSet::new();
        let mut items = 0;
        let step = self.step;
        for page in 0.. {
            if step.all_pages {
                call.page = Some(Page {
                    walk: self.walk,
                    page,
                    cut: false,
                });
            }
            let reply = self.session.call(&call).await;
            let Some(frame) = reply.answer else { break };
            let recorder = self.session.recorder();
            let (next, kept) = recorder.with_frame(frame, |frame| {
                let answer = frame.json().unwrap_or(&Value::Null);
                for (name, pointer) in &step.save {
                    if let Some(value) = answer.pointer(pointer) {
                        items += value.as_array().map_or(1, Vec::len);
                        outcome.saved.push((name.clone(), value.clone()));
                    }
                }
                let next = answer
                    .pointer("/result/nextCursor")
                    .filter(|cursor| !cursor.is_null())
                    .cloned();
                (next, step.follow.is_some().then(|| answer.clone()))
            });
            answers.extend(kept);
            let Some(cursor) = next.filter(|_| step.all_pages) else {
                break;
            };
            // A cursor that comes back would never end; the walk shows it, and stops.
            let again = !cursors.insert(cursor.to_string());
            if again || page + 1 >= self.bounds.pages || items >= self.bounds.items {
                if !again {
                    outcome.cut = Some(format!(
                        "{} goes on after {} pages and {items} items",
                        call.method,
                        page + 1
                    ));
                }
                recorder.update(reply.exchange, |exchange| {
                    if let Some(page) = &mut exchange.page {
                        page.cut = true;
                    }
                });
                break;
            }
            let params = call.params.get_or_insert_with(|| serde_json::json!({}));
            if let Value::Object(params) = params {
                params.insert("cursor".to_owned(), cursor);
            }
        }
        answers
    }
}

fn uri_of(params: &Value) -> Option<String> {
    params.get("uri")?.as_str().map(str::to_owned)
}

/// The URIs that `follow` leads to.
fn found(follow: &Follow, answer: &Value) -> Vec<String> {
    let Ok(expression) = Expression::parse(&format!("$answer{}", follow.into)) else {
        return Vec::new();
    };
    let variables = Variables::from([("answer".to_owned(), answer.clone())]);
    expression
        .values(&variables)
        .iter()
        .filter(|object| {
            follow
                .with
                .iter()
                .all(|(key, value)| object.get(key) == Some(value))
        })
        .filter_map(uri_of)
        .collect()
}
