//! Plays host scenarios: puts servers on stage and asks the adapter.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::script::{Act, Answers, Script, Step};
use crate::target::adapter::Adapter;
use crate::target::process::Process;
use crate::target::serve::bait::Baits;
use crate::target::serve::http::Endpoint;
use crate::target::serve::relay::Exchange;
use crate::target::serve::shelf;
use crate::target::serve::stage::Stage;
use crate::target::{TargetError, TargetSpec};
use crate::wire::content::digest_string;
use crate::wire::scene::{CacheLook, CachedFile, Reply, Scene};
use crate::wire::{Revision, Transport};

/// The largest cached file that is looked at, in bytes.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Everything that is needed to play scenarios on one revision.
#[derive(Debug)]
pub struct Company {
    target: TargetSpec,
    via: Via,
    timeout: Duration,
    stage: Stage,
    doors: Doors,
    baits: Baits,
    states: TempDir,
    adapter: Option<Adapter>,
    /// State directories of former scenes that are being removed.
    clearing: Vec<tokio::task::JoinHandle<()>>,
    resets: bool,
    scenes: usize,
    /// Whether this scene has places that no host may reach.
    baited: bool,
    /// The last answer to `list` in this scene.
    listed: Value,
    /// What the adapter said of itself; null before the first scene.
    pub hello: Value,
    /// How often the adapter was lost, and how the first time went.
    pub losses: Vec<TargetError>,
}

/// What is asked of the host, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Via {
    /// An adapter, which is asked one thing after the other.
    #[default]
    Adapter,
    /// A driver, which is started for each scenario with the URL of a server as its last argument.
    Argv,
}

/// How hosts reach the servers.
#[derive(Debug)]
enum Doors {
    Http(Endpoint),
    Stdio(Exchange, String),
}

impl Company {
    /// Gets everything ready; the adapter is started with the first scene. `program` is what hosts
    /// start to reach servers over stdio: this program.
    ///
    /// # Errors
    ///
    /// The machine gives no ports or no temporary directory.
    pub async fn assemble(
        (target, via): (TargetSpec, Via),
        revision: Revision,
        transport: Transport,
        program: &str,
        timeout: Duration,
    ) -> std::io::Result<Self> {
        let stage = Stage::new(revision, transport);
        let doors = match transport {
            Transport::Http => Doors::Http(Endpoint::open(stage.clone()).await?),
            Transport::Stdio => {
                Doors::Stdio(Exchange::open(stage.clone()).await?, program.to_owned())
            }
        };
        Ok(Self {
            baits: Baits::lay(&stage).await?,
            target,
            via,
            timeout,
            stage,
            doors,
            states: tempfile::Builder::new().prefix("sep2640-").tempdir()?,
            adapter: None,
            clearing: Vec::new(),
            resets: false,
            scenes: 0,
            baited: false,
            listed: Value::Null,
            hello: Value::Null,
            losses: Vec::new(),
        })
    }

    /// Plays one scenario.
    ///
    /// # Errors
    ///
    /// The adapter or the driver cannot be started, or the adapter does not understand `hello`.
    pub async fn play(&mut self, script: &Script) -> Result<Scene, TargetError> {
        self.baits.clear();
        self.baited = script.baited();
        let script = script
            .filled(|text| self.baits.fill(text))
            .map_err(|error| TargetError::new(error.to_string()))?;
        let number = self.stage.set(&script.name, script.servers());
        if self.via == Via::Argv {
            self.drive(&script, number).await?;
            let mut scene = self.stage.strike();
            scene.exercises.clone_from(&script.exercises);
            scene.official.clone_from(&script.official);
            return Ok(scene);
        }
        let state = self.greet().await?;
        for step in &script.steps {
            if self.adapter.is_none() {
                break;
            }
            self.step(&script, step, number, &state).await;
        }
        self.look_back(&script, number, &state).await;
        if self.baited {
            // What was reached is told by tasks of their own.
            tokio::time::sleep(Duration::from_millis(2)).await;
            self.baits.look(&self.stage);
        }
        if !self.resets
            && let Some(adapter) = self.adapter.take()
        {
            adapter.stop().await;
        }
        // To clear away takes longer than to play; nobody need wait for it.
        self.clearing.push(tokio::task::spawn_blocking(move || {
            let _ = std::fs::remove_dir_all(&state);
        }));
        let mut scene = self.stage.strike();
        scene.exercises.clone_from(&script.exercises);
        Ok(scene)
    }

    /// Asks what the model sees at the end of a scene in which something was handed over, where the host
    /// can tell: what was refused must not be there.
    async fn look_back(&mut self, script: &Script, number: usize, state: &Path) {
        let loads = |step: &Step| matches!(&step.act, Act::Verb { verb, .. } if verb == "load");
        let verbs = self.hello.get("verbs").and_then(Value::as_array);
        let tells = verbs.is_some_and(|verbs| verbs.iter().any(|verb| verb == "context"));
        if !tells || self.adapter.is_none() || !script.steps.iter().any(loads) {
            return;
        }
        let step = Step {
            line: 0,
            act: Act::Verb {
                verb: "context".to_owned(),
                params: json!({}),
            },
            name: None,
            answers: Answers::default(),
        };
        self.step(script, &step, number, state).await;
    }

    /// Ends the adapter, and waits until everything is cleared away.
    pub async fn leave(&mut self) {
        if let Some(adapter) = self.adapter.take() {
            adapter.stop().await;
        }
        for task in self.clearing.drain(..) {
            let _ = task.await;
        }
    }

    /// Runs the driver with the address of the first server of the scene, until it ends.
    async fn drive(&mut self, script: &Script, number: usize) -> Result<(), TargetError> {
        let (Doors::Http(endpoint), Some(label)) = (&self.doors, script.serve.keys().next()) else {
            return Err(TargetError::new("a driver needs a server over HTTP"));
        };
        let (mut process, stdin, mut stdout) = Process::start(&self.target.driver(
            endpoint.url(number, label),
            script.official.as_deref().unwrap_or(&script.name),
            self.stage.revision().name(),
        ))?;
        drop(stdin);
        let drain = tokio::spawn(async move {
            let _ = tokio::io::copy(&mut stdout, &mut tokio::io::sink()).await;
        });
        let silence = tokio::select! {
            biased;
            _ = process.wait() => None,
            () = self.stage.flooded() => Some("before it had sent a flood of requests".to_owned()),
            () = tokio::time::sleep(self.timeout) => {
                Some(format!("within {}", humantime::format_duration(self.timeout)))
            }
        };
        if let Some(silence) = silence {
            self.losses.push(TargetError {
                message: format!("{}: the driver did not end {silence}", script.name),
                stderr: process.stderr_tail(),
            });
        }
        // Children that it left behind go with it.
        process.stop(false).await;
        drain.abort();
        Ok(())
    }

    /// Begins a scene with a host that knows nothing; returns its state directory.
    async fn greet(&mut self) -> Result<PathBuf, TargetError> {
        self.scenes += 1;
        self.listed = Value::Null;
        let state = self.states.path().join(self.scenes.to_string());
        std::fs::create_dir(&state)
            .map_err(|error| TargetError::new(format!("{}: {error}", state.display())))?;
        let mut adapter = match self.adapter.take() {
            Some(adapter) => adapter,
            None => Adapter::start(&self.target, &self.stage)?,
        };
        let params = json!({
            "protocol": 1,
            "state_dir": state,
            "revision": self.stage.revision().name(),
        });
        let nobody = |_: &Value| Answers::default().decide(&Answers::default(), &Value::Null);
        let reply = adapter
            .ask("hello", params, None, self.timeout, &nobody)
            .await;
        let problem = match reply {
            Reply::Result(hello) if hello.is_object() => {
                self.resets = hello.get("resets") == Some(&Value::Bool(true));
                self.hello = hello;
                self.adapter = Some(adapter);
                return Ok(state);
            }
            Reply::Result(_) => "the adapter's answer to `hello` is not an object".to_owned(),
            Reply::Unimplemented => "the adapter does not know `hello`".to_owned(),
            Reply::Error(why) => format!("the adapter answered `hello` with an error: {why}"),
            Reply::TimedOut => "the adapter did not answer `hello` in time".to_owned(),
            Reply::Lost => return Err(adapter.obituary().await),
        };
        let stderr = adapter.obituary().await.stderr;
        Err(TargetError {
            message: problem,
            stderr,
        })
    }

    async fn step(&mut self, script: &Script, step: &Step, number: usize, state: &Path) {
        match &step.act {
            Act::Verb { verb, params } => {
                let mut params = params.clone();
                self.name_handles(&mut params);
                if verb == "connect"
                    && let Some(label) = params["server"].as_str()
                {
                    match &self.doors {
                        Doors::Http(endpoint) => params["url"] = json!(endpoint.url(number, label)),
                        Doors::Stdio(exchange, program) => {
                            let mut command = vec![program.clone()];
                            command.extend(exchange.arguments(number, label));
                            params["command"] = json!(command);
                        }
                    }
                }
                let reply = self.ask(script, step, verb, params).await;
                if let (true, Reply::Result(result)) = (verb == "cache", &reply) {
                    let files = look(result, state);
                    self.stage.looked(|at| CacheLook { at, files });
                }
                if let (true, Reply::Result(result)) = (verb == "list", reply) {
                    self.listed = result;
                }
                if self.baited {
                    self.baits.look(&self.stage);
                }
            }
            Act::Change {
                server,
                skill,
                change,
            } => self.stage.change(server, skill, change),
            Act::Rule { server, rule } => self.stage.add_rule(server, rule),
            Act::Pause(pause) => tokio::time::sleep(*pause).await,
            Act::Tamper { server, uri } => {
                if let Reply::Result(result) = self.ask(script, step, "cache", json!({})).await
                    && let Some(path) = cached(&result, server, uri, state)
                {
                    let token = shelf::token("tampered", uri, 0);
                    if overwrite(&path, &token).is_ok() {
                        self.stage.tampered(server, uri, &token);
                    }
                }
            }
        }
    }

    /// Replaces `name: { handle_of: { server, uri | name } }` by the handle that the host last showed
    /// for the skill; by a name that no skill has, where it showed none.
    fn name_handles(&self, params: &mut Value) {
        let Some(wanted) = params.pointer("/name/handle_of") else {
            return;
        };
        let skills = self.listed.get("skills").and_then(Value::as_array);
        let members = ["server", "uri", "name"];
        let handle = skills.into_iter().flatten().find_map(|skill| {
            let same = members.iter().all(|member| {
                let wanted = wanted.get(*member);
                wanted.is_none_or(|wanted| skill.get(*member).unwrap_or(&Value::Null) == wanted)
            });
            same.then(|| skill.get("shown_as").cloned()).flatten()
        });
        params["name"] = handle.unwrap_or_else(|| json!("(not shown)"));
    }

    async fn ask(&mut self, script: &Script, step: &Step, verb: &str, params: Value) -> Reply {
        let Some(adapter) = &mut self.adapter else {
            return Reply::Lost;
        };
        let user = |params: &Value| step.answers.decide(&script.answers, params);
        let name = step.name.as_deref();
        let reply = adapter.ask(verb, params, name, self.timeout, &user).await;
        let why = match reply {
            Reply::Lost => adapter.obituary().await,
            Reply::TimedOut => TargetError::new(adapter.silence(verb, self.timeout)),
            _ => return reply,
        };
        self.losses.push(TargetError {
            message: format!("{}: {}", script.name, why.message),
            stderr: why.stderr,
        });
        if let Some(adapter) = self.adapter.take() {
            adapter.stop().await;
        }
        reply
    }
}

/// The path of a cached file, if it lies in the state directory: the adapter's words are no reason
/// to write anywhere else.
fn cached(result: &Value, server: &str, uri: &str, state: &Path) -> Option<PathBuf> {
    let files = result.get("files")?.as_array()?;
    let file = files
        .iter()
        .find(|file| file["server"] == server && file["uri"] == uri)?;
    within(file.get("path")?.as_str()?, state)
}

fn within(path: &str, state: &Path) -> Option<PathBuf> {
    let path = Path::new(path).canonicalize().ok()?;
    path.starts_with(state.canonicalize().ok()?).then_some(path)
}

/// Puts a token in the place of the last characters of a file. Length and time of change stay what
/// they were, so that only a look at the content tells.
fn overwrite(path: &Path, token: &str) -> std::io::Result<()> {
    use std::io::{Seek as _, SeekFrom, Write as _};
    let metadata = std::fs::metadata(path)?;
    // A host may have taken its own write permission away.
    let mode = metadata.permissions().mode();
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode | 0o200))?;
    let mut file = std::fs::OpenOptions::new().write(true).open(path)?;
    let text = format!("{token}\n");
    let at = metadata.len().saturating_sub(text.len() as u64);
    file.seek(SeekFrom::Start(at))?;
    file.write_all(text.as_bytes())?;
    file.set_modified(metadata.modified()?)?;
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode))
}

/// The files of a `cache` answer as they stand on disk.
fn look(result: &Value, state: &Path) -> Vec<CachedFile> {
    let files = result.get("files").and_then(Value::as_array);
    files
        .into_iter()
        .flatten()
        .filter_map(|file| {
            let shown = file.get("path")?.as_str()?;
            let path = within(shown, state)?;
            let metadata = path.metadata().ok()?;
            if !metadata.is_file() || metadata.len() > LARGEST {
                return None;
            }
            let state = state.canonicalize().ok()?;
            let others = path
                .ancestors()
                .take_while(|step| *step != state)
                .filter_map(|step| step.metadata().ok())
                .any(|step| step.permissions().mode() & 0o002 != 0);
            Some(CachedFile {
                path: shown.to_owned(),
                digest: digest_string(&Sha256::digest(std::fs::read(&path).ok()?).into()),
                identity: metadata
                    .created()
                    .ok()
                    .map(|made| format!("{} {made:?}", metadata.ino())),
                writable_by_others: others,
            })
        })
        .collect()
}
