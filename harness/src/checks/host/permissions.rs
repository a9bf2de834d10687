//! What skills may allow the model to do. Section "Security Considerations".

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::Check;
use super::ask::{asks_about, asks_for, member, names_skill, place};
use super::view::View;
use crate::verdict::Judgement;
use crate::wire::scene::{Ask, Consent};

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::host("sep-2640-host-ignore-allowed-tools", allowed_tools),
    Check::host("sep-2640-host-no-implicit-permission-grants", permissions),
];

/// The tools that a frontmatter asks for.
pub(super) fn tools_of(entry: &Value) -> Vec<String> {
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
pub(super) fn in_force(tools: &Value) -> BTreeSet<&str> {
    let allowed = tools.get("allowed").and_then(Value::as_array);
    allowed
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// Whether a permission is among those in force, in whatever notation the host has for it. Words
/// that any host may have in force by itself tell nothing.
pub(super) fn is_in_force(in_force: &BTreeSet<&str>, wanted: &str) -> bool {
    in_force
        .iter()
        .any(|allowed| *allowed == wanted || wanted.len() > 6 && allowed.contains(wanted))
}

/// Whether a tool that an entry asks for is in force, as a `tools` result has it.
pub(super) fn grants(tools: &Value, entry: &Value) -> bool {
    let in_force = in_force(tools);
    let mut wanted = tools_of(entry).into_iter();
    wanted.any(|tool| is_in_force(&in_force, &tool))
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
            let granted = |tool: &str| {
                view.scene.consents.iter().any(|consent| {
                    consent.at < ask.from
                        && consent.allowed
                        && asks_for(consent, &["grant"])
                        && asks_about(consent, server, uri)
                        && speaks_of(consent, &wanted, tool)
                })
            };
            let released = view.asks("release").any(|release| {
                release.to < ask.from
                    && super::ask::target(release) == Some((server, uri))
                    && !view.asks("load").any(|load| {
                        load.from > release.to
                            && load.to < ask.from
                            && super::ask::target(load) == Some((server, uri))
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
            let mut active = wanted
                .iter()
                .filter(|tool| is_in_force(&in_force, tool) && !before(tool));
            let first = active.clone().next();
            match active.find(|tool| !granted(tool)).or(first) {
                Some(tool) if !granted(tool) => judgement.violated(
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

/// Whether a grant is about a tool of a skill. Where the question has tools just as the skill writes
/// them, it is about these, and about others under their names; in the host's own words it may be about any.
fn speaks_of(consent: &Consent, wanted: &[String], tool: &str) -> bool {
    let listed = consent.params.get("tools").and_then(Value::as_array);
    let listed: Vec<&str> = listed
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    // One item in words of the host's own shows that the others may be such words as well.
    let as_written = !listed.is_empty()
        && listed
            .iter()
            .all(|listed| wanted.iter().any(|wanted| wanted == listed));
    fn name(pattern: &str) -> &str {
        pattern.split('(').next().unwrap_or(pattern)
    }
    let named = listed.iter().any(|listed| name(listed) == name(tool));
    let told = member(&consent.params, "detail").is_some_and(|detail| detail.contains(tool));
    // A bare word may be in force by itself.
    !as_written || named || told || tool.len() <= 6
}

/// Whether the host said before a call, and after the release of a skill, that it still acts on it:
/// it may hold the window open.
fn still_acting(view: &View<'_>, ask: &Ask, server: &str, uri: &str) -> bool {
    let Some((acting, result)) = view.last("acting", ask.from) else {
        // It cannot be told.
        return true;
    };
    let released = view.asks("release").any(|release| {
        release.to < acting.from && super::ask::target(release) == Some((server, uri))
    });
    names_skill(result, server, uri) || !released
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
