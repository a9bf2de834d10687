//! Targets: how the harness reaches what it tests, over stdio or Streamable HTTP.
//!
//! A [`session::Session`] records every frame; it judges nothing.

pub mod adapter;
pub mod handshake;
mod headers;
pub mod http;
pub mod pending;
pub mod process;
pub mod recorder;
pub mod serve;
pub mod session;
pub mod stdio;

use std::path::PathBuf;
use std::time::Duration;

/// What is tested and how to reach it.
#[derive(Debug, Clone)]
pub enum TargetSpec {
    /// A subprocess that speaks on its standard streams.
    Command {
        /// Program and arguments.
        argv: Vec<String>,
        /// Working directory; the harness's own when absent.
        cwd: Option<PathBuf>,
        /// Variables added to the environment.
        env: Vec<(String, String)>,
    },
    /// A Streamable HTTP endpoint.
    Url {
        /// Its address.
        url: reqwest::Url,
        /// Headers added to each request.
        headers: Vec<(String, String)>,
    },
}

impl TargetSpec {
    /// A driver's command for one scenario of the official suite, which tells it so in this way.
    pub fn driver(&self, url: String, scenario: &str, revision: &str) -> Self {
        let mut spec = self.clone();
        if let TargetSpec::Command { argv, env, .. } = &mut spec {
            argv.push(url);
            env.push(("MCP_CONFORMANCE_SCENARIO".to_owned(), scenario.to_owned()));
            let version = "MCP_CONFORMANCE_PROTOCOL_VERSION";
            env.push((version.to_owned(), revision.to_owned()));
        }
        spec
    }
}

/// Somebody else as whom the endpoint is asked, too.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The name that the user gave.
    pub name: String,
    /// All headers of its requests, in the place of those of the target.
    pub headers: Vec<(String, String)>,
}

/// Bounds of a session.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How long the target may be silent while a request waits.
    pub timeout: Duration,
    /// How many requests may be under way at once.
    pub in_flight: usize,
    /// Longest message that is taken in, in bytes.
    pub message: usize,
    /// Whether the bytes of frames stay in the trace where their parse says as much; a transcript
    /// needs them, checks do not.
    pub bytes: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(20),
            in_flight: 32,
            message: 64 * 1024 * 1024,
            bytes: true,
        }
    }
}

/// Why a target could not be reached at all.
#[derive(Debug, Clone)]
pub struct TargetError {
    /// One line for people: what was tried and what came of it.
    pub message: String,
    /// The end of what the target wrote to standard error, if anything.
    pub stderr: String,
}

impl TargetError {
    /// An error without any output of the target.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            stderr: String::new(),
        }
    }
}
