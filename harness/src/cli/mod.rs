//! The command line.

pub mod coverage;
pub mod explain;
pub mod list;
pub mod reference;
pub mod server;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::exit::Exit;

/// Conformance suite for SEP-2640, the Skills extension of the Model Context Protocol.
#[derive(Debug, Parser)]
#[command(name = "sep2640-conform", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Judge a server: a command after `--`, or --url; the built-in reference server without either.
    Server(Box<server::ServerArgs>),
    /// List checks, scenarios, requirements or faults.
    List(list::ListArgs),
    /// Tell all that is known of a check, fault or scenario.
    Explain(explain::ExplainArgs),
    /// Show which requirements have a check, and which checks have a fault.
    Coverage(coverage::CoverageArgs),
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Run the built-in reference implementation.
    Reference(reference::ReferenceArgs),
}

/// Parses the arguments of the process and does what they say. A panic, which has told of itself on
/// standard error, is a fault of the harness.
pub fn main() -> ExitCode {
    std::panic::catch_unwind(run).unwrap_or_else(|_| Exit::Harness.into())
}

fn run() -> ExitCode {
    match Cli::parse().command {
        Command::Server(args) => server::run(&args).into(),
        Command::List(args) => list::run(&args).into(),
        Command::Explain(args) => explain::run(&args).into(),
        Command::Coverage(args) => coverage::run(&args).into(),
        Command::Completions { shell } => {
            let mut command = Cli::command();
            clap_complete::generate(
                shell,
                &mut command,
                "sep2640-conform",
                &mut std::io::stdout(),
            );
            ExitCode::SUCCESS
        }
        Command::Reference(args) => reference::run(args).into(),
    }
}
