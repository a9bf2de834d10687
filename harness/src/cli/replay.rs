//! `replay`: plays saved cases again.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::fuzz::severity_word;
use super::judging::{parse_duration, run_until_interrupted};
use super::list::print;
use crate::exit::Exit;
use crate::fuzz::saved::{self, Saved};
use crate::fuzz::verifier::{Observed, observe};
use crate::fuzz::{host, server};
use crate::report::{escape, text::plural};
use crate::target::{TargetError, TargetSpec};
use crate::verdict::Severity;

/// Arguments of `replay`.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// Saved cases; all in the directory when left out.
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Where saved cases are looked for.
    #[arg(long, value_name = "DIR", default_value = "regressions")]
    saved: PathBuf,
    /// Only cases for one side: verifier, server or host.
    #[arg(long, value_name = "SIDE", value_parser = ["verifier", "server", "host"])]
    side: Option<String>,
    /// How long the target may take for one answer.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_duration)]
    timeout: Duration,
    /// Let warnings fail as well.
    #[arg(long)]
    strict: bool,
    /// Address of a server, instead of a command.
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    url: Option<reqwest::Url>,
    /// The target's command and its arguments; the built-in one of the case's side when left out.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// A case that was played again: what came, and whether that is right.
pub(super) struct Again {
    pub right: bool,
    pub actual: String,
}

/// Runs `replay`.
pub fn run(args: &ReplayArgs) -> Exit {
    let cases = match read(args) {
        Ok(cases) => cases,
        Err(message) => {
            eprintln!("error: {}", escape(&message));
            return Exit::Usage;
        }
    };
    let mut sides: Vec<&str> = cases.iter().map(|(_, saved)| saved.side()).collect();
    sides.dedup();
    if sides.len() > 1 && !args.command.is_empty() {
        eprintln!(
            "error: the cases are for {}; choose with --side",
            sides.join(" and ")
        );
        return Exit::Usage;
    }
    let mut text = String::new();
    let (mut exit, mut failed) = (Exit::Conformant, 0);
    for (file, saved) in &cases {
        match play(args, saved) {
            Err(error) => {
                eprintln!("error: {}: {}", file.display(), escape(&error.message));
                return Exit::Target;
            }
            Ok(Err(exit)) => return exit,
            Ok(Ok(again)) => {
                let severity = saved.severity();
                let word = if again.right {
                    "pass"
                } else {
                    severity_word(severity, args.strict)
                };
                failed += usize::from(!again.right);
                let _ = writeln!(
                    text,
                    "  {word}  {} · {}",
                    saved.rule,
                    escape(&file.display().to_string())
                );
                if !again.right {
                    if severity == Severity::Fail || args.strict {
                        exit = exit.worst(Exit::Failed);
                    }
                    let _ = writeln!(text, "        {}", escape(&saved.about));
                    let _ = writeln!(text, "        expected  {}", escape(&saved.expect));
                    let _ = writeln!(text, "        actual    {}", escape(&again.actual));
                }
            }
        }
    }
    let _ = writeln!(
        text,
        "{} · {failed} answered wrongly",
        plural(cases.len(), "saved case")
    );
    if cases.is_empty() {
        exit = Exit::Nothing;
    }
    print(&text).worst(exit)
}

fn read(args: &ReplayArgs) -> Result<Vec<(PathBuf, Saved)>, String> {
    let files = if args.files.is_empty() {
        saved::files(&args.saved)?
    } else {
        args.files.clone()
    };
    let mut cases = Vec::new();
    for file in files {
        let within = |message: String| format!("{}: {message}", file.display());
        let text = std::fs::read_to_string(&file).map_err(|error| within(error.to_string()))?;
        let saved = Saved::parse(&text).map_err(within)?;
        if !["verifier", "server", "host"].contains(&saved.side()) {
            return Err(within(format!(
                "expected verifier/…, server/… or host/…, found `{}`",
                saved.name
            )));
        }
        if args.side.as_deref().is_none_or(|side| side == saved.side()) {
            cases.push((file, saved));
        }
    }
    Ok(cases)
}

fn play(args: &ReplayArgs, saved: &Saved) -> Result<Result<Again, Exit>, TargetError> {
    let spec = target(args, saved.side())?;
    let usage = |message: String| {
        eprintln!("error: {}", escape(&message));
        Exit::Usage
    };
    if saved.side() == "server" {
        let again = run_until_interrupted(server::replay(&spec, saved, args.timeout));
        return match again {
            Err(exit) => Ok(Err(exit)),
            Ok(Err(error)) => Err(error),
            Ok(Ok(wrong)) => Ok(Ok(Again {
                right: wrong.is_none(),
                actual: wrong.unwrap_or_default(),
            })),
        };
    }
    if saved.side() == "host" {
        let program = super::this_program().map_err(TargetError::new)?;
        return match run_until_interrupted(host::replay(&spec, &program, saved, args.timeout)) {
            Err(exit) => Ok(Err(exit)),
            Ok(Err(error)) => Err(error),
            Ok(Ok((right, actual))) => Ok(Ok(Again { right, actual })),
        };
    }
    let line = match saved.verifier_line() {
        Ok(line) => line,
        Err(message) => return Ok(Err(usage(message))),
    };
    match run_until_interrupted(observe(&spec, &[line], args.timeout)) {
        Err(exit) => Ok(Err(exit)),
        Ok(Err(error)) => Err(error),
        Ok(Ok(answers)) => {
            let observed = answers.into_iter().next().unwrap_or(Observed::Unknown);
            let right = match observed {
                Observed::Accept => saved.expect != "reject",
                Observed::Reject(_) => saved.expect != "accept",
                _ => false,
            };
            Ok(Ok(Again {
                right,
                actual: observed.to_string(),
            }))
        }
    }
}

/// The command that was given, or the built-in target of the side.
fn target(args: &ReplayArgs, side: &str) -> Result<TargetSpec, TargetError> {
    if let Some(url) = &args.url {
        return Ok(TargetSpec::Url {
            url: url.clone(),
            headers: Vec::new(),
        });
    }
    let argv = if args.command.is_empty() {
        let program = super::this_program().map_err(TargetError::new)?;
        vec![program, "reference".to_owned(), side.to_owned()]
    } else {
        args.command.clone()
    };
    Ok(TargetSpec::Command {
        argv,
        cwd: None,
        env: Vec::new(),
    })
}
