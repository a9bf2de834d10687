//! `server`: judges a server.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use reqwest::Url;

use super::judging::{Judging, Prepared, parse_duration, replay};
use crate::checks::Check;
use crate::disk;
use crate::event::TargetDescription;
use crate::exit::Exit;
use crate::run::{Plan, Protocols};
use crate::scenario::file::Scenario;
use crate::scenario::{self, play::Bounds};
use crate::target::{Identity, Limits, TargetSpec};
use crate::verdict::Side;

/// Arguments of `server`.
#[derive(Debug, Args)]
pub struct ServerArgs {
    /// Judge the Streamable HTTP endpoint at URL.
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    url: Option<Url>,
    /// Revisions to judge: auto (each that the server speaks), all, 2026-07-28 or 2025-11-25.
    #[arg(long, value_name = "WHICH", default_value = "auto", value_parser = parse_protocols)]
    protocol: Protocols,
    /// A skill that the listing may leave out (repeatable): it must be answered all the same.
    #[arg(long, value_name = "URI")]
    skill: Vec<String>,
    /// The directory whose skills the server serves: what is served is compared with it.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Also call resources/directory/read where it is not declared.
    #[arg(long)]
    probe_undeclared: bool,
    /// Read at most N of the files, chosen by --seed; the report says so.
    #[arg(long, value_name = "N")]
    max_reads: Option<usize>,
    /// Take in at most N listed skills.
    #[arg(long, value_name = "N", default_value_t = Bounds::default().items)]
    max_skills: usize,
    /// Seed of everything random in the run.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// How long the server may be silent while a request waits, e.g. 500ms, 20s.
    #[arg(long, value_name = "DURATION", default_value = "20s", value_parser = parse_duration)]
    timeout: Duration,
    /// Header for each HTTP request, as "Name: value" (repeatable).
    #[arg(long, value_name = "HEADER", requires = "url", value_parser = parse_header)]
    header: Vec<(String, String)>,
    /// Header whose value stands in an environment variable, as NAME=VARIABLE (repeatable).
    #[arg(long, value_name = "NAME=VARIABLE", requires = "url", value_parser = parse_pair)]
    header_env: Vec<(String, String)>,
    /// Header of a named identity, as "NAME:HEADER: value" (repeatable); needs two identities. The
    /// first is judged in full; what the others see is held against it.
    #[arg(long = "as", value_name = "NAME:HEADER", requires = "url", value_parser = parse_as)]
    identity: Vec<(String, (String, String))>,
    /// The same with a value that stands in an environment variable, as NAME:HEADER=VARIABLE.
    #[arg(long = "as-env", value_name = "NAME:HEADER=VARIABLE", requires = "url", value_parser = parse_as_env)]
    identity_env: Vec<(String, (String, String))>,
    #[command(flatten)]
    judging: Judging,
    /// The server's command and its arguments; the built-in reference server when left out.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Reads `auto`, `all` or a revision.
pub(super) fn parse_protocols(text: &str) -> Result<Protocols, String> {
    match text {
        "auto" => Ok(Protocols::Auto),
        "all" => Ok(Protocols::All),
        revision => revision.parse().map(Protocols::One),
    }
}

fn parse_header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("expected `Name: value`")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn parse_pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VARIABLE")?;
    Ok((name.to_owned(), value.to_owned()))
}

fn parse_as(text: &str) -> Result<(String, (String, String)), String> {
    let (name, header) = named(text, "NAME:HEADER: value")?;
    let header = parse_header(header).map_err(|_| "expected `NAME:HEADER: value`")?;
    Ok((name, header))
}

fn parse_as_env(text: &str) -> Result<(String, (String, String)), String> {
    let (name, header) = named(text, "NAME:HEADER=VARIABLE")?;
    let header = parse_pair(header).map_err(|_| "expected `NAME:HEADER=VARIABLE`")?;
    Ok((name, header))
}

fn named<'a>(text: &'a str, form: &str) -> Result<(String, &'a str), String> {
    match text.split_once(':') {
        Some((name, rest)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), rest)),
        _ => Err(format!("expected `{form}`")),
    }
}

/// The identities with their headers, in the order in which they are first named.
fn identities(args: &ServerArgs) -> Result<Vec<Identity>, String> {
    let mut identities: Vec<Identity> = Vec::new();
    let mut add = |name: &str, header: (String, String)| match identities
        .iter_mut()
        .find(|identity| identity.name == name)
    {
        Some(identity) => identity.headers.push(header),
        None => identities.push(Identity {
            name: name.to_owned(),
            headers: vec![header],
        }),
    };
    for (name, header) in &args.identity {
        add(name, header.clone());
    }
    for (name, (header, variable)) in &args.identity_env {
        let value = std::env::var(variable)
            .map_err(|_| format!("--as-env: the environment has no {variable} that can be used"))?;
        add(name, (header.clone(), value));
    }
    if let [only] = &identities[..] {
        return Err(format!(
            "--as: expected a second identity besides {}",
            only.name
        ));
    }
    Ok(identities)
}

/// Runs `server`.
pub fn run(args: &ServerArgs) -> Exit {
    args.judging.carry_out(prepare(args))
}

/// Makes the run ready.
///
/// # Errors
///
/// Says which argument cannot be used, and why.
pub(super) fn prepare(args: &ServerArgs) -> Result<Prepared, String> {
    let (mut target, description, shown) = target(args)?;
    let mut others = identities(args)?;
    if let TargetSpec::Url { headers, .. } = &mut target {
        for identity in &mut others {
            identity.headers.splice(0..0, headers.iter().cloned());
        }
        if !others.is_empty() {
            *headers = others.remove(0).headers;
        }
    }
    let checks = args.judging.checks(Side::Server)?;
    let mut scenarios = if !args.judging.is_partial() {
        scenario::built_in().iter().collect()
    } else {
        needed(&checks)
    };
    for (shown, text) in args.judging.scenario_files()? {
        let scenario = Scenario::parse(&shown, &text).map_err(|error| error.to_string())?;
        // Read once, used until the process ends.
        scenarios.push(Box::leak(Box::new(scenario)));
    }
    let mut named_skills = args.skill.clone();
    if args.url.is_none() && args.command.is_empty() && args.root.is_none() {
        // The built-in server has a skill that its listing leaves out.
        named_skills.push(sep2640_reference::UNLISTED_SKILL.to_owned());
    }
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
    let secrets = args.judging.secrets(handed_over(args));
    let replay = replay("server", [options, shown].concat());
    Ok(Prepared::Server(Box::new(Plan {
        target,
        description,
        protocols: args.protocol,
        limits: Limits {
            timeout: args.timeout,
            bytes: args.judging.transcript.is_some(),
            ..Limits::default()
        },
        bounds: Bounds {
            items: args.max_skills,
            reads: args.max_reads.unwrap_or(usize::MAX),
            seed: args.seed,
            ..Bounds::default()
        },
        deadline: args.judging.deadline,
        scenarios,
        checks,
        probe_undeclared: args.probe_undeclared,
        named_skills,
        disk,
        identities: others,
        keep_traces: args.judging.transcript.is_some(),
        fail_fast: args.judging.fail_fast,
        rules: args.judging.rules(Side::Server, replay, secrets)?,
    })))
}

/// Values that the user handed over to be kept: of headers, of the address.
fn handed_over(args: &ServerArgs) -> Vec<String> {
    let mut secrets: Vec<String> = args.header.iter().map(|(_, value)| value.clone()).collect();
    secrets.extend(args.identity.iter().map(|(_, (_, value))| value.clone()));
    secrets.extend(
        args.identity_env
            .iter()
            .filter_map(|(_, (_, variable))| std::env::var(variable).ok()),
    );
    secrets.extend(
        args.header_env
            .iter()
            .filter_map(|(_, variable)| std::env::var(variable).ok()),
    );
    secrets.extend(
        args.url
            .as_ref()
            .and_then(|url| url.password())
            .map(str::to_owned),
    );
    secrets
}

/// The target, how reports call it, and the words that name it on a command line.
fn target(args: &ServerArgs) -> Result<(TargetSpec, TargetDescription, Vec<String>), String> {
    if let Some(url) = &args.url {
        if args.judging.places_target() {
            return Err("--env and --cwd are for a command, not for --url".into());
        }
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
        for (name, (header, _)) in &args.identity {
            words.extend(["--as".to_owned(), format!("{name}:{header}: …")]);
        }
        for (name, (header, variable)) in &args.identity_env {
            words.extend(["--as-env".to_owned(), format!("{name}:{header}={variable}")]);
        }
        let spec = TargetSpec::Url {
            url: url.clone(),
            headers,
        };
        return Ok((spec, description, words));
    }
    let (argv, shown) = if args.command.is_empty() {
        let program = super::this_program()?;
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
    args.judging.command(argv, shown, args.command.is_empty())
}

/// The scenarios that exercise one of the checks, and those that they build on, in their order.
pub fn needed(checks: &[&'static Check]) -> Vec<&'static Scenario> {
    let all = scenario::built_in();
    let mut wanted: Vec<&str> = Vec::new();
    let exercises = |scenario: &&Scenario| {
        let hit = |id: &String| checks.iter().any(|check| check.id == id);
        scenario.exercises.iter().any(hit)
    };
    let mut open: Vec<&Scenario> = all.iter().filter(exercises).collect();
    while let Some(scenario) = open.pop() {
        if !wanted.contains(&&*scenario.name) {
            wanted.push(&scenario.name);
            open.extend(
                all.iter()
                    .filter(|other| scenario.needs.iter().any(|name| **name == *other.name)),
            );
        }
    }
    all.iter()
        .filter(|scenario| wanted.contains(&&*scenario.name))
        .collect()
}
