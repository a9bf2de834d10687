//! The members of a skill entry. Sections "Skill Entries" and "Resources".

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::Value;

use super::Check;
use super::entries::{self, Entry, describe};
use super::evidence::Evidence;
use crate::model::uri;
use crate::verdict::Judgement;

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::server("sep-2640-entry-uri-required", uri_required),
    Check::server("sep-2640-entry-frontmatter-required", frontmatter_required),
    Check::server("sep-2640-entry-frontmatter-name", |trace| {
        frontmatter_string(trace, "name")
    }),
    Check::server("sep-2640-entry-frontmatter-description", |trace| {
        frontmatter_string(trace, "description")
    }),
    Check::server("sep-2640-entry-resources-required", resources_required),
    Check::server("sep-2640-entry-members", members),
    Check::server("sep-2640-resources-dynamic-marker", dynamic_marker),
    Check::server("sep-2640-resources-uri-required", item_uri_required),
    Check::server("sep-2640-resources-digest-required", digest_required),
    Check::server("sep-2640-resources-digest-format", digest_format),
    Check::server("sep-2640-resources-size-required", size_required),
    Check::server("sep-2640-resources-size-integer", size_integer),
    Check::server("sep-2640-resources-lists-skillmd", lists_skillmd).after(&[
        "sep-2640-resources-uri-required",
        "sep-2640-skills-list-entry-atomic",
    ]),
    Check::server("sep-2640-resources-each-once", each_once),
    Check::server("sep-2640-limit-resources-per-skill", limit_count),
    Check::server("sep-2640-limit-total-size", limit_size),
];

/// Most items of a manifest that every host must take.
const ITEMS_MAX: usize = 512;
/// Most bytes of a skill that every host must take.
const BYTES_MAX: u64 = 16_777_216;

/// `uri` is a string.
fn uri_required(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for entry in trace.entries() {
        match entry.value.get("uri") {
            Some(Value::String(_)) => judgement.holds(),
            other => judgement.violated(
                entry.at.clone(),
                entry.subject(),
                "a string `uri`",
                describe(other),
            ),
        }
    }
    judgement
}

/// `frontmatter` is an object.
fn frontmatter_required(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for entry in trace.entries() {
        match entry.value.get("frontmatter") {
            Some(Value::Object(_)) => judgement.holds(),
            other => {
                judgement.violated(
                    entry.at.clone(),
                    entry.subject(),
                    "a `frontmatter` object",
                    describe(other),
                );
            }
        }
    }
    judgement
}

/// A frontmatter field that every skill has is there, as a string.
fn frontmatter_string(trace: &Evidence<'_>, field: &str) -> Judgement {
    let mut judgement = Judgement::new();
    for entry in trace.entries() {
        let Some(frontmatter) = entry.frontmatter() else {
            continue;
        };
        match frontmatter.get(field) {
            Some(Value::String(_)) => judgement.holds(),
            other => judgement.violated(
                entry.at.child(&[&"frontmatter", &field]),
                entry.subject(),
                format!("a string `{field}`"),
                describe(other),
            ),
        }
    }
    judgement
}

/// `resources` is present.
fn resources_required(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for entry in trace
        .entries()
        .iter()
        .filter(|entry| entry.value.is_object())
    {
        if entry.value.get("resources").is_some() {
            judgement.holds();
        } else {
            judgement.violated(
                entry.at.clone(),
                entry.subject(),
                "`resources`: an array of files, or \"dynamic\"",
                "absent",
            );
        }
    }
    judgement
}

/// `resources` is an array or exactly `"dynamic"`.
fn dynamic_marker(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for entry in trace.entries() {
        match entry.value.get("resources") {
            None => {}
            Some(Value::Array(_)) => judgement.holds(),
            Some(Value::String(marker)) if marker == "dynamic" => judgement.holds(),
            other => judgement.violated(
                entry.at.child(&[&"resources"]),
                entry.subject(),
                "an array of files, or the string \"dynamic\"",
                describe(other),
            ),
        }
    }
    judgement
}

/// An entry carries what the SEP defines, and `_meta` at most.
fn members(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for entry in trace.entries() {
        let Value::Object(object) = entry.value else {
            continue;
        };
        // An entry that lacks what it must have has been judged for that.
        if entry.uri().is_none()
            || entry.frontmatter().is_none()
            || !object.contains_key("resources")
        {
            continue;
        }
        // Caching members in the wrong place are for the checks that miss them in the right one.
        let known = [
            "uri",
            "frontmatter",
            "resources",
            "_meta",
            "ttlMs",
            "cacheScope",
        ];
        let others: Vec<&str> = object
            .keys()
            .map(String::as_str)
            .filter(|key| !known.contains(key))
            .collect();
        if others.is_empty() {
            judgement.holds();
        } else {
            judgement.violated(
                entry.at.clone(),
                entry.subject(),
                "no members besides uri, frontmatter, resources and _meta",
                others.join(", "),
            );
        }
    }
    judgement
}

/// Each item is an object with a string `uri`.
fn item_uri_required(trace: &Evidence<'_>) -> Judgement {
    each_item(trace, |item| match item.value.get("uri") {
        Some(Value::String(_)) => Ok(()),
        _ if !item.value.is_object() => Err((
            "an object with uri, digest and size",
            describe(Some(item.value)),
        )),
        other => Err(("a string `uri`", describe(other))),
    })
}

/// Each item has a string `digest`.
fn digest_required(trace: &Evidence<'_>) -> Judgement {
    each_item(trace, |item| match item.value.get("digest") {
        Some(Value::String(_)) => Ok(()),
        _ if !item.value.is_object() => Ok(()),
        other => Err(("a string `digest`", describe(other))),
    })
}

/// A digest is written as the SEP says.
fn digest_format(trace: &Evidence<'_>) -> Judgement {
    each_item(trace, |item| match item.value.get("digest") {
        Some(Value::String(digest)) if !entries::is_digest(digest) => Err((
            "sha256: and 64 lower-case hexadecimal digits",
            digest.clone(),
        )),
        _ => Ok(()),
    })
}

/// Each item has a `size`.
fn size_required(trace: &Evidence<'_>) -> Judgement {
    each_item(trace, |item| {
        if item.value.is_object() && item.value.get("size").is_none() {
            Err((
                "`size`, the length of the file in bytes",
                "absent".to_owned(),
            ))
        } else {
            Ok(())
        }
    })
}

/// A size is an integer, not below zero.
fn size_integer(trace: &Evidence<'_>) -> Judgement {
    each_item(trace, |item| match item.value.get("size") {
        Some(size) if entries::size_of(size).is_none() => {
            Err(("an integer, 0 or more", describe(Some(size))))
        }
        _ => Ok(()),
    })
}

/// Judges every item of every manifest.
fn each_item(
    trace: &Evidence<'_>,
    judge: impl Fn(&entries::Item<'_>) -> Result<(), (&'static str, String)>,
) -> Judgement {
    let mut judgement = Judgement::new();
    for entry in trace.entries() {
        for item in entry.items() {
            match judge(item) {
                Ok(()) => judgement.holds(),
                Err((expected, actual)) => {
                    judgement.violated(item.at(), item.subject(), expected, actual);
                }
            }
        }
    }
    judgement
}

/// The manifest has an item for SKILL.md itself.
fn lists_skillmd(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for entry in trace.entries() {
        let (Some(uri), Some(Value::Array(_))) = (entry.uri(), entry.value.get("resources")) else {
            continue;
        };
        if entry.items().iter().any(|item| item.uri() == Some(uri)) {
            judgement.holds();
        } else {
            judgement.violated(
                entry.at.child(&[&"resources"]),
                uri,
                "an item whose `uri` equals the entry's own",
                format!("{} items, none of them {uri}", entry.items().len()),
            );
        }
    }
    judgement
}

/// No file stands twice in one manifest.
fn each_once(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for entry in trace.entries() {
        let items = entry.items();
        let mut seen: HashMap<Cow<'_, str>, usize> = HashMap::new();
        for (index, item) in items.iter().enumerate() {
            let Some(uri) = item.uri() else { continue };
            let key = uri::normalize(uri).unwrap_or(Cow::Borrowed(uri));
            match seen.insert(key, index) {
                None => judgement.holds(),
                Some(first) => {
                    judgement.violated(
                        item.at(),
                        uri,
                        "each file once",
                        format!("also item {first}"),
                    );
                }
            }
        }
    }
    judgement
}

/// At most 512 items.
fn limit_count(trace: &Evidence<'_>) -> Judgement {
    limit(trace, |entry| {
        let count = entry.items().len();
        (count > ITEMS_MAX).then(|| (format!("at most {ITEMS_MAX} files"), count.to_string()))
    })
}

/// At most 16 MiB.
fn limit_size(trace: &Evidence<'_>) -> Judgement {
    limit(trace, |entry| {
        let bytes: u64 = entry
            .items()
            .iter()
            .filter_map(entries::Item::size)
            .fold(0, u64::saturating_add);
        (bytes > BYTES_MAX).then(|| (format!("at most {BYTES_MAX} bytes"), bytes.to_string()))
    })
}

fn limit(trace: &Evidence<'_>, over: impl Fn(&Entry<'_>) -> Option<(String, String)>) -> Judgement {
    let mut judgement = Judgement::new();
    for entry in trace.entries() {
        if !entry.value.get("resources").is_some_and(Value::is_array) {
            continue;
        }
        match over(entry) {
            None => judgement.holds(),
            Some((expected, actual)) => {
                judgement.violated(
                    entry.at.child(&[&"resources"]),
                    entry.subject(),
                    expected,
                    actual,
                );
            }
        }
    }
    judgement
}
