//! `reference`: runs the built-in reference implementations.

use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Subcommand};
use sep2640_reference::{
    Generate, HostOptions, Options, Server, Verifier, VerifierOptions, serve_host_stdio,
    serve_http, serve_stdio, serve_verifier_stdio,
};
use tokio::net::TcpListener;

use crate::exit::Exit;

/// Arguments of `reference`.
#[derive(Debug, Args)]
pub struct ReferenceArgs {
    #[command(subcommand)]
    command: ReferenceCommand,
}

#[derive(Debug, Subcommand)]
enum ReferenceCommand {
    /// A server that is honest by default, on both revisions and both transports.
    Server(ReferenceServerArgs),
    /// A host that is honest by default; it speaks the adapter protocol on stdin and stdout.
    Host(ReferenceHostArgs),
    /// A verifier that is honest by default: JSON lines {id, entry, files} in, verdicts out.
    Verifier(ReferenceVerifierArgs),
}

#[derive(Debug, Args)]
struct ReferenceVerifierArgs {
    /// Break one rule; `list faults --side verifier` has the ids.
    #[arg(long, value_name = "ID")]
    fault: Option<String>,
}

#[derive(Debug, Args)]
struct ReferenceHostArgs {
    /// Break one rule; `list faults --side host` has the ids.
    #[arg(long, value_name = "ID")]
    fault: Option<String>,
}

#[derive(Debug, Args)]
struct ReferenceServerArgs {
    /// Serve the skills below DIR instead of the built-in ones.
    #[arg(long, value_name = "DIR", conflicts_with = "generate")]
    skills: Option<PathBuf>,
    /// Serve generated skills, e.g. skills=200,files=5,bytes=1024.
    #[arg(long, value_name = "SPEC", value_parser = parse_generate)]
    generate: Option<Generate>,
    /// Serve over Streamable HTTP at http://ADDR/mcp instead of stdio; port 0 takes a free one.
    #[arg(long, value_name = "ADDR")]
    http: Option<String>,
    /// Entries on a page.
    #[arg(long, value_name = "N", default_value_t = Options::default().page_size)]
    page_size: usize,
    /// Break one rule; `list faults` has the ids.
    #[arg(long, value_name = "ID")]
    fault: Option<String>,
    /// Do not offer resources/directory/read.
    #[arg(long)]
    no_directory_read: bool,
    /// Answer HTTP requests with event streams.
    #[arg(long, requires = "http")]
    sse: bool,
    /// Show the skill in the directory SKILL only to requests with the bearer token TOKEN
    /// (repeatable).
    #[arg(long, value_name = "SKILL:TOKEN", requires = "http", value_parser = parse_private)]
    private: Vec<(String, String)>,
    /// Serve 2025-11-25 over HTTP without sessions.
    #[arg(long, requires = "http")]
    no_sessions: bool,
}

fn parse_generate(text: &str) -> Result<Generate, String> {
    let mut generate = Generate {
        skills: 10,
        files: 3,
        bytes: 256,
    };
    for part in text.split(',') {
        let (key, value) = part
            .split_once('=')
            .ok_or_else(|| format!("expected KEY=NUMBER, found `{part}`"))?;
        let value = value
            .parse()
            .map_err(|_| format!("expected a number after `{key}=`, found `{value}`"))?;
        match key {
            "skills" => generate.skills = value,
            "files" => generate.files = value,
            "bytes" => generate.bytes = value,
            _ => return Err(format!("expected skills, files or bytes, found `{key}`")),
        }
    }
    Ok(generate)
}

fn parse_private(text: &str) -> Result<(String, String), String> {
    match text.rsplit_once(':') {
        Some((skill, token)) if !skill.is_empty() && !token.is_empty() => {
            Ok((skill.to_owned(), token.to_owned()))
        }
        _ => Err("expected SKILL:TOKEN".into()),
    }
}

/// Runs `reference`.
pub fn run(args: ReferenceArgs) -> Exit {
    match args.command {
        ReferenceCommand::Server(args) => server(args),
        ReferenceCommand::Host(args) => host(args),
        ReferenceCommand::Verifier(args) => verifier(args),
    }
}

fn verifier(args: ReferenceVerifierArgs) -> Exit {
    let options = VerifierOptions { fault: args.fault };
    if let Err(error) = Verifier::new(&options) {
        eprintln!("error: {error}");
        return Exit::Usage;
    }
    match serve_verifier_stdio(&options) {
        Ok(()) => Exit::Conformant,
        Err(error) => {
            eprintln!("error: stdio: {error}");
            Exit::Usage
        }
    }
}

fn host(args: ReferenceHostArgs) -> Exit {
    let options = HostOptions { fault: args.fault };
    if let Err(error) = options.check() {
        eprintln!("error: {error}");
        return Exit::Usage;
    }
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(exit) => return exit,
    };
    match runtime.block_on(serve_host_stdio(options)) {
        Ok(()) => Exit::Conformant,
        Err(error) => {
            eprintln!("error: stdio: {error}");
            Exit::Usage
        }
    }
}

/// One thread: calls are answered in order, and it starts faster.
fn runtime() -> Result<tokio::runtime::Runtime, Exit> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| {
            eprintln!("error: cannot start the runtime: {error}");
            Exit::Harness
        })
}

fn server(args: ReferenceServerArgs) -> Exit {
    let server = Server::new(Options {
        skills: args.skills,
        page_size: args.page_size,
        directory_read: !args.no_directory_read,
        fault: args.fault,
        sse: args.sse,
        sessions: !args.no_sessions,
        generate: args.generate,
        private: args.private,
    });
    let server = match server {
        Ok(server) => Arc::new(server),
        Err(error) => {
            eprintln!("error: {error}");
            return Exit::Usage;
        }
    };
    // The process ends with the server: to take a large tree apart first would only keep the client
    // waiting that stops it.
    let _server = ManuallyDrop::new(Arc::clone(&server));
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(exit) => return exit,
    };
    let outcome = runtime.block_on(async {
        match args.http {
            None => serve_stdio(server)
                .await
                .map_err(|error| format!("stdio: {error}")),
            Some(addr) => {
                let listener = TcpListener::bind(&addr)
                    .await
                    .map_err(|error| format!("cannot listen on {addr}: {error}"))?;
                let bound = listener.local_addr().map_err(|error| error.to_string())?;
                eprintln!("listening on http://{bound}/mcp");
                serve_http(server, listener)
                    .await
                    .map_err(|error| format!("http: {error}"))
            }
        }
    });
    match outcome {
        Ok(()) => Exit::Conformant,
        Err(error) => {
            eprintln!("error: {error}");
            Exit::Usage
        }
    }
}
