//! What identifies a skill to a host: the label of its server and its URI. Sections "Skill URIs",
//! "Nested Skills", and "Security Considerations".

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::Check;
use super::ask::{
    LOADS, Outcome, asks_about, asks_for, member, names_skill, offered, outcome, place,
};
use super::tokens::text_of;
use super::view::{View, inside, sources};
use crate::verdict::Judgement;
use crate::wire::scene::Ask;

pub(super) const IDENTITY: &str = "sep-2640-host-skill-identity-pair";
pub(super) const LABEL: &str = "sep-2640-host-label-not-serverinfo-name";

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::host(IDENTITY, identity_pair).after(&[LABEL]),
    Check::host("sep-2640-host-nested-entry-separate", nested_separate).after(&[LABEL]),
    Check::host(LABEL, label),
    Check::host(
        "sep-2640-host-cache-path-encodes-origin",
        path_encodes_origin,
    ),
];

/// The same URI on two servers is two skills: in the registry, for loads, in approvals and in the
/// cache.
fn identity_pair(view: &View<'_>, judgement: &mut Judgement) {
    for (ask, list) in view.results("list") {
        let listed = view.listed(ask.to);
        for (server, uri, _) in &listed {
            let twin = listed
                .iter()
                .any(|(other, same, _)| same == uri && other != server);
            if !twin {
                continue;
            }
            if names_skill(list, server, uri) {
                judgement.holds();
            } else {
                judgement.violated(
                    place(ask),
                    *uri,
                    "a skill for each server that lists the URI",
                    format!("that of {server} is not offered"),
                );
            }
        }
    }
    for ask in view.asks("load").chain(view.asks("read")) {
        let uri = member(&ask.params, "uri").unwrap_or_default();
        let twins: BTreeSet<&str> = view
            .listed(ask.to)
            .into_iter()
            .filter(|(_, other, _)| *other == uri || inside(other, uri))
            .map(|(server, ..)| server)
            .collect();
        if twins.len() < 2 {
            continue;
        }
        match (named_server(ask), outcome(ask)) {
            (Some(server), Outcome::Ok(result)) => {
                let foreign = sources(view, &text_of(result))
                    .into_iter()
                    .find(|source| source.server != server);
                match foreign {
                    // Where a read goes is judged by the binding to its origin.
                    Some(source) if !view.during(ask).any(|served| served.server != server) => {
                        judgement.violated(
                            place(ask),
                            uri,
                            format!("the skill of {server}"),
                            format!("content of {}", source.server),
                        );
                    }
                    _ => judgement.holds(),
                }
                if ask.verb == "load" {
                    approved_apart(view, judgement, ask, server, uri);
                }
            }
            (None, Outcome::Ok(_)) if view.consents(ask).next().is_none() => judgement.violated(
                place(ask),
                uri,
                "no silent choice between servers that list the URI",
                "one of them was loaded",
            ),
            (None, Outcome::Ok(_)) => judgement.holds(),
            (None, Outcome::Refused { .. }) if view.witnessed() => judgement.holds(),
            _ => {}
        }
    }
}

/// The server that a call names, or that of the skill that it acts on.
fn named_server(ask: &Ask) -> Option<&str> {
    member(&ask.params, "server").or_else(|| super::ask::acting_on(ask).map(|(server, _)| server))
}

/// An approval of one server's skill says nothing of the other's.
fn approved_apart(view: &View<'_>, judgement: &mut Judgement, ask: &Ask, server: &str, uri: &str) {
    let approved_other = view.scene.consents.iter().any(|consent| {
        consent.at < ask.from
            && consent.allowed
            && consent.remember
            && asks_for(consent, LOADS)
            && member(&consent.params, "uri") == Some(uri)
            && member(&consent.params, "server") != Some(server)
    });
    let approved_own =
        view.scene.consents.iter().any(|consent| {
            consent.at < ask.to && consent.allowed && asks_about(consent, server, uri)
        });
    if approved_own {
        judgement.holds();
    } else if approved_other {
        judgement.violated(
            place(ask),
            uri,
            format!("a question about the skill of {server}"),
            "the approval of another server's skill was taken for it",
        );
    }
}

/// An entry below another entry's directory is a skill of its own.
fn nested_separate(view: &View<'_>, judgement: &mut Judgement) {
    for (ask, list) in view.results("list") {
        let listed = view.listed(ask.to);
        for (server, uri, _) in &listed {
            let nested = listed
                .iter()
                .any(|(other, outer, _)| other == server && outer != uri && inside(outer, uri));
            if !nested {
                continue;
            }
            if names_skill(list, server, uri) {
                judgement.holds();
            } else {
                judgement.violated(
                    place(ask),
                    *uri,
                    "a skill for each entry, nested or not",
                    "it is not offered",
                );
            }
        }
    }
}

/// The label that the user gave is what identifies a server, not the name that it gives itself.
fn label(view: &View<'_>, judgement: &mut Judgement) {
    let labels: BTreeSet<&str> = view
        .asks("connect")
        .filter_map(|ask| member(&ask.params, "server"))
        .collect();
    let own_names = own_names(view);
    for (ask, list) in view.results("list") {
        for (server, uri, _) in offered(list) {
            let Some(server) = server else { continue };
            if labels.contains(server) {
                judgement.holds();
            } else {
                judgement.violated(
                    place(ask),
                    uri,
                    "the label that the user gave to the server",
                    format!("\"{server}\""),
                );
            }
        }
    }
    for (ask, context) in view.results("context") {
        for (_, message) in super::context::messages(context) {
            let shown = super::context::shown(message);
            for source in sources(view, member(message, "text").unwrap_or_default()) {
                let Some(own) = own_names.iter().find(|(label, _)| *label == source.server) else {
                    continue;
                };
                if shown.contains(own.1) && !shown.contains(source.server) {
                    judgement.violated(
                        place(ask),
                        source.uri,
                        format!("the label \"{}\" as the origin", source.server),
                        format!("the server's own name \"{}\"", own.1),
                    );
                } else {
                    judgement.holds();
                }
            }
        }
    }
}

/// Labels of servers, with the names that the servers give themselves.
pub(super) fn own_names<'a>(view: &View<'a>) -> Vec<(&'a str, &'a str)> {
    let mut names = Vec::new();
    for served in &view.scene.served {
        let name = served.result.as_ref().and_then(|result| {
            result
                .pointer("/serverInfo/name")
                .or_else(|| result.pointer("/_meta/io.modelcontextprotocol~1serverInfo/name"))?
                .as_str()
        });
        if let Some(name) = name {
            let known = (served.server.as_str(), name);
            if !names.contains(&known) {
                names.push(known);
            }
        }
    }
    names
}

/// Files of different servers lie at different paths, in the cache and in a mount.
fn path_encodes_origin(view: &View<'_>, judgement: &mut Judgement) {
    for verb in ["cache", "mount"] {
        for (ask, result) in view.results(verb) {
            let files = result.get("files").and_then(Value::as_array);
            let files: Vec<(&str, Option<&str>, Option<&str>)> = files
                .into_iter()
                .flatten()
                // A mount may hold files of local skills.
                .filter(|file| verb == "cache" || file.get("server") != Some(&Value::Null))
                .filter_map(|file| {
                    let path = member(file, "path")?;
                    Some((path, member(file, "server"), member(file, "uri")))
                })
                .collect();
            for (index, (path, server, uri)) in files.iter().enumerate() {
                let clash = files[..index]
                    .iter()
                    .find(|(other, origin, file)| other == path && (origin, file) != (server, uri));
                match (clash, server) {
                    (Some((_, origin, _)), _) => judgement.violated(
                        place(ask),
                        uri.unwrap_or(path),
                        "a path for each server and URI",
                        format!(
                            "one path for the files of {} and {}",
                            origin.unwrap_or("nobody"),
                            server.unwrap_or("nobody")
                        ),
                    ),
                    (None, None) => judgement.violated(
                        place(ask),
                        uri.unwrap_or(path),
                        "a path from which the server can be told",
                        "a file whose server the host cannot tell",
                    ),
                    (None, Some(_)) => judgement.holds(),
                }
            }
        }
    }
}
