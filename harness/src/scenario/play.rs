//! Plays scenarios in a session.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::{self, StreamExt};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::expr::{Expression, Template, Variables};
use super::file::{Condition, Scenario, Send, Step};
use super::job::{Job, Outcome};
use crate::target::Identity;
use crate::target::handshake::Refusal;
use crate::target::session::{Call, Session};
use crate::wire::disk::Disk;
use crate::wire::mapping::Mapping;

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

/// How many requests of one step may be seen to lose the target.
const LOSSES: usize = 3;

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
    identities: Vec<Identity>,
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
        Some(Condition::Identities) => facts.identities,
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
    /// The user named further identities.
    pub identities: bool,
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

    /// The same with further identities.
    pub fn with_identities(mut self, identities: &[Identity]) -> Self {
        self.identities = identities.to_vec();
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
        if scenario.when == Some(Condition::Identities) {
            return self.play_as_others(scenario, session).await;
        }
        self.steps(scenario, session).await
    }

    /// Plays a scenario as each further identity, and goes back to the first.
    async fn play_as_others(
        &mut self,
        scenario: &Scenario,
        session: &mut Session,
    ) -> Result<(), Stop> {
        let own = self.variables.clone();
        for identity in self.identities.clone() {
            // Some are not let in at all, which is no loss of the target.
            let entered = session.become_identity(Some(&identity)).await;
            match entered {
                Ok(()) => self.steps(scenario, session).await?,
                Err(Refusal::NotSpoken(why)) => self.cut_identity(&identity, &why),
                Err(Refusal::Unreachable(error)) => self.cut_identity(&identity, &error.message),
            }
            self.variables.clone_from(&own);
        }
        session.become_identity(None).await.map_err(lost)
    }

    fn cut_identity(&mut self, identity: &Identity, why: &str) {
        self.cuts.push(format!("--as {}: {why}", identity.name));
    }

    async fn steps(&mut self, scenario: &Scenario, session: &mut Session) -> Result<(), Stop> {
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
        let mapping = Mapping::of(
            disk,
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
            let shared = &*session;
            let jobs = stream::iter(calls.iter().enumerate()).map(|(index, call)| {
                let job = Job {
                    step,
                    session: shared,
                    bounds: self.bounds,
                    walk: first_walk + index,
                };
                async move { (index, job.run(call.clone()).await) }
            });
            let jobs = jobs.buffer_unordered(session.width());
            let mut done: Vec<(usize, Outcome)> = jobs.collect().await;
            done.sort_by_key(|(index, _)| *index);
            let alone = done.len() == 1;
            let mut losses = 0;
            for (index, mut outcome) in done {
                // What was under way when the target went away says nothing: it is tried again by
                // itself, and counts only if it is lost once more.
                if outcome.lost && !alone {
                    session.supersede(&outcome.exchanges);
                    if losses == LOSSES {
                        self.cuts.push(format!(
                            "{}: the target was lost again and again",
                            scenario.name
                        ));
                        break;
                    }
                    session.alive(&scenario.name).await;
                    self.revive(session).await?;
                    let job = Job {
                        step,
                        session,
                        bounds: self.bounds,
                        walk: self.walks,
                    };
                    self.walks += 1;
                    outcome = job.run(calls[index].clone()).await;
                    losses += usize::from(outcome.lost);
                }
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
            Send::Raw(_) => Arc::from(""),
        };
        Call {
            name: step.name.clone(),
            declares_extension: step.declare,
            ..Call::new(scenario.name.clone(), method, params)
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
    session.reopen().await.map_err(lost)
}

fn lost(refusal: Refusal) -> Stop {
    match refusal {
        Refusal::NotSpoken(why) => Stop::Lost(why),
        Refusal::Unreachable(error) => Stop::Lost(error.message),
    }
}
