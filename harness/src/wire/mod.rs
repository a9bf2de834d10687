//! What crosses the wire: frames, JSON-RPC, and the trace that holds them; beside it, what the
//! served directory holds.

pub mod content;
pub mod disk;
pub mod frame;
pub mod json;
pub mod jsonrpc;
pub mod mapping;
pub mod scene;
mod surrogates;
pub mod trace;

use std::fmt;

use serde::{Deserialize, Serialize};

/// A base-protocol revision as it is spoken on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Revision {
    /// Stateless: `_meta` on each request, `server/discover`.
    #[serde(rename = "2026-07-28")]
    Modern,
    /// `initialize` handshake, sessions.
    #[serde(rename = "2025-11-25")]
    Legacy,
}

impl Revision {
    /// Both, newest first.
    pub const ALL: [Revision; 2] = [Revision::Modern, Revision::Legacy];

    /// The revision's name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Revision::Modern => "2026-07-28",
            Revision::Legacy => "2025-11-25",
        }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Revision {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Revision::ALL
            .into_iter()
            .find(|revision| revision.name() == text)
            .ok_or_else(|| format!("unknown revision `{text}`; known: 2026-07-28, 2025-11-25"))
    }
}

/// The transport that carries the frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// A subprocess's standard streams.
    Stdio,
    /// Streamable HTTP.
    Http,
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Transport::Stdio => "stdio",
            Transport::Http => "http",
        })
    }
}
