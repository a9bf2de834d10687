//! Whose server a skill may reach. Section "Security Considerations".

use super::super::Check;
use super::ask::{Outcome, acting_on, asks_for, at, member, outcome};
use super::tokens::text_of;
use super::view::{View, sources};
use crate::verdict::Judgement;
use crate::wire::scene::Ask;

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::host("sep-2640-host-reads-bound-to-origin", bound),
    Check::host("sep-2640-host-cross-origin-read-approval", cross_origin),
];

/// The server that a read names beside the skill that it acts on, if it is another.
fn other_server(ask: &Ask) -> Option<(&str, &str)> {
    let (origin, _) = acting_on(ask)?;
    let server = member(&ask.params, "server")?;
    (server != origin).then_some((origin, server))
}

/// Reads under a skill's direction go to the server of that skill.
fn bound(view: &View<'_>, judgement: &mut Judgement) {
    for ask in view.asks("read") {
        let Some((origin, _)) = acting_on(ask) else {
            continue;
        };
        if other_server(ask).is_some() {
            continue;
        }
        let uri = member(&ask.params, "uri").unwrap_or("read");
        let astray = view
            .during(ask)
            .find(|served| served.method == "resources/read" && served.server != origin);
        if let Some(served) = astray {
            judgement.violated(
                at(served.at),
                uri,
                format!("resources/read on {origin}"),
                format!("resources/read on {}", served.server),
            );
        } else if let Outcome::Ok(result) = outcome(ask)
            && sources(view, &text_of(result))
                .iter()
                .any(|source| source.server == origin)
        {
            judgement.holds();
        }
    }
}

/// A read on another server is approved by the user, each time, with both servers named.
fn cross_origin(view: &View<'_>, judgement: &mut Judgement) {
    for ask in view.asks("read") {
        let Some((origin, server)) = other_server(ask) else {
            continue;
        };
        let uri = member(&ask.params, "uri").unwrap_or("read");
        let read = view
            .during(ask)
            .find(|served| served.method == "resources/read" && served.server == server);
        let Some(served) = read else {
            // Also out of a cache: each read is approved anew.
            if let Outcome::Ok(result) = outcome(ask)
                && sources(view, &text_of(result))
                    .iter()
                    .any(|source| source.server == server)
                && view.consents(ask).next().is_none()
            {
                judgement.violated(
                    super::ask::place(ask),
                    uri,
                    format!("a question to the user before a read on {server}"),
                    "its content was handed over without a question in this call",
                );
            } else if matches!(outcome(ask), Outcome::Refused { .. }) && view.witnessed() {
                judgement.holds();
            }
            continue;
        };
        let questions = view
            .consents(ask)
            .filter(|consent| consent.at < served.at && asks_for(consent, &["cross-origin"]));
        let Some(question) = questions.last() else {
            judgement.violated(
                at(served.at),
                uri,
                format!("a question to the user before a read on {server}"),
                "resources/read without a question in this call",
            );
            continue;
        };
        let names = ["server", "other_server", "detail"]
            .map(|name| member(&question.params, name).unwrap_or_default());
        let names_both = names.iter().any(|text| text.contains(origin))
            && names.iter().any(|text| text.contains(server));
        if !question.allowed {
            judgement.violated(
                at(served.at),
                uri,
                "no read after the user had declined",
                "resources/read was sent",
            );
        } else if !names_both {
            judgement.violated(
                at(question.at),
                uri,
                format!("a question that names {origin} and {server}"),
                question.params.to_string(),
            );
        } else {
            judgement.holds();
        }
    }
}
