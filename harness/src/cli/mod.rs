//! The command line.

pub mod coverage;
pub mod explain;
pub mod fuzz;
pub mod host;
mod judging;
pub mod list;
pub mod matrix;
pub mod reference;
pub mod replay;
pub mod server;
pub mod smoke;
pub mod spec_drift;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::exit::Exit;
use crate::target::serve::relay;

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
    /// Judge a host through an adapter: a command after `--`; the built-in reference host without.
    Host(Box<host::HostArgs>),
    /// Tell whether an adapter is sound, apart from the host behind it.
    Smoke(smoke::SmokeArgs),
    /// Play generated cases against a live target, and make small what it answers wrongly.
    Fuzz(fuzz::FuzzArgs),
    /// Play cases again that `fuzz` has saved: FILE, or all of them.
    Replay(replay::ReplayArgs),
    /// Judge several targets and put them side by side.
    Matrix(matrix::MatrixArgs),
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
    /// Join standard input and output to a server of a host scenario; hosts start this themselves.
    #[command(hide = true)]
    Relay {
        /// Where the suite listens.
        address: String,
        /// Number of the scene.
        scene: String,
        /// Label of the server.
        label: String,
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
        Command::Host(args) => host::run(&args).into(),
        Command::Smoke(args) => smoke::run(&args).into(),
        Command::Fuzz(args) => fuzz::run(&args).into(),
        Command::Replay(args) => replay::run(&args).into(),
        Command::Relay {
            address,
            scene,
            label,
        } => relay(&address, &scene, &label).into(),
        Command::Matrix(args) => matrix::run(&args).into(),
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

fn relay(address: &str, scene: &str, label: &str) -> Exit {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let joined = runtime.and_then(|runtime| {
        let joined = runtime.block_on(relay::join(address, scene, label));
        // A read of standard input that is under way would hold the process.
        runtime.shutdown_background();
        joined
    });
    match joined {
        Ok(()) => Exit::Conformant,
        Err(error) => {
            eprintln!("error: {address}: {error}");
            Exit::Target
        }
    }
}

/// The path of this program, by which it starts its reference implementations.
fn this_program() -> Result<String, String> {
    let program =
        std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let program = program
        .to_str()
        .ok_or("the path of this program is not UTF-8")?;
    Ok(program.to_owned())
}
