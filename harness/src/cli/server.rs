//! `server`: judges a server.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use globset::{Glob, GlobMatcher};
use reqwest::Url;

use crate::baseline::Baseline;
use crate::checks::{self, Check};
use crate::disk;
use crate::event::TargetDescription;
use crate::exit::Exit;
use crate::outcome::{Rules, redact};
use crate::report::{self, Destination, Reporter, escape, shell_quote};
use crate::run::{self, Plan, Protocols};
use crate::scenario::file::Scenario;
use crate::scenario::{self, play::Bounds};
use crate::target::{Limits, TargetSpec};
use crate::transcript;
use crate::verdict::Side;
use crate::wire::Revision;

/// Arguments of `server`.
#[derive(Debug, Args)]
pub struct ServerArgs {
    /// Judge the Streamable HTTP endpoint at URL.
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    url: Option<Url>,
    /// Revisions to judge: auto (each that the server speaks), all, 2026-07-28 or 2025-11-25.
    #[arg(long, value_name = "WHICH", default_value = "auto", value_parser = parse_protocols)]
    protocol: Protocols,
    /// Only checks whose id matches GLOB (repeatable); plays just the scenarios that they need.
    #[arg(long, value_name = "GLOB", value_parser = parse_glob)]
    filter: Vec<GlobMatcher>,
    /// Play the scenario in FILE as well (repeatable).
    #[arg(long, value_name = "FILE")]
    scenario: Vec<PathBuf>,
    /// A skill that the listing may leave out (repeatable): it must be answered all the same.
    #[arg(long, value_name = "URI")]
    skill: Vec<String>,
    /// The directory whose skills the server serves: what is served is compared with it.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Also call resources/directory/read where it is not declared.
    #[arg(long)]
    probe_undeclared: bool,
    /// File of expected failures; entries that did not fail make the run fail.
    #[arg(long, value_name = "FILE")]
    expected_failures: Option<PathBuf>,
    /// Stop playing once a check has failed.
    #[arg(long)]
    fail_fast: bool,
    /// Read at most N of the files, chosen by --seed; the report says so.
    #[arg(long, value_name = "N")]
    max_reads: Option<usize>,
    /// Take in at most N listed skills.
    #[arg(long, value_name = "N", default_value_t = Bounds::default().items)]
    max_skills: usize,
    /// Seed of everything random in the run.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// A broken SHOULD fails, too.
    #[arg(long)]
    strict: bool,
    /// How long the server may be silent while a request waits, e.g. 500ms, 20s.
    #[arg(long, value_name = "DURATION", default_value = "20s", value_parser = parse_duration)]
    timeout: Duration,
    /// How long the whole run may take, e.g. 5m.
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = parse_duration)]
    deadline: Duration,
    /// Header for each HTTP request, as "Name: value" (repeatable).
    #[arg(long, value_name = "HEADER", requires = "url", value_parser = parse_header)]
    header: Vec<(String, String)>,
    /// Header whose value stands in an environment variable, as NAME=VARIABLE (repeatable).
    #[arg(long, value_name = "NAME=VARIABLE", requires = "url", value_parser = parse_pair)]
    header_env: Vec<(String, String)>,
    /// Environment variable for the server, as NAME=VALUE, or NAME to pass ours on (repeatable).
    #[arg(long, value_name = "NAME[=VALUE]", conflicts_with = "url")]
    env: Vec<String>,
    /// Working directory of the server.
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    cwd: Option<PathBuf>,
    /// Write a report: json=FILE or junit=FILE; without a file, to standard output (repeatable).
    #[arg(long, value_name = "FORMAT[=FILE]")]
    report: Vec<Destination>,
    /// Write every frame to FILE, as JSON lines.
    #[arg(long, value_name = "FILE")]
    transcript: Option<PathBuf>,
    /// Show every finding.
    #[arg(long, short)]
    verbose: bool,
    /// Show failures only.
    #[arg(long, short, conflicts_with = "verbose")]
    quiet: bool,
    /// The server's command and its arguments; the built-in reference server when left out.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

fn parse_protocols(text: &str) -> Result<Protocols, String> {
    match text {
        "auto" => Ok(Protocols::Auto),
        "all" => Ok(Protocols::All),
        revision => revision.parse().map(Protocols::One),
    }
}

fn parse_glob(text: &str) -> Result<GlobMatcher, String> {
    Glob::new(text)
        .map(|glob| glob.compile_matcher())
        .map_err(|error| error.to_string())
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text)
        .map_err(|error| format!("{error}; write e.g. 500ms, 20s or 5m"))?;
    if duration.is_zero() {
        return Err("expected more than nothing".into());
    }
    Ok(duration)
}

fn parse_header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("expected `Name: value`")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn parse_pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VARIABLE")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Runs `server`.
pub fn run(args: &ServerArgs) -> Exit {
    match prepare(args) {
        Err(message) => {
            eprintln!("error: {message}");
            Exit::Usage
        }
        Ok(plan) => execute(args, &plan),
    }
}

fn prepare(args: &ServerArgs) -> Result<Plan, String> {
    let (target, description, shown) = target(args)?;
    let checks: Vec<&'static Check> = checks::all(Side::Server)
        .into_iter()
        .filter(|check| {
            args.filter.is_empty() || args.filter.iter().any(|glob| glob.is_match(check.id))
        })
        .collect();
    if checks.is_empty() {
        return Err("no check matches --filter; `list checks` has their ids".into());
    }
    let mut scenarios = if args.filter.is_empty() {
        scenario::built_in().iter().collect()
    } else {
        needed(&checks)
    };
    for path in &args.scenario {
        let shown = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| format!("{shown}: {error}"))?;
        let scenario = Scenario::parse(&shown, &text).map_err(|error| error.to_string())?;
        // Read once, used until the process ends.
        scenarios.push(Box::leak(Box::new(scenario)));
    }
    let mut named_skills = args.skill.clone();
    if args.url.is_none() && args.command.is_empty() && args.root.is_none() {
        // The built-in server has a skill that its listing leaves out.
        named_skills.push(sep2640_reference::UNLISTED_SKILL.to_owned());
    }
    let baseline = match &args.expected_failures {
        None => Baseline::default(),
        Some(path) => {
            let shown = path.display().to_string();
            let text =
                std::fs::read_to_string(path).map_err(|error| format!("{shown}: {error}"))?;
            Baseline::parse(&shown, &text, Side::Server)?
        }
    };
    let mut options: Vec<String> = Vec::new();
    for uri in &args.skill {
        options.extend(["--skill".to_owned(), uri.clone()]);
    }
    let disk = match &args.root {
        None => None,
        Some(root) => {
            options.extend(["--root".to_owned(), root.display().to_string()]);
            let disk = disk::read(root).map_err(|error| format!("--root: {error}"))?;
            Some(Arc::new(disk))
        }
    };
    if args.probe_undeclared {
        options.push("--probe-undeclared".to_owned());
    }
    let replay = move |revision: Revision, check: &str| {
        let mut words = vec!["sep2640-conform".to_owned(), "server".to_owned()];
        words.extend([
            "--protocol".to_owned(),
            revision.to_string(),
            "--filter".to_owned(),
            check.to_owned(),
        ]);
        words.extend(options.iter().cloned());
        words.extend(shown.iter().cloned());
        words
            .iter()
            .map(|word| shell_quote(word))
            .collect::<Vec<_>>()
            .join(" ")
    };
    Ok(Plan {
        target,
        description,
        protocols: args.protocol,
        limits: Limits {
            timeout: args.timeout,
            bytes: args.transcript.is_some(),
            ..Limits::default()
        },
        bounds: Bounds {
            items: args.max_skills,
            reads: args.max_reads.unwrap_or(usize::MAX),
            seed: args.seed,
            ..Bounds::default()
        },
        deadline: args.deadline,
        scenarios,
        checks,
        probe_undeclared: args.probe_undeclared,
        named_skills,
        disk,
        keep_traces: args.transcript.is_some(),
        fail_fast: args.fail_fast,
        rules: Rules {
            strict: args.strict,
            baseline,
            replay: Box::new(replay),
            secrets: secrets(args),
        },
    })
}

/// Values that the user handed over to be kept: of headers, of variables, of the address.
fn secrets(args: &ServerArgs) -> Vec<String> {
    let mut secrets: Vec<String> = args.header.iter().map(|(_, value)| value.clone()).collect();
    secrets.extend(
        args.header_env
            .iter()
            .filter_map(|(_, variable)| std::env::var(variable).ok()),
    );
    for entry in &args.env {
        secrets.extend(match entry.split_once('=') {
            Some((_, value)) => Some(value.to_owned()),
            None => std::env::var(entry).ok(),
        });
    }
    secrets.extend(
        args.url
            .as_ref()
            .and_then(|url| url.password())
            .map(str::to_owned),
    );
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

/// The target, how reports call it, and the words that name it on a command line.
fn target(args: &ServerArgs) -> Result<(TargetSpec, TargetDescription, Vec<String>), String> {
    if let Some(url) = &args.url {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!(
                "--url: expected http:// or https://, found {}://",
                url.scheme()
            ));
        }
        let mut headers = args.header.clone();
        for (name, variable) in &args.header_env {
            let value = std::env::var(variable).map_err(|_| {
                format!("--header-env: the environment has no {variable} that can be used")
            })?;
            headers.push((name.clone(), value));
        }
        let mut bare = url.clone();
        // Credentials stay out of reports; reqwest takes them from the address that it is given.
        let _ = bare.set_username("");
        let _ = bare.set_password(None);
        let description = TargetDescription {
            command: None,
            url: Some(bare.to_string()),
        };
        let mut words = vec!["--url".to_owned(), bare.to_string()];
        for (name, variable) in &args.header_env {
            words.extend(["--header-env".to_owned(), format!("{name}={variable}")]);
        }
        for (name, _) in &args.header {
            words.extend(["--header".to_owned(), format!("{name}: …")]);
        }
        let spec = TargetSpec::Url {
            url: url.clone(),
            headers,
        };
        return Ok((spec, description, words));
    }
    let mut env = Vec::new();
    for entry in &args.env {
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
    let (argv, shown) = if args.command.is_empty() {
        let program = std::env::current_exe()
            .map_err(|error| format!("cannot find this program: {error}"))?;
        let program = program
            .to_str()
            .ok_or("the path of this program is not UTF-8")?
            .to_owned();
        let mut shown = ["sep2640-conform", "reference", "server"]
            .map(str::to_owned)
            .to_vec();
        let mut argv = vec![program, "reference".to_owned(), "server".to_owned()];
        // The built-in server serves the directory that it is compared with; seen from --cwd its
        // relative path would be another.
        if let Some(root) = &args.root {
            let full = std::path::absolute(root).map_err(|error| format!("--root: {error}"))?;
            let full = full.to_str().ok_or("--root: the path is not UTF-8")?;
            argv.extend(["--skills".to_owned(), full.to_owned()]);
            shown.extend(["--skills".to_owned(), root.display().to_string()]);
        }
        (argv, shown)
    } else {
        (args.command.clone(), args.command.clone())
    };
    let mut words = Vec::new();
    for (name, _) in &env {
        words.extend(["--env".to_owned(), name.clone()]);
    }
    if let Some(cwd) = &args.cwd {
        words.extend(["--cwd".to_owned(), cwd.display().to_string()]);
    }
    if !args.command.is_empty() {
        words.push("--".to_owned());
        words.extend(shown.iter().cloned());
    }
    let description = TargetDescription {
        command: Some(shown),
        url: None,
    };
    let spec = TargetSpec::Command {
        argv,
        cwd: args.cwd.clone(),
        env,
    };
    Ok((spec, description, words))
}

/// The scenarios that exercise one of the checks, and those that they build on, in their order.
fn needed(checks: &[&'static Check]) -> Vec<&'static Scenario> {
    let all = scenario::built_in();
    let mut wanted: Vec<&str> = Vec::new();
    let exercises = |scenario: &&Scenario| {
        let hit = |id: &String| checks.iter().any(|check| check.id == id);
        scenario.exercises.iter().any(hit)
    };
    let mut open: Vec<&Scenario> = all.iter().filter(exercises).collect();
    while let Some(scenario) = open.pop() {
        if !wanted.contains(&scenario.name.as_str()) {
            wanted.push(&scenario.name);
            open.extend(
                all.iter()
                    .filter(|other| scenario.needs.contains(&other.name)),
            );
        }
    }
    all.iter()
        .filter(|scenario| wanted.contains(&scenario.name.as_str()))
        .collect()
}

fn execute(args: &ServerArgs, plan: &Plan) -> Exit {
    let mut reporter = report::terminal(args.verbose, args.quiet);
    // One thread: an answer is taken in where it is waited for. To wake another thread for it takes
    // longer than all else that the harness does for a request.
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: cannot start the runtime: {error}");
            return Exit::Harness;
        }
    };
    let done = runtime.block_on(async {
        tokio::select! {
            outcome = run::run(plan, |event| reporter.event(&event)) => Some(outcome),
            () = interrupted() => None,
        }
    });
    let Some(outcome) = done else {
        // Dropping the session has killed the server's process group.
        drop(runtime);
        drop(reporter);
        eprintln!("interrupted");
        return Exit::Interrupted;
    };
    drop(runtime);
    let mut exit = outcome.exit;
    // A report on standard output has it for itself.
    if !args.report.iter().any(Destination::is_stdout)
        && let Err(error) = reporter.finish(&outcome.report)
    {
        eprintln!("error: cannot write the report: {error}");
        exit = exit.worst(Exit::Usage);
    }
    drop(reporter);
    if let Some(error) = &outcome.unreachable {
        let show = |text: &str| escape(&redact(&plan.rules.secrets, text));
        // Otherwise the report has said why.
        if args.quiet || args.report.iter().any(Destination::is_stdout) {
            eprintln!("error: {}", show(&error.message));
        }
        if !error.stderr.is_empty() {
            eprintln!("the target's last words on standard error:");
        }
        for line in error.stderr.lines() {
            eprintln!("  | {}", show(line));
        }
    }
    if let Some(path) = &args.transcript {
        let hide = |text: &str| redact(&plan.rules.secrets, text);
        let text: String = outcome
            .traces
            .iter()
            .map(|trace| transcript::lines(trace, hide))
            .collect();
        if let Err(error) = std::fs::write(path, text) {
            eprintln!("error: {}: {error}", path.display());
            exit = exit.worst(Exit::Usage);
        }
    }
    for destination in &args.report {
        if let Err(error) = destination.write(&outcome.report) {
            eprintln!("error: {error}");
            exit = exit.worst(Exit::Usage);
        }
    }
    exit
}

/// Comes back on Ctrl-C or on SIGTERM.
async fn interrupted() {
    let mut terminate =
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(signal) => signal,
            Err(_) => return std::future::pending().await,
        };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}
