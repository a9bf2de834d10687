//! The checks: pure functions from a trace to findings.
//!
//! A check never sees a transport, a clock or a file system. Level, wording and section of its
//! requirement stand in `sep-2640.yaml` under the same id; the reference server has at least one
//! fault of the same name that makes exactly this check fail.

pub mod capability;
pub mod completeness;
pub mod conversation;
pub mod directory;
pub mod entries;
pub mod entry;
pub mod evidence;
pub mod host;
pub mod identity;
mod index;
pub mod integrity;
pub mod listing;
pub mod metadata;
pub mod naming;
pub mod reading;
pub mod result;
pub mod retrieval;
pub mod robustness;
pub mod root;
pub mod root_skills;
#[cfg(test)]
mod sample;
pub mod schema;
pub mod skillmd;

use self::evidence::Evidence;
use self::host::view::View;
use crate::verdict::{Judgement, Side};

/// One check.
pub struct Check {
    /// Its id; also the id of its requirement rows and of its fault.
    pub id: &'static str,
    /// The side that it judges.
    pub side: Side,
    /// What must be declared for the requirement to bind.
    pub needs: Needs,
    /// Checks whose findings explain findings of this one that have the same subject.
    pub after: &'static [&'static str],
    /// The judgement.
    pub judge: Judge,
}

/// How a check looks at what happened.
#[derive(Clone, Copy)]
pub enum Judge {
    /// At the one trace of a session with a server.
    Server(fn(&Evidence<'_>) -> Judgement),
    /// At each scene with a host; what is examined in all of them is counted together.
    Host(fn(&View<'_>, &mut Judgement)),
}

/// What must be declared for a requirement to bind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Nothing: the check itself looks at what is declared.
    Nothing,
    /// The extension.
    Extension,
    /// The extension with `directoryRead: true`.
    DirectoryRead,
    /// The extension, and the directory that is served (`--root`).
    Root,
    /// The extension, and a second identity (`--as`).
    Identities,
}

impl Check {
    /// A server check that needs the extension; the usual case.
    const fn server(id: &'static str, judge: fn(&Evidence<'_>) -> Judgement) -> Self {
        Self {
            id,
            side: Side::Server,
            needs: Needs::Extension,
            after: &[],
            judge: Judge::Server(judge),
        }
    }

    /// A host check.
    const fn host(id: &'static str, judge: fn(&View<'_>, &mut Judgement)) -> Self {
        Self {
            id,
            side: Side::Host,
            needs: Needs::Nothing,
            after: &[],
            judge: Judge::Host(judge),
        }
    }

    /// The same check after others.
    const fn after(mut self, after: &'static [&'static str]) -> Self {
        self.after = after;
        self
    }

    /// The same check with other needs.
    const fn needs(mut self, needs: Needs) -> Self {
        self.needs = needs;
        self
    }
}

const FILES: &[&[&[Check]]] = &[SERVER, host::FILES];

const SERVER: &[&[Check]] = &[
    capability::CHECKS,
    conversation::CHECKS,
    listing::CHECKS,
    entry::CHECKS,
    naming::CHECKS,
    skillmd::CHECKS,
    integrity::CHECKS,
    retrieval::CHECKS,
    reading::CHECKS,
    directory::CHECKS,
    completeness::CHECKS,
    metadata::CHECKS,
    result::CHECKS,
    schema::CHECKS,
    robustness::CHECKS,
    root_skills::CHECKS,
    root::CHECKS,
    identity::CHECKS,
];

/// All checks of a side, in the order in which they are reported.
pub fn all(side: Side) -> Vec<&'static Check> {
    FILES
        .iter()
        .copied()
        .flatten()
        .copied()
        .flatten()
        .filter(|check| check.side == side)
        .collect()
}

/// Finds a check by its id.
pub fn find(id: &str) -> Option<&'static Check> {
    [Side::Server, Side::Host]
        .into_iter()
        .flat_map(all)
        .find(|check| check.id == id)
}
