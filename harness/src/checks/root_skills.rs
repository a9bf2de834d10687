//! The skills of the directory that a server serves, where `--root` names that. Section "Resource
//! Mapping".

use std::collections::{HashMap, HashSet};

use super::entries::Entry;
use super::evidence::Evidence;
use super::root::{mapping, with_disk};
use super::{Check, Needs};
use crate::model::{format, frontmatter};
use crate::verdict::Judgement;
use crate::wire::disk::Disk;
use crate::wire::jsonrpc::METHOD_NOT_FOUND;
use crate::wire::mapping::Mapping;
use crate::wire::trace::Exchange;

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::server("sep-2640-root-skill-listed-or-served", |trace| {
        with_disk(trace, |trace, disk| judge(trace, disk, true))
    })
    .needs(Needs::Root)
    .after(&["sep-2640-skills-get-implemented"]),
    Check::server("sep-2640-root-skills-served", |trace| {
        with_disk(trace, |trace, disk| judge(trace, disk, false))
    })
    .needs(Needs::Root)
    .after(&["sep-2640-skills-get-implemented"]),
];

/// Most files and bytes of a skill that every host must take; a server may leave out what is
/// beyond.
const FILES_MAX: usize = 512;
const BYTES_MAX: u64 = 16_777_216;
/// Every skill of the directory is listed, or answered by `skills/get`. Of those that are not, either
/// the ones count whose SKILL.md can be read, so that they are served, or the others.
fn judge(trace: &Evidence<'_>, disk: &Disk, readable: bool) -> Judgement {
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
        let read = uris
            .iter()
            .find(|uri| trace.reads().contains_key(uri.as_str()));
        let actual = match read {
            Some(uri) if readable => format!(
                "resources/read has its SKILL.md as {uri}, but skills/list lacks it, and skills/get answers with {words}"
            ),
            None if !readable => format!(
                "not listed; skills/get answers with {words}, for {}; resources/read has no SKILL.md there either",
                uris.join(" and for ")
            ),
            _ => continue,
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
