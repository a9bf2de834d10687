//! Handles: the names under which skills are offered. A name is a label and
//! not an identifier, so each handle stands for one skill of one origin.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::address::root;
use super::faults::Switch;
use super::outcome::Key;

/// A skill that is to have a handle.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub key: Key,
    pub name: String,
}

/// The handles that have been given out.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Whose each bare handle of an MCP skill was when it was shown. It is
    /// not given to anyone else afterwards.
    shown: BTreeMap<String, Key>,
    /// The collisions that the user has been told about.
    told: HashSet<String>,
}

/// The handle of each skill, in the same order.
pub(super) fn handles(skills: &[Named], names: &Names, fault: Switch) -> Vec<String> {
    let mut groups: HashMap<&str, Vec<&Named>> = HashMap::new();
    for skill in skills {
        groups.entry(&skill.name).or_default().push(skill);
    }
    let mut given: HashSet<String> = HashSet::with_capacity(skills.len());
    let handles = skills.iter().map(|skill| {
        let handle = handle(skill, &groups[skill.name.as_str()], names, fault);
        let twice = fault.on("host-disambiguate-listing-collision/same-handle");
        let handle = match &skill.key.server {
            _ if twice || !given.contains(&handle) => handle,
            // Same path, other scheme: only the whole URI tells them apart.
            Some(label) if !fault.on("host-origin-shown") => format!("{label}:{}", skill.key.uri),
            _ => numbered(&handle, &given),
        };
        given.insert(handle.clone());
        handle
    });
    handles.collect()
}

/// The handle of a skill, among all that share its name.
fn handle(skill: &Named, group: &[&Named], names: &Names, fault: Switch) -> String {
    let mut others = group
        .iter()
        .filter(|other| other.key != skill.key)
        .peekable();
    let collides = others.peek().is_some();
    let takes_over = fault.on("host-cross-origin-no-shadow/local");
    let Some(label) = &skill.key.server else {
        // A bare handle stays with the MCP skill that it was shown for.
        let late = !fault.on("host-cross-origin-no-shadow/later")
            && others.any(|other| names.shown.get(&skill.name) == Some(&other.key));
        return if takes_over && collides || late {
            format!("local:{}", skill.name)
        } else {
            skill.name.clone()
        };
    };
    let last = group.last().is_some_and(|last| last.key == skill.key);
    if takes_over && last && group.iter().any(|other| other.key.server.is_none()) {
        return skill.name.clone();
    }
    if fault.on("host-origin-shown") {
        let place = group.iter().position(|other| other.key == skill.key);
        return match place {
            Some(place) if collides => format!("{} ({})", skill.name, place + 1),
            _ => skill.name.clone(),
        };
    }
    let moved = names
        .shown
        .get(&skill.name)
        .is_some_and(|owner| *owner != skill.key)
        && !fault.on("host-cross-origin-no-shadow/substitute");
    let simple = skill
        .name
        .chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
    let first = group.iter().any(|other| other.key.server.is_none())
        && names.shown.get(&skill.name) == Some(&skill.key)
        && !fault.on("host-cross-origin-no-shadow/later");
    if (!collides || first) && !moved && simple {
        return skill.name.clone();
    }
    let twin = others.any(|other| other.key.server == skill.key.server);
    if twin && !fault.on("host-disambiguate-listing-collision/same-handle") {
        let root = root(&skill.key.uri).unwrap_or(&skill.key.uri);
        let path = root.split_once("://").map_or(root, |(_, path)| path);
        return format!("{label}:{path}");
    }
    format!("{label}:{}", skill.name)
}

fn numbered(handle: &str, given: &HashSet<String>) -> String {
    let mut number = 2;
    loop {
        let candidate = format!("{handle} ({number})");
        if !given.contains(&candidate) {
            return candidate;
        }
        number += 1;
    }
}

impl Names {
    /// Takes notice of what is shown, and says what the user has to be told.
    pub fn show(&mut self, skills: &[Named], handles: &[String]) -> Vec<String> {
        for (skill, handle) in skills.iter().zip(handles) {
            if skill.key.server.is_some() && *handle == skill.name {
                self.shown
                    .entry(handle.clone())
                    .or_insert_with(|| skill.key.clone());
            }
        }
        let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (skill, handle) in skills.iter().zip(handles) {
            let origin = match &skill.key.server {
                Some(label) => format!("server \"{label}\" ({}, shown as {handle})", skill.key.uri),
                None => format!("a local skill (shown as {handle})"),
            };
            groups.entry(&skill.name).or_default().push(origin);
        }
        let mut notices = Vec::new();
        for (name, origins) in groups {
            let text = format!(
                "Several skills are named \"{name}\": {}",
                origins.join("; ")
            );
            if origins.len() > 1 && self.told.insert(text.clone()) {
                notices.push(text);
            }
        }
        notices
    }

    /// Whether an MCP skill was shown under its bare name.
    pub fn was_shown(&self, name: &str) -> bool {
        self.shown.contains_key(name)
    }

    /// Gives up what belonged to a server that is removed.
    pub fn forget(&mut self, server: &str) {
        self.shown.retain(|_, key| key.label() != server);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(server: Option<&str>, uri: &str) -> Named {
        Named {
            key: Key {
                server: server.map(str::to_owned),
                uri: uri.to_owned(),
            },
            name: super::super::address::last_segment(root(uri).unwrap()),
        }
    }

    fn shown(names: &mut Names, skills: &[Named]) -> Vec<String> {
        let handles = handles(skills, names, Switch::new(None).unwrap());
        names.show(skills, &handles);
        handles
    }

    #[test]
    fn collisions_are_qualified() {
        let skills = [
            named(None, "file:///s/refunds/SKILL.md"),
            named(Some("a"), "skill://acme/billing/refunds/SKILL.md"),
            named(Some("a"), "skill://acme/support/refunds/SKILL.md"),
            named(Some("a"), "github://acme/support/refunds/SKILL.md"),
            named(Some("b"), "skill://refunds/SKILL.md"),
            named(Some("b"), "skill://other/SKILL.md"),
        ];
        assert_eq!(
            shown(&mut Names::default(), &skills),
            [
                "refunds",
                "a:acme/billing/refunds",
                "a:acme/support/refunds",
                "a:github://acme/support/refunds/SKILL.md",
                "b:refunds",
                "other"
            ]
        );
    }

    #[test]
    fn a_bare_handle_stays_with_its_skill() {
        let mut names = Names::default();
        let a = named(Some("a"), "skill://refunds/SKILL.md");
        let b = named(Some("b"), "skill://refunds/SKILL.md");
        assert_eq!(shown(&mut names, std::slice::from_ref(&a)), ["refunds"]);
        assert_eq!(shown(&mut names, std::slice::from_ref(&b)), ["b:refunds"]);
        names.forget("a");
        assert_eq!(shown(&mut names, &[b]), ["refunds"]);
    }
}
