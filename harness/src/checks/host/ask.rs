//! Calls to an adapter, what it answers, and what it asks the user, each by itself.

use serde_json::Value;

use crate::wire::scene::{Ask, Consent, Reply};
use crate::wire::trace::Place;

/// What a host did with a call that hands content over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome<'a> {
    /// It handed content over.
    Ok(&'a Value),
    /// It declined: the reason and its kind, empty where not given.
    Refused {
        /// The reason.
        reason: &'a str,
        /// The kind.
        kind: &'a str,
    },
    /// Nothing that can be judged: unimplemented, an error, no answer.
    Unknown,
}

/// The kinds of questions about one skill that let it be loaded. A question about a server as a
/// whole is none: it is not bound to content, and says nothing of single skills.
pub const LOADS: &[&str] = &["load", "nested", "changed"];

/// The result of a call.
pub fn result(ask: &Ask) -> Option<&Value> {
    match &ask.reply {
        Reply::Result(result) => Some(result),
        _ => None,
    }
}

/// The outcome of a call.
pub fn outcome(ask: &Ask) -> Outcome<'_> {
    let Some(result) = result(ask) else {
        return Outcome::Unknown;
    };
    match member(result, "outcome") {
        Some("ok") => Outcome::Ok(result),
        Some("refused") => Outcome::Refused {
            reason: member(result, "reason").unwrap_or_default(),
            kind: member(result, "kind").unwrap_or_default(),
        },
        _ => Outcome::Unknown,
    }
}

/// A member that is a string.
pub fn member<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

/// The verb of a call, with the form that it has there where some hosts know other forms only.
pub fn form(ask: &Ask) -> &str {
    let has = |name: &str| ask.params.get(name).is_some_and(|value| !value.is_null());
    let acting_on = ask.params.get("acting_on");
    let elsewhere = || acting_on.and_then(|skill| skill.get("server")) != ask.params.get("server");
    match ask.verb.as_str() {
        "load" if has("name") => "load by name",
        "load" if !has("server") => "load by URI alone",
        "read" if has("in") => "read by reference in a file",
        "read" if has("reference") => "read by reference",
        "read" if has("server") && elsewhere() => "read from another server",
        "list_directory" if has("acting_on") => "list_directory of a skill",
        verb => verb,
    }
}

/// The skill that a call acts on.
pub fn acting_on(ask: &Ask) -> Option<(&str, &str)> {
    let skill = ask.params.get("acting_on")?;
    Some((member(skill, "server")?, member(skill, "uri")?))
}

/// The URI to which the relative reference of a read leads: beside the SKILL.md in which it stands.
pub fn referenced(ask: &Ask) -> Option<String> {
    let reference = member(&ask.params, "reference")?;
    let (_, skill) = acting_on(ask)?;
    let from = member(&ask.params, "in").unwrap_or(skill);
    let (root, _) = from.rsplit_once('/')?;
    Some(format!("{root}/{reference}"))
}

/// Server and URI that a call names, or else that its result names.
pub fn target(ask: &Ask) -> Option<(&str, &str)> {
    let of = |value| Some((member(value, "server")?, member(value, "uri")?));
    of(&ask.params).or_else(|| of(result(ask)?))
}

/// The place of a call's answer.
pub fn place(ask: &Ask) -> Place {
    let answered = ask.to != usize::MAX;
    Place {
        frame: if answered { ask.to } else { ask.from },
        pointer: String::new(),
    }
}

/// The place of a frame.
pub fn at(frame: usize) -> Place {
    Place {
        frame,
        pointer: String::new(),
    }
}

/// Whether a question asks for something of this kind.
pub fn asks_for(consent: &Consent, kinds: &[&str]) -> bool {
    let kind = member(&consent.params, "kind");
    let covers = consent.params.get("covers").and_then(Value::as_array);
    let covered = covers.into_iter().flatten().filter_map(Value::as_str);
    kind.into_iter()
        .chain(covered)
        .any(|kind| kinds.contains(&kind))
}

/// Whether a question is about a skill.
pub fn asks_about(consent: &Consent, server: &str, uri: &str) -> bool {
    member(&consent.params, "server") == Some(server) && member(&consent.params, "uri") == Some(uri)
}

/// The skills that a `list` result offers: server (none for local skills), URI, and the whole item.
pub fn offered(list: &Value) -> Vec<(Option<&str>, &str, &Value)> {
    let skills = list.get("skills").and_then(Value::as_array);
    skills
        .into_iter()
        .flatten()
        .map(|skill| {
            let uri = member(skill, "uri").unwrap_or_default();
            (member(skill, "server"), uri, skill)
        })
        .collect()
}

/// Whether a result of `list` or `acting` names a skill of a server.
pub fn names_skill(result: &Value, server: &str, uri: &str) -> bool {
    offered(result)
        .iter()
        .any(|(other, skill, _)| *other == Some(server) && *skill == uri)
}
