//! What skills may set going on the host. Sections "Reading", "Nested Skills", "Security
//! Considerations".

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::Check;
use super::context::messages;
use super::view::{
    LOADS, Outcome, Source, View, acting_on, asks_about, asks_for, at, inside, member, outcome,
    place, result, sources, trusts,
};
use crate::verdict::Judgement;
use crate::wire::scene::{Ask, Bait};

const EXEC_GATE: &str = "sep-2640-host-exec-gate-while-acting";

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::host(EXEC_GATE, exec_gate),
    Check::host("sep-2640-host-no-implicit-local-execution", no_execution).after(&[EXEC_GATE]),
    Check::host("sep-2640-host-cache-durable-origin", durable_origin).after(&[EXEC_GATE]),
    Check::host("sep-2640-host-ignore-allowed-tools", allowed_tools),
    Check::host("sep-2640-host-no-implicit-permission-grants", permissions),
    Check::host("sep-2640-nested-skillmd-not-acted-on", nested_not_acted_on),
    Check::host("sep-2640-read-is-not-a-load", read_is_no_load),
];

/// Steps that other checks judge.
const OTHERS: [&str; 3] = ["annotated", "run-other", "durable-run"];

fn ran(ask: &Ask) -> Option<bool> {
    result(ask)?.get("ran")?.as_bool()
}

/// Whether the user has agreed that code is run for a skill.
fn may_run(view: &View<'_>, ask: &Ask, server: &str, uri: &str) -> bool {
    view.scene.consents.iter().any(|consent| {
        consent.at < ask.to
            && consent.allowed
            && asks_for(consent, &["execute"])
            && asks_about(consent, server, uri)
            && (consent.remember || consent.at > ask.from)
    })
}

/// Code that is run while a skill is acted on passes the user's approval.
fn exec_gate(view: &View<'_>, judgement: &mut Judgement) {
    for ask in view.asks("run_tool") {
        let other = ask
            .name
            .as_deref()
            .is_some_and(|name| OTHERS.contains(&name));
        // A refusal that was passed over, and trust in a server, are judged apart.
        if other || declined(view, ask) || trusted(view, ask) {
            continue;
        }
        judge_run(view, judgement, ask, "it ran without a question");
    }
}

/// Whether the user declined to run code in this call.
fn declined(view: &View<'_>, ask: &Ask) -> bool {
    view.scene.consents.iter().any(|consent| {
        ask.from < consent.at
            && consent.at < ask.to
            && !consent.allowed
            && asks_for(consent, &["execute"])
    })
}

/// Whether the user was asked to trust the server as a whole, and agreed.
fn trusted(view: &View<'_>, ask: &Ask) -> bool {
    acting_on(ask).is_some_and(|(server, _)| trusts(view, server, ask.to))
}

fn judge_run(view: &View<'_>, judgement: &mut Judgement, ask: &Ask, actual: &str) {
    let Some((server, uri)) = acting_on(ask) else {
        return;
    };
    match ran(ask) {
        Some(true) if !may_run(view, ask, server, uri) => {
            judgement.violated(
                place(ask),
                format!("a command of {uri}"),
                "the user's approval of this skill before its code is run",
                actual,
            );
            judgement.because("run_tool");
        }
        Some(_) if view.witnessed() => judgement.holds(),
        _ => {}
    }
}

/// Nothing that a skill says is run without the user's approval of that skill: neither what its
/// frontmatter declares nor what its body asks for.
fn no_execution(view: &View<'_>, judgement: &mut Judgement) {
    for touched in &view.scene.touched {
        let Bait::Command(name) = &touched.what else {
            continue;
        };
        if name.starts_with("hook") {
            judgement.violated(
                at(touched.at),
                format!("the command `{name}` of a skill's frontmatter"),
                "no execution without approval",
                "it ran",
            );
        }
    }
    for ask in &view.scene.asks {
        match ask.name.as_deref().unwrap_or_default() {
            "hooked" if view.witnessed() && matches!(outcome(ask), Outcome::Ok(_)) => {
                judgement.holds()
            }
            "run-other" => judge_run(
                view,
                judgement,
                ask,
                "it ran under the approval of another skill",
            ),
            "annotated" | "durable-run" => {}
            _ if ask.verb == "run_tool" && declined(view, ask) => {
                judge_run(
                    view,
                    judgement,
                    ask,
                    "it ran although the user had declined",
                );
            }
            _ if ask.verb == "run_tool" && trusted(view, ask) => {
                judge_run(
                    view,
                    judgement,
                    ask,
                    "it ran since the server as a whole was trusted",
                );
            }
            _ => {}
        }
        if ask.verb == "run_tool" && ran(ask) == Some(false) {
            let command = view.scene.touched.iter().find(|touched| {
                matches!(&touched.what, Bait::Command(name) if name.starts_with("tool"))
                    && touched.at == ask.to
            });
            if command.is_some() {
                judgement.violated(
                    place(ask),
                    "run_tool",
                    "no execution of what was not approved",
                    "the command ran, though the host said that it did not",
                );
            }
        }
    }
}

/// What came over MCP stays what it is, from a cache, after a restart and without its server.
fn durable_origin(view: &View<'_>, judgement: &mut Judgement) {
    for ask in view.named("durable-run") {
        // Where the content has left the context, nothing is acted on.
        let seen = acting_on(ask).is_some_and(|(server, uri)| {
            view.last("context", ask.from).is_some_and(|(_, context)| {
                sources(view, &context.to_string()).contains(&Source { server, uri })
            })
        });
        // A refusal that was passed over, and trust in a server, are judged apart.
        let apart = declined(view, ask) || trusted(view, ask);
        if !seen || ran(ask) == Some(true) && apart {
            continue;
        }
        judge_run(
            view,
            judgement,
            ask,
            "cached content was run like a local skill's",
        );
    }
}

/// The tools that a frontmatter asks for.
fn tools_of(entry: &Value) -> Vec<String> {
    let field = entry
        .get("frontmatter")
        .and_then(|frontmatter| frontmatter.get("allowed-tools"));
    match field {
        Some(Value::String(text)) => text.split_whitespace().map(str::to_owned).collect(),
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        _ => Vec::new(),
    }
}

/// The permissions in force, as a `tools` result gives them.
fn in_force(tools: &Value) -> BTreeSet<&str> {
    let allowed = tools.get("allowed").and_then(Value::as_array);
    allowed
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// Whether a permission is among those in force, in whatever notation the host has for it. Words
/// that any host may have in force by itself tell nothing.
fn is_in_force(in_force: &BTreeSet<&str>, wanted: &str) -> bool {
    in_force
        .iter()
        .any(|allowed| *allowed == wanted || wanted.len() > 6 && allowed.contains(wanted))
}

/// The latest entry of each skill before a frame.
fn entries<'a>(view: &View<'a>, before: usize) -> Vec<(&'a str, &'a str, &'a Value)> {
    let mut found: Vec<(&str, &str, &Value)> = Vec::new();
    for delivery in view
        .deliveries()
        .iter()
        .filter(|delivery| delivery.at < before)
    {
        let Some(uri) = member(delivery.entry, "uri") else {
            continue;
        };
        found.retain(|(server, other, _)| (*server, *other) != (delivery.server, uri));
        found.push((delivery.server, uri, delivery.entry));
    }
    found
}

/// The tools of a skill are in force only after the user granted them to it, and while it is acted
/// on.
fn allowed_tools(view: &View<'_>, judgement: &mut Judgement) {
    for (ask, tools) in view.results("tools") {
        let in_force = in_force(tools);
        for (server, uri, entry) in entries(view, ask.from) {
            let wanted = tools_of(entry);
            // Without a load it is the reading of a file that would have granted them.
            if wanted.is_empty() || !view.loaded(server, uri, ask.from) {
                continue;
            }
            let granted = view.scene.consents.iter().any(|consent| {
                consent.at < ask.from
                    && consent.allowed
                    && asks_for(consent, &["grant"])
                    && asks_about(consent, server, uri)
            });
            let released = view.asks("release").any(|release| {
                release.to < ask.from
                    && super::view::target(release) == Some((server, uri))
                    && !view.asks("load").any(|load| {
                        load.from > release.to
                            && load.to < ask.from
                            && super::view::target(load) == Some((server, uri))
                    })
            });
            // What was in force before the load did not come from it.
            let before = |tool: &str| {
                view.results("tools").any(|(earlier, tools)| {
                    earlier.to < ask.from
                        && !view.loaded(server, uri, earlier.from)
                        && is_in_force(&self::in_force(tools), tool)
                })
            };
            let active = wanted
                .iter()
                .find(|tool| is_in_force(&in_force, tool) && !before(tool));
            match active {
                Some(tool) if !granted => judgement.violated(
                    place(ask),
                    uri,
                    "allowed-tools without effect until the user grants them to this skill",
                    format!("{tool} is in force"),
                ),
                Some(tool) if released && !still_acting(view, ask, server, uri) => judgement
                    .violated(
                        place(ask),
                        uri,
                        "a grant that ends with the skill that it was given to",
                        format!("{tool} is still in force"),
                    ),
                _ => judgement.holds(),
            }
        }
    }
}

/// Whether the host said before a call, and after the release of a skill, that it still acts on it:
/// it may hold the window open.
fn still_acting(view: &View<'_>, ask: &Ask, server: &str, uri: &str) -> bool {
    let Some((acting, result)) = view.last("acting", ask.from) else {
        // It cannot be told.
        return true;
    };
    let skills = result.get("skills").and_then(Value::as_array);
    let there = skills
        .into_iter()
        .flatten()
        .any(|skill| member(skill, "server") == Some(server) && member(skill, "uri") == Some(uri));
    let released = view.asks("release").any(|release| {
        release.to < acting.from && super::view::target(release) == Some((server, uri))
    });
    there || !released
}

/// Every text in a value.
fn texts<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(members) => members.values().for_each(|member| texts(member, found)),
        _ => {}
    }
}

/// No other field of a frontmatter widens what the model may do.
fn permissions(view: &View<'_>, judgement: &mut Judgement) {
    const PLAIN: [&str; 5] = [
        "name",
        "description",
        "license",
        "compatibility",
        "allowed-tools",
    ];
    for (ask, tools) in view.results("tools") {
        let in_force = in_force(tools);
        for (server, uri, entry) in entries(view, ask.from) {
            let Some(Value::Object(fields)) = entry.get("frontmatter") else {
                continue;
            };
            if !view.loaded(server, uri, ask.from) {
                continue;
            }
            for (field, value) in fields
                .iter()
                .filter(|(field, _)| !PLAIN.contains(&field.as_str()))
            {
                let mut wanted = Vec::new();
                texts(value, &mut wanted);
                match wanted.iter().find(|text| is_in_force(&in_force, text)) {
                    Some(text) => judgement.violated(
                        place(ask),
                        uri,
                        format!("`{field}` without effect"),
                        format!("{text} is in force"),
                    ),
                    None => judgement.holds(),
                }
            }
        }
    }
}

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
        let skills = result.get("skills").and_then(Value::as_array);
        let there = skills.into_iter().flatten().any(|skill| {
            member(skill, "server") == Some(server) && member(skill, "uri") == Some(uri)
        });
        if there {
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
    for ask in view.asks("read_resource") {
        let (Some(server), Some(uri)) = (member(&ask.params, "server"), member(&ask.params, "uri"))
        else {
            continue;
        };
        if !uri.ends_with("/SKILL.md") || view.loaded(server, uri, ask.from) {
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
            .find(|load| load.from > ask.to && super::view::target(load) == Some((server, uri)));
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
