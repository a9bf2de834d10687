//! How clients walk a listing. Section "Enumeration via skills/list" and the base Pagination page.

use serde_json::Value;

use super::super::Check;
use super::ask::{at, member, place, result};
use super::view::View;
use crate::verdict::Judgement;
use crate::wire::jsonrpc::INVALID_PARAMS;
use crate::wire::scene::Served;

const NOT_PERSISTED: &str = "sep-2640-client-cursor-not-persisted";

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::host("sep-2640-client-pagination-followed", followed),
    Check::host("sep-2640-client-pagination-end", end).after(&[NOT_PERSISTED]),
    Check::host("sep-2640-client-cursor-invalid-restart", invalid_restart),
    Check::host(NOT_PERSISTED, not_persisted),
    Check::host("sep-2640-host-moving-catalog", moving_catalog),
];

/// The requests of a listing, by connection, in order.
fn walks<'a>(view: &View<'a>) -> Vec<Vec<&'a Served>> {
    let connections = |served: &Served| {
        view.asks("connect")
            .filter(|ask| {
                ask.from < served.at && member(&ask.params, "server") == Some(&served.server)
            })
            .count()
    };
    let mut walks: Vec<Vec<&Served>> = Vec::new();
    for served in view.served("skills/list") {
        match walks.iter_mut().find(|walk| {
            walk[0].server == served.server && connections(walk[0]) == connections(served)
        }) {
            Some(walk) => walk.push(served),
            None => walks.push(vec![served]),
        }
    }
    walks
}

fn next_cursor(served: &Served) -> Option<&str> {
    member(served.result.as_ref()?, "nextCursor")
}

fn cursor(served: &Served) -> Option<&Value> {
    served.params.get("cursor")
}

/// Each cursor comes back as it was issued, whatever it looks like and however short the page was.
fn followed(view: &View<'_>, judgement: &mut Judgement) {
    for walk in walks(view) {
        for (index, served) in walk.iter().enumerate() {
            let Some(next) = next_cursor(served) else {
                continue;
            };
            // Seen before: a loop, which a client may leave.
            if walk[..index]
                .iter()
                .any(|earlier| next_cursor(earlier) == Some(next))
            {
                continue;
            }
            let sent = walk[index + 1..]
                .iter()
                .any(|later| cursor(later).and_then(Value::as_str) == Some(next));
            if sent {
                judgement.holds();
                continue;
            }
            let instead = walk.get(index + 1).map_or_else(
                || "the walk ended".to_owned(),
                |later| match cursor(later) {
                    Some(cursor) => format!("the cursor {cursor} was sent"),
                    None => "the listing was begun anew".to_owned(),
                },
            );
            judgement.violated(
                at(served.to),
                format!("cursor \"{next}\""),
                "the cursor sent back as it is",
                instead,
            );
        }
    }
}

/// A page without a cursor is the last one.
fn end(view: &View<'_>, judgement: &mut Judgement) {
    for walk in walks(view) {
        for pair in walk.windows(2) {
            let [before, after] = pair else { continue };
            let last = before.result.is_some() && next_cursor(before).is_none();
            if !last || cursor(before).is_none() {
                continue;
            }
            // Of two walks at once each may send a cursor that it was given.
            let sent = |wanted: &Value| {
                walk.iter()
                    .filter(|page| cursor(page) == Some(wanted))
                    .count()
            };
            let issued = |wanted: &Value| {
                walk.iter()
                    .filter(|page| next_cursor(page) == wanted.as_str() && wanted.is_string())
                    .count()
            };
            if cursor(after).is_some_and(|cursor| sent(cursor) <= issued(cursor)) {
                continue;
            }
            match cursor(after) {
                None => judgement.holds(),
                Some(cursor) => judgement.violated(
                    at(after.at),
                    "skills/list",
                    "the end of the listing after a page without nextCursor",
                    format!("a request with the cursor {cursor}"),
                ),
            }
        }
        if let Some(last) = walk.last()
            && last.result.is_some()
            && cursor(last).is_some()
            && next_cursor(last).is_none()
        {
            judgement.holds();
        }
    }
}

/// When a cursor has become invalid, the listing is begun anew.
fn invalid_restart(view: &View<'_>, judgement: &mut Judgement) {
    for walk in walks(view) {
        for (index, served) in walk.iter().enumerate() {
            let issued = |page: &&Served| {
                let next = next_cursor(page);
                next.is_some() && next == cursor(served).and_then(Value::as_str)
            };
            if served.error != Some(INVALID_PARAMS) || !walk[..index].iter().any(issued) {
                continue;
            }
            let anew = walk[index + 1..]
                .iter()
                .any(|later| cursor(later).is_none());
            if anew {
                judgement.holds();
            } else {
                judgement.violated(
                    at(served.to),
                    "skills/list",
                    "the listing begun anew after its cursor was refused",
                    "the client kept the pages that it had",
                );
            }
        }
    }
}

/// A cursor ends with the session that issued it.
fn not_persisted(view: &View<'_>, judgement: &mut Judgement) {
    for restart in view.asks("restart").filter(|ask| result(ask).is_some()) {
        for served in view
            .served("skills/list")
            .filter(|served| served.at > restart.to)
        {
            let Some(sent) = cursor(served).and_then(Value::as_str) else {
                judgement.holds();
                continue;
            };
            let pages = |fresh: bool| {
                view.served("skills/list").any(|page| {
                    page.server == served.server
                        && (page.at > restart.to) == fresh
                        && page.to < served.at
                        && next_cursor(page) == Some(sent)
                })
            };
            // A cursor that nobody issued is another matter.
            let fresh = pages(true) || !pages(false);
            if fresh {
                judgement.holds();
            } else {
                judgement.violated(
                    at(served.at),
                    "skills/list",
                    "no cursor of an earlier session",
                    format!("the cursor \"{sent}\""),
                );
            }
        }
    }
}

/// An entry that came on two pages of a moving catalog is one skill.
fn moving_catalog(view: &View<'_>, judgement: &mut Judgement) {
    for (ask, list) in view.results("list") {
        let offered: Vec<(&str, &str)> = list
            .get("skills")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|skill| Some((member(skill, "server")?, member(skill, "uri")?)))
            .collect();
        let mut seen: Vec<(&str, &str)> = Vec::new();
        for delivery in view
            .deliveries()
            .iter()
            .filter(|delivery| delivery.at < ask.to)
        {
            let Some(uri) = member(delivery.entry, "uri") else {
                continue;
            };
            let skill = (delivery.server, uri);
            if delivery.method != "skills/list" || !seen.contains(&skill) {
                seen.push(skill);
                continue;
            }
            match offered.iter().filter(|other| **other == skill).count() {
                0 => {}
                1 => judgement.holds(),
                count => judgement.violated(
                    place(ask),
                    uri,
                    "one skill for an entry that came twice",
                    format!("it is offered {count} times"),
                ),
            }
        }
    }
}
