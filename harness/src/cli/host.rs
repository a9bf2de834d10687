//! `host`: judges a host through an adapter.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::judging::{Judging, Named, Prepared, parse_duration, replay};
use super::server::parse_protocols;
use crate::checks::Check;
use crate::exit::Exit;
use crate::host_run::HostPlan;
use crate::run::Protocols;
use crate::scenario;
use crate::scenario::perform::Via;
use crate::scenario::script::{Script, VERBS};
use crate::verdict::Side;
use crate::wire::{Revision, Transport};

/// Arguments of `host`.
#[derive(Debug, Args)]
pub struct HostArgs {
    /// What is started: an adapter (docs/adapter-protocol.md), or a driver that was written for the
    /// official suite (docs/drivers.md).
    #[arg(long, value_enum, default_value_t)]
    via: Via,
    /// Revisions that the servers speak: auto or all (both), 2026-07-28 or 2025-11-25.
    #[arg(long, value_name = "WHICH", default_value = "auto", value_parser = parse_protocols)]
    protocol: Protocols,
    /// How the host reaches the servers.
    #[arg(long, value_enum, default_value_t)]
    transport: Channel,
    /// Verbs of the adapter that have to be implemented (repeatable, or separated by commas).
    #[arg(long, value_name = "VERB", value_delimiter = ',', value_parser = parse_verb)]
    require: Vec<String>,
    /// How long the adapter may take for one call, or a driver for one scenario, e.g. 500ms, 20s.
    #[arg(long, value_name = "DURATION", default_value = "20s", value_parser = parse_duration)]
    timeout: Duration,
    #[command(flatten)]
    judging: Judging,
    /// The command of the adapter or the driver and its arguments; the built-in reference host when left out.
    #[arg(last = true, value_name = "ADAPTER")]
    command: Vec<String>,
}

/// How a host reaches the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Channel {
    /// Streamable HTTP on the loopback interface.
    #[default]
    Http,
    /// Commands that the host starts.
    Stdio,
}

fn parse_verb(text: &str) -> Result<String, String> {
    if VERBS.contains(&text) {
        return Ok(text.to_owned());
    }
    Err(format!("expected one of {}", VERBS.join(", ")))
}

/// Runs `host`.
pub fn run(args: &HostArgs) -> Exit {
    args.judging.carry_out(prepare(args))
}

/// Makes the run ready.
///
/// # Errors
///
/// Says which argument cannot be used, and why.
pub(super) fn prepare(args: &HostArgs) -> Result<Prepared, String> {
    if args.via == Via::Argv {
        fit_for_a_driver(args)?;
    }
    let (target, description, mut words) = target(args)?;
    let checks = args.judging.checks(Side::Host)?;
    let mut scripts: Vec<Script> = if !args.judging.is_partial() {
        scenario::scripts().to_vec()
    } else {
        let needed = |script: &&Script| exercises(script, &checks);
        scenario::scripts().iter().filter(needed).cloned().collect()
    };
    for (shown, text) in args.judging.scenario_files()? {
        scripts.push(Script::parse(&shown, &text).map_err(|error| error.to_string())?);
    }
    scripts.retain(|script| args.via == Via::Adapter || script.official.is_some());
    if args.via == Via::Argv {
        words.splice(0..0, ["--via".to_owned(), "argv".to_owned()]);
    }
    if args.transport == Channel::Stdio {
        words.splice(0..0, ["--transport".to_owned(), "stdio".to_owned()]);
    }
    let secrets = args.judging.secrets(Vec::new());
    let replay = replay("host", words);
    Ok(Prepared::Host(Box::new(HostPlan {
        target,
        via: args.via,
        description,
        revisions: match args.protocol {
            Protocols::Auto | Protocols::All => Revision::ALL.to_vec(),
            Protocols::One(revision) => vec![revision],
        },
        transport: match args.transport {
            Channel::Http => Transport::Http,
            Channel::Stdio => Transport::Stdio,
        },
        program: super::this_program()?,
        timeout: args.timeout,
        deadline: args.judging.deadline,
        scripts,
        checks,
        require: args.require.clone(),
        keep_scenes: args.judging.transcript.is_some(),
        fail_fast: args.judging.fail_fast,
        rules: args.judging.rules(Side::Host, replay, secrets)?,
    })))
}

fn fit_for_a_driver(args: &HostArgs) -> Result<(), String> {
    let wrong = [
        (
            args.command.is_empty(),
            "--via argv needs a driver after `--`",
        ),
        (
            args.transport != Channel::Http,
            "--via argv goes over HTTP, since a driver is given a URL",
        ),
        (
            !args.require.is_empty(),
            "--via argv knows no verbs, so that --require has no meaning there",
        ),
    ];
    match wrong.iter().find(|(wrong, _)| *wrong) {
        Some((_, message)) => Err((*message).to_owned()),
        None => Ok(()),
    }
}

fn exercises(script: &Script, checks: &[&'static Check]) -> bool {
    let hit = |id: &String| checks.iter().any(|check| check.id == id);
    script.exercises.iter().any(hit)
}

fn target(args: &HostArgs) -> Result<Named, String> {
    if !args.command.is_empty() {
        let command = args.command.clone();
        return args.judging.command(command.clone(), command, false);
    }
    let program = super::this_program()?;
    let words = |program: &str| [program, "reference", "host"].map(str::to_owned).to_vec();
    args.judging
        .command(words(&program), words("sep2640-conform"), true)
}
