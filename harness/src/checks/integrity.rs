//! What entries promise against what is read. Sections "Integrity and Verification", "Frontmatter".

use std::collections::HashMap;

use serde_json::Value;

use super::Check;
use super::entries::Entry;
use super::evidence::{Evidence, Read};
use crate::model::frontmatter::{self, Difference, Kind};
use crate::verdict::Judgement;
use crate::wire::content::{Body, digest_string};
use crate::wire::trace::Place;

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::server(DIGEST, digest_accurate),
    // Bytes that are wrong altogether are one fault, not two.
    Check::server("sep-2640-resources-size-accurate", size_accurate).after(&[DIGEST]),
    Check::server(
        "sep-2640-entry-frontmatter-identical",
        frontmatter_identical,
    )
    .after(AFTER),
    Check::server(
        "sep-2640-entry-frontmatter-one-reading",
        frontmatter_one_reading,
    )
    .after(AFTER),
];

const DIGEST: &str = "sep-2640-resources-digest-accurate";
const AFTER: &[&str] = &[
    "sep-2640-skillmd-frontmatter",
    "sep-2640-format-name-required",
    "sep-2640-format-description-required",
    "sep-2640-entry-uri-matches-frontmatter-name",
    "sep-2640-entry-frontmatter-name",
    "sep-2640-entry-frontmatter-description",
];

/// Everything that entries promise of a file: an entry of a catalog that moves may be older than
/// the file, so a file must agree with one of the promises, not with all.
struct Promises<'a> {
    digests: Vec<&'a str>,
    sizes: Vec<u64>,
}

/// The promises of each file, in the order in which the files are first named.
fn promises<'a>(trace: &'a Evidence<'_>) -> Vec<(&'a str, Promises<'a>)> {
    let mut promises: Vec<(&str, Promises<'_>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for item in trace.entries().iter().flat_map(Entry::items) {
        let Some(uri) = item.uri() else { continue };
        let place = *places.entry(uri).or_insert_with(|| {
            let nothing = Promises {
                digests: Vec::new(),
                sizes: Vec::new(),
            };
            promises.push((uri, nothing));
            promises.len() - 1
        });
        let promise = &mut promises[place].1;
        if let Some(digest) = item.digest()
            && !promise.digests.contains(&digest)
        {
            promise.digests.push(digest);
        }
        if let Some(size) = item.size()
            && !promise.sizes.contains(&size)
        {
            promise.sizes.push(size);
        }
    }
    promises
}

/// The bytes that can be compared: text in a charset of its own is left alone, since the file's
/// bytes are then not the text's UTF-8.
pub(super) fn comparable(read: &Read<'_>) -> Option<(u64, [u8; 32])> {
    let Body::Bytes {
        len, sha256, blob, ..
    } = read.content.body
    else {
        return None;
    };
    let mime = read.value.get("mimeType").and_then(Value::as_str);
    let mime = mime.unwrap_or_default().to_ascii_lowercase();
    let charset = mime
        .split(';')
        .find_map(|parameter| parameter.trim().strip_prefix("charset="));
    // Only a charset that a file may really be in lets its bytes differ from the text's UTF-8.
    let foreign = |name: &str| {
        let name = name.trim().trim_matches('"');
        name.starts_with("iso-8859-")
            || name.starts_with("windows-")
            || name.starts_with("utf-16")
            || matches!(
                name,
                "latin1"
                    | "shift_jis"
                    | "euc-jp"
                    | "euc-kr"
                    | "gbk"
                    | "gb2312"
                    | "gb18030"
                    | "big5"
                    | "koi8-r"
            )
    };
    let utf8 = !charset.is_some_and(foreign);
    (blob || utf8).then_some((len, sha256))
}

/// The digest is that of the bytes.
fn digest_accurate(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for (uri, promise) in promises(trace) {
        if promise.digests.is_empty() {
            continue;
        }
        each_read(trace, uri, &mut judgement, |_, sha256| {
            let actual = digest_string(&sha256);
            (!promise.digests.contains(&actual.as_str()))
                .then(|| (promise.digests.join(" or "), actual))
        });
    }
    judgement
}

/// The size is that of the bytes.
fn size_accurate(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for (uri, promise) in promises(trace) {
        if promise.sizes.is_empty() {
            continue;
        }
        each_read(trace, uri, &mut judgement, |len, _| {
            let sizes: Vec<String> = promise
                .sizes
                .iter()
                .map(|size| format!("{size} bytes"))
                .collect();
            (!promise.sizes.contains(&len)).then(|| (sizes.join(" or "), format!("{len} bytes")))
        });
    }
    judgement
}

fn each_read(
    trace: &Evidence<'_>,
    uri: &str,
    judgement: &mut Judgement,
    differs: impl Fn(u64, [u8; 32]) -> Option<(String, String)>,
) {
    for read in trace.reads().get(uri).into_iter().flatten() {
        let Some((len, sha256)) = comparable(read) else {
            continue;
        };
        match differs(len, sha256) {
            None => judgement.holds(),
            Some((expected, actual)) => judgement.violated(read.at.clone(), uri, expected, actual),
        }
    }
}

/// The entry's frontmatter says what the file's says.
fn frontmatter_identical(trace: &Evidence<'_>) -> Judgement {
    compare(trace, |kind| matches!(kind, Kind::Neither))
}

/// Values that YAML 1.1 and 1.2 read differently are avoided, or carried as both read them; big
/// integers keep their digits.
fn frontmatter_one_reading(trace: &Evidence<'_>) -> Judgement {
    compare(trace, |kind| !matches!(kind, Kind::Neither))
}

/// Compares each SKILL.md with the entries of its URI. As with digests, agreement with one of the
/// entries is enough; where list and get differ, that is for `sep-2640-skills-get-equals-list`.
fn compare(trace: &Evidence<'_>, counts: fn(&Kind) -> bool) -> Judgement {
    let mut judgement = Judgement::new();
    let mut entries: HashMap<&str, Vec<(&Value, Place)>> = HashMap::new();
    for entry in trace.entries() {
        if let (Some(uri), Some(frontmatter)) = (entry.uri(), entry.frontmatter()) {
            let known = entries.entry(uri).or_default();
            if !known.iter().any(|(value, _)| *value == frontmatter) {
                known.push((frontmatter, entry.at.child(&[&"frontmatter"])));
            }
        }
    }
    for skillmd in trace.skillmds() {
        let Ok(document) = &skillmd.frontmatter else {
            continue;
        };
        let Some(candidates) = entries.get(skillmd.uri) else {
            continue;
        };
        let found = candidates
            .iter()
            .map(|(value, at)| (frontmatter::compare(document, value), at));
        // The candidate that comes closest: first by violations, then by remarks.
        let weight = |differences: &[Difference]| {
            let neither = differences
                .iter()
                .filter(|difference| matches!(difference.kind, Kind::Neither))
                .count();
            (neither, differences.len())
        };
        let Some((differences, at)) = found.min_by_key(|(differences, _)| weight(differences))
        else {
            continue;
        };
        let mut clean = true;
        for difference in differences
            .iter()
            .filter(|difference| counts(&difference.kind))
        {
            clean = false;
            judgement.violated(
                Place {
                    frame: at.frame,
                    pointer: format!("{}{}", at.pointer, difference.pointer),
                },
                skillmd.uri,
                &difference.expected,
                &difference.actual,
            );
            // A wrong name or description is judged by a check of its own; what else is wrong is not.
            if !matches!(difference.pointer.as_str(), "" | "/name" | "/description") {
                judgement.because(format!("{}{}", skillmd.uri, difference.pointer));
            }
        }
        if clean {
            judgement.holds();
        }
    }
    judgement
}
