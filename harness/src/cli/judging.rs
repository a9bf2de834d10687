//! What `server` and `host` have in common: options, the way a run is carried out, and what is
//! written at its end.

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use anstream::AutoStream;
use clap::Args;
use globset::{Glob, GlobMatcher};

use crate::baseline::Baseline;
use crate::checks::{self, Check};
use crate::event::{Event, Report, TargetDescription};
use crate::exit::Exit;
use crate::fuzz::Partition;
use crate::host_run::{self, HostPlan};
use crate::outcome::{Replay, Rules, redact};
use crate::report::terminal::Terminal;
use crate::report::{self, Destination, Reporter, escape, shell_quote};
use crate::run::{self, Plan};
use crate::target::{TargetError, TargetSpec};
use crate::transcript;
use crate::verdict::Side;
use crate::wire::Revision;
use crate::wire::scene::Scene;
use crate::wire::trace::Trace;

/// Options of every command that judges.
#[derive(Debug, Args)]
pub struct Judging {
    /// Only checks whose id matches GLOB (repeatable); plays just the scenarios that they need.
    #[arg(long, value_name = "GLOB", value_parser = parse_glob)]
    pub filter: Vec<GlobMatcher>,
    /// Only one of N parts of the checks, e.g. 2/4, so that several machines share a run.
    #[arg(long, value_name = "I/N", default_value = "1/1")]
    pub partition: Partition,
    /// Play the scenario in FILE as well (repeatable).
    #[arg(long, value_name = "FILE")]
    scenario: Vec<PathBuf>,
    /// File of expected failures; entries that did not fail make the run fail.
    #[arg(long, value_name = "FILE")]
    expected_failures: Option<PathBuf>,
    /// Stop playing once a check has failed.
    #[arg(long)]
    pub fail_fast: bool,
    /// A broken SHOULD fails, too.
    #[arg(long)]
    strict: bool,
    /// How long the whole run may take, e.g. 5m.
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = parse_duration)]
    pub deadline: Duration,
    /// Environment variable for the target, as NAME=VALUE, or NAME to pass ours on (repeatable).
    #[arg(long, value_name = "NAME[=VALUE]")]
    env: Vec<String>,
    /// Working directory of the target.
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Write a report: json=FILE or junit=FILE; without a file, to standard output (repeatable).
    #[arg(long, value_name = "FORMAT[=FILE]")]
    report: Vec<Destination>,
    /// Write every frame to FILE, as JSON lines.
    #[arg(long, value_name = "FILE")]
    pub transcript: Option<PathBuf>,
    /// Show every finding.
    #[arg(long, short)]
    verbose: bool,
    /// Show failures only.
    #[arg(long, short, conflicts_with = "verbose")]
    quiet: bool,
}

/// A command as it is run, as reports call it, and the words that name it on a command line.
pub type Named = (TargetSpec, TargetDescription, Vec<String>);

/// A run that only has to be carried out.
pub enum Prepared {
    /// With a server.
    Server(Box<Plan>),
    /// With a host.
    Host(Box<HostPlan>),
}

/// What came of a run.
pub struct Finished {
    /// The report.
    pub report: Report,
    /// How the process should exit.
    pub exit: Exit,
    /// Why the target could not be reached, when it could not.
    pub unreachable: Option<TargetError>,
    /// What a transcript is written from, where the plan keeps it.
    kept: Kept,
}

enum Kept {
    Traces(Vec<Trace>),
    Scenes(Vec<Vec<Scene>>),
}

impl Prepared {
    /// Values that must not appear in any output.
    pub fn secrets(&self) -> &[String] {
        match self {
            Prepared::Server(plan) => &plan.rules.secrets,
            Prepared::Host(plan) => &plan.rules.secrets,
        }
    }

    /// Carries the run out; `emit` is told what happens.
    ///
    /// # Errors
    ///
    /// As for [`run_until_interrupted`].
    pub fn run(&self, emit: impl FnMut(Event)) -> Result<Finished, Exit> {
        Ok(match self {
            Prepared::Server(plan) => {
                let outcome = run_until_interrupted(run::run(plan, emit))?;
                Finished {
                    report: outcome.report,
                    exit: outcome.exit,
                    unreachable: outcome.unreachable,
                    kept: Kept::Traces(outcome.traces),
                }
            }
            Prepared::Host(plan) => {
                let outcome = run_until_interrupted(host_run::run(plan, emit))?;
                Finished {
                    report: outcome.report,
                    exit: outcome.exit,
                    unreachable: outcome.unreachable,
                    kept: Kept::Scenes(outcome.scenes),
                }
            }
        })
    }
}

impl Finished {
    fn transcript(&self, hide: &dyn Fn(&str) -> String) -> String {
        match &self.kept {
            Kept::Traces(traces) => {
                let lines = |trace| transcript::lines(trace, hide);
                traces.iter().map(lines).collect()
            }
            Kept::Scenes(scenes) => {
                let lines = |scene| transcript::scene_lines(scene, hide);
                scenes.iter().flatten().map(lines).collect()
            }
        }
    }
}

fn parse_glob(text: &str) -> Result<GlobMatcher, String> {
    Glob::new(text)
        .map(|glob| glob.compile_matcher())
        .map_err(|error| error.to_string())
}

/// Reads a duration with its unit.
///
/// # Errors
///
/// Says how durations are written; nothing is no duration.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text)
        .map_err(|error| format!("{error}; write e.g. 500ms, 20s or 5m"))?;
    if duration.is_zero() {
        return Err("expected more than nothing".into());
    }
    Ok(duration)
}

/// Writes the command line that shows the verdict of one check on one revision again; `words`
/// name the target and whatever else the verdict depends on.
pub fn replay(command: &'static str, words: Vec<String>) -> Replay {
    Box::new(move |revision: Revision, check: &str| {
        let fixed = [
            "sep2640-conform",
            command,
            "--protocol",
            revision.name(),
            "--filter",
            check,
        ];
        let words = words.iter().map(String::as_str);
        let quoted: Vec<String> = fixed.into_iter().chain(words).map(shell_quote).collect();
        quoted.join(" ")
    })
}

impl Judging {
    /// The checks of a side that `--filter` lets through.
    ///
    /// # Errors
    ///
    /// There are none.
    pub fn checks(&self, side: Side) -> Result<Vec<&'static Check>, String> {
        let checks: Vec<&'static Check> = checks::all(side)
            .into_iter()
            .filter(|check| {
                self.filter.is_empty() || self.filter.iter().any(|glob| glob.is_match(check.id))
            })
            .collect();
        if checks.is_empty() {
            return Err("no check matches --filter; `list checks` has their ids".into());
        }
        let part = |(number, check)| self.partition.has(number).then_some(check);
        let part: Vec<&'static Check> = (0..).zip(checks).filter_map(part).collect();
        if part.is_empty() {
            return Err("no check is left for this part; choose fewer parts".into());
        }
        Ok(part)
    }

    /// Whether only some checks are judged, and only scenarios for these have to be played.
    pub fn is_partial(&self) -> bool {
        !self.filter.is_empty() || self.partition.count > 1
    }

    /// Names and texts of the files of `--scenario`.
    ///
    /// # Errors
    ///
    /// A file cannot be read.
    pub fn scenario_files(&self) -> Result<Vec<(String, String)>, String> {
        let read = |path: &PathBuf| read(path);
        self.scenario.iter().map(read).collect()
    }

    /// How judged checks become a report.
    ///
    /// # Errors
    ///
    /// The baseline cannot be read or names what there is not.
    pub fn rules(&self, side: Side, replay: Replay, secrets: Vec<String>) -> Result<Rules, String> {
        let baseline = match &self.expected_failures {
            None => Baseline::default(),
            Some(path) => {
                let (shown, text) = read(path)?;
                Baseline::parse(&shown, &text, side)?
            }
        };
        Ok(Rules {
            strict: self.strict,
            baseline,
            replay,
            secrets,
        })
    }

    /// Values that must not appear in any output: those given, those of `--env`, and their words.
    pub fn secrets(&self, mut secrets: Vec<String>) -> Vec<String> {
        for entry in &self.env {
            secrets.extend(match entry.split_once('=') {
                Some((_, value)) => Some(value.to_owned()),
                None => std::env::var(entry).ok(),
            });
        }
        // `Bearer abc` comes back as `abc` too; what is very short would blank out half the report.
        let words: Vec<String> = secrets
            .iter()
            .flat_map(|secret| secret.split_whitespace())
            .map(str::to_owned)
            .collect();
        secrets.extend(words);
        secrets.retain(|secret| secret.len() >= 6);
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets
    }

    /// Whether the target is given an environment or a directory of its own.
    pub fn places_target(&self) -> bool {
        !self.env.is_empty() || self.cwd.is_some()
    }

    /// A subprocess as the target, with the environment and the directory that the user gave;
    /// `shown` is how reports call it, and `built_in` that it needs no naming.
    ///
    /// # Errors
    ///
    /// A variable of `--env` is not there.
    pub fn command(
        &self,
        argv: Vec<String>,
        shown: Vec<String>,
        built_in: bool,
    ) -> Result<Named, String> {
        let mut env = Vec::new();
        for entry in &self.env {
            env.push(match entry.split_once('=') {
                Some((name, value)) => (name.to_owned(), value.to_owned()),
                None => {
                    let value = std::env::var(entry).map_err(|_| {
                        format!("--env: the environment has no {entry} that can be used")
                    })?;
                    (entry.clone(), value)
                }
            });
        }
        let mut words = Vec::new();
        for (name, _) in &env {
            words.extend(["--env".to_owned(), name.clone()]);
        }
        if let Some(cwd) = &self.cwd {
            words.extend(["--cwd".to_owned(), cwd.display().to_string()]);
        }
        if !built_in {
            words.push("--".to_owned());
            words.extend(shown.iter().cloned());
        }
        let description = TargetDescription {
            command: Some(shown),
            url: None,
        };
        let spec = TargetSpec::Command {
            argv,
            cwd: self.cwd.clone(),
            env,
        };
        Ok((spec, description, words))
    }

    /// Carries a run out and writes everything that the user asked for; returns how the process
    /// should exit.
    pub fn carry_out(&self, prepared: Result<Prepared, String>) -> Exit {
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(message) => {
                eprintln!("error: {message}");
                return Exit::Usage;
            }
        };
        let mut reporter = self.reporter();
        match prepared.run(|event| reporter.event(&event)) {
            Ok(finished) => self.finish(reporter, &finished, prepared.secrets()),
            Err(exit) => exit,
        }
    }

    /// The reporter for the terminal.
    fn reporter(&self) -> Terminal<AutoStream<std::io::Stdout>> {
        report::terminal(self.verbose, self.quiet)
    }

    fn finish(&self, mut reporter: impl Reporter, finished: &Finished, secrets: &[String]) -> Exit {
        let mut exit = finished.exit;
        let to_stdout = self.report.iter().any(Destination::is_stdout);
        // A report on standard output has it for itself.
        if !to_stdout && let Err(error) = reporter.finish(&finished.report) {
            eprintln!("error: cannot write the report: {error}");
            exit = exit.worst(Exit::Usage);
        }
        drop(reporter);
        let hide = |text: &str| redact(secrets, text);
        if let Some(error) = &finished.unreachable {
            let show = |text: &str| escape(&hide(text));
            // Otherwise the report has said why.
            if self.quiet || to_stdout {
                eprintln!("error: {}", show(&error.message));
            }
            if !error.stderr.is_empty() {
                eprintln!("the target's last words on standard error:");
            }
            for line in error.stderr.lines() {
                eprintln!("  | {}", show(line));
            }
        }
        if let Some(path) = &self.transcript
            && let Err(error) = std::fs::write(path, finished.transcript(&hide))
        {
            eprintln!("error: {}: {error}", path.display());
            exit = exit.worst(Exit::Usage);
        }
        for destination in &self.report {
            if let Err(error) = destination.write(&finished.report) {
                eprintln!("error: {error}");
                exit = exit.worst(Exit::Usage);
            }
        }
        exit
    }
}

fn read(path: &PathBuf) -> Result<(String, String), String> {
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| format!("{shown}: {error}"))?;
    Ok((shown, text))
}

/// Carries a run out on a runtime of its own.
///
/// # Errors
///
/// How the process should exit if the user interrupted the run, or if there is no runtime.
pub fn run_until_interrupted<T>(run: impl Future<Output = T>) -> Result<T, Exit> {
    // One thread: an answer is taken in where it is waited for. To wake another thread for it takes
    // longer than all else that the harness does for a request.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| {
            eprintln!("error: cannot start the runtime: {error}");
            Exit::Harness
        })?;
    let done = runtime.block_on(async {
        tokio::select! {
            outcome = run => Some(outcome),
            () = interrupted() => None,
        }
    });
    // Dropping the run has killed the target's process group.
    drop(runtime);
    done.ok_or_else(|| {
        eprintln!("interrupted");
        Exit::Interrupted
    })
}

/// Comes back on Ctrl-C or on SIGTERM.
pub(super) async fn interrupted() {
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = terminated() => {}
    }
}

/// Comes back on SIGTERM.
pub(super) async fn terminated() {
    match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        Ok(mut signal) => drop(signal.recv().await),
        Err(_) => std::future::pending().await,
    }
}
