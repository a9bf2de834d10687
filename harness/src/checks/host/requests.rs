//! Which requests clients send, and how they take the answers. Sections "Capability Negotiation",
//! "Retrieval via skills/get", "Directory Listing", "Error Handling", "Reservations".

use serde_json::Value;

use super::super::Check;
use super::ask::{Outcome, at, member, offered, outcome, place, target};
use super::view::{Delivery, View};
use crate::verdict::Judgement;
use crate::wire::jsonrpc::{EXTENSION, RESOURCE_NOT_FOUND};
use crate::wire::scene::Served;

const CACHE_REUSE: &str = "sep-2640-client-cache-reuse";

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::host("sep-2640-host-empty-settings-supported", empty_settings),
    Check::host("sep-2640-client-methods-gated", methods_gated),
    Check::host("sep-2640-client-directory-read-gated", directory_gated),
    Check::host("sep-2640-client-directory-read-request", directory_request),
    Check::host("sep-2640-client-get-uri-skillmd", get_uri),
    Check::host("sep-2640-client-no-private-methods", private_methods),
    Check::host("sep-2640-client-legacy-not-found", legacy_not_found),
    Check::host("sep-2640-client-result-type", result_type),
    Check::host(CACHE_REUSE, cache_reuse),
    Check::host("sep-2640-client-ttl-honoured", ttl_honoured),
];

/// What a server declared of the extension when it was last asked before a frame: `None` if it has
/// not been asked, else its settings, null without the extension.
pub(super) fn settings<'a>(view: &View<'a>, server: &str, before: usize) -> Option<&'a Value> {
    view.opening(server, before).map(|result| {
        result
            .get("capabilities")
            .and_then(|capabilities| capabilities.get("extensions")?.get(EXTENSION))
            .unwrap_or(&Value::Null)
    })
}

/// A server with empty settings is used like any other.
fn empty_settings(view: &View<'_>, judgement: &mut Judgement) {
    for ask in view.asks("load") {
        let Some((server, uri)) = target(ask) else {
            continue;
        };
        let empty = settings(view, server, ask.to)
            .and_then(Value::as_object)
            .is_some_and(serde_json::Map::is_empty);
        if !empty || ask.name.as_deref() != Some("empty-settings") {
            continue;
        }
        match outcome(ask) {
            Outcome::Ok(_) => judgement.holds(),
            Outcome::Refused { reason, .. } if view.witnessed() => judgement.violated(
                place(ask),
                uri,
                "a server whose settings are empty is used",
                format!("its skill was refused: {reason}"),
            ),
            _ => {}
        }
    }
}

/// Where a server was spoken to: once it has been asked what it declares.
fn gated(
    view: &View<'_>,
    judgement: &mut Judgement,
    methods: &[&str],
    allowed: impl Fn(&Value) -> bool,
    expected: &str,
) {
    let mut asked: Vec<&str> = Vec::new();
    for served in &view.scene.served {
        let server = served.server.as_str();
        let Some(settings) = settings(view, server, served.at) else {
            continue;
        };
        if allowed(settings) {
            continue;
        }
        if !asked.contains(&server) {
            asked.push(server);
        }
        if methods.contains(&served.method.as_str()) {
            judgement.violated(
                at(served.at),
                format!("{} to {server}", served.method),
                expected,
                format!(
                    "{} was sent to a server that declares {settings}",
                    served.method
                ),
            );
        }
    }
    // A server that was greeted and then left alone.
    for served in view
        .scene
        .served
        .iter()
        .filter(|served| served.result.is_some())
    {
        let greets = matches!(served.method.as_str(), "initialize" | "server/discover");
        let server = served.server.as_str();
        if greets && settings(view, server, usize::MAX).is_some_and(|found| !allowed(found)) {
            let tempted = view.scene.asks.iter().any(|ask| {
                matches!(ask.verb.as_str(), "list" | "load" | "list_directory")
                    && ask.from > served.at
            });
            if tempted && view.witnessed() {
                judgement.holds();
            }
        }
    }
}

/// Only servers that declare the extension are sent its methods.
fn methods_gated(view: &View<'_>, judgement: &mut Judgement) {
    gated(
        view,
        judgement,
        &["skills/list", "skills/get"],
        |settings| !settings.is_null(),
        "no such request to a server without the extension",
    );
}

/// Only servers that declare `directoryRead: true` are sent resources/directory/read.
fn directory_gated(view: &View<'_>, judgement: &mut Judgement) {
    gated(
        view,
        judgement,
        &["resources/directory/read"],
        |settings| settings.get("directoryRead") == Some(&Value::Bool(true)),
        "no such request to a server that does not declare directoryRead",
    );
}

/// A directory is named without a trailing slash, and its pages all by the same URI.
fn directory_request(view: &View<'_>, judgement: &mut Judgement) {
    let requests: Vec<&Served> = view.served("resources/directory/read").collect();
    for (index, served) in requests.iter().enumerate() {
        let uri = member(&served.params, "uri");
        let Some(uri) = uri else {
            judgement.violated(
                at(served.at),
                "resources/directory/read",
                "the URI of the directory on each page",
                "a request without `uri`",
            );
            judgement.because("directory");
            continue;
        };
        if uri.ends_with('/') {
            judgement.violated(
                at(served.at),
                uri,
                "a directory URI without a trailing slash",
                uri,
            );
            judgement.because("directory");
            continue;
        }
        let Some(cursor) = member(&served.params, "cursor") else {
            judgement.holds();
            continue;
        };
        let issued = requests[..index].iter().rev().find(|earlier| {
            let next = earlier
                .result
                .as_ref()
                .and_then(|result| member(result, "nextCursor"));
            next == Some(cursor)
        });
        // Directories that are walked at once may have equal cursors.
        let own = requests[..index].iter().any(|earlier| {
            let next = earlier
                .result
                .as_ref()
                .and_then(|result| member(result, "nextCursor"));
            next == Some(cursor) && member(&earlier.params, "uri") == Some(uri)
        });
        match issued {
            Some(page) if !own => judgement.violated(
                at(served.at),
                uri,
                "a cursor together with the URI that it was issued for",
                format!("the cursor of {}", page.params),
            ),
            _ => judgement.holds(),
        }
    }
}

/// skills/get names a SKILL.md.
fn get_uri(view: &View<'_>, judgement: &mut Judgement) {
    for served in view.served("skills/get") {
        match member(&served.params, "uri") {
            Some(uri) if uri.ends_with("/SKILL.md") => judgement.holds(),
            uri => judgement.violated(
                at(served.at),
                uri.unwrap_or("skills/get"),
                "the URI of a SKILL.md",
                uri.unwrap_or("no URI"),
            ),
        }
    }
}

/// No methods under `skills/` but those of the extension.
fn private_methods(view: &View<'_>, judgement: &mut Judgement) {
    for served in &view.scene.served {
        if !served.method.starts_with("skills/") {
            continue;
        }
        if matches!(served.method.as_str(), "skills/list" | "skills/get") {
            judgement.holds();
        } else {
            judgement.violated(
                at(served.at),
                &served.method,
                "skills/list and skills/get only",
                &served.method,
            );
        }
    }
}

/// An older server's -32002 is "not found", not the end of the connection.
fn legacy_not_found(view: &View<'_>, judgement: &mut Judgement) {
    for ask in &view.scene.asks {
        let told = view
            .during(ask)
            .find(|served| served.error == Some(RESOURCE_NOT_FOUND));
        let Some(served) = told else { continue };
        let uri = member(&served.params, "uri").unwrap_or("resources/read");
        match outcome(ask) {
            Outcome::Refused {
                kind: "transport",
                reason,
            } => judgement.violated(
                place(ask),
                uri,
                "\"not found\" for error -32002",
                format!("a transport failure: {reason}"),
            ),
            Outcome::Refused { .. } if view.witnessed() => judgement.holds(),
            _ => {}
        }
    }
}

/// An unknown `resultType` makes a result invalid; a missing one need not.
fn result_type(view: &View<'_>, judgement: &mut Judgement) {
    for ask in view.asks("load") {
        let Some((_, uri)) = target(ask) else {
            continue;
        };
        let kinds: Vec<Option<&str>> = view
            .during(ask)
            .filter_map(|served| served.result.as_ref())
            .map(|result| member(result, "resultType"))
            .collect();
        let unknown = kinds.iter().flatten().find(|kind| !is_known(Some(kind)));
        match (unknown, outcome(ask)) {
            (Some(kind), Outcome::Ok(_)) => judgement.violated(
                place(ask),
                uri,
                "no use of a result of an unknown type",
                format!("a result of the type \"{kind}\" was used"),
            ),
            (Some(_), Outcome::Refused { .. }) if view.witnessed() => judgement.holds(),
            // Only a server of an earlier revision has reason to leave it out: a host may hold one
            // of this revision to its own rules.
            (None, Outcome::Ok(_)) if ask.name.as_deref() == Some("without-result-type") => {
                judgement.holds();
            }
            _ => {}
        }
    }
    for (ask, list) in view.results("list") {
        for (server, uri, _) in offered(list) {
            let Some(server) = server else { continue };
            let known = |delivery: &Delivery<'_>| is_known(delivery.result_type);
            let mut entries = view.entries(server, uri, ask.to).peekable();
            if entries.peek().is_some() && !entries.any(known) {
                judgement.violated(
                    place(ask),
                    uri,
                    "no use of a result of an unknown type",
                    "the skill is offered, though only such a result names it",
                );
            }
        }
    }
}

fn is_known(result_type: Option<&str>) -> bool {
    result_type.is_none_or(|kind| matches!(kind, "complete" | "input_required"))
}

/// A cached answer of skills/get is no answer to a question for another skill.
fn cache_reuse(view: &View<'_>, judgement: &mut Judgement) {
    for ask in view.named("second-unlisted") {
        let Some((server, uri)) = target(ask) else {
            continue;
        };
        let asked = view.served("skills/get").any(|served| {
            served.server == server
                && served.at < ask.to
                && member(&served.params, "uri") == Some(uri)
        });
        let earlier = view
            .served("skills/get")
            .any(|served| served.server == server && served.at < ask.from);
        if !earlier {
            continue;
        }
        match outcome(ask) {
            _ if asked => judgement.holds(),
            // Whoever refuses before it asks has no answer to take.
            Outcome::Refused { kind, .. } if kind != "invalid-entry" => {}
            Outcome::Ok(_) | Outcome::Refused { .. } => judgement.violated(
                place(ask),
                uri,
                "skills/get for this URI",
                "the answer for another URI was taken, or none",
            ),
            Outcome::Unknown => {}
        }
    }
}

/// The listing is fetched again once it is no longer fresh and needed, and not on a timer.
fn ttl_honoured(view: &View<'_>, judgement: &mut Judgement) {
    for ask in view.named("list-after-ttl") {
        let earlier = view
            .served("skills/list")
            .any(|served| served.at < ask.from);
        if super::ask::result(ask).is_none() || !earlier {
            continue;
        }
        if view
            .during(ask)
            .any(|served| served.method == "skills/list")
        {
            judgement.holds();
        } else {
            judgement.violated(
                place(ask),
                "skills/list",
                "the listing fetched again after ttlMs ran out",
                "the former one was used",
            );
        }
        // Between calls a host has no reason to ask.
        let polls: Vec<&Served> = view
            .served("skills/list")
            .filter(|served| served.at < ask.from && view.under(served.at).is_none())
            .collect();
        match polls.first() {
            Some(served) if polls.len() > 1 => judgement.violated(
                at(served.at),
                "skills/list",
                "no polling at the interval of ttlMs",
                format!("{} requests that nobody needed", polls.len()),
            ),
            _ => judgement.holds(),
        }
    }
}
