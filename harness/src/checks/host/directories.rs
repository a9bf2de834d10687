//! Directory reads beside the entry that is held. Section "Directory Reads and the Held Entry".

use serde_json::Value;

use super::super::Check;
use super::ask::{Outcome, acting_on, at, member, outcome, place};
use super::requests::settings;
use super::view::{View, inside, item, shown_in_directory};
use crate::verdict::Judgement;
use crate::wire::scene::Ask;

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::host("sep-2640-host-surface-directory-read", surfaced)
        .after(&["sep-2640-client-directory-read-request"]),
    Check::host(
        "sep-2640-directory-read-not-manifest-extension",
        no_extension,
    )
    .after(&["sep-2640-host-unlisted-read"]),
    Check::host("sep-2640-host-directory-change-presented", change_presented),
];

/// Where the server offers directory reading, the model can list directories.
fn surfaced(view: &View<'_>, judgement: &mut Judgement) {
    for ask in view.asks("list_directory") {
        let Some(server) = member(&ask.params, "server") else {
            continue;
        };
        let declared = settings(view, server, ask.from)
            .is_some_and(|settings| settings.get("directoryRead") == Some(&Value::Bool(true)));
        if !declared {
            continue;
        }
        let uri = member(&ask.params, "uri").unwrap_or("list_directory");
        match outcome(ask) {
            Outcome::Ok(_) => judgement.holds(),
            Outcome::Refused { reason, .. } if view.witnessed() => {
                judgement.violated(
                    place(ask),
                    uri,
                    "the directory's children, since the server declares directoryRead",
                    format!("it was refused: {reason}"),
                );
                judgement.because("directory");
            }
            _ => {}
        }
    }
}

/// Whether a held manifest lacks a file of its skill, be it a file or a directory of files.
fn is_ahead(entry: &Value, skill: &str, uri: &str) -> bool {
    let Some(items) = entry.get("resources").and_then(Value::as_array) else {
        return false;
    };
    let below = format!("{uri}/");
    inside(skill, uri)
        && item(entry, uri).is_none()
        && !items
            .iter()
            .filter_map(|item| member(item, "uri"))
            .any(|listed| listed.starts_with(&below))
}

/// What a directory shows beyond the manifest is neither shown to the model as part of the skill
/// nor read.
fn no_extension(view: &View<'_>, judgement: &mut Judgement) {
    for ask in view.asks("list_directory") {
        let (Some((server, skill)), Outcome::Ok(result)) = (acting_on(ask), outcome(ask)) else {
            continue;
        };
        let Some(entry) = view.held(server, skill, ask.to) else {
            continue;
        };
        if !view.loaded(server, skill, ask.from) {
            continue;
        }
        let children = result.get("children").and_then(Value::as_array);
        let shown = children
            .into_iter()
            .flatten()
            .filter_map(|child| member(child, "uri"))
            .find(|uri| is_ahead(entry, skill, uri));
        match shown {
            Some(uri) => judgement.violated(
                place(ask),
                uri,
                "no child that the held manifest lacks",
                "it is shown as a file of the skill",
            ),
            None => judgement.holds(),
        }
    }
    for (ask, server, skill, uri) in reads_ahead(view) {
        let sent = view.during(ask).find(|served| {
            served.method == "resources/read"
                && member(&served.params, "uri") == Some(uri)
                && view
                    .held(server, skill, served.at)
                    .is_some_and(|entry| is_ahead(entry, skill, uri))
        });
        match (sent, outcome(ask)) {
            (Some(served), _) => {
                judgement.violated(
                    at(served.at),
                    uri,
                    "no read of a file that only a directory showed",
                    "resources/read was sent",
                );
                judgement.because("unlisted");
            }
            (None, Outcome::Refused { .. }) if view.witnessed() => judgement.holds(),
            _ => {}
        }
    }
}

/// Reads of files that a directory showed and the held manifest lacks.
fn reads_ahead<'a>(view: &View<'a>) -> Vec<(&'a Ask, &'a str, &'a str, &'a str)> {
    view.asks("read")
        .filter_map(|ask| {
            let (server, skill) = acting_on(ask)?;
            let uri = member(&ask.params, "uri")?;
            let entry = view.held(server, skill, ask.from)?;
            let ahead = is_ahead(entry, skill, uri)
                && shown_in_directory(view, uri, ask.from)
                && view.loaded(server, skill, ask.from);
            ahead.then_some((ask, server, skill, uri))
        })
        .collect()
}

/// A directory that is ahead of the manifest is presented as a changed skill, not as a read error.
fn change_presented(view: &View<'_>, judgement: &mut Judgement) {
    for (ask, _, skill, uri) in reads_ahead(view) {
        let Outcome::Refused { kind, reason } = outcome(ask) else {
            continue;
        };
        let name = skill.rsplit('/').nth(1).unwrap_or_default();
        let told = view
            .results("notices")
            .filter_map(|(_, result)| result.get("notices")?.as_array())
            .flatten()
            .filter_map(Value::as_str)
            .any(|notice| notice.contains(name) && notice.contains("change"));
        let words = ["change", "updat", "modif", "approv"];
        let explained = words
            .iter()
            .any(|word| reason.to_lowercase().contains(word));
        if kind == "changed" || told || explained {
            judgement.holds();
        } else if view.witnessed() {
            judgement.violated(
                place(ask),
                uri,
                "a skill that has changed and needs approval",
                format!("\"{reason}\""),
            );
        }
    }
}
