//! How the content of skills stands before the model. Sections "Reading", "Security Considerations".

use serde_json::Value;

use super::super::Check;
use super::ask::{acting_on, member, offered, place};
use super::identity::{IDENTITY, own_names};
use super::view::{View, inside, sources};
use crate::verdict::Judgement;

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::host("sep-2640-host-origin-tag-visible", origin_tag).after(&[IDENTITY]),
    Check::host("sep-2640-host-origin-shown", origin_shown),
    Check::host("sep-2640-host-untrusted-input", untrusted),
    Check::host("sep-2640-host-skills-are-data", data),
    Check::host("sep-2640-host-generic-read-presentation", generic_read),
];

/// The messages of a `context` result.
pub(super) fn messages(context: &Value) -> impl Iterator<Item = (usize, &Value)> {
    let messages = context.get("messages").and_then(Value::as_array);
    messages.into_iter().flatten().enumerate()
}

/// What the model sees of a message: its text, and the origin that the host carries beside it.
pub(super) fn shown(message: &Value) -> String {
    let part = |name: &str| member(message, name).unwrap_or_default();
    format!("{}\n{}", part("origin"), part("text"))
}

/// A message that holds content of a skill.
struct Message<'a> {
    /// Its index in the context.
    index: usize,
    message: &'a Value,
    server: &'a str,
    uri: &'a str,
    /// Whether the content came by the general resource-reading tool alone.
    generic: bool,
    ask: &'a crate::wire::scene::Ask,
}

/// Every message that holds content from a server.
fn skill_messages<'a>(view: &View<'a>) -> Vec<Message<'a>> {
    let mut found = Vec::new();
    for (ask, context) in view.results("context") {
        for (index, message) in messages(context) {
            for source in sources(view, member(message, "text").unwrap_or_default()) {
                let of_skill = view.deliveries().iter().any(|delivery| {
                    delivery.server == source.server
                        && member(delivery.entry, "uri").is_some_and(|uri| inside(uri, source.uri))
                });
                if !of_skill {
                    continue;
                }
                found.push(Message {
                    index,
                    message,
                    server: source.server,
                    uri: source.uri,
                    generic: is_generic(view, source.server, source.uri),
                    ask,
                });
            }
        }
    }
    found
}

/// Whether a file was read by the general tool and neither loaded nor read for a skill.
fn is_generic(view: &View<'_>, server: &str, uri: &str) -> bool {
    let named = |ask: &crate::wire::scene::Ask| {
        member(&ask.params, "uri") == Some(uri)
            && member(&ask.params, "server").is_none_or(|other| other == server)
    };
    let by_tool = view.asks("read_resource").any(named);
    let otherwise = view.loaded(server, uri, usize::MAX)
        || view.asks("load").any(named)
        || view
            .asks("read")
            .any(|ask| named(ask) && acting_on(ask).is_some());
    by_tool && !otherwise
}

/// What the model sees of a skill is labelled with its server.
fn origin_tag(view: &View<'_>, judgement: &mut Judgement) {
    let own_names = own_names(view);
    for found in skill_messages(view)
        .into_iter()
        .filter(|found| !found.generic)
    {
        let shown = shown(found.message);
        // That it is the label, and not the server's own name, is judged apart.
        let named = own_names
            .iter()
            .any(|(label, own)| *label == found.server && shown.contains(own));
        let label = found.server.to_lowercase();
        if shown.to_lowercase().contains(&label) || named {
            judgement.holds();
        } else {
            judgement.violated(
                super::ask::place(found.ask).child(&[&"result", &"messages", &found.index]),
                found.uri,
                format!("content that is labelled with \"{}\"", found.server),
                "no word on where it comes from",
            );
        }
    }
}

/// Where a skill is presented, its server is named.
fn origin_shown(view: &View<'_>, judgement: &mut Judgement) {
    for (ask, list) in view.results("list") {
        for (server, uri, item) in offered(list) {
            let Some(server) = server.filter(|server| view.connected(server, ask.from)) else {
                continue;
            };
            let parts = ["line", "shown_as"].map(|name| member(item, name));
            if parts.iter().all(Option::is_none) {
                continue;
            }
            if parts.iter().flatten().any(|text| text.contains(server)) {
                judgement.holds();
            } else {
                judgement.violated(
                    place(ask),
                    uri,
                    format!("the skill presented with its server \"{server}\""),
                    format!("\"{}\"", parts[0].or(parts[1]).unwrap_or_default()),
                );
            }
        }
    }
}

/// Content of skills does not escape the defences that other text from servers meets.
fn untrusted(view: &View<'_>, judgement: &mut Judgement) {
    for found in skill_messages(view) {
        if found.message.get("trusted") == Some(&Value::Bool(true)) {
            judgement.violated(
                place(found.ask).child(&[&"result", &"messages", &found.index]),
                found.uri,
                "untrusted input",
                "a trusted message",
            );
        } else {
            judgement.holds();
        }
    }
}

/// Content of skills does not stand where it outranks other context.
fn data(view: &View<'_>, judgement: &mut Judgement) {
    for found in skill_messages(view) {
        let role = member(found.message, "role").unwrap_or_default();
        if matches!(role, "system" | "developer") {
            judgement.violated(
                place(found.ask).child(&[&"result", &"messages", &found.index]),
                found.uri,
                "a role that ranks with other content",
                format!("the role {role}"),
            );
        } else {
            judgement.holds();
        }
    }
}

/// A SKILL.md that was read by the general tool looks like any other resource.
fn generic_read(view: &View<'_>, judgement: &mut Judgement) {
    for found in skill_messages(view) {
        // Where nobody is asked before loads, a read that is routed into one leaves no trace.
        let untraced = !view.gates_loads(found.ask.from);
        if !found.generic || untraced || !found.uri.ends_with("/SKILL.md") {
            continue;
        }
        if member(found.message, "kind") == Some("skill") {
            judgement.violated(
                place(found.ask).child(&[&"result", &"messages", &found.index]),
                found.uri,
                "an ordinary resource",
                "a loaded skill",
            );
        } else {
            judgement.holds();
        }
    }
}
