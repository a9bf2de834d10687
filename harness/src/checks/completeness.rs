//! Whether a manifest has all files of its skill, as far as the server shows them elsewhere.
//! Sections "Resources" and "Reading Directories".

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Bound;

use serde_json::Value;

use super::directory::{Child, METHOD, REGISTERED, SHAPE, subdir_mimetype};
use super::entries::Item;
use super::evidence::Evidence;
use super::{Check, Needs, retrieval};
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
    let mistyped: Vec<(&str, &Child<'_>)> = trace
        .children()
        .iter()
        .filter_map(|child| Some((child.uri()?, child)))
        .filter(|(uri, _)| mistyped.contains(*uri))
        .collect();
    let manifests = manifests(trace);
    for entry in trace.listing().iter().chain(retrieval::unlisted(trace)) {
        let Some(root) = entry.uri().and_then(uri::skill_root) else {
            continue;
        };
        let Some(manifest) = entry.uri().and_then(|uri| manifests.get(uri)) else {
            continue;
        };
        let walk = walk(root, manifest, &by_directory, &answered);
        // What is shown may be what the manifest leaves unnamed, or a directory that is announced
        // as others are that hold files.
        let unnamed = entry.items().iter().any(|item| item.uri().is_none());
        let below = format!("{root}/");
        let types: Vec<Option<&Value>> = mistyped
            .iter()
            .filter(|(uri, _)| uri.starts_with(&below))
            .map(|(_, child)| child.value.get("mimeType"))
            .collect();
        for (uri, child) in &walk.files {
            if manifest.any.contains(uri) {
                judgement.holds();
            } else if !unnamed && !types.contains(&child.value.get("mimeType")) {
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
                && !walk.files.contains_key(normal.as_ref())
                && !walk.hides(&normal)
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

/// What a walk over the directories of a skill shows.
#[derive(Default)]
struct Walk<'c, 'a> {
    files: BTreeMap<Cow<'c, str>, &'c Child<'a>>,
    /// Directories of which it is not known what they hold.
    dark: Vec<Cow<'c, str>>,
}

impl Walk<'_, '_> {
    /// Whether a file lies where the walk could not look.
    fn hides(&self, file: &str) -> bool {
        let inside = |directory: &Cow<'_, str>| {
            file.strip_prefix(directory.as_ref())
                .is_some_and(|rest| rest.starts_with('/'))
        };
        self.dark.iter().any(inside)
    }
}

fn walk<'c, 'a>(
    root: &'c str,
    manifest: &Manifest<'_>,
    by_directory: &HashMap<&str, Vec<&'c Child<'a>>>,
    answered: &HashSet<&str>,
) -> Walk<'c, 'a> {
    let mut walk = Walk::default();
    let mut open = vec![root];
    let mut seen = BTreeSet::new();
    while let Some(directory) = open.pop() {
        if !seen.insert(directory) {
            continue;
        }
        if !answered.contains(directory) {
            walk.dark.push(normal(directory.trim_end_matches('/')));
        }
        for child in by_directory.get(directory).into_iter().flatten() {
            let Some(uri) = child.uri() else { continue };
            if child.is_directory() || uri.ends_with('/') || manifest.has_below(uri) {
                open.push(uri);
            } else {
                walk.files.insert(normal(uri), child);
            }
        }
    }
    walk
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::sample;
    use super::*;
    use crate::wire::trace::Trace;

    /// A skill of three files in two directories.
    fn catalog() -> Trace {
        let uris = ["SKILL.md", "one/a.md", "two/b.md"];
        let items = uris.map(|file| json!({"uri": format!("skill://s/{file}")}));
        let entry = json!({"uri": "skill://s/SKILL.md", "resources": items});
        let mut trace = sample::trace();
        let listing = json!({"skills": [entry]});
        trace.answered(None, "skills/list", json!({}), &listing);
        trace
    }

    fn read(trace: &mut Trace, directory: &str, children: &[(&str, &str)]) {
        let children: Vec<Value> = children
            .iter()
            .map(|(name, mime)| json!({"uri": format!("{directory}/{name}"), "mimeType": mime}))
            .collect();
        let (params, result) = (json!({"uri": directory}), json!({"resources": children}));
        trace.answered(Some("directory"), METHOD, params, &result);
    }

    fn subjects(trace: &Trace) -> Vec<String> {
        let findings = complete(&Evidence::new(trace)).findings;
        findings.into_iter().map(|found| found.subject).collect()
    }

    const TOP: [(&str, &str); 3] = [
        ("SKILL.md", "text/markdown"),
        ("one", "inode/directory"),
        ("two", "inode/directory"),
    ];

    #[test]
    fn a_directory_that_is_refused_hides_only_what_lies_in_it() {
        let mut trace = catalog();
        read(&mut trace, "skill://s", &TOP);
        let refusal = json!({"error": {"code": -32602, "message": "no such directory"}});
        let params = json!({"uri": "skill://s/one"});
        trace.add(Some("directory"), METHOD, params, &refusal);
        read(&mut trace, "skill://s/two", &[("c.md", "text/markdown")]);
        let found = ["skill://s/two/c.md", "skill://s/two/b.md"];
        assert_eq!(subjects(&trace), found);
    }

    #[test]
    fn a_directory_of_another_type_hides_only_what_may_be_one() {
        let mut trace = catalog();
        let top = [
            ("SKILL.md", "text/markdown"),
            ("one", "x/dir"),
            ("two", "inode/directory"),
            ("empty", "x/dir"),
            ("more.md", "text/markdown"),
        ];
        read(&mut trace, "skill://s", &top);
        read(&mut trace, "skill://s/two", &[]);
        let found = ["skill://s/more.md", "skill://s/two/b.md"];
        assert_eq!(subjects(&trace), found);
    }

    #[test]
    fn a_root_that_is_refused_hides_all() {
        let trace = catalog();
        assert_eq!(subjects(&trace), Vec::<String>::new());
    }
}
