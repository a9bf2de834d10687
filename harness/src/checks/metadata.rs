//! Metadata of skill resources, on whatever surface shows it: `resources/list`, directory reads,
//! read results. Section "Resource Metadata".

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;

use super::Check;
use super::entries::{Entry, describe};
use super::evidence::Evidence;
use crate::model::uri;
use crate::verdict::Judgement;
use crate::wire::trace::{Exchange, Place};

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::server("sep-2640-skillmd-mimetype", mimetype).after(&[SCHEMA]),
    Check::server("sep-2640-skillmd-metadata-name", |trace| {
        from_frontmatter(trace, "name")
    })
    .after(&[SCHEMA, "sep-2640-directory-read-child-metadata"]),
    Check::server("sep-2640-skillmd-metadata-description", |trace| {
        from_frontmatter(trace, "description")
    })
    .after(&[SCHEMA]),
    Check::server("sep-2640-meta-prefix", meta_prefix),
    Check::server("sep-2640-meta-prefix-reserved", reserved_prefix),
    Check::server("sep-2640-metadata-size-agrees", size_agrees)
        .after(&["sep-2640-resources-size-accurate", SCHEMA]),
    Check::server("sep-2640-resources-list-agrees", list_agrees)
        .after(&["sep-2640-resources-complete"]),
];

/// Judges the types of the members that are compared here.
const SCHEMA: &str = "sep-2640-schema-conforms";
const RESERVED: &str = "io.modelcontextprotocol.skills/";

/// A resource as one surface shows it.
pub(super) struct Shown<'a> {
    uri: &'a str,
    value: &'a Value,
    exchange: &'a Exchange,
    index: usize,
    /// Whether the surface shows whole resources, not only contents.
    resource: bool,
}

impl Shown<'_> {
    fn at(&self, trace: &Evidence<'_>) -> Place {
        let member = if self.resource {
            "resources"
        } else {
            "contents"
        };
        trace.place_at(self.exchange, &format!("/result/{member}/{}", self.index))
    }
}

/// Works out [`Evidence::shown`].
pub(super) fn shown<'a>(trace: &Evidence<'a>) -> Vec<Shown<'a>> {
    let mut shown = Vec::new();
    let mut take = |exchange: &'a Exchange, member: &str, resource: bool| {
        let items = trace
            .result(exchange)
            .and_then(|result| result.get(member))
            .and_then(Value::as_array);
        for (index, value) in items.into_iter().flatten().enumerate() {
            if let Some(uri) = value.get("uri").and_then(Value::as_str) {
                shown.push(Shown {
                    uri,
                    value,
                    exchange,
                    index,
                    resource,
                });
            }
        }
    };
    for method in ["resources/list", "resources/directory/read"] {
        for exchange in trace.calls(method) {
            take(exchange, "resources", true);
        }
    }
    for exchange in trace.calls("resources/read") {
        take(exchange, "contents", false);
    }
    shown
}

/// Entries by URI; the first of each.
fn by_uri<'a>(trace: &'a Evidence<'_>) -> BTreeMap<&'a str, &'a Entry<'a>> {
    let mut entries = BTreeMap::new();
    for entry in trace.entries() {
        if let Some(uri) = entry.uri() {
            entries.entry(uri).or_insert(entry);
        }
    }
    entries
}

/// SKILL.md is Markdown.
fn mimetype(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    let surfaces = by_surface(trace.shown(), |_| true);
    for (uri, _) in by_uri(trace) {
        let Some(surfaces) = surfaces.get(uri) else {
            continue;
        };
        let is_markdown = |mime: &str| {
            let bare = mime.split(';').next().unwrap_or_default().trim();
            bare.eq_ignore_ascii_case("text/markdown")
        };
        let says = |surface: &&Shown<'_>| {
            let mime = surface.value.get("mimeType").and_then(Value::as_str);
            mime.is_some_and(is_markdown)
        };
        if surfaces.iter().any(says) {
            judgement.holds();
        } else {
            judgement.violated(
                surfaces[0].at(trace).child(&[&"mimeType"]),
                uri,
                "mimeType text/markdown",
                describe(surfaces[0].value.get("mimeType")),
            );
        }
    }
    judgement
}

/// The surfaces that show each URI.
fn by_surface<'s, 'a>(
    shown: &'s [Shown<'a>],
    counts: fn(&Shown<'_>) -> bool,
) -> HashMap<&'a str, Vec<&'s Shown<'a>>> {
    let mut surfaces: HashMap<&str, Vec<&Shown<'_>>> = HashMap::new();
    for surface in shown.iter().filter(|surface| counts(surface)) {
        surfaces.entry(surface.uri).or_default().push(surface);
    }
    surfaces
}

/// Name and description of the resource are those of the frontmatter: of the file, or of the entry
/// where the two differ. One surface that says it right is enough.
fn from_frontmatter(trace: &Evidence<'_>, member: &str) -> Judgement {
    let mut judgement = Judgement::new();
    let surfaces = by_surface(trace.shown(), |surface| surface.resource);
    let mut in_files: HashMap<&str, Vec<&str>> = HashMap::new();
    for skillmd in trace.skillmds() {
        let text = skillmd
            .frontmatter
            .as_ref()
            .ok()
            .and_then(|document| document.get(member)?.text());
        in_files.entry(skillmd.uri).or_default().extend(text);
    }
    for (uri, entry) in by_uri(trace) {
        let Some(surfaces) = surfaces.get(uri) else {
            continue;
        };
        let in_entry = entry
            .frontmatter()
            .and_then(|frontmatter| frontmatter.get(member)?.as_str());
        let wanted: Vec<&str> = in_files
            .get(uri)
            .into_iter()
            .flatten()
            .copied()
            .chain(in_entry)
            .collect();
        let Some(first) = wanted.first() else {
            continue;
        };
        let says = |surface: &&&Shown<'_>| {
            surface
                .value
                .get(member)
                .and_then(Value::as_str)
                .is_some_and(|value| wanted.contains(&value))
        };
        match surfaces.iter().find(says) {
            Some(_) => judgement.holds(),
            None => judgement.violated(
                surfaces[0].at(trace).child(&[&member]),
                uri,
                format!("{member} {first}"),
                describe(surfaces[0].value.get(member)),
            ),
        }
    }
    judgement
}

/// Whether a URI is that of a file of a known skill.
fn is_skill_file(roots: &HashSet<&str>, uri: &str) -> bool {
    uri.match_indices('/')
        .any(|(at, _)| roots.contains(&uri[..at]))
}

fn roots<'a>(trace: &'a Evidence<'_>) -> HashSet<&'a str> {
    trace
        .entries()
        .iter()
        .filter_map(|entry| uri::skill_root(entry.uri()?))
        .collect()
}

/// Keys of `_meta` on skill resources have a prefix: that of the extension or another's own.
fn meta_prefix(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    let roots = roots(trace);
    for surface in trace.shown() {
        let Some(Value::Object(meta)) = surface.value.get("_meta") else {
            continue;
        };
        if !is_skill_file(&roots, surface.uri) {
            continue;
        }
        let bare: Vec<&str> = meta
            .keys()
            .map(String::as_str)
            // The base protocol allows the three of OpenTelemetry without a prefix.
            .filter(|key| {
                !key.contains('/') && !matches!(*key, "traceparent" | "tracestate" | "baggage")
            })
            .collect();
        if bare.is_empty() {
            judgement.holds();
        } else {
            judgement.violated(
                surface.at(trace).child(&[&"_meta"]),
                surface.uri,
                format!("keys under {RESERVED}"),
                bare.join(", "),
            );
        }
    }
    judgement
}

/// The extension's prefix stands on skill resources only.
fn reserved_prefix(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    let roots = roots(trace);
    // A listing may be partial: under a scheme that skills use, a resource may belong to one.
    let scheme = |uri: &str| {
        uri.split_once(':')
            .map(|(scheme, _)| scheme.to_ascii_lowercase())
    };
    let mut schemes: HashSet<String> = roots.iter().filter_map(|root| scheme(root)).collect();
    // It may be empty, too.
    schemes.insert("skill".to_owned());
    for surface in trace.shown() {
        let Some(Value::Object(meta)) = surface.value.get("_meta") else {
            continue;
        };
        let Some(key) = meta.keys().find(|key| key.starts_with(RESERVED)) else {
            continue;
        };
        let skill = is_skill_file(&roots, surface.uri)
            || scheme(surface.uri).is_none_or(|scheme| schemes.contains(&scheme));
        if skill {
            judgement.holds();
        } else {
            judgement.violated(
                surface.at(trace).child(&[&"_meta", key]),
                surface.uri,
                format!("{RESERVED} on skill resources only"),
                format!("{key} on a resource that belongs to no skill"),
            );
        }
    }
    judgement
}

/// Where a resource has a size, it is that of the manifest.
fn size_agrees(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    let mut sizes: HashMap<&str, Vec<u64>> = HashMap::new();
    for item in trace.entries().iter().flat_map(Entry::items) {
        if let (Some(uri), Some(size)) = (item.uri(), item.size()) {
            sizes.entry(uri).or_default().push(size);
        }
    }
    for surface in trace.shown().iter().filter(|surface| surface.resource) {
        let (Some(size), Some(promised)) = (surface.value.get("size"), sizes.get(surface.uri))
        else {
            continue;
        };
        if super::entries::size_of(size).is_some_and(|size| promised.contains(&size)) {
            judgement.holds();
        } else {
            judgement.violated(
                surface.at(trace).child(&[&"size"]),
                surface.uri,
                format!("size {}, as in the manifest", promised[0]),
                describe(Some(size)),
            );
        }
    }
    judgement
}

/// What `resources/list` shows inside a skill stands in its manifest.
fn list_agrees(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    let mut files: HashSet<Cow<'_, str>> = HashSet::new();
    let mut closed: HashSet<&str> = HashSet::new();
    for entry in trace.entries() {
        let Some(root) = entry.uri().and_then(uri::skill_root) else {
            continue;
        };
        if entry.value.get("resources").is_some_and(Value::is_array) {
            closed.insert(root);
        }
        files.extend(
            entry
                .items()
                .iter()
                .filter_map(|item| uri::normalize(item.uri()?)),
        );
    }
    for exchange in trace.calls("resources/list") {
        let items = trace
            .result(exchange)
            .and_then(|result| result.get("resources"))
            .and_then(Value::as_array);
        for (index, item) in items.into_iter().flatten().enumerate() {
            let Some(uri) = item.get("uri").and_then(Value::as_str) else {
                continue;
            };
            let directory = item.get("mimeType").and_then(Value::as_str) == Some("inode/directory");
            if directory || !is_skill_file(&closed, uri) {
                continue;
            }
            if uri::normalize(uri).is_none_or(|uri| files.contains(&uri)) {
                judgement.holds();
            } else {
                judgement.violated(
                    trace.place_at(exchange, &format!("/result/resources/{index}")),
                    uri,
                    "a file that the skill's manifest lists",
                    "listed inside the skill, absent from its manifest",
                );
            }
        }
    }
    judgement
}
