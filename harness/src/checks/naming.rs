//! Names and URIs of skills and their files. Sections "Resource Mapping" and "Nested Skills".

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde_json::Value;

use super::Check;
use super::entries::{Entry, Item};
use super::evidence::Evidence;
use crate::model::{format, uri};
use crate::verdict::Judgement;
use crate::wire::trace::Place;

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::server("sep-2640-entry-uri-names-skillmd", names_skillmd),
    Check::server("sep-2640-skill-uri-scheme", scheme),
    Check::server("sep-2640-uri-valid", valid),
    Check::server("sep-2640-authority-reg-name", reg_name).after(&["sep-2640-uri-valid"]),
    Check::server("sep-2640-prefix-segments-valid", prefix_segments),
    Check::server("sep-2640-final-segment-equals-name", final_segment).after(&[
        "sep-2640-entry-uri-names-skillmd",
        "sep-2640-skillmd-frontmatter",
    ]),
    Check::server("sep-2640-entry-uri-matches-frontmatter-name", entry_name).after(&[
        "sep-2640-entry-uri-names-skillmd",
        "sep-2640-final-segment-equals-name",
    ]),
    Check::server("sep-2640-name-naming-rules", naming_rules),
    Check::server("sep-2640-name-ascii", ascii).after(&["sep-2640-name-naming-rules"]),
    Check::server("sep-2640-resources-uri-within-skill", within),
    Check::server("sep-2640-resources-nested-completeness", nested_complete),
    Check::server("sep-2640-nested-digests-equal", digests_equal),
    Check::server("sep-2640-uri-one-spelling", one_spelling)
        .after(&["sep-2640-resources-uri-within-skill"]),
];

/// Judges every entry that has a URI.
fn each_entry(
    trace: &Evidence<'_>,
    judge: impl Fn(&Entry<'_>, &str) -> Result<bool, (String, String)>,
) -> Judgement {
    let mut judgement = Judgement::new();
    for entry in trace.entries() {
        let Some(uri) = entry.uri() else { continue };
        match judge(entry, uri) {
            Ok(true) => judgement.holds(),
            Ok(false) => {}
            Err((expected, actual)) => {
                judgement.violated(entry.at.child(&[&"uri"]), uri, expected, actual);
            }
        }
    }
    judgement
}

/// The URI ends in `/SKILL.md`, in that spelling.
fn names_skillmd(trace: &Evidence<'_>) -> Judgement {
    each_entry(trace, |_, uri| match uri::skill_root(uri) {
        Some(_) => Ok(true),
        None => Err(("a URI that ends in /SKILL.md".into(), uri.into())),
    })
}

/// Skills stand under `skill://`.
fn scheme(trace: &Evidence<'_>) -> Judgement {
    each_entry(trace, |_, uri| {
        let scheme = uri.split_once(':').map_or("", |(scheme, _)| scheme);
        if scheme.eq_ignore_ascii_case("skill") {
            Ok(true)
        } else {
            Err(("the skill:// scheme".into(), format!("{scheme}://")))
        }
    })
}

/// Entry and manifest URIs are valid. What is wrong with prefix segments only is for
/// `sep-2640-prefix-segments-valid` and `sep-2640-authority-reg-name`.
fn valid(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for entry in trace.entries() {
        let root = entry.uri().and_then(uri::skill_root);
        let items = entry.items();
        let own = entry.uri().map(|uri| (uri, None));
        let named = items
            .iter()
            .filter_map(|item| Some((item.uri()?, Some(item))));
        for (uri, item) in own.into_iter().chain(named) {
            let shared = root.filter(|root| is_below(root, uri));
            let fault = match shared {
                Some(root) => uri::faults(uri, root).name_on,
                None => uri::check(uri).err(),
            };
            match fault {
                None => judgement.holds(),
                Some(why) => {
                    let at = item.map_or_else(|| entry.at.clone(), Item::at);
                    let at = at.child(&[&"uri"]);
                    judgement.violated(at, uri, "a valid URI (RFC 3986)", why);
                }
            }
        }
    }
    judgement
}

fn is_below(root: &str, uri: &str) -> bool {
    uri.strip_prefix(root)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// The first segment is a reg-name.
fn reg_name(trace: &Evidence<'_>) -> Judgement {
    // Under a scheme of its own a server has the authorities of that scheme.
    let expected = "a first segment that is a reg-name (RFC 3986)";
    part(trace, "skill://", expected, |faults| faults.first)
}

/// Prefix segments after the first are valid path segments.
fn prefix_segments(trace: &Evidence<'_>) -> Judgement {
    let expected = "prefix segments that are valid path segments (RFC 3986)";
    part(trace, "", expected, |faults| faults.prefix)
}

fn part(
    trace: &Evidence<'_>,
    scheme: &str,
    expected: &str,
    part: fn(uri::Faults) -> Option<String>,
) -> Judgement {
    each_entry(trace, |_, uri| {
        let Some(root) = uri::skill_root(uri).filter(|_| uri.starts_with(scheme)) else {
            return Ok(false);
        };
        match part(uri::faults(uri, root)) {
            None => Ok(true),
            Some(why) => Err((expected.into(), why)),
        }
    })
}

/// The last segment equals the name inside the file.
fn final_segment(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for skillmd in trace.skillmds() {
        let Some(segment) = uri::skill_name(skillmd.uri) else {
            continue;
        };
        let Ok(document) = &skillmd.frontmatter else {
            continue;
        };
        match document.get("name").and_then(|name| name.as_str()) {
            None => {}
            Some(name) if name == segment => judgement.holds(),
            Some(name) => judgement.violated(
                skillmd.at.clone(),
                skillmd.uri,
                format!("`name: {segment}` in SKILL.md, as in its URI"),
                format!("name: {name}"),
            ),
        }
    }
    judgement
}

/// The last segment equals the name in the entry.
fn entry_name(trace: &Evidence<'_>) -> Judgement {
    each_entry(trace, |entry, uri| {
        let name = entry
            .frontmatter()
            .and_then(|frontmatter| frontmatter.get("name"))
            .and_then(|name| name.as_str());
        let (Some(segment), Some(name)) = (uri::skill_name(uri), name) else {
            return Ok(false);
        };
        if segment == name {
            Ok(true)
        } else {
            Err((
                format!("frontmatter.name {segment}, the last segment of the skill path"),
                name.into(),
            ))
        }
    })
}

/// The name in the URI follows the naming rules.
fn naming_rules(trace: &Evidence<'_>) -> Judgement {
    each_entry(trace, |_, uri| {
        let Some(name) = uri::skill_name(uri) else {
            return Ok(false);
        };
        match format::name_faults(&name) {
            faults if faults.is_empty() => Ok(true),
            faults => Err((
                "1 to 64 lower-case letters, digits and single hyphens inside".into(),
                format!("{name}: {}", faults.join(", ")),
            )),
        }
    })
}

/// The letters of the name are ASCII.
fn ascii(trace: &Evidence<'_>) -> Judgement {
    each_entry(trace, |_, uri| {
        let Some(name) = uri::skill_name(uri) else {
            return Ok(false);
        };
        if name.is_ascii() {
            Ok(true)
        } else {
            Err(("letters a to z".into(), name))
        }
    })
}

/// Every item lies inside the skill.
fn within(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for entry in trace.entries() {
        let Some(own) = entry.uri() else { continue };
        let Some(root) = own.rsplit_once('/').map(|(root, _)| root) else {
            continue;
        };
        for item in entry.items() {
            let Some(uri) = item.uri() else { continue };
            // What is no URI at all is judged by `sep-2640-uri-valid`; containment needs one.
            if uri == own || uri::check(uri).is_err() && uri.starts_with(&format!("{root}/")) {
                judgement.holds();
                continue;
            }
            match uri::within(root, uri) {
                Ok(()) => judgement.holds(),
                Err(why) => judgement.violated(
                    item.at().child(&[&"uri"]),
                    uri,
                    format!("a file inside {root}"),
                    format!("{uri}: {why}"),
                ),
            }
        }
    }
    judgement
}

/// The files of a listed nested skill stand in the enclosing manifest as well.
fn nested_complete(trace: &Evidence<'_>) -> Judgement {
    trace.in_every_listing(|walk, judgement| {
        // Sorted by root, the skills inside a skill follow it.
        let mut by_root: BTreeMap<String, (&Entry<'_>, BTreeSet<&str>)> = BTreeMap::new();
        for entry in walk.iter().filter(|entry| !entry.items().is_empty()) {
            let Some(root) = entry.uri().and_then(uri::skill_root) else {
                continue;
            };
            let (_, files) = by_root
                .entry(format!("{root}/"))
                .or_insert_with(|| (entry, BTreeSet::new()));
            files.extend(entry.items().iter().filter_map(Item::uri));
        }
        for (root, (outer, listed)) in &by_root {
            let nested = by_root
                .range(root.clone()..)
                .skip(1)
                .take_while(|(inner, _)| inner.starts_with(root.as_str()));
            for uri in nested.flat_map(|(_, (_, files))| files) {
                if listed.contains(uri) || !uri.starts_with(root.as_str()) {
                    judgement.holds();
                } else {
                    judgement.violated(
                        outer.at.child(&[&"resources"]),
                        *uri,
                        format!(
                            "the file in the manifest of {} too, which encloses it",
                            outer.subject()
                        ),
                        "absent there",
                    );
                }
            }
        }
    })
}

/// A file that stands in several entries of one listing has one digest and one size.
fn digests_equal(trace: &Evidence<'_>) -> Judgement {
    trace.in_every_listing(|walk, judgement| {
        let subjects: Vec<String> = walk.iter().map(Entry::subject).collect();
        let mut promised: HashMap<&str, (&str, &Item<'_>)> = HashMap::new();
        let words = |item: &Item<'_>| {
            let digest = item.digest().unwrap_or_default();
            match item.size() {
                Some(size) => format!("{digest}, {size} bytes"),
                None => format!("{digest}, no size"),
            }
        };
        for (entry, subject) in walk.iter().zip(&subjects) {
            for item in entry.items() {
                let (Some(uri), Some(digest)) = (item.uri(), item.digest()) else {
                    continue;
                };
                match promised.get(uri) {
                    None => {
                        promised.insert(uri, (subject, item));
                    }
                    Some((holder, _)) if holder == subject => {}
                    Some((_, earlier))
                        if earlier.digest() == Some(digest) && earlier.size() == item.size() =>
                    {
                        judgement.holds();
                    }
                    Some((holder, earlier)) => judgement.violated(
                        item.at(),
                        uri,
                        format!("{}, as in the entry of {holder}", words(earlier)),
                        words(item),
                    ),
                }
            }
        }
    })
}

/// A file is written in one way wherever it is named: in entries, manifests, directory results and
/// `resources/list`.
fn one_spelling(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    let mut spellings = Spellings::default();
    // What was asked for in a spelling of ours may be answered in it.
    let own = trace.entries().iter().filter(|entry| {
        let name = entry.exchange.name.as_deref();
        !matches!(name, Some("get-named" | "root-skill"))
    });
    for entry in own {
        let items = entry.items();
        let files = items
            .iter()
            .filter_map(|item| Some((item.uri()?, Some(item))));
        for (uri, item) in entry.uri().map(|uri| (uri, None)).into_iter().chain(files) {
            let at = || item.map_or_else(|| entry.at.clone(), Item::at);
            spellings.compare(&mut judgement, uri, at);
        }
    }
    for method in ["resources/list", "resources/directory/read"] {
        for exchange in trace.calls(method) {
            let items = trace
                .result(exchange)
                .and_then(|result| result.get("resources"))
                .and_then(Value::as_array);
            for (index, item) in items.into_iter().flatten().enumerate() {
                let Some(uri) = item.get("uri").and_then(Value::as_str) else {
                    continue;
                };
                let at = || trace.place_at(exchange, &format!("/result/resources/{index}"));
                spellings.compare(&mut judgement, uri, at);
            }
        }
    }
    judgement
}

/// The spellings of URIs that were seen.
#[derive(Default)]
struct Spellings<'a> {
    seen: HashSet<&'a str>,
    first: HashMap<Cow<'a, str>, &'a str>,
}

impl<'a> Spellings<'a> {
    fn compare(&mut self, judgement: &mut Judgement, uri: &'a str, at: impl Fn() -> Place) {
        if !self.seen.insert(uri) {
            judgement.holds();
            return;
        }
        // What is no URI at all is judged by `sep-2640-uri-valid`.
        let Some(normal) = uri::normalize(uri) else {
            return;
        };
        match self.first.get(&normal) {
            None => {
                self.first.insert(normal, uri);
            }
            Some(first) => judgement.violated(at().child(&[&"uri"]), uri, *first, uri),
        }
    }
}
