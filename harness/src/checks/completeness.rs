//! Whether a manifest has all files of its skill, as far as the server shows them elsewhere.
//! Sections "Resources" and "Reading Directories".

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Bound;

use serde_json::Value;

use super::directory::{Child, METHOD, REGISTERED, SHAPE, subdir_mimetype};
use super::entries::Item;
use super::evidence::Evidence;
use super::{Check, Needs};
use crate::model::uri;
use crate::verdict::Judgement;
use crate::wire::trace::Exchange;

/// The checks of this file.
pub const CHECKS: &[Check] = &[Check::server("sep-2640-resources-complete", complete)
    .needs(Needs::DirectoryRead)
    .after(&[
        REGISTERED,
        SHAPE,
        "sep-2640-directory-read-pagination",
        "sep-2640-directory-read-subdir-mimetype",
        "sep-2640-resources-uri-required",
        "sep-2640-resources-nested-completeness",
        "sep-2640-resources-uri-within-skill",
        "sep-2640-resources-lists-skillmd",
    ])];

/// Walking the directories of a skill shows the files of its manifest, no more and no fewer.
fn complete(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    let mut by_directory: HashMap<&str, Vec<&Child<'_>>> = HashMap::new();
    for child in trace.children() {
        by_directory.entry(child.directory).or_default().push(child);
    }
    // Directories whose children are known to the last one.
    let answered: HashSet<&str> = trace
        .walks(METHOD)
        .iter()
        .filter(|pages| {
            pages.iter().all(|page| has_children(trace, page))
                && !pages.iter().any(|page| was_cut(page))
        })
        .filter_map(|pages| pages[0].uri())
        .collect();
    let mistyped: BTreeSet<String> = subdir_mimetype(trace)
        .findings
        .into_iter()
        .map(|finding| finding.subject)
        .collect();
    let manifests = manifests(trace);
    for entry in trace.listing() {
        let Some(root) = entry.uri().and_then(uri::skill_root) else {
            continue;
        };
        let Some(manifest) = entry.uri().and_then(|uri| manifests.get(uri)) else {
            continue;
        };
        // A manifest with unnamed files, or directories that are shown as files, cannot be compared.
        let below = format!("{root}/");
        if entry.items().iter().any(|item| item.uri().is_none())
            || mistyped.iter().any(|uri| uri.starts_with(&below))
        {
            continue;
        }
        // Files that a walk from the root shows; `None` when a directory on the way did not answer.
        let mut files: BTreeMap<Cow<'_, str>, &Child<'_>> = BTreeMap::new();
        let mut open = vec![root];
        let mut whole = true;
        let mut seen = BTreeSet::new();
        while let Some(directory) = open.pop() {
            whole &= answered.contains(directory);
            if !seen.insert(directory) {
                continue;
            }
            for child in by_directory.get(directory).into_iter().flatten() {
                let Some(uri) = child.uri() else { continue };
                if child.is_directory() || uri.ends_with('/') || manifest.has_below(uri) {
                    open.push(uri);
                } else {
                    files.insert(normal(uri), child);
                }
            }
        }
        if !whole {
            continue;
        }
        for (uri, child) in &files {
            if manifest.any.contains(uri) {
                judgement.holds();
            } else {
                judgement.violated(
                    child.at(),
                    uri.as_ref(),
                    format!("only files of the manifest of {root}"),
                    "a file that the manifest lacks",
                );
            }
        }
        for item in entry.items() {
            let Some(uri) = item.uri() else { continue };
            let normal = normal(uri);
            if manifest.every.contains(&normal)
                && !files.contains_key(&normal)
                && uri::within(root, uri).is_ok()
            {
                judgement.violated(
                    item.at(),
                    uri,
                    format!("the file shown by a walk over the directories of {root}"),
                    "not shown",
                );
            }
        }
    }
    judgement
}

fn has_children(trace: &Evidence<'_>, page: &Exchange) -> bool {
    let items = trace
        .result(page)
        .and_then(|result| result.get("resources"))
        .and_then(Value::as_array);
    items.is_some_and(|items| {
        items
            .iter()
            .all(|item| item.get("uri").is_some_and(Value::is_string))
    })
}

fn was_cut(page: &Exchange) -> bool {
    page.page.is_some_and(|page| page.cut)
}

/// What the entries of one skill list. A skill may gain or lose files while it is looked at.
struct Manifest<'a> {
    /// The items of the first entry.
    first: &'a [Item<'a>],
    /// Files that some entry lists.
    any: BTreeSet<Cow<'a, str>>,
    /// Files that every entry lists.
    every: BTreeSet<Cow<'a, str>>,
}

impl Manifest<'_> {
    /// Whether it has files below a URI, which is a directory then whatever else it is.
    fn has_below(&self, uri: &str) -> bool {
        let below = format!("{}/", normal(uri));
        let from = (Bound::Included(below.as_str()), Bound::Unbounded);
        let mut after = self.any.range::<str, _>(from);
        after.next().is_some_and(|file| file.starts_with(&below))
    }
}

/// The manifests of all skills that have one, by the skill's URI.
fn manifests<'a>(trace: &'a Evidence<'_>) -> HashMap<&'a str, Manifest<'a>> {
    let mut manifests: HashMap<&str, Manifest<'_>> = HashMap::new();
    for entry in trace.entries() {
        let Some(uri) = entry.uri() else { continue };
        let files = || named(entry.items()).map(normal);
        match manifests.get_mut(uri) {
            None if !entry.value.get("resources").is_some_and(Value::is_array) => {}
            None => {
                let any: BTreeSet<Cow<'_, str>> = files().collect();
                let every = any.clone();
                let first = entry.items();
                manifests.insert(uri, Manifest { first, any, every });
            }
            // Nearly always the same files again.
            Some(manifest) if named(manifest.first).eq(named(entry.items())) => {}
            Some(manifest) => {
                let files: BTreeSet<Cow<'_, str>> = files().collect();
                manifest.every.retain(|file| files.contains(file));
                manifest.any.extend(files);
            }
        }
    }
    manifests
}

fn named<'a>(items: &'a [Item<'a>]) -> impl Iterator<Item = &'a str> {
    items.iter().filter_map(Item::uri)
}

fn normal(uri: &str) -> Cow<'_, str> {
    uri::normalize(uri).unwrap_or(Cow::Borrowed(uri))
}
