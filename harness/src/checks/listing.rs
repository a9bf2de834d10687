//! `skills/list`: shape, pages, cursors. Section "Listing Skills".

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;

use super::Check;
use super::entries::{Entry, describe};
use super::evidence::Evidence;
use crate::verdict::Judgement;
use crate::wire::jsonrpc::INVALID_PARAMS;
use crate::wire::trace::{Exchange, Outcome};

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::server(IMPLEMENTED, implemented),
    Check::server("sep-2640-skills-list-result-shape", result_shape),
    Check::server("sep-2640-skills-list-pagination", pagination),
    Check::server("sep-2640-skills-list-next-cursor-type", next_cursor_type),
    Check::server("sep-2640-skills-list-each-once", each_once).after(&[
        "sep-2640-skills-list-pagination",
        "sep-2640-skills-list-entry-atomic",
    ]),
    Check::server("sep-2640-skills-list-entry-atomic", entry_atomic),
    Check::server("sep-2640-skills-list-unknown-cursor", unknown_cursor).after(&[IMPLEMENTED]),
    Check::server("sep-2640-skills-list-mistyped-cursor", mistyped_cursor).after(&[IMPLEMENTED]),
    Check::server("sep-2640-skills-list-cursor-repeatable", cursor_repeatable)
        .after(&["sep-2640-skills-list-pagination"]),
    Check::server("sep-2640-skills-list-stable", stable).after(&[
        "sep-2640-skills-list-pagination",
        "sep-2640-skills-list-each-once",
    ]),
    Check::server("sep-2640-names-should-be-unique", names_unique),
];

const LIST: &str = "skills/list";
const IMPLEMENTED: &str = "sep-2640-skills-list-implemented";

/// The first call of the listing is answered with a result.
fn implemented(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    let first = trace
        .calls(LIST)
        .find(|exchange| exchange.cursor().is_none() && exchange.name.is_none());
    if let Some(exchange) = first {
        match trace.outcome(exchange) {
            Outcome::Result(_) => judgement.holds(),
            other => judgement.violated(trace.place(exchange), LIST, "a result", other.words()),
        }
    }
    judgement
}

/// `result.skills` is an array on each page.
fn result_shape(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for page in trace.calls(LIST) {
        let Some(result) = trace.result(page) else {
            continue;
        };
        match result.get("skills") {
            Some(Value::Array(_)) => judgement.holds(),
            other => judgement.violated(
                trace.place_at(page, "/result"),
                LIST,
                "a `skills` array, empty when nothing is listed",
                format!("`skills` is {}", describe(other)),
            ),
        }
    }
    judgement
}

/// Cursors that the server gave lead on and come to an end.
fn pagination(trace: &Evidence<'_>) -> Judgement {
    walk_ends(trace, LIST)
}

/// Judges the walks of one paged method: every page that follows a cursor is a result, and no
/// cursor comes back.
pub(super) fn walk_ends(trace: &Evidence<'_>, method: &str) -> Judgement {
    let mut judgement = Judgement::new();
    // A change of what is listed may end a walk before its time: the others then go on to the end.
    let mut walks: BTreeMap<String, Vec<Judgement>> = BTreeMap::new();
    for pages in trace.walks(method) {
        let subject = subject_of(method, pages[0]);
        let walk = walk_end(trace, &subject, pages);
        walks.entry(subject).or_default().push(walk);
    }
    for (_, of_subject) in walks {
        let broken = of_subject.iter().all(|walk| !walk.findings.is_empty());
        for mut walk in of_subject {
            judgement.examined += walk.examined;
            if broken {
                judgement.findings.append(&mut walk.findings);
            }
        }
    }
    judgement
}

/// Judges one walk.
fn walk_end(trace: &Evidence<'_>, subject: &str, pages: &[&Exchange]) -> Judgement {
    let mut judgement = Judgement::new();
    let mut seen: HashMap<String, usize> = HashMap::new();
    for page in pages.iter().copied() {
        let followed = page.page.is_some_and(|page| page.page > 0);
        let result = trace.result(page);
        if followed && result.is_none() {
            judgement.violated(
                trace.place(page),
                subject,
                "the page that the server's own nextCursor names",
                trace.outcome(page).words(),
            );
        }
        let next = result
            .and_then(|result| result.get("nextCursor"))
            .filter(|cursor| !cursor.is_null());
        if let Some(cursor) = next
            && let Some(first) =
                seen.insert(cursor.to_string(), page.page.map_or(0, |page| page.page))
        {
            judgement.violated(
                trace.place_at(page, "/result/nextCursor"),
                subject,
                "a walk that comes to an end",
                format!(
                    "nextCursor {} again, first given on page {}",
                    describe(Some(cursor)),
                    first + 1
                ),
            );
        }
    }
    if judgement.findings.is_empty() && trace.result(pages[0]).is_some() {
        judgement.holds();
    }
    judgement
}

fn subject_of(method: &str, page: &Exchange) -> String {
    page.uri()
        .map_or_else(|| method.to_owned(), |uri| format!("{method} {uri}"))
}

/// `nextCursor` is a string, or absent.
fn next_cursor_type(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for page in trace.calls(LIST) {
        let Some(result) = trace.result(page) else {
            continue;
        };
        match result.get("nextCursor") {
            None | Some(Value::String(_)) => judgement.holds(),
            other => judgement.violated(
                trace.place_at(page, "/result/nextCursor"),
                LIST,
                "a string, or no nextCursor at all",
                describe(other),
            ),
        }
    }
    judgement
}

/// In a catalog that stands still, each skill is listed once.
fn each_once(trace: &Evidence<'_>) -> Judgement {
    trace.in_every_listing(|walk, judgement| {
        let mut seen = HashSet::new();
        for entry in walk {
            let Some(uri) = entry.uri() else { continue };
            if seen.insert(uri) {
                judgement.holds();
            } else {
                judgement.violated(
                    entry.at.clone(),
                    uri,
                    "one entry for each skill",
                    "listed again",
                );
            }
        }
    })
}

/// No entry is split over two pages.
fn entry_atomic(trace: &Evidence<'_>) -> Judgement {
    trace.in_every_listing(|walk, judgement| {
        let mut parts: HashMap<&str, &Entry<'_>> = HashMap::new();
        for entry in walk {
            let Some(uri) = entry.uri() else { continue };
            match parts.get(uri) {
                // The same set twice is a repetition, not a continuation.
                Some(earlier) if continues(earlier, entry) => judgement.violated(
                    entry.at.clone(),
                    uri,
                    "a skill's whole entry on one page",
                    format!("further files of the entry at {}", earlier.at),
                ),
                Some(_) => {}
                None => {
                    parts.insert(uri, entry);
                    judgement.holds();
                }
            }
        }
    })
}

/// Whether each of two entries names files that the other lacks.
fn continues(a: &Entry<'_>, b: &Entry<'_>) -> bool {
    let uris = |entry: &Entry<'_>| -> HashSet<String> {
        entry
            .items()
            .iter()
            .filter_map(|item| item.uri())
            .map(str::to_owned)
            .collect()
    };
    let (a, b) = (uris(a), uris(b));
    a.difference(&b).next().is_some() && b.difference(&a).next().is_some()
}

/// A cursor that the server never gave is refused. One that is cut short, or comes from another list,
/// may be a good one by chance; refused in another way it is wrong.
fn unknown_cursor(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = refused(trace, "unknown-cursor");
    let damaged = refused(trace, "damaged-cursor");
    judgement.examined += damaged.examined;
    judgement.findings.extend(damaged.findings);
    judgement
}

/// A cursor of another JSON type is refused.
fn mistyped_cursor(trace: &Evidence<'_>) -> Judgement {
    refused(trace, "mistyped-cursor")
}

/// Exchanges of this name are answered with -32602.
fn refused(trace: &Evidence<'_>, name: &str) -> Judgement {
    let mut judgement = Judgement::new();
    // A server without the method has been judged for that.
    if !trace
        .calls(LIST)
        .any(|exchange| trace.result(exchange).is_some())
    {
        return judgement;
    }
    for exchange in trace.named(name) {
        let answered = name == "damaged-cursor" && trace.result(exchange).is_some();
        if answered || trace.error_code(exchange) == Some(INVALID_PARAMS) {
            judgement.holds();
        } else {
            let subject = match exchange.cursor() {
                Some(cursor) => format!("{} with cursor {cursor}", exchange.method),
                None => exchange.method.to_string(),
            };
            judgement.violated(
                trace.place(exchange),
                subject,
                "error -32602",
                trace.outcome(exchange).words(),
            );
        }
    }
    judgement
}

/// The same cursor sent again gives the same page.
fn cursor_repeatable(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    // The two follow each other directly: a catalog that moves has had little time to.
    let mut pages: HashMap<String, &Exchange> = HashMap::new();
    let walked: HashSet<String> = trace
        .walks(LIST)
        .iter()
        .flatten()
        .filter(|page| trace.result(page).is_some())
        .filter_map(|page| Some(page.cursor()?.to_string()))
        .collect();
    for again in trace.named("repeated-cursor") {
        let Some(cursor) = again.cursor() else {
            continue;
        };
        let Some(first) = pages.get(&cursor.to_string()) else {
            let key = cursor.to_string();
            if trace.result(again).is_some() {
                pages.insert(key, again);
            } else if walked.contains(&key) {
                let words = trace.outcome(again).words();
                let subject = format!("cursor {cursor}");
                judgement.violated(
                    trace.place(again),
                    subject,
                    "the same page as before",
                    words,
                );
            }
            continue;
        };
        let uris = |page| -> Vec<String> {
            trace
                .page_entries(page)
                .iter()
                .map(Entry::subject_uri)
                .collect()
        };
        let subject = format!("cursor {cursor}");
        match trace.outcome(again) {
            Outcome::Result(_) if uris(first) == uris(again) => judgement.holds(),
            Outcome::Result(_) => judgement.violated(
                trace.place_at(again, "/result/skills"),
                subject,
                format!("the page of {}", trace.place(first)),
                "another page",
            ),
            other => judgement.violated(
                trace.place(again),
                subject,
                "the same page as before",
                other.words(),
            ),
        }
    }
    judgement
}

/// All whole walks list the same skills in the same order.
fn stable(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    let walks = trace.whole_listings();
    let Some((first, later)) = walks.split_first().filter(|(first, _)| !first.is_empty()) else {
        return judgement;
    };
    let uris =
        |walk: &[Entry<'_>]| -> Vec<String> { walk.iter().map(Entry::subject_uri).collect() };
    let before = uris(first);
    for walk in later {
        let after = uris(walk);
        let changed = walk
            .iter()
            .zip(*first)
            .find(|(now, then)| now.value != then.value);
        if before == after && changed.is_none() {
            judgement.holds();
            continue;
        }
        let place = walk.first().unwrap_or(&first[0]).at.clone();
        let (old, new): (HashSet<_>, HashSet<_>) =
            (before.iter().collect(), after.iter().collect());
        let actual = match (new.difference(&old).next(), old.difference(&new).next()) {
            (Some(uri), _) => format!("{uri} was not listed before"),
            (None, Some(uri)) => format!("{uri} is no longer listed"),
            (None, None) if before == after => {
                format!(
                    "another entry for {}",
                    changed.map_or(String::new(), |(now, _)| now.subject())
                )
            }
            (None, None) => "another order".to_owned(),
        };
        judgement.violated(
            place,
            LIST,
            "the entries of the first walk, in their order",
            actual,
        );
        break;
    }
    judgement
}

/// No two listed skills share a name.
fn names_unique(trace: &Evidence<'_>) -> Judgement {
    trace.in_every_listing(|walk, judgement| {
        let mut named: HashMap<&str, &str> = HashMap::new();
        for entry in walk {
            let name = entry
                .frontmatter()
                .and_then(|frontmatter| frontmatter.get("name"))
                .and_then(Value::as_str);
            let (Some(name), Some(uri)) = (name, entry.uri()) else {
                continue;
            };
            match named.get(name) {
                Some(other) if *other != uri => judgement.violated(
                    entry.at.child(&[&"frontmatter", &"name"]),
                    uri,
                    "a name of its own",
                    format!("{name}, the name of {other} too"),
                ),
                Some(_) => {}
                None => {
                    named.insert(name, uri);
                    judgement.holds();
                }
            }
        }
    })
}
