//! What the wire alone shows of a host that a driver runs, without an adapter: one that was written
//! for the official suite.
//!
//! Nobody tells what such a host loads. So a skill counts as used once a supporting file of it is
//! asked for, or a directory of it, after its SKILL.md has come: whoever asks for that has either
//! accepted the SKILL.md, or fetches ahead of need, and neither is allowed once it is not what the
//! entry says. A host that stops there has only refused it if it went on from an honest SKILL.md.

use serde_json::Value;

use super::ask::{at, member};
use super::integrity::difference;
use super::view::{View, bytes, content, inside, item};
use crate::checks::entries::size_of;
use crate::verdict::Judgement;
use crate::wire::scene::Served;

/// Why the other checks have nothing to judge.
pub const BLIND: &str = "a driver without an adapter cannot show it";

/// How a check looks at a scene.
type Judging = fn(&View<'_>, &mut Judgement);

/// The checks that can judge a host by what it sends, and how.
const JUDGES: [(&str, Judging); 4] = [
    ("sep-2640-host-no-prefetch", no_prefetch),
    ("sep-2640-host-verify-digest", verify_digest),
    ("sep-2640-host-size-mismatch-failure", size_mismatch),
    ("sep-2640-host-frontmatter-comparison", frontmatter_compared),
];

/// How a check judges a host that a driver runs, if it can.
pub fn judge_of(id: &str) -> Option<Judging> {
    let found = JUDGES.iter().find(|(other, _)| *other == id);
    found.map(|(_, judge)| *judge)
}

/// What is wrong with a SKILL.md that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Digest,
    Size,
    Frontmatter,
}

/// The SKILL.md of a skill came, and what came of it.
struct Arrival<'a> {
    skill: &'a str,
    fault: Option<Fault>,
    /// The first request by which it was used.
    used: Option<&'a Served>,
}

/// Every SKILL.md that came and for which there is an entry, the first time that it came.
fn arrivals<'a>(view: &View<'a>) -> Vec<Arrival<'a>> {
    let mut arrivals: Vec<Arrival<'a>> = Vec::new();
    for served in view.served("resources/read") {
        let Some(uri) = member(&served.params, "uri") else {
            continue;
        };
        let Some(entry) = view.held(&served.server, uri, served.at) else {
            continue;
        };
        let known = arrivals.iter().any(|arrival| arrival.skill == uri);
        if let (false, Some(fault)) = (known, judge(served, uri, entry)) {
            arrivals.push(Arrival {
                skill: uri,
                fault,
                used: view
                    .scene
                    .served
                    .iter()
                    .find(|later| later.at > served.to && belongs(later, served, uri)),
            });
        }
    }
    arrivals
}

/// Whether a request is for a supporting file or for a directory of the skill whose SKILL.md came.
fn belongs(later: &Served, served: &Served, skill: &str) -> bool {
    let method = later.method.as_str();
    let uri = member(&later.params, "uri").unwrap_or_default();
    let root = skill.trim_end_matches("/SKILL.md");
    later.server == served.server
        && matches!(method, "resources/read" | "resources/directory/read")
        && uri != skill
        && (inside(skill, uri) || uri.trim_end_matches('/') == root)
}

/// What is wrong with a SKILL.md, if anything; nothing where none came.
fn judge(served: &Served, uri: &str, entry: &Value) -> Option<Option<Fault>> {
    let content = content(served, uri)?;
    let listed = item(entry, uri)?;
    let (len, digest) = bytes(content)?;
    Some(if member(listed, "digest") != Some(&digest) {
        Some(Fault::Digest)
    } else if listed.get("size").and_then(size_of) != Some(len) {
        Some(Fault::Size)
    } else {
        difference(content, entry).map(|_| Fault::Frontmatter)
    })
}

/// A driver that is told to list lists, and reads no file.
fn no_prefetch(view: &View<'_>, judgement: &mut Judgement) {
    if view.scene.official.as_deref() != Some("sep-2640-client-no-prefetch") {
        return;
    }
    let listed = view.served("skills/list").next().is_some();
    let mut read = false;
    for served in view.served("resources/read") {
        let uri = member(&served.params, "uri").unwrap_or_default();
        let mut entries = view.deliveries().iter();
        if entries.any(|delivery| item(delivery.entry, uri).is_some()) {
            read = true;
            judgement.violated(
                at(served.at),
                uri,
                "no read by a host that only connects and lists",
                "resources/read",
            );
        }
    }
    if listed && !read {
        judgement.holds();
    } else if !listed {
        judgement.unexercised = Some("the driver never listed the skills".to_owned());
    }
}

fn verify_digest(view: &View<'_>, judgement: &mut Judgement) {
    refused(view, judgement, Fault::Digest, "digest");
}

fn size_mismatch(view: &View<'_>, judgement: &mut Judgement) {
    refused(view, judgement, Fault::Size, "size");
}

fn frontmatter_compared(view: &View<'_>, judgement: &mut Judgement) {
    refused(view, judgement, Fault::Frontmatter, "frontmatter");
}

/// A skill whose SKILL.md has a fault is not used, by a host that uses honest ones.
fn refused(view: &View<'_>, judgement: &mut Judgement, fault: Fault, what: &str) {
    let arrivals = arrivals(view);
    let witness = |arrival: &Arrival<'_>| arrival.fault.is_none() && arrival.used.is_some();
    let witnessed = arrivals.iter().any(witness);
    let mut seen = false;
    for arrival in arrivals.iter().filter(|one| one.fault == Some(fault)) {
        seen = true;
        match arrival.used {
            Some(served) => judgement.violated(
                at(served.at),
                arrival.skill,
                format!("no use of a skill whose SKILL.md has another {what} than its entry"),
                format!(
                    "{} of {}",
                    served.method,
                    member(&served.params, "uri").unwrap_or("?")
                ),
            ),
            None if witnessed => judgement.holds(),
            None => {}
        }
    }
    let about = |name: &str| view.scene.exercises.iter().any(|id| id.contains(name));
    let mine = match fault {
        Fault::Digest => about("verify-digest"),
        Fault::Size => about("size-mismatch"),
        Fault::Frontmatter => about("frontmatter-comparison"),
    };
    if mine && judgement.examined == 0 {
        let why = if seen {
            "the driver went on from no SKILL.md to a file beside it, so that it stopped means nothing"
        } else {
            "the driver never read the SKILL.md that is not what its entry says"
        };
        judgement.unexercised = Some(why.to_owned());
    }
}
