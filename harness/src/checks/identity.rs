//! One server as two identities see it. Sections "Listing Skills", "Reading Skill Content".

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use super::entries::{Entry, Item};
use super::evidence::{Evidence, Read};
use super::integrity::comparable;
use super::result::asks_for_input;
use super::{Check, Needs};
use crate::verdict::Judgement;
use crate::wire::content::digest_string;
use crate::wire::trace::{Exchange, Outcome};

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::server("sep-2640-identity-listed-readable", listed_readable)
        .needs(Needs::Identities)
        .after(&[
            "sep-2640-skillmd-required",
            "sep-2640-resources-readable",
            "sep-2640-resources-digest-accurate",
            "sep-2640-skills-get-answers-listed",
            "sep-2640-skills-get-uri-echo",
            "sep-2640-skills-get-implemented",
        ]),
    Check::server("sep-2640-identity-unlisted-served", unlisted_served).needs(Needs::Identities),
    Check::server("sep-2640-identity-public-scope", public_scope)
        .needs(Needs::Identities)
        .after(&["sep-2640-cache-scope-consistent"]),
];

/// What was seen as one further identity.
struct Other<'e, 'a> {
    name: &'a str,
    /// The walks over its listing that came to their end, each as its pages.
    walks: Vec<Vec<&'a Exchange>>,
    /// The same as entries.
    listings: Vec<Vec<Entry<'e>>>,
    gets: HashMap<&'a str, &'a Exchange>,
    reads: HashMap<&'a str, &'a Exchange>,
}

fn others<'e, 'a: 'e>(trace: &'e Evidence<'a>) -> Vec<Other<'e, 'a>> {
    let mut others: Vec<Other<'e, 'a>> = Vec::new();
    let mut walks: BTreeMap<(usize, usize), Vec<&'a Exchange>> = BTreeMap::new();
    for exchange in trace.trace().of_others() {
        let Some(name) = exchange.identity.as_deref() else {
            continue;
        };
        let place = others.iter().position(|other| other.name == name);
        let place = place.unwrap_or_else(|| {
            others.push(Other {
                name,
                walks: Vec::new(),
                listings: Vec::new(),
                gets: HashMap::new(),
                reads: HashMap::new(),
            });
            others.len() - 1
        });
        match (exchange.name.as_deref(), exchange.page, exchange.uri()) {
            (Some("other-list"), Some(page), _) => {
                walks.entry((place, page.walk)).or_default().push(exchange);
            }
            (Some("other-get"), _, Some(uri)) => {
                others[place].gets.insert(uri, exchange);
            }
            (Some("other-read"), _, Some(uri)) => {
                others[place].reads.insert(uri, exchange);
            }
            _ => {}
        }
    }
    for ((place, _), pages) in walks {
        let whole = pages.last().is_some_and(|last| {
            !last.page.is_some_and(|page| page.cut) && trace.result(last).is_some()
        });
        if whole {
            let entries = pages.iter().flat_map(|page| trace.page_entries(page));
            others[place].listings.push(entries.collect());
            others[place].walks.push(pages);
        }
    }
    others
}

impl<'e, 'a: 'e> Other<'e, 'a> {
    /// The entries that each of its walks has; none if there are no two: a catalog may move.
    fn listed(&self) -> Vec<&Entry<'e>> {
        let Some((first, later)) = self.listings.split_first().filter(|(_, l)| !l.is_empty())
        else {
            return Vec::new();
        };
        let in_all = |entry: &&Entry<'_>| {
            let same = |other: &Entry<'_>| other.uri() == entry.uri();
            entry.uri().is_some() && later.iter().all(|walk| walk.iter().any(same))
        };
        first.iter().filter(in_all).collect()
    }

    /// URIs of skills and files that any of its entries names.
    fn named(&self, trace: &'e Evidence<'a>) -> BTreeSet<String> {
        let mut named = BTreeSet::new();
        let got: Vec<Entry<'_>> = (self.gets.values())
            .filter_map(|exchange| trace.got(exchange))
            .filter(|entry| self.lists(entry.uri()))
            .collect();
        for entry in self.listings.iter().flatten().chain(&got) {
            named.extend(entry.uri().map(str::to_owned));
            let files = entry.items().iter().filter_map(Item::uri);
            named.extend(files.map(str::to_owned));
        }
        named
    }

    /// Whether any of its walks has a skill.
    fn lists(&self, uri: Option<&str>) -> bool {
        let mut entries = self.listings.iter().flatten();
        uri.is_some() && entries.any(|entry| entry.uri() == uri)
    }
}

/// What a listing names is answered and readable as whoever it was listed for, with the digests
/// that it states.
fn listed_readable(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    judgement.unexercised = Some("nothing was listed to a further identity".to_owned());
    for other in others(trace) {
        for entry in other.listed() {
            let Some(uri) = entry.uri() else { continue };
            let got = other.gets.get(uri);
            if let Some(exchange) = got {
                match trace.outcome(exchange) {
                    Outcome::Result(_) => judgement.holds(),
                    outcome => {
                        judgement.violated(
                            trace.place(exchange),
                            format!("skills/get {uri} as {}", other.name),
                            "the entry, since skills/list names it to the same identity",
                            outcome.words(),
                        );
                        judgement.because(uri);
                    }
                }
            }
            let got = got.and_then(|exchange| trace.got(exchange));
            let files: BTreeSet<&str> = [uri]
                .into_iter()
                .chain(entry.items().iter().filter_map(Item::uri))
                .collect();
            for file in files {
                let Some(exchange) = other.reads.get(file) else {
                    continue;
                };
                let digests: BTreeSet<&str> = (other.listings.iter().flatten().chain(&got))
                    .flat_map(Entry::items)
                    .filter(|item| item.uri() == Some(file))
                    .filter_map(Item::digest)
                    .collect();
                // What the entry no longer names need not be there.
                let gone = got.as_ref().is_some_and(|got| {
                    file != uri && !got.items().iter().any(|item| item.uri() == Some(file))
                });
                if !gone {
                    judge_read(trace, &mut judgement, other.name, exchange, file, &digests);
                }
            }
        }
    }
    judgement
}

fn judge_read<'a>(
    trace: &Evidence<'a>,
    judgement: &mut Judgement,
    name: &str,
    exchange: &'a Exchange,
    file: &str,
    digests: &BTreeSet<&str>,
) {
    let subject = || format!("{file} as {name}");
    match trace.outcome(exchange) {
        Outcome::Result(result) if asks_for_input(trace, result) => return,
        Outcome::Result(_) => {}
        outcome => {
            judgement.violated(
                trace.place(exchange),
                subject(),
                "the file, since skills/list names it to the same identity",
                outcome.words(),
            );
            judgement.because(file);
            return;
        }
    }
    let read: Option<Read<'_>> = trace.read_of(exchange);
    let Some((read, (_, sha256))) = read.and_then(|read| {
        let bytes = comparable(&read)?;
        Some((read, bytes))
    }) else {
        return;
    };
    let actual = digest_string(&sha256);
    if digests.is_empty() || digests.contains(actual.as_str()) {
        judgement.holds();
    } else {
        let stated: Vec<&str> = digests.iter().copied().collect();
        judgement.violated(read.at, subject(), stated.join(" or "), actual);
        judgement.because(file);
    }
}

/// The entries of the first identity that each of its walks has, while there are two.
fn always_listed<'e, 'a>(trace: &'e Evidence<'a>) -> Vec<&'e Entry<'a>> {
    let walks = trace.whole_listings();
    let Some((first, later)) = walks.split_first() else {
        return Vec::new();
    };
    let in_all = |entry: &&Entry<'_>| {
        let same = |other: &Entry<'_>| other.uri() == entry.uri();
        entry.uri().is_some() && later.iter().all(|walk| walk.iter().any(same))
    };
    first.iter().filter(in_all).collect()
}

/// What only the first identity's listing names is refused to the others.
fn unlisted_served(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    judgement.unexercised = Some("nothing is listed to the first identity alone".to_owned());
    let owned = always_listed(trace);
    for other in others(trace)
        .iter()
        .filter(|other| !other.listings.is_empty())
    {
        let named = other.named(trace);
        for entry in owned.iter().filter(|entry| !other.lists(entry.uri())) {
            let Some(uri) = entry.uri() else { continue };
            let files: BTreeSet<&str> = [uri]
                .into_iter()
                .chain(entry.items().iter().filter_map(Item::uri))
                .filter(|file| !named.contains(*file))
                .collect();
            let reads = files.iter().filter_map(|file| other.reads.get(file));
            for exchange in other.gets.get(uri).into_iter().chain(reads) {
                match trace.outcome(exchange) {
                    Outcome::Result(result) if !asks_for_input(trace, result) => {
                        judgement.violated(
                            trace.place(exchange),
                            format!("{} as {}", exchange.subject(), other.name),
                            "an error, since no listing names it to this identity",
                            "a result",
                        );
                    }
                    _ => judgement.holds(),
                }
            }
        }
    }
    judgement
}

fn is_public(trace: &Evidence<'_>, exchange: &Exchange) -> bool {
    let result = trace.result(exchange);
    result.and_then(|result| result.get("cacheScope")?.as_str()) == Some("public")
}

/// Whatever is marked as public is the same for all.
fn public_scope(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for other in others(trace) {
        listings_equal(trace, &other, &mut judgement);
        for method in ["skills/get", "resources/read"] {
            let theirs = match method {
                "skills/get" => &other.gets,
                _ => &other.reads,
            };
            let mut seen = BTreeSet::new();
            for own in trace.calls(method) {
                let Some((uri, their)) = own.uri().and_then(|uri| theirs.get_key_value(uri)) else {
                    continue;
                };
                if !seen.insert(*uri) || !is_public(trace, own) {
                    continue;
                }
                let actual = match trace.outcome(their) {
                    Outcome::Result(result) => differs(trace, method, own, result),
                    Outcome::Error(error) => Some(format!(
                        "{}, to {}",
                        Outcome::Error(error).words(),
                        other.name
                    )),
                    _ => continue,
                };
                match actual {
                    // The skill may be gone by now.
                    Some(_) if !still_there(trace, uri) => {}
                    Some(actual) => judgement.violated(
                        trace.place(their),
                        format!("{method} {uri}"),
                        format!(
                            "the same for every identity, since {} is marked \"public\"",
                            trace.place(own)
                        ),
                        actual,
                    ),
                    None => judgement.holds(),
                }
            }
        }
    }
    judgement
}

/// Whether every walk of the first identity names a skill or a file.
fn still_there(trace: &Evidence<'_>, uri: &str) -> bool {
    always_listed(trace).iter().any(|entry| {
        entry.uri() == Some(uri) || entry.items().iter().any(|item| item.uri() == Some(uri))
    })
}

/// How a result of another identity differs from the first one's, where that cannot be change.
fn differs(trace: &Evidence<'_>, method: &str, own: &Exchange, their: &Value) -> Option<String> {
    if method != "skills/get" {
        // The bytes of a file are held against the entries that name it.
        return None;
    }
    let own = trace.got(own)?;
    let steady = |entry: &Entry<'_>| entry.uri() == own.uri() && entry.value == own.value;
    let unchanged = trace
        .whole_listings()
        .iter()
        .all(|walk| walk.iter().any(steady));
    (unchanged && their.get("skill") != Some(own.value)).then(|| "another entry".to_owned())
}

fn listings_equal(trace: &Evidence<'_>, other: &Other<'_, '_>, judgement: &mut Judgement) {
    let own = trace.walks("skills/list").iter().flatten();
    let public = |pages: &[&Exchange]| pages.iter().any(|page| is_public(trace, page));
    let own: Vec<&Exchange> = own.copied().collect();
    let Some(pages) = other.walks.first() else {
        return;
    };
    if !public(&own) && !other.walks.iter().any(|pages| public(pages)) {
        return;
    }
    let uris = |entries: Vec<&Entry<'_>>| -> BTreeSet<String> {
        let uris = entries.into_iter().filter_map(Entry::uri);
        uris.map(str::to_owned).collect()
    };
    let (always, theirs) = (uris(always_listed(trace)), uris(other.listed()));
    let ever = uris(trace.listings().iter().flatten().collect());
    let their_ever = uris(other.listings.iter().flatten().collect());
    if other.listings.len() < 2 || trace.whole_listings().is_empty() {
        return;
    }
    let hidden = always.difference(&their_ever).next();
    let added = theirs.difference(&ever).next();
    let actual = match (hidden, added) {
        (Some(uri), _) => format!("{uri} is not listed to {}", other.name),
        (None, Some(uri)) => format!("{uri} is listed to {} alone", other.name),
        (None, None) => {
            judgement.holds();
            return;
        }
    };
    judgement.violated(
        trace.place(pages[0]),
        "skills/list",
        "the same listing for every identity, since it is marked \"public\"",
        actual,
    );
}
