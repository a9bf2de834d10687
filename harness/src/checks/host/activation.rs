//! What makes a skill active, and what does not. Sections "Reading", "Nested Skills".

use serde_json::Value;

use super::super::Check;
use super::ask::{
    LOADS, Outcome, acting_on, asks_about, asks_for, member, names_skill, outcome, place,
};
use super::context::messages;
use super::permissions::{in_force, is_in_force, tools_of};
use super::view::{View, inside, sources, trusts};
use crate::verdict::Judgement;
use crate::wire::scene::Ask;

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
                        "a file of the skill around it",
                        "a loaded skill",
                    );
                } else {
                    judgement.holds();
                }
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
        not_acted_on(view, judgement, ask, (server, uri), entry);
        // The load that follows needs the approval that every load of this host needs.
        let load = view
            .asks("load")
            .find(|load| load.from > ask.to && super::ask::target(load) == Some((server, uri)));
        let Some(load) = load else { continue };
        if !view.gates_loads(ask.from) || !matches!(outcome(load), Outcome::Ok(_)) {
            continue;
        }
        let asked = view
            .consents(load)
            .any(|consent| asks_for(consent, LOADS) && asks_about(consent, server, uri));
        if asked || trusts(view, server, load.to) {
            judgement.holds();
        } else {
            judgement.violated(
                place(load),
                uri,
                "the question that every load of this host begins with",
                "the earlier read was taken for an approval",
            );
        }
    }
}
