//! How hosts tell skills apart. Sections "Names", "Skill URIs", and "Security Considerations".

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::Check;
use super::ask::{Outcome, asks_for, member, names_skill, offered, outcome, place};
use super::identity::LABEL;
use super::tokens::text_of;
use super::view::{View, name_of, origin_of, sources};
use crate::model::uri;
use crate::verdict::Judgement;
use crate::wire::scene::Ask;

const COLLISION: &str = "sep-2640-host-disambiguate-listing-collision";
const SHADOW: &str = "sep-2640-host-cross-origin-no-shadow";

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::host("sep-2640-names-not-unique", names_not_unique),
    Check::host(COLLISION, disambiguate).after(&[LABEL]),
    Check::host(SHADOW, no_shadow).after(&[LABEL]),
    Check::host("sep-2640-host-collisions-surfaced", surfaced).after(&[COLLISION, LABEL, SHADOW]),
];

/// Whether another skill of the same server has the same name.
fn has_namesake(listed: &[(&str, &str, &Value)], server: &str, uri: &str) -> bool {
    let of = |wanted: &str| {
        listed
            .iter()
            .find(|(other, skill, _)| *other == server && *skill == wanted)
            .and_then(|(.., entry)| name_of(entry))
    };
    let name = of(uri);
    name.is_some()
        && listed.iter().any(|(other, skill, entry)| {
            *other == server && *skill != uri && name_of(entry) == name
        })
}

/// Of two skills of one name each is loaded by its own URI.
fn names_not_unique(view: &View<'_>, judgement: &mut Judgement) {
    for ask in view.asks("load") {
        let (Some(server), Some(uri)) = (member(&ask.params, "server"), member(&ask.params, "uri"))
        else {
            continue;
        };
        if !has_namesake(&view.listed(ask.to), server, uri) {
            continue;
        }
        if let Outcome::Ok(result) = outcome(ask) {
            let other = sources(view, &text_of(result))
                .into_iter()
                .find(|source| source.uri != uri);
            match other {
                None => judgement.holds(),
                Some(source) => judgement.violated(
                    place(ask),
                    uri,
                    "the skill at this URI",
                    format!("{} of the same name", source.uri),
                ),
            }
        }
    }
}

/// Two entries of one listing that share a name are both there and can be told apart, and the bare
/// name chooses neither silently.
fn disambiguate(view: &View<'_>, judgement: &mut Judgement) {
    for (ask, list) in view.results("list") {
        let listed = view.listed(ask.to);
        let offered = offered(list);
        for (server, uri, _) in &listed {
            if !has_namesake(&listed, server, uri) {
                continue;
            }
            let own = offered
                .iter()
                .find(|(other, skill, _)| *other == Some(*server) && skill == uri);
            let Some((.., own)) = own else {
                judgement.violated(
                    place(ask),
                    *uri,
                    "both of two entries that share a name",
                    "it is not offered",
                );
                continue;
            };
            let handle = member(own, "shown_as");
            let same = offered.iter().any(|(other, skill, item)| {
                (*other, *skill) != (Some(*server), *uri)
                    && *other == Some(*server)
                    && handle.is_some()
                    && member(item, "shown_as") == handle
            });
            if same {
                judgement.violated(
                    place(ask),
                    *uri,
                    "something that tells skills of one name apart",
                    format!("both are shown as \"{}\"", handle.unwrap_or_default()),
                );
            } else {
                judgement.holds();
            }
        }
    }
    for ask in by_name(view) {
        let name = member(&ask.params, "name").unwrap_or_default();
        let candidates = candidates(view, ask, name);
        let servers: BTreeSet<Option<&str>> =
            candidates.iter().map(|(server, _)| *server).collect();
        if candidates.len() > 1 && servers.len() == 1 {
            not_silent(view, judgement, ask, name);
        }
    }
}

/// Loads by name.
fn by_name<'a>(view: &View<'a>) -> impl Iterator<Item = &'a Ask> {
    view.asks("load")
        .filter(|ask| member(&ask.params, "name").is_some())
}

/// Every skill that bears a name when a call is made: server (none for local ones) and URI.
fn candidates<'a>(view: &View<'a>, ask: &Ask, name: &str) -> Vec<(Option<&'a str>, &'a str)> {
    let listed = view.listed(ask.from).into_iter();
    let mut candidates: Vec<(Option<&str>, &str)> = listed
        .filter(|(.., entry)| name_of(entry) == Some(name))
        .map(|(server, uri, _)| (Some(server), uri))
        .collect();
    let local = view
        .results("install_local")
        .any(|(install, _)| install.to < ask.from && member(&install.params, "name") == Some(name));
    if local {
        candidates.push((None, ""));
    }
    candidates
}

/// The skill that a handle stood for in the last list before a call.
fn owner<'a>(view: &View<'a>, handle: &str, before: usize) -> Option<(Option<&'a str>, &'a str)> {
    let (_, list) = view.last("list", before)?;
    let mut owners = offered(list)
        .into_iter()
        .filter(|(.., item)| member(item, "shown_as") == Some(handle));
    match (owners.next(), owners.next()) {
        (Some((server, uri, _)), None) => Some((server, uri)),
        _ => None,
    }
}

/// A name that several skills bear leads to the one that is shown under it, to a local one, or to none
/// without a question.
fn not_silent(view: &View<'_>, judgement: &mut Judgement, ask: &Ask, name: &str) {
    let result = match outcome(ask) {
        Outcome::Ok(result) => result,
        Outcome::Refused { .. } if view.witnessed() => return judgement.holds(),
        _ => return,
    };
    let server = match origin_of(view, result) {
        Some(Some(server)) => server,
        // Nothing forbids a local skill to keep the name that it has.
        Some(None) => return judgement.holds(),
        None => return,
    };
    let sources = sources(view, &text_of(result));
    let uri = member(result, "uri").or_else(|| sources.first().map(|source| source.uri));
    let uri = uri.unwrap_or_default();
    let same = |other: &str| other == uri || uri::equivalent(other, uri);
    match owner(view, name, ask.from) {
        Some((Some(owner), shown)) if owner == server && same(shown) => judgement.holds(),
        Some((owner, _)) => judgement.violated(
            place(ask),
            name,
            format!(
                "the skill of {} that is shown under this name",
                owner.unwrap_or("the host itself")
            ),
            format!("that of {server}"),
        ),
        None if was_asked(view, ask, name) => judgement.holds(),
        None => judgement.violated(
            place(ask),
            name,
            "no silent choice between skills that share a name",
            format!("that of {server} was loaded"),
        ),
    }
}

/// Whether the user was asked which of the skills of a name is meant.
fn was_asked(view: &View<'_>, ask: &Ask, name: &str) -> bool {
    let candidates = candidates(view, ask, name);
    view.consents(ask).any(|consent| {
        let text = consent.params.to_string();
        let names = |(server, uri): &(Option<&str>, &str)| {
            server.is_none_or(|server| text.contains(server)) || text.contains(uri)
        };
        asks_for(consent, &["choose"]) || consent.allowed && candidates.iter().all(names)
    })
}

/// A skill never takes the place of another origin's skill of its name.
fn no_shadow(view: &View<'_>, judgement: &mut Judgement) {
    for (ask, list) in view.results("list") {
        let offered = offered(list);
        for (install, _) in view
            .results("install_local")
            .filter(|(install, _)| install.to < ask.from)
        {
            let name = member(&install.params, "name").unwrap_or_default();
            let there = offered
                .iter()
                .any(|(server, _, item)| server.is_none() && member(item, "name") == Some(name));
            if there {
                judgement.holds();
            } else {
                judgement.violated(
                    place(ask),
                    name,
                    "the local skill beside those of servers",
                    "it is not offered",
                );
            }
        }
        let listed = view.listed(ask.to);
        for (server, uri, entry) in &listed {
            let foreign = listed.iter().any(|(other, skill, namesake)| {
                other != server && skill != uri && name_of(namesake) == name_of(entry)
            });
            if !foreign {
                continue;
            }
            if names_skill(list, server, uri) {
                judgement.holds();
            } else {
                judgement.violated(
                    place(ask),
                    *uri,
                    "the skills of all servers that share a name",
                    format!("that of {server} is not offered"),
                );
            }
        }
        handles_stay(view, judgement, ask, list);
    }
    for ask in by_name(view) {
        let name = member(&ask.params, "name").unwrap_or_default();
        let candidates = candidates(view, ask, name);
        let servers: BTreeSet<Option<&str>> =
            candidates.iter().map(|(server, _)| *server).collect();
        let shown = owner(view, name, ask.from).is_some();
        if servers.len() > 1 || (shown && servers.len() != 1) {
            not_silent(view, judgement, ask, name);
        }
    }
    for ask in view.asks("load") {
        if let (Some(server), Outcome::Ok(result)) = (member(&ask.params, "server"), outcome(ask)) {
            let foreign = origin_of(view, result) == Some(None);
            let local = view.results("install_local").next().is_some();
            if local && foreign {
                judgement.violated(
                    place(ask),
                    member(&ask.params, "uri").unwrap_or("load"),
                    format!("the skill of {server}"),
                    "a local skill",
                );
            } else if local {
                judgement.holds();
            }
        }
    }
}

/// What the line of a list says of a skill besides its handle.
fn remark(item: &Value) -> String {
    let handle = member(item, "shown_as").unwrap_or_default();
    member(item, "line")
        .unwrap_or_default()
        .replacen(handle, "", 1)
}

/// A handle goes on naming the skill that it named, as long as that is there.
fn handles_stay(view: &View<'_>, judgement: &mut Judgement, ask: &Ask, list: &Value) {
    let Some((_, earlier)) = view.last("list", ask.from) else {
        return;
    };
    for (server, uri, item) in offered(earlier) {
        // A number is a place in a list, and no name.
        let name = member(item, "name").unwrap_or_default();
        let Some(handle) = member(item, "shown_as").filter(|handle| handle.contains(name)) else {
            continue;
        };
        let key = |server: Option<&str>, uri: &str, item: &Value| match server {
            Some(server) => format!("{server} {uri}"),
            None => member(item, "name").unwrap_or_default().to_owned(),
        };
        let own = key(server, uri, item);
        let now = offered(list);
        let still = now
            .iter()
            .any(|(server, uri, item)| key(*server, uri, item) == own);
        let taken = now.iter().find(|(server, uri, item)| {
            // A local skill that nobody installed is another check's.
            let known = server.is_some()
                || view
                    .asks("install_local")
                    .any(|install| member(&install.params, "name") == member(item, "name"));
            known && member(item, "shown_as") == Some(handle) && key(*server, uri, item) != own
        });
        // Nothing is silent of which the user was told, by a notice or where names are chosen.
        let told = |other: &Option<&str>| {
            let mut notices = view.results("notices").peekable();
            let heard = notices.peek().is_some();
            let noticed = notices.any(|(_, told)| told.to_string().contains(name));
            let row = now
                .iter()
                .find(|(server, uri, item)| key(*server, uri, item) == own);
            let marked = row.is_some_and(|(.., row)| remark(row) != remark(item));
            other.is_none() && (!heard || noticed || marked)
        };
        match taken {
            Some((other, ..)) if still && *other != server && !told(other) => judgement.violated(
                place(ask),
                handle,
                format!(
                    "the skill of {} under the name that it had",
                    server.unwrap_or("the host itself")
                ),
                format!("that of {}", other.unwrap_or("the host itself")),
            ),
            _ => {}
        }
    }
}

/// The user is told of names that several skills bear.
fn surfaced(view: &View<'_>, judgement: &mut Judgement) {
    let Some(last) = view.results("notices").last() else {
        return;
    };
    let told: String = view
        .results("notices")
        .filter_map(|(_, result)| result.get("notices")?.as_array())
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let listed = view.listed(last.0.from);
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for (server, uri, entry) in &listed {
        let Some(name) = name_of(entry) else { continue };
        let twice = listed.iter().any(|(other, skill, namesake)| {
            (other, skill) != (server, uri) && name_of(namesake) == Some(name)
        });
        let local = view
            .results("install_local")
            .any(|(install, _)| member(&install.params, "name") == Some(name));
        if twice || local {
            names.insert(name);
        }
    }
    for name in names {
        if told.contains(name) {
            judgement.holds();
            continue;
        }
        judgement.violated(
            place(last.0),
            name,
            "a word to the user on skills that share a name",
            "no notice names it",
        );
        // Of a skill that is not even offered there is nothing to tell.
        let list = view.last("list", last.0.from).map(|(_, list)| list);
        let lost = listed.iter().find(|(server, uri, entry)| {
            name_of(entry) == Some(name) && list.is_some_and(|list| !names_skill(list, server, uri))
        });
        if let Some((_, uri, _)) = lost {
            judgement.because(*uri);
        }
    }
}
