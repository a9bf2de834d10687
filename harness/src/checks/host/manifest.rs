//! Which files a host reads, and which entries it takes. Sections "Resources", "Integrity and
//! Verification".

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::Check;
use super::ask::{Outcome, at, member, names_skill, outcome, place};
use super::fetching::PREFETCH;
use super::identity::LABEL;
use super::integrity::{DIGEST, fetched};
use super::view::{Source, View, inside, item, shown_in_directory, sources};
use crate::checks::entries::{is_digest, size_of};
use crate::verdict::Judgement;
use crate::wire::scene::Ask;

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::host("sep-2640-host-unlisted-read", unlisted_read),
    Check::host("sep-2640-resources-invalid-entry", invalid_entry),
    Check::host("sep-2640-host-invalid-entry-isolated", invalid_isolated).after(&[LABEL]),
    Check::host("sep-2640-host-acting-window", acting_window).after(&[LABEL, DIGEST]),
    Check::host("sep-2640-host-recovery-by-refresh", recovery).after(&[DIGEST, PREFETCH]),
];

/// While a host acts on a skill, a file that its manifest lacks is neither asked for nor handed
/// over.
fn unlisted_read(view: &View<'_>, judgement: &mut Judgement) {
    for used in view.uses() {
        if used.ask.verb != "read" || used.ask.name.as_deref() == Some("late-read") {
            continue;
        }
        // What a directory showed is another check's.
        if !inside(used.skill, bare(used.uri)) || shown_in_directory(view, used.uri, used.ask.from)
        {
            continue;
        }
        if !view.loaded(used.server, used.skill, used.ask.from) {
            continue;
        }
        let lists = |frame: usize| {
            let entry = view.held(used.server, used.skill, frame)?;
            entry.get("resources")?.as_array()?;
            Some(item(entry, used.uri).is_some())
        };
        if lists(used.ask.from) != Some(false) {
            continue;
        }
        // However the host spells what it asks for.
        let lacks = |frame: usize, uri: &str| {
            let entry = view.held(used.server, used.skill, frame);
            inside(used.skill, bare(uri)) && entry.is_some_and(|entry| item(entry, uri).is_none())
        };
        let asked = view.during(used.ask).find(|served| {
            served.method == "resources/read"
                && served.server == used.server
                && member(&served.params, "uri").is_some_and(|uri| lacks(served.at, uri))
        });
        if let Some(served) = asked {
            judgement.violated(
                at(served.at),
                used.uri,
                "no request for a file that the manifest lacks",
                "resources/read was sent",
            );
            judgement.because("unlisted");
            continue;
        }
        match used.outcome {
            // Whoever drops a query or a fragment has read another file, which may be a listed one.
            Outcome::Ok(_) if bare(used.uri) != used.uri => {}
            Outcome::Ok(_) if lists(used.ask.to) == Some(false) => {
                judgement.violated(
                    place(used.ask),
                    used.uri,
                    "a refusal, as for content that fails verification",
                    "the file was handed over",
                );
                judgement.because("unlisted");
            }
            Outcome::Refused { .. } if view.witnessed() => judgement.holds(),
            _ => {}
        }
    }
}

/// A URI without its query and fragment.
fn bare(uri: &str) -> &str {
    uri.split(['?', '#']).next().unwrap_or(uri)
}

/// Why an entry is invalid as a whole, if it is.
fn invalid(entry: &Value) -> Option<&'static str> {
    match entry.get("resources") {
        None => Some("it has no `resources`"),
        Some(Value::Array(_)) => match member(entry, "uri") {
            Some(uri) if item(entry, uri).is_none() => Some("its manifest lacks SKILL.md"),
            _ => None,
        },
        Some(Value::String(text)) if text == "dynamic" => None,
        Some(_) => Some("its `resources` is neither an array nor \"dynamic\""),
    }
}

/// Whether an entry gives a host reason to leave it out: those whose manifest has misplaced items
/// may be refused as a whole.
fn questionable(entry: &Value) -> bool {
    let items = entry.get("resources").and_then(Value::as_array);
    let mut uris = items
        .into_iter()
        .flatten()
        .filter_map(|item| member(item, "uri"));
    let skill = member(entry, "uri").unwrap_or_default();
    let malformed = |item: &Value| {
        member(item, "digest").is_none_or(|digest| !is_digest(digest))
            || item.get("size").and_then(size_of).is_none()
    };
    invalid(entry).is_some()
        || items.into_iter().flatten().any(malformed)
        || uris.any(|uri| misplaced(entry, skill, uri).is_some())
}

/// An invalid entry is not loaded, and what its manifest may not list is not taken for a file of the
/// skill.
fn invalid_entry(view: &View<'_>, judgement: &mut Judgement) {
    for used in view.uses() {
        let Some(entry) = view.held(used.server, used.skill, used.ask.to) else {
            continue;
        };
        let why = match used.ask.verb.as_str() {
            "load" => invalid(entry).map(str::to_owned),
            _ => misplaced(entry, used.skill, used.uri),
        };
        let Some(why) = why else { continue };
        let is_read = used.ask.verb == "read";
        let outside = is_read && !inside(used.skill, used.uri);
        // To a host that does not act on the skill it is a resource like any other.
        let verified = matches!(used.outcome, Outcome::Ok(result) if result.get("verified") == Some(&Value::Bool(true)));
        if is_read && !verified && !view.loaded(used.server, used.skill, used.ask.from) {
            continue;
        }
        match used.outcome {
            // A file outside is an ordinary resource of the server, which may be read as such.
            Outcome::Ok(result) if outside => {
                if result.get("verified") == Some(&Value::Bool(true)) {
                    judgement.violated(
                        place(used.ask),
                        used.uri,
                        "no file of the skill",
                        format!("it was handed over as verified although {why}"),
                    );
                } else if view.witnessed() {
                    judgement.holds();
                }
            }
            Outcome::Ok(_) => judgement.violated(
                place(used.ask),
                used.uri,
                "a refusal",
                format!("it was handed over although {why}"),
            ),
            Outcome::Refused { .. } if view.witnessed() => judgement.holds(),
            _ => {}
        }
    }
}

/// Why a manifest item is no good, if it is not.
fn misplaced(entry: &Value, skill: &str, uri: &str) -> Option<String> {
    let items = entry.get("resources")?.as_array()?;
    let digests: BTreeSet<&str> = items
        .iter()
        .filter(|item| member(item, "uri") == Some(uri))
        .filter_map(|item| member(item, "digest"))
        .collect();
    if digests.len() > 1 {
        return Some("the manifest gives it two digests".to_owned());
    }
    (!digests.is_empty() && !inside(skill, uri))
        .then(|| "it lies outside the skill's directory".to_owned())
}

/// The valid neighbours of an invalid entry are offered all the same.
fn invalid_isolated(view: &View<'_>, judgement: &mut Judgement) {
    for (ask, list) in view.results("list") {
        let offered: BTreeSet<(&str, &str)> = list
            .get("skills")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|skill| Some((member(skill, "server")?, member(skill, "uri")?)))
            .collect();
        for served in view
            .served("skills/list")
            .filter(|served| served.to < ask.to)
        {
            let page = served
                .result
                .as_ref()
                .and_then(|result| result.get("skills"));
            let entries: Vec<&Value> = page
                .and_then(Value::as_array)
                .map(|entries| entries.iter().collect())
                .unwrap_or_default();
            if !entries.iter().any(|entry| invalid(entry).is_some()) {
                continue;
            }
            for entry in entries.iter().filter(|entry| !questionable(entry)) {
                let Some(uri) = member(entry, "uri") else {
                    continue;
                };
                if offered.contains(&(served.server.as_str(), uri)) {
                    judgement.holds();
                } else {
                    judgement.violated(
                        place(ask),
                        uri,
                        "the valid neighbours of an invalid entry",
                        "the skill is not offered",
                    );
                }
            }
        }
    }
}

/// From the load of SKILL.md until it leaves the context the host acts on the skill: it knows so,
/// and it goes on verifying.
fn acting_window(view: &View<'_>, judgement: &mut Judgement) {
    for (ask, acting) in view.results("acting") {
        for (server, uri) in open_windows(view, ask) {
            // A host may take SKILL.md out of the context by itself.
            let seen = view.last("context", ask.from).is_some_and(|(_, context)| {
                let sources = sources(view, &context.to_string());
                sources.contains(&Source { server, uri })
            });
            if !seen {
                continue;
            }
            if names_skill(acting, server, uri) {
                judgement.holds();
            } else {
                judgement.violated(
                    place(ask),
                    uri,
                    "a skill whose SKILL.md is in the context is acted on",
                    "the host does not act on it",
                );
            }
        }
    }
    for fetched in fetched(view) {
        if fetched.used.ask.name.as_deref() == Some("late-read")
            && let Some((listed, digest)) = fetched.digests()
        {
            fetched.refused(
                view,
                judgement,
                format!("content with the digest {listed}, or none, for as long as the skill is acted on"),
                format!("content with the digest {digest} was handed over"),
            );
        }
    }
}

/// Skills that were loaded before a call and whose SKILL.md has not left the context since.
fn open_windows<'a>(view: &View<'a>, ask: &Ask) -> Vec<(&'a str, &'a str)> {
    let mut open: Vec<(&str, &str)> = Vec::new();
    for earlier in view
        .scene
        .asks
        .iter()
        .filter(|earlier| earlier.to < ask.from)
    {
        match earlier.verb.as_str() {
            "load" => {
                if let Outcome::Ok(loaded) = outcome(earlier)
                    && let Some(server) =
                        member(loaded, "server").or_else(|| member(&earlier.params, "server"))
                    && let Some(uri) =
                        member(loaded, "uri").or_else(|| member(&earlier.params, "uri"))
                {
                    open.push((server, uri));
                }
            }
            "release" => {
                let left = (
                    member(&earlier.params, "server"),
                    member(&earlier.params, "uri"),
                );
                open.retain(|(server, uri)| left != (Some(server), Some(uri)));
            }
            "restart" => open.clear(),
            "disconnect" | "remove" => {
                let gone = member(&earlier.params, "server");
                open.retain(|(server, _)| gone != Some(server));
            }
            _ => {}
        }
    }
    open
}

/// After a mismatch a host goes on only through a fresh entry, under which only the new set counts.
fn recovery(view: &View<'_>, judgement: &mut Judgement) {
    for fetched in fetched(view) {
        if fetched.used.ask.name.as_deref() == Some("read-after-refresh")
            && let Some((listed, digest)) = fetched.digests()
        {
            fetched.refused(
                view,
                judgement,
                format!("content with the digest {listed} of the refreshed entry, or none"),
                format!("content with the digest {digest} of the former entry was handed over"),
            );
        }
    }
    for used in view.uses() {
        let mut failed = 0;
        let mut wrong = None;
        for served in view
            .during(used.ask)
            .filter(|served| served.server == used.server)
        {
            let same = served.method == "resources/read"
                && member(&served.params, "uri") == Some(used.uri);
            let entry = view.held(used.server, used.skill, served.at);
            let mismatch = same
                && entry.is_some_and(|entry| {
                    let listed = item(entry, used.uri).and_then(|item| member(item, "digest"));
                    let content = super::view::content(served, used.uri);
                    let digest = content.and_then(|content| content.digest());
                    listed.is_some() && digest.is_some() && listed != digest.as_deref()
                });
            if mismatch {
                failed += 1;
            } else if failed > 0 && matches!(served.method.as_str(), "skills/get" | "skills/list") {
                failed = 0;
                judgement.holds();
            } else if failed > 0
                && !same
                && wrong.is_none()
                && matches!(
                    served.method.as_str(),
                    "resources/read" | "resources/directory/read"
                )
            {
                wrong = Some(served);
            }
            // A read may be repeated, in case it was cut short on the way.
            if failed > 3 && wrong.is_none() {
                wrong = Some(served);
            }
        }
        if let Some(served) = wrong {
            judgement.violated(
                at(served.at),
                used.uri,
                "skills/get or skills/list after content that fails verification",
                format!("{} instead", served.method),
            );
            // What was fetched along is another check's.
            if let Some(uri) = member(&served.params, "uri") {
                judgement.because(uri);
            }
        } else if failed > 0 && view.witnessed() {
            // It stopped there, which it may.
            judgement.holds();
        }
    }
}
