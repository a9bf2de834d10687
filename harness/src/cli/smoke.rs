//! `smoke`: judges an adapter, and not the host behind it.

use std::time::Duration;

use clap::Args;

use super::host::Channel;
use super::judging::{parse_duration, run_until_interrupted};
use crate::exit::Exit;
use crate::smoke::{self, Plan, Row};
use crate::target::TargetSpec;
use crate::wire::{Revision, Transport};

/// Arguments of `smoke`.
#[derive(Debug, Args)]
pub struct SmokeArgs {
    /// Judge an adapter: framing, `hello`, and the shape of every answer (docs/adapter-protocol.md).
    #[arg(long, required = true)]
    adapter: bool,
    /// Revision that the server speaks.
    #[arg(long, value_name = "REVISION", default_value = Revision::Modern.name(), value_parser = parse_revision)]
    protocol: Revision,
    /// How the host reaches the server.
    #[arg(long, value_enum, default_value_t)]
    transport: Channel,
    /// How long the adapter may take for one call, e.g. 500ms, 20s.
    #[arg(long, value_name = "DURATION", default_value = "20s", value_parser = parse_duration)]
    timeout: Duration,
    /// The adapter's command and its arguments.
    #[arg(last = true, value_name = "ADAPTER", required = true)]
    command: Vec<String>,
}

fn parse_revision(text: &str) -> Result<Revision, String> {
    let found = Revision::ALL.iter().find(|one| one.name() == text);
    found.copied().ok_or_else(|| {
        let names: Vec<&str> = Revision::ALL.iter().map(|one| one.name()).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// Runs `smoke`.
pub fn run(args: &SmokeArgs) -> Exit {
    let plan = Plan {
        target: TargetSpec::Command {
            argv: args.command.clone(),
            cwd: None,
            env: Vec::new(),
        },
        revision: args.protocol,
        transport: match args.transport {
            Channel::Http => Transport::Http,
            Channel::Stdio => Transport::Stdio,
        },
        timeout: args.timeout,
    };
    let outcome = match run_until_interrupted(smoke::run(&plan, |row| println!("{}", shown(row)))) {
        Ok(outcome) => outcome,
        Err(exit) => return exit,
    };
    if let Some(error) = &outcome.trouble {
        eprintln!("error: {}", error.message);
    }
    if !outcome.stderr.is_empty() && outcome.exit != Exit::Conformant {
        eprintln!("the adapter's standard error ends with:");
        for line in outcome.stderr.lines() {
            eprintln!("  {}", line.escape_debug());
        }
    }
    println!(
        "\n{} (exit code {})",
        match outcome.exit {
            Exit::Conformant => "The adapter is sound.",
            Exit::Failed => "The adapter is at fault.",
            Exit::Nothing => "The adapter is sound, and names no verbs beyond hello.",
            _ => "The adapter could not be started.",
        },
        outcome.exit.code()
    );
    outcome.exit
}

fn shown(row: &Row) -> String {
    let mut text = match (&row.wrong, &row.note) {
        (Some(_), _) => format!("wrong  {}", row.what),
        (None, Some(note)) => format!("ok     {} ({note})", row.what),
        (None, None) => format!("ok     {}", row.what),
    };
    if let Some(wrong) = &row.wrong {
        text.push_str(&format!("\n       expected  {}", wrong.expected));
        text.push_str(&format!("\n       actual    {}", wrong.actual));
        if let Some(line) = &wrong.line {
            text.push_str(&format!("\n       line      {line}"));
        }
    }
    text
}
