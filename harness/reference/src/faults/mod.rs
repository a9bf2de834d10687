//! Faults: named ways in which the server breaks a rule on purpose.
//!
//! The honest code knows nothing of single faults. It builds its answer, and
//! passes it through [`Sabotage`] at a few well-named points: the tree before
//! it is published, the catalog worked out from it, a request before it is
//! answered, the outcome of a method, the bytes on the wire, the transport.

mod capability;
mod directory;
mod entry;
mod envelope;
mod errors;
mod format;
mod get;
mod identity;
mod integrity;
mod kind;
mod limits;
mod list;
mod metadata;
mod naming;
mod pick;
mod read;
mod root;
mod sabotage;
mod wire;

use std::sync::LazyLock;

use crate::message::{Channel, LEGACY, MODERN};
use crate::options::StartError;

pub(crate) use sabotage::Sabotage;

/// A way to break a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// `sep-2640-CHECK`, or `sep-2640-CHECK/VARIANT`.
    pub id: &'static str,
    /// The check that has to notice it.
    pub check: &'static str,
    /// What is done wrong.
    pub about: &'static str,
    /// Revisions in which it acts; empty means in each.
    pub revisions: &'static [&'static str],
    /// The channel it acts on; `None` means on each.
    pub transport: Option<Channel>,
    /// Whose fault it is.
    pub side: &'static str,
    /// What a run needs in order to see it: `unlisted-skill` (the URI of the
    /// unlisted skill is given), `probe-undeclared`, `root` (the served
    /// directory is known), `identities` (a second identity is given).
    pub needs: &'static [&'static str],
}

/// Every fault of the server, by section.
pub fn faults() -> &'static [Fault] {
    static ALL: LazyLock<Vec<Fault>> = LazyLock::new(|| {
        [
            capability::FAULTS,
            list::FAULTS,
            envelope::FAULTS,
            entry::FAULTS,
            naming::FAULTS,
            limits::FAULTS,
            format::FAULTS,
            integrity::FAULTS,
            get::FAULTS,
            read::FAULTS,
            errors::FAULTS,
            wire::FAULTS,
            directory::FAULTS,
            metadata::FAULTS,
            root::FAULTS,
            identity::FAULTS,
        ]
        .concat()
    });
    &ALL
}

impl Fault {
    pub(crate) const fn new(id: &'static str, about: &'static str) -> Fault {
        Fault {
            id,
            check: before_slash(id),
            about,
            revisions: &[],
            transport: None,
            side: "server",
            needs: &[],
        }
    }

    const fn stdio(mut self) -> Fault {
        self.transport = Some(Channel::Stdio);
        self
    }

    pub(crate) const fn modern(mut self) -> Fault {
        self.revisions = &[MODERN];
        self
    }

    pub(crate) const fn legacy(mut self) -> Fault {
        self.revisions = &[LEGACY];
        self
    }

    /// A fault of the host.
    pub(crate) const fn host(id: &'static str, about: &'static str) -> Fault {
        let mut fault = Fault::new(id, about);
        fault.side = "host";
        fault
    }

    /// A fault of the verifier.
    pub(crate) const fn verifier(id: &'static str, about: &'static str) -> Fault {
        let mut fault = Fault::new(id, about);
        fault.side = "verifier";
        fault
    }

    const fn over(mut self, channel: Channel) -> Fault {
        self.transport = Some(channel);
        self
    }

    const fn needs(mut self, needs: &'static [&'static str]) -> Fault {
        self.needs = needs;
        self
    }
}

const fn before_slash(id: &'static str) -> &'static str {
    let bytes = id.as_bytes();
    let mut end = 0;
    while end < bytes.len() && bytes[end] != b'/' {
        end += 1;
    }
    id.split_at(end).0
}

/// The fault with this id.
pub(crate) fn find(id: &str) -> Result<&'static Fault, StartError> {
    find_in(faults(), id)
}

/// The fault of a list that has this id.
pub(crate) fn find_in(list: &'static [Fault], id: &str) -> Result<&'static Fault, StartError> {
    list.iter()
        .find(|fault| fault.id == id)
        .ok_or_else(|| StartError::UnknownFault {
            id: id.to_owned(),
            closest: closest(list, id),
        })
}

/// How many ids are suggested for one that does not exist.
const SUGGESTED: usize = 3;

/// The known ids that begin with these words, or have them in them; where there are none, those
/// that take few edits to reach. The nearest come first.
fn closest(list: &'static [Fault], id: &str) -> Vec<&'static str> {
    let bare = |id: &'_ str| {
        let prefixes = ["sep-2640-", "verifier-"].into_iter();
        let rest = prefixes.filter_map(|prefix| id.strip_prefix(prefix)).next();
        rest.unwrap_or(id).to_owned()
    };
    let wanted = bare(id);
    let mut ranked: Vec<(usize, usize, &'static str)> = list
        .iter()
        .filter_map(|fault| {
            let known = bare(fault.id);
            let away = distance(&wanted, &known);
            let rank = if wanted.len() >= 3 && known.starts_with(&wanted) {
                0
            } else if wanted.len() >= 3 && known.contains(&wanted) {
                1
            } else if away <= known.len() / 3 {
                2
            } else {
                return None;
            };
            Some((rank, away, fault.id))
        })
        .collect();
    ranked.sort_unstable();
    let best = ranked.first().map(|(rank, ..)| *rank);
    let of_best = ranked
        .into_iter()
        .filter(|(rank, ..)| Some(*rank) == best)
        .map(|(.., id)| id);
    // Of those that are merely alike, one is a guess and three are noise.
    of_best
        .take(if best == Some(2) { 1 } else { SUGGESTED })
        .collect()
}

/// Levenshtein distance in bytes.
fn distance(left: &str, right: &str) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in right.bytes().enumerate() {
            let change = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_are_unique_and_well_formed() {
        let ids: BTreeSet<&str> = faults().iter().map(|fault| fault.id).collect();
        assert_eq!(ids.len(), faults().len());
        for fault in faults() {
            let (check, variant) = fault.id.split_once('/').unwrap_or((fault.id, "x"));
            assert_eq!(fault.check, check);
            for part in [check.strip_prefix("sep-2640-").unwrap_or(""), variant] {
                let plain = part
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
                assert!(plain && !part.is_empty(), "{}", fault.id);
            }
            assert!(fault.about.len() > 10, "{}", fault.id);
            assert!(fault.revisions.iter().all(|r| [MODERN, LEGACY].contains(r)));
        }
    }

    #[test]
    fn unknown_ids_are_met_with_a_suggestion() {
        let message = |id: &str| find(id).unwrap_err().to_string();
        assert!(message("sep-2640-skills-list-stabel").contains("`sep-2640-skills-list-stable`"));
        assert!(message("skills-list-stable").contains("`sep-2640-skills-list-stable`"));
        // What it begins with, or has in it, says more than what it looks like.
        assert!(message("sep-2640-skills-list-p").contains("`sep-2640-skills-list-pagination`"));
        let several = message("sep-2640-resources-digest");
        let known = [
            "`sep-2640-resources-digest-format`",
            "`sep-2640-resources-digest-accurate`",
        ];
        assert!(known.iter().all(|id| several.contains(id)), "{several}");
        assert!(message("dotdot").contains("`sep-2640-resources-uri-within-skill/dotdot`"));
        assert!(message("zzz").contains("list the faults"));
        assert!(message("").contains("list the faults"));
    }
}
