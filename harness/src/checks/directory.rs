//! `resources/directory/read`. Section "Reading Directories".

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::Value;

use super::entries::{Entry, Item, describe};
use super::evidence::Evidence;
use super::{Check, Needs, conversation, listing};
use crate::model::uri;
use crate::verdict::{Finding, Judgement};
use crate::wire::trace::{Exchange, Outcome, Place};

const fn check(id: &'static str, judge: fn(&Evidence<'_>) -> Judgement) -> Check {
    Check::server(id, judge).needs(Needs::DirectoryRead)
}

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    check(REGISTERED, registered),
    check(SHAPE, result_shape).after(&[REGISTERED]),
    check("sep-2640-directory-read-child-metadata", child_metadata).after(&[SHAPE]),
    check("sep-2640-directory-read-every-directory", every_directory).after(&[REGISTERED]),
    check("sep-2640-directory-read-empty", empty_directory).after(&[REGISTERED]),
    check("sep-2640-directory-read-direct-children", direct_children).after(&[SHAPE]),
    check(
        "sep-2640-directory-read-no-trailing-slash",
        no_trailing_slash,
    )
    .after(&[SHAPE]),
    check("sep-2640-directory-read-subdir-mimetype", subdir_mimetype).after(&[SHAPE]),
    check("sep-2640-directory-read-pagination", pagination).after(&[REGISTERED]),
    check("sep-2640-directory-read-unknown-cursor", unknown_cursor).after(PROBE_AFTER),
    check("sep-2640-directory-read-invalid-params", |trace| {
        refused(
            trace,
            &["directory-unknown", "directory-of-file", "directory-odd"],
        )
    })
    .after(PROBE_AFTER),
    check("sep-2640-directory-read-malformed-params", |trace| {
        refused(trace, &["directory-malformed"])
    })
    .after(PROBE_AFTER),
    check("sep-2640-directory-read-dot-segments", dot_segments).after(&[REGISTERED]),
];

pub(super) const METHOD: &str = "resources/directory/read";
pub(super) const REGISTERED: &str = "sep-2640-directory-read-method-registered";
pub(super) const SHAPE: &str = "sep-2640-directory-read-result-resources-shape";
const PROBE_AFTER: &[&str] = &[REGISTERED, "sep-2640-error-wellformed"];
/// Names of the exchanges that read directories which must be there.
const WALKED: [&str; 2] = ["directory", "directory-parent"];
/// Names of probes that may be answered after all: another spelling of a directory, or a cursor that
/// may be a good one by chance.
const ANSWERABLE: [&str; 2] = ["directory-odd", "directory-damaged-cursor"];
const DIRECTORY_TYPE: &str = "inode/directory";

pub(super) fn walked<'a>(trace: &Evidence<'a>) -> impl Iterator<Item = &'a Exchange> {
    trace.calls(METHOD).filter(|exchange| {
        exchange
            .name
            .as_deref()
            .is_some_and(|name| WALKED.contains(&name))
    })
}

fn is_registered(trace: &Evidence<'_>) -> bool {
    conversation::is_known(trace, walked(trace))
}

/// The declared method is there.
fn registered(trace: &Evidence<'_>) -> Judgement {
    let promise = "the method, as directoryRead: true promises";
    conversation::method_known(trace, walked(trace), promise)
}

/// `result.resources` is an array of objects.
fn result_shape(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for exchange in walked(trace) {
        let Some(result) = trace.result(exchange) else {
            continue;
        };
        match result.get("resources") {
            Some(Value::Array(items)) => match items.iter().position(|item| !item.is_object()) {
                None => judgement.holds(),
                Some(index) => judgement.violated(
                    trace.place_at(exchange, &format!("/result/resources/{index}")),
                    METHOD,
                    "resource objects",
                    describe(items.get(index)),
                ),
            },
            other => judgement.violated(
                trace.place_at(exchange, "/result"),
                METHOD,
                "a `resources` array",
                format!("`resources` is {}", describe(other)),
            ),
        }
    }
    judgement
}

/// A child as a directory read shows it.
pub(super) struct Child<'a> {
    /// The child; an object.
    pub value: &'a Value,
    /// The directory that was read.
    pub directory: &'a str,
    /// Looked up once, as the type: nearly every check asks for them.
    uri: Option<&'a str>,
    is_directory: bool,
    frame: usize,
    index: usize,
}

impl<'a> Child<'a> {
    /// `uri`, when it is a string.
    pub fn uri(&self) -> Option<&'a str> {
        self.uri
    }

    pub fn is_directory(&self) -> bool {
        self.is_directory
    }

    /// Where it stands; written out only when it is asked for, since there are many.
    pub fn at(&self) -> Place {
        Place {
            frame: self.frame,
            pointer: format!("/result/resources/{}", self.index),
        }
    }
}

/// Works out [`Evidence::children`].
pub(super) fn children<'a>(trace: &Evidence<'a>) -> Vec<Child<'a>> {
    let mut children = Vec::new();
    for exchange in walked(trace) {
        let items = trace
            .trace()
            .result(exchange)
            .and_then(|result| result.get("resources"))
            .and_then(Value::as_array);
        let Some(directory) = exchange.uri() else {
            continue;
        };
        for (index, value) in items
            .into_iter()
            .flatten()
            .enumerate()
            .filter(|(_, value)| value.is_object())
        {
            children.push(Child {
                value,
                directory,
                uri: value.get("uri").and_then(Value::as_str),
                is_directory: value.get("mimeType").and_then(Value::as_str) == Some(DIRECTORY_TYPE),
                frame: trace.place(exchange).frame,
                index,
            });
        }
    }
    children
}

/// Each child has a URI and a name.
fn child_metadata(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for child in trace.children() {
        let missing: Vec<&str> = ["uri", "name"]
            .into_iter()
            .filter(|member| !child.value.get(*member).is_some_and(Value::is_string))
            .collect();
        if missing.is_empty() {
            judgement.holds();
        } else {
            judgement.violated(
                child.at(),
                child.uri().unwrap_or(child.directory),
                "a resource with string `uri` and `name`",
                format!("{} absent or no string", missing.join(" and ")),
            );
        }
    }
    judgement
}

/// Every directory that a manifest implies is answered.
fn every_directory(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    if !is_registered(trace) {
        return judgement;
    }
    let implied = trace.implied_last();
    for exchange in walked(trace).filter(|exchange| exchange.cursor().is_none()) {
        let Some(directory) = exchange
            .uri()
            .filter(|directory| implied.contains(*directory))
        else {
            continue;
        };
        match trace.outcome(exchange) {
            Outcome::Result(_) => judgement.holds(),
            other => judgement.violated(
                trace.place(exchange),
                directory,
                "the children of the directory, since a skill has files in it",
                other.words(),
            ),
        }
    }
    judgement
}

/// A directory that its parent shows is answered, also when no manifest has a file in it.
fn empty_directory(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    let ever_implied = trace.implied();
    let shown: HashSet<&str> = trace
        .children()
        .iter()
        .filter(|child| child.is_directory())
        .filter_map(Child::uri)
        // A directory that any manifest had files in may have lost them, and itself, meanwhile.
        .filter(|uri| !ever_implied.contains(*uri) && !uri.ends_with('/'))
        .collect();
    judgement.unexercised = Some("no directory without files was seen".to_owned());
    for exchange in walked(trace).filter(|exchange| exchange.cursor().is_none()) {
        let Some(directory) = exchange.uri().filter(|directory| shown.contains(directory)) else {
            continue;
        };
        match trace.outcome(exchange) {
            Outcome::Result(_) => judgement.holds(),
            other => judgement.violated(
                trace.place(exchange),
                directory,
                "an answer, empty if need be, since the parent shows the directory",
                other.words(),
            ),
        }
    }
    judgement
}

/// A child's URI is that of the directory and one segment more.
fn direct_children(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for child in trace.children() {
        let Some(uri) = child.uri() else { continue };
        if uri::child_segment(child.directory, uri).is_some() {
            judgement.holds();
        } else {
            judgement.violated(
                child.at().child(&[&"uri"]),
                uri,
                format!("{} and one segment", child.directory),
                uri,
            );
        }
    }
    judgement
}

/// Directories are written without a slash at the end.
fn no_trailing_slash(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for child in trace.children() {
        let Some(uri) = child.uri() else { continue };
        if uri.ends_with('/') {
            judgement.violated(child.at().child(&[&"uri"]), uri, "no trailing slash", uri);
        } else {
            judgement.holds();
        }
    }
    judgement
}

/// A child that holds files is shown as a directory, one that is a file is not.
pub(super) fn subdir_mimetype(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    let implied = trace.implied_last();
    for child in trace.children() {
        let Some(uri) = child.uri() else { continue };
        if !implied.contains(uri.trim_end_matches('/')) {
            continue;
        }
        if child.is_directory() {
            judgement.holds();
        } else {
            judgement.violated(
                child.at().child(&[&"mimeType"]),
                uri,
                format!("mimeType {DIRECTORY_TYPE}"),
                describe(child.value.get("mimeType")),
            );
        }
    }
    judgement
}

/// Pages of a directory lead on and come to an end, and show each child once.
fn pagination(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = listing::walk_ends(trace, METHOD);
    if !judgement.findings.is_empty() {
        return judgement;
    }
    let mut walks: BTreeMap<&str, Vec<Judgement>> = BTreeMap::new();
    for pages in trace.walks(METHOD) {
        let Some(directory) = pages[0].uri() else {
            continue;
        };
        walks
            .entry(directory)
            .or_default()
            .push(repeated(trace, directory, pages));
    }
    // A directory that changes between two pages may show a child twice, once.
    for (_, mut of_directory) in walks {
        let mut first = of_directory.remove(0);
        let again = |finding: &Finding| {
            let same = |later: &Judgement| {
                later
                    .findings
                    .iter()
                    .any(|other| other.actual == finding.actual)
            };
            of_directory.iter().all(same)
        };
        first.findings.retain(again);
        judgement.findings.append(&mut first.findings);
    }
    judgement
}

/// Children that a walk over one directory shows twice.
fn repeated(trace: &Evidence<'_>, directory: &str, pages: &[&Exchange]) -> Judgement {
    let mut judgement = Judgement::new();
    let mut shown = HashSet::new();
    for page in pages {
        let items = trace
            .result(page)
            .and_then(|result| result.get("resources"))
            .and_then(Value::as_array);
        for (index, item) in items.into_iter().flatten().enumerate() {
            let Some(uri) = item.get("uri").and_then(Value::as_str) else {
                continue;
            };
            if !shown.insert(uri) {
                judgement.violated(
                    trace.place_at(page, &format!("/result/resources/{index}")),
                    format!("{METHOD} {directory}"),
                    "each child on one page",
                    format!("{uri} again"),
                );
            }
        }
    }
    judgement
}

/// A cursor that the server never gave is refused.
fn unknown_cursor(trace: &Evidence<'_>) -> Judgement {
    refused(
        trace,
        &["directory-unknown-cursor", "directory-damaged-cursor"],
    )
}

/// Climbing out of a skill shows no directory: what comes back lies elsewhere than what was asked for.
fn dot_segments(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    if !is_registered(trace) {
        return judgement;
    }
    for exchange in trace.named("directory-dot-segments") {
        if trace.result(exchange).is_none() {
            judgement.holds();
        } else {
            judgement.violated(
                trace.place_at(exchange, "/result/resources"),
                exchange.subject(),
                "error -32602, since no directory has this URI",
                "a listing",
            );
        }
    }
    judgement
}

/// Probes of these names are refused with -32602.
fn refused(trace: &Evidence<'_>, names: &[&str]) -> Judgement {
    let mut judgement = Judgement::new();
    if !is_registered(trace) {
        return judgement;
    }
    let files = LazyCell::new(|| -> BTreeSet<&str> {
        let items = trace.entries().iter().flat_map(Entry::items);
        items.filter_map(Item::uri).collect()
    });
    // With files below it, a URI is a directory whatever else it is.
    let is_directory = |uri: &str| {
        let below = format!("{uri}/");
        files
            .range(below.as_str()..)
            .next()
            .is_some_and(|file| file.starts_with(&below))
    };
    for exchange in names.iter().flat_map(|name| trace.named(name)) {
        if exchange.cursor().is_none() && exchange.uri().is_some_and(is_directory) {
            continue;
        }
        let answerable = exchange
            .name
            .as_deref()
            .is_some_and(|name| ANSWERABLE.contains(&name));
        let answered = answerable && trace.result(exchange).is_some();
        if answered || conversation::refuses_params(trace, exchange) {
            judgement.holds();
        } else {
            judgement.violated(
                trace.place(exchange),
                exchange.subject(),
                "error -32602",
                trace.outcome(exchange).words(),
            );
        }
    }
    judgement
}
