//! What a caller can choose, and why a server may refuse to start.

use std::fmt;
use std::path::PathBuf;

/// Settings of a reference server.
#[derive(Debug, Clone)]
pub struct Options {
    /// Serve the skills below this directory instead of the built-in tree.
    pub skills: Option<PathBuf>,
    /// Entries per page of every paged answer.
    pub page_size: usize,
    /// Declare `directoryRead` and answer `resources/directory/read`.
    pub directory_read: bool,
    /// Id of the fault to switch on (see [`crate::faults()`]).
    pub fault: Option<String>,
    /// Answer HTTP requests with event streams instead of single JSON bodies.
    pub sse: bool,
    /// Hand out and require `Mcp-Session-Id` on HTTP in revision 2025-11-25.
    pub sessions: bool,
    /// Serve generated skills instead of the built-in tree.
    pub generate: Option<Generate>,
    /// Paths of skills that only who shows a bearer token may see, with that token (HTTP).
    pub private: Vec<(String, String)>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            skills: None,
            page_size: 3,
            directory_read: true,
            fault: None,
            sse: false,
            sessions: true,
            generate: None,
            private: Vec::new(),
        }
    }
}

/// Size of a generated tree.
#[derive(Debug, Clone, Copy)]
pub struct Generate {
    /// Number of skills.
    pub skills: usize,
    /// Files of each skill besides its `SKILL.md`.
    pub files: usize,
    /// Bytes of each of those files.
    pub bytes: usize,
}

/// Why a server could not be built. The text says what to do about it.
#[derive(Debug)]
pub enum StartError {
    /// No fault has this id.
    UnknownFault {
        /// The id that was asked for.
        id: String,
        /// Known ids that it may stand for, the likeliest first.
        closest: Vec<&'static str>,
    },
    /// The skills directory cannot be read.
    Unreadable {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// Both a directory and a generated tree were asked for.
    TwoTrees,
    /// The page size is zero.
    EmptyPages,
    /// No skill has the path that is to be private.
    NoSuchSkill(String),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::UnknownFault { id, closest } => match closest.as_slice() {
                [] => write!(
                    f,
                    "there is no fault `{id}`; list the faults to see which ones exist \
                     (ids have the form sep-2640-CHECK or sep-2640-CHECK/VARIANT)"
                ),
                [one] => write!(f, "there is no fault `{id}`; the closest one is `{one}`"),
                several => write!(
                    f,
                    "there is no fault `{id}`; the closest ones are `{}`",
                    several.join("`, `")
                ),
            },
            StartError::Unreadable { path, error } => write!(
                f,
                "cannot read the skills directory {}: {error}; give an existing, readable directory",
                path.display()
            ),
            StartError::TwoTrees => write!(
                f,
                "a skills directory and a generated tree exclude each other; give one of them"
            ),
            StartError::NoSuchSkill(path) => write!(
                f,
                "no skill has the path `{path}`; give the path of its directory, e.g. acme/billing/refunds"
            ),
            StartError::EmptyPages => {
                write!(
                    f,
                    "a page needs at least one entry; give a page size of 1 or more"
                )
            }
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StartError::Unreadable { error, .. } => Some(error),
            _ => None,
        }
    }
}
