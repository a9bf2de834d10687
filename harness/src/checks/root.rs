//! What is served against the directory that it comes from, where `--root` names that. Sections
//! "Resource Mapping", "Skill Entries", "Reading Skill Content", "Reading Directories".

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde_json::Value;

use super::entries::Entry;
use super::evidence::{Evidence, Read};
use super::integrity::comparable;
use super::{Check, Needs};
use crate::model::{format, frontmatter, uri};
use crate::verdict::Judgement;
use crate::wire::content::digest_string;
use crate::wire::disk::{Disk, File, Found, relative};
use crate::wire::jsonrpc::METHOD_NOT_FOUND;
use crate::wire::mapping::{Mapping, encode};
use crate::wire::trace::{Exchange, Place};

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::server("sep-2640-root-skill-listed-or-served", |trace| {
        with_disk(trace, listed_or_served)
    })
    .needs(Needs::Root)
    .after(&["sep-2640-skills-get-implemented"]),
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

/// Most files and bytes of a skill that every host must take; a server may leave out what is
/// beyond.
const FILES_MAX: usize = 512;
const BYTES_MAX: u64 = 16_777_216;
/// Most findings of one kind about one skill.
const SHOWN: usize = 100;

fn with_disk(trace: &Evidence<'_>, judge: fn(&Evidence<'_>, &Disk) -> Judgement) -> Judgement {
    match &trace.disk {
        Some(disk) => judge(trace, disk),
        None => Judgement::new(),
    }
}

/// The directories of all skills that entries name.
fn mapping<'d>(trace: &Evidence<'_>, disk: &'d Disk) -> Mapping<'d> {
    Mapping::of(disk, trace.entries().iter().filter_map(Entry::uri))
}

/// Every skill of the directory is listed, or answered by `skills/get`.
fn listed_or_served(trace: &Evidence<'_>, disk: &Disk) -> Judgement {
    let mut judgement = Judgement::new();
    judgement.unexercised = Some("the directory has no skill that conforms".to_owned());
    let served = mapping(trace, disk);
    // The URIs were tried when only the first walk was known.
    let listed = Mapping::of(disk, trace.listing().iter().filter_map(Entry::uri));
    let misnamed: HashSet<&str> = trace
        .entries()
        .iter()
        .filter(|entry| !entry.uri().is_some_and(|uri| uri.ends_with("/SKILL.md")))
        .filter_map(|entry| entry.frontmatter()?.get("name")?.as_str())
        .collect();
    let tried: HashMap<&str, &Exchange> = trace
        .named("root-skill")
        .filter_map(|exchange| Some((exchange.uri()?, exchange)))
        .collect();
    for directory in disk.skills.keys().filter(|path| must_serve(disk, path)) {
        if served.has(directory) {
            judgement.holds();
            continue;
        }
        let uris = listed.candidates(directory);
        let answers: Vec<&Exchange> = uris
            .iter()
            .filter_map(|uri| tried.get(uri.as_str()).copied())
            .collect();
        let Some(first) = answers.first() else {
            continue;
        };
        let answered = |exchange: &&Exchange| {
            let entry = trace.got(exchange);
            entry.is_some_and(|entry| entry.uri().is_some() && entry.uri() == exchange.uri())
        };
        if answers.iter().any(answered) {
            judgement.holds();
            continue;
        }
        // An entry without a proper URI is judged for that.
        if misnamed.contains(disk.name_of(directory)) {
            continue;
        }
        let words = trace.outcome(first).words();
        let readable = uris
            .iter()
            .find(|uri| trace.reads().contains_key(uri.as_str()));
        let actual = match readable {
            Some(uri) => format!(
                "resources/read has its SKILL.md as {uri}, but skills/list lacks it, and skills/get answers with {words}"
            ),
            None => format!(
                "not listed; skills/get answers with {words}, for {}; resources/read has no SKILL.md there either",
                uris.join(" and for ")
            ),
        };
        judgement.violated(
            trace.place(first),
            format!("{directory}/SKILL.md in the served directory"),
            "the skill in skills/list, or answered by skills/get",
            actual,
        );
        let missing = |exchange: &&Exchange| trace.error_code(exchange) == Some(METHOD_NOT_FOUND);
        if answers.iter().all(missing) {
            judgement.because("skills/get");
        }
    }
    judgement
}

/// Whether a server that serves the directory has no reason to leave this skill out.
fn must_serve(disk: &Disk, directory: &str) -> bool {
    // A skill needs a directory of its own below the one that is served.
    if directory.is_empty() {
        return false;
    }
    let litter = |segment: &str| segment.starts_with('.') || segment == "node_modules";
    if directory.split('/').any(litter) {
        return false;
    }
    // A nested SKILL.md may be no more than a file of the enclosing skill.
    let mut above = directory
        .match_indices('/')
        .map(|(end, _)| &directory[..end]);
    if disk.skills.contains_key("") || above.any(|path| disk.skills.contains_key(path)) {
        return false;
    }
    let (count, bytes) = disk
        .below(directory)
        .fold((0, 0_u64), |(count, bytes), (_, file)| {
            (count + 1, bytes.saturating_add(file.len))
        });
    count <= FILES_MAX && bytes <= BYTES_MAX && conforms(disk, directory)
}

/// Whether YAML has what readers that are made for frontmatter lack, so that they turn the skill away
/// as a whole: an escaped end of line, an indentation indicator.
fn beyond_subsets(yaml: &str) -> bool {
    yaml.lines().map(str::trim_end).any(|line| {
        let header = line.trim_end_matches(['+', '-', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
        let indicated = line[header.len()..].contains(|c: char| c.is_ascii_digit());
        line.ends_with('\\') || indicated && header.ends_with(['|', '>'])
    })
}

/// Whether the SKILL.md of a directory keeps to every rule of the format, under each reading.
fn conforms(disk: &Disk, directory: &str) -> bool {
    let opening = &disk.skills[directory];
    let block = frontmatter::block(&opening.bytes, opening.complete).ok();
    let read = block.and_then(|yaml| Some((yaml, frontmatter::read(yaml).ok()?)));
    let Some((yaml, document)) = read else {
        return false;
    };
    let odd = document.aliases > 0
        || beyond_subsets(yaml)
        || !document.duplicate_keys.is_empty()
        || !document.merge_keys.is_empty()
        || !document.non_string_keys.is_empty()
        || !document.tags.is_empty()
        // A server may decline what it cannot render as JSON without loss.
        || !document.root.fits_json();
    let text = |key: &str, most: usize| match document.get(key) {
        None => true,
        Some(node) => node
            .as_str()
            .is_some_and(|text| !text.trim().is_empty() && text.chars().count() <= most),
    };
    let name = document.get("name").and_then(|name| name.as_str());
    let named = name.is_some_and(|name| {
        name == disk.name_of(directory)
            && format::name_is_ascii(name)
            && format::name_faults(name).is_empty()
    });
    let metadata = document.get("metadata").is_none_or(|metadata| {
        metadata
            .pairs()
            .is_some_and(|pairs| pairs.iter().all(|(_, value)| value.as_str().is_some()))
    });
    !odd && named
        && document.get("description").is_some()
        && text("description", format::DESCRIPTION_MAX)
        && text("compatibility", format::COMPATIBILITY_MAX)
        && text("license", usize::MAX)
        && text("allowed-tools", usize::MAX)
        && metadata
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
