//! When and how files are fetched. Sections "Integrity and Verification", "Skill URIs", "Resource
//! Mapping", "Reading".

use super::super::Check;
use super::ask::{Outcome, acting_on, at, member, outcome, place, referenced};
use super::integrity::failed;
use super::tokens::{text_of, tokens_of};
use super::view::{Source, View, inside, item, sources};
use crate::verdict::Judgement;
use crate::wire::scene::{Ask, Bait, Served};

pub(super) const PREFETCH: &str = "sep-2640-host-no-prefetch";

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::host(PREFETCH, no_prefetch),
    Check::host("sep-2640-host-registry-no-fetch", registry_no_fetch),
    Check::host("sep-2640-host-virtual-mount-lazy", mount_lazy),
    Check::host("sep-2640-host-reads-via-resources-read", via_resources_read),
    Check::host("sep-2640-client-authority-not-resolved", authority),
    Check::host("sep-2640-client-relative-reference-resolution", references),
];

/// Reads of files of skills.
fn reads<'a>(view: &View<'a>) -> impl Iterator<Item = &'a Served> {
    let skills: Vec<&'a str> = view
        .deliveries()
        .iter()
        .filter_map(|delivery| member(delivery.entry, "uri"))
        .collect();
    view.served("resources/read").filter(move |served| {
        let uri = member(&served.params, "uri").unwrap_or_default();
        skills.iter().any(|skill| inside(skill, uri))
    })
}

/// No file is fetched before it is needed: a SKILL.md is needed by its load, any other file by its
/// read. (Reads for a registry or a mount are judged apart.)
fn no_prefetch(view: &View<'_>, judgement: &mut Judgement) {
    for served in reads(view) {
        let uri = member(&served.params, "uri").unwrap_or_default();
        let under = view.under(served.at);
        let verb = under.map_or("", |ask| ask.verb.as_str());
        let why = match (verb, under) {
            ("list" | "mount", _) => continue,
            ("load", Some(ask)) => not_needed(view, ask, served, uri),
            // What the user or the model asked for.
            ("read" | "read_resource" | "inspect", Some(ask))
                if !is_meant(ask, uri) && fetches(view, ask, |other| is_meant(ask, other)) =>
            {
                Some("together with another file".to_owned())
            }
            ("read" | "read_resource" | "inspect", _) => None,
            // A host may look again at what it acts on before it lets it run anything.
            ("run_tool", Some(ask))
                if acting_on(ask).is_some_and(|(_, skill)| inside(skill, uri))
                    || acting_on(ask).is_none() && is_of_loaded(view, served, uri) =>
            {
                None
            }
            // A host may look whether what it acts on is still what the server has.
            ("", _) if uri.ends_with("/SKILL.md") && is_of_loaded(view, served, uri) => None,
            ("connect", _) => Some("on connecting".to_owned()),
            ("", _) => Some("without any request".to_owned()),
            (verb, _) => Some(format!("during `{verb}`")),
        };
        match why {
            Some(why) => judgement.violated(
                at(served.at),
                uri,
                "no read before the file is needed",
                format!("resources/read {why}"),
            ),
            None => judgement.holds(),
        }
    }
    // A host that was connected and read nothing.
    for (ask, _) in view.results("connect") {
        let quiet = !reads(view).any(|served| {
            view.under(served.at)
                .is_some_and(|under| under.from == ask.from)
        });
        if quiet && view.during(ask).next().is_some() {
            judgement.holds();
        }
    }
    if view.scene.asks.is_empty() && view.served("skills/list").next().is_some() {
        judgement.holds();
    }
}

/// Whether a file is one of a skill that was loaded before.
fn is_of_loaded(view: &View<'_>, served: &Served, uri: &str) -> bool {
    view.deliveries().iter().any(|delivery| {
        let skill = member(delivery.entry, "uri").unwrap_or_default();
        delivery.server == served.server
            && inside(skill, uri)
            && view.loaded(delivery.server, skill, served.at)
    })
}

/// Why a read during a load is not part of it.
fn not_needed(view: &View<'_>, ask: &Ask, served: &Served, uri: &str) -> Option<String> {
    let last = view
        .consents(ask)
        .filter(|consent| consent.at < served.at && asks_to_load(&consent.params))
        .last();
    if last.is_some_and(|consent| !consent.allowed) {
        return Some("although the user had declined the load".to_owned());
    }
    let refreshed = view.during(ask).any(|other| {
        other.at > served.at && matches!(other.method.as_str(), "skills/get" | "skills/list")
    });
    let later = !refreshed
        && view.consents(ask).any(|consent| {
            consent.at > served.at
                && asks_to_load(&consent.params)
                && !view.consents(ask).any(|earlier| earlier.at < served.at)
        });
    if later {
        return Some("before the user had approved the load".to_owned());
    }
    // The SKILL.md of the entry that was answered in its place: whether that may be taken is another
    // check's.
    let answered = view.during(ask).any(|earlier| {
        earlier.at < served.at
            && earlier.method == "skills/get"
            && member(&earlier.params, "uri") == member(&ask.params, "uri")
            && earlier
                .result
                .as_ref()
                .and_then(|result| member(result.get("skill")?, "uri"))
                == Some(uri)
    });
    // A host that reads another skill's file instead of the one that is meant does something else wrong.
    let other = !answered
        && super::ask::target(ask).is_some_and(|(server, skill)| {
            let meant = Source { server, uri: skill };
            // From the cache: what is read besides is another skill's, which the host may act on.
            let kept = || hands_over(view, ask, meant) && !is_of_loaded(view, served, uri);
            skill != uri && (fetches(view, ask, |other| other == skill) || kept())
        });
    (!uri.ends_with("/SKILL.md") || other).then(|| "together with SKILL.md".to_owned())
}

/// Whether what a call handed over is the content of a file.
fn hands_over(view: &View<'_>, ask: &Ask, file: Source<'_>) -> bool {
    match outcome(ask) {
        Outcome::Ok(result) => sources(view, &text_of(result)).contains(&file),
        _ => false,
    }
}

/// Whether a file is fetched during a call.
fn fetches(view: &View<'_>, ask: &Ask, wanted: impl Fn(&str) -> bool) -> bool {
    view.during(ask).any(|served| {
        served.method == "resources/read" && member(&served.params, "uri").is_some_and(&wanted)
    })
}

/// Whether a read is for the file that a call is about, or for the SKILL.md of the skill that it acts
/// on.
fn is_meant(ask: &Ask, uri: &str) -> bool {
    let asked = member(&ask.params, "uri");
    let result = super::ask::result(ask).and_then(|result| member(result, "uri"));
    let skill = acting_on(ask).map(|(_, skill)| skill);
    let named = [asked, result, skill].into_iter().flatten();
    let reference =
        member(&ask.params, "reference").is_some_and(|reference| uri.ends_with(reference));
    let same = |named: &str| named == uri || crate::model::uri::equivalent(named, uri);
    reference || named.into_iter().any(same)
}

fn asks_to_load(params: &serde_json::Value) -> bool {
    matches!(member(params, "kind"), Some("load" | "nested" | "changed"))
}

/// Listing skills and building the registry fetches nothing.
fn registry_no_fetch(view: &View<'_>, judgement: &mut Judgement) {
    quiet(view, judgement, "list");
}

/// A virtual mount is not filled in advance.
fn mount_lazy(view: &View<'_>, judgement: &mut Judgement) {
    quiet(view, judgement, "mount");
}

fn quiet(view: &View<'_>, judgement: &mut Judgement, verb: &str) {
    for (ask, _) in view.results(verb) {
        let read = reads(view).find(|served| ask.from < served.at && served.at < ask.to);
        match read {
            None => judgement.holds(),
            Some(served) => judgement.violated(
                at(served.at),
                member(&served.params, "uri").unwrap_or("resources/read"),
                format!("no read during `{verb}`"),
                "resources/read was sent",
            ),
        }
    }
}

/// Files are read under the URI as the manifest spells it, with resources/read whatever its scheme.
fn via_resources_read(view: &View<'_>, judgement: &mut Judgement) {
    for touched in view
        .scene
        .touched
        .iter()
        .filter(|touched| touched.what == Bait::Http)
    {
        judgement.violated(
            at(touched.at),
            "a skill under http://",
            "resources/read on the server that lists it",
            "a connection to the place that the URI points to",
        );
    }
    for ask in &view.scene.asks {
        let uri = match (ask.verb.as_str(), ask.name.as_deref()) {
            ("read" | "load", Some("spelled")) => member(&ask.params, "uri"),
            _ => None,
        };
        let Some(uri) = uri else { continue };
        match outcome(ask) {
            Outcome::Ok(_) => judgement.holds(),
            Outcome::Refused { .. } if view.witnessed() => {
                let instead = view
                    .during(ask)
                    .filter(|served| served.method == "resources/read")
                    .find_map(|served| member(&served.params, "uri").filter(|sent| *sent != uri));
                if let Some(sent) = instead {
                    judgement.violated(
                        place(ask),
                        uri,
                        "resources/read with the URI of the manifest",
                        format!("resources/read with {sent}"),
                    );
                }
            }
            _ => {}
        }
    }
}

/// The authority of a skill URI is no address.
fn authority(view: &View<'_>, judgement: &mut Judgement) {
    let touched = view
        .scene
        .touched
        .iter()
        .find(|touched| touched.what == Bait::Connection);
    if let Some(touched) = touched {
        judgement.violated(
            at(touched.at),
            "the authority of a skill URI",
            "no connection to it",
            "a connection",
        );
        return;
    }
    for ask in view.named("authority") {
        if let Outcome::Ok(_) = outcome(ask) {
            judgement.holds();
        }
    }
}

/// A relative reference leads to the file beside the SKILL.md in which it stands.
fn references(view: &View<'_>, judgement: &mut Judgement) {
    for ask in view.asks("read") {
        let (Some(reference), Some((server, skill)), Some(wanted)) = (
            member(&ask.params, "reference"),
            acting_on(ask),
            referenced(ask),
        ) else {
            continue;
        };
        // Right as the reference may be, such a file is to be refused.
        let listed = view
            .held(server, skill, ask.to)
            .is_none_or(|entry| entry["resources"].is_string() || item(entry, &wanted).is_some());
        let refusable = !listed || failed(view, server, skill, ask.to);
        match outcome(ask) {
            Outcome::Refused { .. } if refusable => {}
            Outcome::Ok(result) => {
                let right = match member(result, "uri") {
                    Some(uri) => uri == wanted,
                    None => served_token(view, &wanted, result),
                };
                if right {
                    judgement.holds();
                } else {
                    let got = member(result, "uri").unwrap_or("another file");
                    judgement.violated(place(ask), reference, wanted, got);
                }
            }
            Outcome::Refused { reason, .. } if view.witnessed() => {
                let sent = view
                    .during(ask)
                    .find_map(|served| member(&served.params, "uri"));
                let actual = match sent {
                    Some(sent) if sent != wanted => format!("{sent} was asked for"),
                    _ => format!("it was refused: {reason}"),
                };
                judgement.violated(place(ask), reference, wanted, actual);
            }
            _ => {}
        }
    }
}

/// Whether an outcome holds what a server sent for a URI.
fn served_token(view: &View<'_>, uri: &str, result: &serde_json::Value) -> bool {
    let tokens = tokens_of(result);
    view.served("resources/read")
        .filter(|served| member(&served.params, "uri") == Some(uri))
        .filter_map(|served| served.result.as_ref()?.get("contents")?.as_array())
        .flatten()
        .any(|item| !tokens_of(item).is_disjoint(&tokens))
}
