//! How hosts come to skills, and which they take. Sections "Resource Mapping", "Discovery",
//! "Frontmatter", "Limits".

use serde_json::Value;

use super::super::Check;
use super::ask::{Outcome, at, member, outcome, place, target};
use super::view::{View, item};
use crate::checks::entries::size_of;
use crate::verdict::Judgement;
use crate::wire::scene::Ask;

const SCHEME: &str = "sep-2640-host-not-skill-by-scheme";

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::host("sep-2640-host-load-by-uri", load_by_uri).after(&["sep-2640-client-cache-reuse"]),
    Check::host("sep-2640-host-no-empty-listing-assumption", no_assumption),
    Check::host("sep-2640-host-reference-confirmed", confirmed).after(&[SCHEME]),
    Check::host(SCHEME, not_by_scheme),
    Check::host("sep-2640-host-unknown-frontmatter-accepted", unknown_fields),
    Check::host("sep-2640-host-reserved-metadata-ignored", reserved_metadata),
    Check::host("sep-2640-limit-host-support", limits_supported),
    Check::host("sep-2640-host-limit-decline-explained", decline_explained),
    Check::host("sep-2640-host-limit-enforced", decline_early),
];

/// The largest number of files and the largest total in bytes that every host supports.
const LIMITS: (usize, u64) = (512, 16 * 1024 * 1024);

/// Judges loads that have to succeed, by the name of their step.
fn must_load(view: &View<'_>, judgement: &mut Judgement, name: &str, expected: &str) {
    for ask in view.named(name).filter(|ask| ask.verb == "load") {
        let uri = target(ask).map_or("load", |(_, uri)| uri);
        match outcome(ask) {
            Outcome::Ok(_) => judgement.holds(),
            Outcome::Refused { reason, .. } if view.witnessed() => {
                judgement.violated(
                    place(ask),
                    uri,
                    expected,
                    format!("it was refused: {reason}"),
                );
            }
            _ => {}
        }
    }
}

/// A skill can be loaded by its URI when the listing does not name it.
fn load_by_uri(view: &View<'_>, judgement: &mut Judgement) {
    for name in ["unlisted", "second-unlisted"] {
        must_load(view, judgement, name, "a load by the URI alone");
    }
}

/// An empty listing, or one that failed, is no proof that there are no skills.
fn no_assumption(view: &View<'_>, judgement: &mut Judgement) {
    for name in ["after-empty-listing", "after-failed-listing"] {
        must_load(
            view,
            judgement,
            name,
            "a load by URI, whatever the listing had to say",
        );
    }
}

/// A URI that no listing named is confirmed by skills/get before it is loaded as a skill.
fn confirmed(view: &View<'_>, judgement: &mut Judgement) {
    for ask in view.asks("load") {
        let (Some(server), Some(uri)) = (member(&ask.params, "server"), member(&ask.params, "uri"))
        else {
            continue;
        };
        let known = view.held(server, uri, ask.to).is_some();
        match outcome(ask) {
            Outcome::Ok(_) if !known => {
                let other = view
                    .during(ask)
                    .find(|served| served.method == "skills/get" && served.server == server);
                let actual = match other {
                    None => "it was loaded without skills/get".to_owned(),
                    Some(served) => match served.error {
                        Some(code) => {
                            format!("it was loaded although skills/get gave error {code}")
                        }
                        None => "it was loaded under the entry of another skill".to_owned(),
                    },
                };
                judgement.violated(
                    place(ask),
                    uri,
                    "an entry for this URI from the server",
                    actual,
                );
            }
            Outcome::Ok(_) => {
                let by_get = view
                    .entries(server, uri, ask.to)
                    .any(|delivery| delivery.method == "skills/get");
                if by_get {
                    judgement.holds();
                }
            }
            Outcome::Refused { .. } if !known && view.witnessed() => judgement.holds(),
            _ => {}
        }
    }
}

/// A resource is no skill because of its scheme.
fn not_by_scheme(view: &View<'_>, judgement: &mut Judgement) {
    for (ask, list) in view.results("list") {
        let skills = list.get("skills").and_then(Value::as_array);
        for skill in skills.into_iter().flatten() {
            let (Some(server), Some(uri)) = (member(skill, "server"), member(skill, "uri")) else {
                continue;
            };
            if view.held(server, uri, ask.to).is_some() {
                judgement.holds();
            } else if served_as_resource(view, uri) {
                judgement.violated(
                    place(ask),
                    uri,
                    "skills that the server names as skills",
                    "a plain resource is offered as a skill",
                );
            }
        }
    }
}

fn served_as_resource(view: &View<'_>, uri: &str) -> bool {
    view.served("resources/list")
        .filter_map(|served| served.result.as_ref()?.get("resources")?.as_array())
        .flatten()
        .any(|resource| member(resource, "uri") == Some(uri))
}

/// Fields that a host does not know are no reason to refuse a skill.
fn unknown_fields(view: &View<'_>, judgement: &mut Judgement) {
    must_load(
        view,
        judgement,
        "unknown-fields",
        "a skill with fields from later revisions",
    );
}

/// Metadata keys of other extensions are ignored.
fn reserved_metadata(view: &View<'_>, judgement: &mut Judgement) {
    must_load(
        view,
        judgement,
        "reserved-metadata",
        "a skill with reserved metadata keys",
    );
}

/// Number of files and total in bytes of the skill that a call is about.
fn extent(view: &View<'_>, ask: &Ask) -> Option<(usize, u64)> {
    let (server, uri) = target(ask)?;
    let entry = view.held(server, uri, ask.to)?;
    let items = entry.get("resources")?.as_array()?;
    let sizes = items
        .iter()
        .filter_map(|item| item.get("size").and_then(size_of));
    Some((items.len(), sizes.sum()))
}

/// A skill at the limits loads, and its files can be read.
fn limits_supported(view: &View<'_>, judgement: &mut Judgement) {
    for ask in view.named("at-limit") {
        let uri = member(&ask.params, "uri").unwrap_or("load");
        match outcome(ask) {
            Outcome::Ok(_) => judgement.holds(),
            Outcome::Refused { reason, .. } if view.witnessed() => judgement.violated(
                place(ask),
                uri,
                "a skill of 512 files and 16777216 bytes is supported",
                format!("it was refused: {reason}"),
            ),
            _ => {}
        }
    }
}

/// Loads of skills beyond the limits that were refused.
fn declined<'a>(view: &View<'a>) -> Vec<(&'a Ask, &'a str, &'a str)> {
    view.asks("load")
        .filter(|ask| {
            extent(view, ask).is_some_and(|(files, bytes)| files > LIMITS.0 || bytes > LIMITS.1)
        })
        .filter_map(|ask| match outcome(ask) {
            Outcome::Refused { reason, .. } => Some((ask, target(ask)?.1, reason)),
            _ => None,
        })
        .collect()
}

/// A host that declines a skill for its size says so.
fn decline_explained(view: &View<'_>, judgement: &mut Judgement) {
    for (ask, uri, reason) in declined(view) {
        if reason.trim().is_empty() {
            judgement.violated(
                place(ask),
                uri,
                "a reason for declining a skill beyond the limits",
                "none",
            );
        } else if view.witnessed() {
            judgement.holds();
        }
    }
}

/// A host that declines a skill for its size can do so before it fetches anything.
fn decline_early(view: &View<'_>, judgement: &mut Judgement) {
    for (ask, uri, _) in declined(view) {
        let fetched = view.during(ask).find(|served| {
            served.method == "resources/read"
                && view
                    .held(&served.server, uri, served.at)
                    .is_some_and(|entry| {
                        member(&served.params, "uri").is_some_and(|uri| item(entry, uri).is_some())
                    })
        });
        match fetched {
            Some(served) => judgement.violated(
                at(served.at),
                uri,
                "the skill declined from its entry",
                "a file was fetched first",
            ),
            None if view.witnessed() => judgement.holds(),
            None => {}
        }
    }
}
