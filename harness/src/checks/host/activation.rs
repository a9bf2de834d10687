//! What makes a skill active, and what does not. Sections "Reading", "Nested Skills".

use serde_json::Value;

use super::super::Check;
use super::ask::{
    LOADS, Outcome, acting_on, asks_about, asks_for, member, names_skill, outcome, place, target,
};
use super::context::messages;
use super::permissions::{in_force, is_in_force, tools_of};
use super::view::{View, inside, sources, trusts};
use crate::verdict::Judgement;
use crate::wire::scene::{Ask, Consent};

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::host("sep-2640-nested-skillmd-not-acted-on", nested_not_acted_on),
    Check::host("sep-2640-read-is-not-a-load", read_is_no_load),
];

/// A nested SKILL.md that is read as a file of the skill around it is plain Markdown: it grants
/// nothing, opens no window, and does not look like a loaded skill.
fn nested_not_acted_on(view: &View<'_>, judgement: &mut Judgement) {
    for ask in view.asks("read") {
        let (Some((server, outer)), Some(uri)) = (acting_on(ask), member(&ask.params, "uri"))
        else {
            continue;
        };
        let nested = uri != outer && uri.ends_with("/SKILL.md") && inside(outer, uri);
        if !nested || !matches!(outcome(ask), Outcome::Ok(_)) || view.loaded(server, uri, ask.from)
        {
            continue;
        }
        let Some(entry) = view.held(server, uri, ask.to) else {
            continue;
        };
        not_acted_on(view, judgement, ask, (server, uri), Some(entry));
        not_shown_as_skill(view, judgement, ask, (server, uri));
    }
}

/// After a read that is no load, the content does not look like a loaded skill.
fn not_shown_as_skill(
    view: &View<'_>,
    judgement: &mut Judgement,
    ask: &Ask,
    (server, uri): (&str, &str),
) {
    for (context, result) in view
        .results("context")
        .filter(|(context, _)| context.from > ask.to)
    {
        // Once it is loaded as a skill, it may look like one.
        if view.loaded(server, uri, context.from) {
            continue;
        }
        for (index, message) in messages(result) {
            let text = member(message, "text").unwrap_or_default();
            if !sources(view, text).iter().any(|source| source.uri == uri) {
                continue;
            }
            let alone = sources(view, text).iter().all(|source| source.uri == uri);
            if alone && member(message, "kind") == Some("skill") {
                judgement.violated(
                    place(context).child(&[&"result", &"messages", &index]),
                    uri,
                    "a file, or a resource like any other",
                    "a loaded skill",
                );
            } else {
                judgement.holds();
            }
        }
    }
}

/// After a read that is no load, the skill is not acted on and its tools are not in force.
fn not_acted_on(
    view: &View<'_>,
    judgement: &mut Judgement,
    ask: &Ask,
    (server, uri): (&str, &str),
    entry: Option<&Value>,
) {
    for (acting, result) in view
        .results("acting")
        .filter(|(acting, _)| acting.from > ask.to)
    {
        if view.loaded(server, uri, acting.from) {
            continue;
        }
        if names_skill(result, server, uri) {
            judgement.violated(
                place(acting),
                uri,
                "no acting on a skill that was read and not loaded",
                "the host acts on it",
            );
        } else {
            judgement.holds();
        }
    }
    let Some(entry) = entry else { return };
    for (tools, result) in view
        .results("tools")
        .filter(|(tools, _)| tools.from > ask.to)
    {
        if view.loaded(server, uri, tools.from) {
            continue;
        }
        let in_force = in_force(result);
        let active = tools_of(entry)
            .into_iter()
            .find(|tool| is_in_force(&in_force, tool));
        match active {
            Some(tool) => judgement.violated(
                place(tools),
                uri,
                "no effect of a frontmatter that was read and not loaded",
                format!("{tool} is in force"),
            ),
            None if !tools_of(entry).is_empty() => judgement.holds(),
            None => {}
        }
    }
}

/// A SKILL.md that comes through the general tool is read, not loaded: no window, no approval.
fn read_is_no_load(view: &View<'_>, judgement: &mut Judgement) {
    for ask in view.asks("read_resource").chain(view.asks("inspect")) {
        let (Some(server), Some(uri)) = (member(&ask.params, "server"), member(&ask.params, "uri"))
        else {
            continue;
        };
        // A read that the host routes into its loading path, with the consent that belongs to it, is a load.
        if !uri.ends_with("/SKILL.md") || view.loaded(server, uri, ask.to) {
            continue;
        }
        let entry = view.held(server, uri, ask.to);
        if entry.is_none() || !matches!(outcome(ask), Outcome::Ok(_)) {
            continue;
        }
        // Where nobody is asked before loads, a read that is routed into one leaves no trace.
        let traced = view.gates_loads(ask.from) && !trusts(view, server, ask.to);
        if traced || ask.verb == "inspect" {
            not_acted_on(view, judgement, ask, (server, uri), entry);
        }
        no_approval(view, judgement, ask, (server, uri));
    }
    neighbours(view, judgement);
}

/// The load that follows a read needs the approval that every load of this host needs. A host that asks
/// once for a session asks no more, whatever was read: a load of another skill tells the two apart.
fn no_approval(view: &View<'_>, judgement: &mut Judgement, ask: &Ask, (server, uri): (&str, &str)) {
    let load = view
        .asks("load")
        .find(|load| load.from > ask.to && target(load) == Some((server, uri)));
    let Some(load) = load else { return };
    if !view.gates_loads(ask.from) || !matches!(outcome(load), Outcome::Ok(_)) {
        return;
    }
    // The user may have been asked earlier, while looking at the skill for instance.
    let agreed = view.scene.consents.iter().any(|consent| {
        consent.at < load.to && consent.allowed && asks_to_load(consent, (server, uri))
    });
    let still_asks = view.asks("load").any(|other| {
        let asked = |skill| skill != (server, uri) && is_asked(view, other, skill);
        other.from > ask.to && target(other).is_some_and(asked)
    });
    if agreed || trusts(view, server, load.to) {
        judgement.holds();
    } else if still_asks {
        judgement.violated(
            place(load),
            uri,
            "the question that every load of this host begins with",
            "the earlier read was taken for an approval",
        );
    }
}

/// Whether the user is asked during a call whether a skill may be loaded.
fn is_asked(view: &View<'_>, ask: &Ask, skill: (&str, &str)) -> bool {
    view.consents(ask)
        .any(|consent| asks_to_load(consent, skill))
}

/// Whether a question is about the load of a skill.
fn asks_to_load(consent: &Consent, (server, uri): (&str, &str)) -> bool {
    asks_for(consent, LOADS) && asks_about(consent, server, uri)
}

/// The SKILL.md of another skill of the server that is read while a skill is acted on is read, not
/// loaded. A host may send such a read down its loading path, which shows only where it asks before
/// each load: no other host is judged.
fn neighbours(view: &View<'_>, judgement: &mut Judgement) {
    for ask in view.asks("read") {
        let (Some((server, skill)), Some(uri)) = (acting_on(ask), member(&ask.params, "uri"))
        else {
            continue;
        };
        let elsewhere = member(&ask.params, "server").is_some_and(|other| other != server);
        if elsewhere || uri == skill || inside(skill, uri) || !uri.ends_with("/SKILL.md") {
            continue;
        }
        let entry = view.held(server, uri, ask.to);
        let read = entry.is_some() && matches!(outcome(ask), Outcome::Ok(_));
        if !read || view.loaded(server, uri, ask.to) || !asks_each_time(view, server, ask.from) {
            continue;
        }
        not_acted_on(view, judgement, ask, (server, uri), entry);
        not_shown_as_skill(view, judgement, ask, (server, uri));
        no_approval(view, judgement, ask, (server, uri));
    }
}

/// Whether the host has loaded several skills before a frame, and asked before each of them.
fn asks_each_time(view: &View<'_>, server: &str, before: usize) -> bool {
    let loads: Vec<&Ask> = view
        .asks("load")
        .filter(|ask| ask.to <= before && matches!(outcome(ask), Outcome::Ok(_)))
        .collect();
    let asked = |load: &&Ask| target(load).is_some_and(|skill| is_asked(view, load, skill));
    loads.len() > 1 && loads.iter().all(asked) && !trusts(view, server, before)
}
