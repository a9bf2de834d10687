//! What is served against the directory that it comes from, where `--root` names that. Sections
//! "Resource Mapping", "Reading Skill Content", "Reading Directories".

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::Value;

use super::entries::Entry;
use super::evidence::{Evidence, Read};
use super::integrity::comparable;
use super::{Check, Needs};
use crate::model::uri;
use crate::verdict::Judgement;
use crate::wire::content::digest_string;
use crate::wire::disk::{Disk, File, Found, relative};
use crate::wire::mapping::{Mapping, encode};
use crate::wire::trace::Place;

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    // Bytes that are not what the manifest says are one fault, not two.
    Check::server("sep-2640-root-bytes-equal", |trace| {
        with_disk(trace, bytes_equal)
    })
    .needs(Needs::Root)
    .after(&["sep-2640-resources-digest-accurate"]),
    Check::server("sep-2640-root-files-served", |trace| {
        with_disk(trace, files_served)
    })
    .needs(Needs::Root)
    .after(&[
        "sep-2640-resources-complete",
        "sep-2640-resources-lists-skillmd",
        "sep-2640-resources-nested-completeness",
        "sep-2640-skills-list-entry-atomic",
    ]),
    Check::server("sep-2640-root-no-escape", |trace| {
        with_disk(trace, no_escape)
    })
    .needs(Needs::Root),
];

/// Most findings of one kind about one skill.
const SHOWN: usize = 100;

pub(super) fn with_disk(
    trace: &Evidence<'_>,
    judge: fn(&Evidence<'_>, &Disk) -> Judgement,
) -> Judgement {
    match &trace.disk {
        Some(disk) => judge(trace, disk),
        None => Judgement::new(),
    }
}

/// The directories of all skills that entries name.
pub(super) fn mapping<'d>(trace: &Evidence<'_>, disk: &'d Disk) -> Mapping<'d> {
    Mapping::of(disk, trace.entries().iter().filter_map(Entry::uri))
}

/// The roots of skills whose content is made on demand: their files on disk are no more than
/// templates.
fn dynamic<'a>(trace: &'a Evidence<'_>) -> HashSet<&'a str> {
    trace
        .entries()
        .iter()
        .filter(|entry| entry.is_dynamic())
        .filter_map(|entry| entry.uri()?.strip_suffix("/SKILL.md"))
        .collect()
}

/// All reads of skill files whose paths are known, in order of URI.
fn reads<'e>(
    trace: &'e Evidence<'_>,
    mapping: &Mapping<'_>,
) -> Vec<(&'e str, String, &'e [Read<'e>])> {
    let dynamic = dynamic(trace);
    let mut reads: Vec<_> = trace
        .reads()
        .iter()
        .filter(|(uri, _)| {
            let roots = mapping.roots_of(uri);
            !roots.iter().any(|root| dynamic.contains(root))
        })
        .filter_map(|(uri, reads)| Some((*uri, mapping.path(uri)?, reads.as_slice())))
        .collect();
    reads.sort_unstable_by_key(|(uri, ..)| *uri);
    reads
}

/// Files come as they are on disk.
fn bytes_equal(trace: &Evidence<'_>, disk: &Disk) -> Judgement {
    let mut judgement = Judgement::new();
    for (uri, path, reads) in reads(trace, &mapping(trace, disk)) {
        let Found::File(file) = disk.find(&path) else {
            continue;
        };
        let Some(expected) = file.sha256 else {
            continue;
        };
        for read in reads {
            let Some((len, sha256)) = comparable(read) else {
                continue;
            };
            if sha256 == expected {
                judgement.holds();
                continue;
            }
            judgement.violated(
                read.at.clone(),
                uri,
                format!(
                    "the bytes of {path} on disk: {}, {} bytes",
                    digest_string(&expected),
                    file.len
                ),
                format!("{}, {len} bytes", digest_string(&sha256)),
            );
        }
    }
    judgement
}

/// The manifest of a skill names the files that are on disk, and no others.
fn files_served(trace: &Evidence<'_>, disk: &Disk) -> Judgement {
    let mut judgement = Judgement::new();
    let mapping = mapping(trace, disk);
    // A skill may gain a file between two answers: all of its entries together count.
    let mut manifests: BTreeMap<&str, Vec<&Entry<'_>>> = BTreeMap::new();
    for entry in trace.entries() {
        let manifest = entry.value.get("resources").is_some_and(Value::is_array);
        if let Some(uri) = entry.uri().filter(|_| manifest) {
            manifests.entry(uri).or_default().push(entry);
        }
    }
    for (uri, entries) in manifests {
        let (Some(root), Some(directory)) = (uri::skill_root(uri), mapping.directory(uri)) else {
            continue;
        };
        let mut named: BTreeSet<String> = BTreeSet::new();
        let mut whole = true;
        let mut extra = BTreeSet::new();
        for item in entries.iter().flat_map(|entry| entry.items()) {
            let file = item.uri().filter(|uri| uri::check(uri).is_ok());
            let path = file.and_then(|uri| mapping.path(uri));
            let (Some(file), Some(path)) = (file, path) else {
                // A file whose path is not known may be any of those on disk.
                whole = false;
                continue;
            };
            if disk.find(&path) == Found::Nothing
                && extra.len() < SHOWN
                && extra.insert(path.clone())
            {
                judgement.violated(
                    item.at(),
                    file,
                    format!("only files that the directory {directory} has on disk"),
                    "no such file",
                );
            }
            named.insert(path);
        }
        if !whole {
            continue;
        }
        let at = entries[0].at.child(&[&"resources"]);
        let (there, missing): (Vec<&str>, Vec<&str>) = disk
            .below(directory)
            .map(|(path, _)| path)
            .partition(|path| named.contains(*path));
        judgement.examined += there.len();
        for (index, path) in missing.iter().enumerate() {
            let more = missing.len() - index - 1;
            let actual = match (index + 1 == SHOWN, more) {
                (true, 1..) => format!("absent, like {more} more files"),
                _ => "absent".to_owned(),
            };
            judgement.violated(
                at.clone(),
                format!("{root}/{}", encode(relative(directory, path))),
                format!("{path}, which is on disk, in the manifest"),
                actual,
            );
            if index + 1 == SHOWN {
                break;
            }
        }
    }
    judgement
}

/// What lies behind links that lead outside does not come back.
fn no_escape(trace: &Evidence<'_>, disk: &Disk) -> Judgement {
    let mut judgement = Judgement::new();
    judgement.unexercised =
        Some("no skill that is served has a link that leads out of the directory".to_owned());
    let mapping = mapping(trace, disk);
    // Each URI behind a link, with the place and the digest of everything that came back for it.
    let mut seen: BTreeMap<&str, Vec<(Place, Option<String>)>> = BTreeMap::new();
    for entry in trace.entries() {
        for item in entry.items() {
            if let Some(uri) = item.uri() {
                let digest = item.digest().map(str::to_owned);
                seen.entry(uri).or_default().push((item.at(), digest));
            }
        }
    }
    for (uri, reads) in trace.reads() {
        let places = reads
            .iter()
            .filter_map(|read| Some((read.at.clone(), Some(read.content.digest()?))));
        seen.entry(uri).or_default().extend(places);
    }
    for exchange in trace.named("root-escape") {
        if let Some(uri) = exchange.uri() {
            seen.entry(uri).or_default();
        }
    }
    for (uri, answers) in seen {
        let Some(path) = mapping.path(uri) else {
            continue;
        };
        let Found::Outside { link, file } = disk.find(&path) else {
            continue;
        };
        // Something else may come in place of the link, the text of the link for instance.
        let from_outside = |digest: &Option<String>| match (file, digest) {
            (
                Some(File {
                    sha256: Some(there),
                    ..
                }),
                Some(digest),
            ) => *digest == digest_string(there),
            // Nothing of a directory can come as a file.
            _ => link != path,
        };
        match answers.iter().find(|(_, digest)| from_outside(digest)) {
            None => judgement.holds(),
            Some((at, _)) => judgement.violated(
                at.clone(),
                uri,
                format!("nothing, since {link} on disk is a link that leads out of the directory"),
                "the file that the link leads to",
            ),
        }
    }
    judgement
}
